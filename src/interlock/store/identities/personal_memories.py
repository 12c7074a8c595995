"""Memories and blocks of a person, or that mention one: searching, rewriting, deleting.

INVARIANT: only an erasure changes versions. The new text is computed in `memory.erasure`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.core.text import storable_json
from interlock.store.knowledge.blocks import BLOCKS
from interlock.store.knowledge.memories import MEMORIES, WORDS
from interlock.store.knowledge.memory_versions import VERSIONS
from interlock.store.tx import Tx

_m, _w, _bl, _v = MEMORIES.c, WORDS.c, BLOCKS.c, VERSIONS.c
_THEIRS = (
    sa.select(
        _m.id, _m.project_id, _m.persona, _m.type, _m.text, _m.importance, _m.created_at, _m.used_at, _m.archived_at
    )
    .where(_m.person_id == b("who"))
    .order_by(_m.id)
)
_DELETE = (
    sa.delete(WORDS).where(_w.memory_id == b("memory")),
    sa.delete(VERSIONS).where(_v.subject_id == b("memory")),
    sa.delete(MEMORIES).where(_m.id == b("memory")),
)
_NAME = b("name", type_=sa.Text())


def _has(text: Any) -> sa.ColumnElement[bool]:
    """Whether a text contains a name; not by LIKE, which treats backslashes differently on the two databases."""
    without: sa.ColumnElement[str] = sa.func.replace(text, _NAME, "")
    is_in: sa.ColumnElement[bool] = without != text
    return is_in


_BLOCKS_WITH = sa.select(_bl.id, _bl.project_id, _bl.label, _bl.content, _bl.updated_at).where(_has(_bl.content))
_SUBJECTS_WITH = sa.select(_v.subject_id).where(sa.or_(_has(sa.cast(_v.content, sa.Text)), _has(_v.reason))).distinct()
_VERSIONS_OF = sa.select(VERSIONS).where(_v.subject_id == b("subject")).order_by(_v.version)
_REWRITE = (
    sa.update(VERSIONS)
    .where(_v.subject_id == b("subject"), _v.version == b("number"))
    .values(content=b("what", type_=_v.content.type), reason=b("why"))
)
_BLOCK = sa.select(BLOCKS).where(_bl.id == b("block")).with_for_update()
_REWRITE_BLOCK = sa.update(BLOCKS).where(_bl.id == b("block")).values(content=b("what"))
_REWRITE_MEMORY = (
    sa.update(MEMORIES).where(_m.id == b("memory")).values(text=b("what"), digest=b("same"), length=b("words"))
)


def theirs(tx: Tx, person_id: str) -> list[Any]:
    """The memories of what a person said, archived or not."""
    return tx.rows(_THEIRS, {"who": person_id})


def delete(tx: Tx, memory_id: str) -> None:
    """Deletes a memory with its words and versions."""
    for statement in _DELETE:
        tx.run(statement, {"memory": memory_id})


def blocks_with(tx: Tx, names: Iterable[str]) -> list[Any]:
    """The blocks that may contain one of some names."""
    found = {row.id: row for name in names if name for row in tx.rows(_BLOCKS_WITH, {"name": name})}
    return [found[ident] for ident in sorted(found)]


def subjects_with(tx: Tx, names: Iterable[str]) -> list[str]:
    """Ids of the blocks and memories of which a version may contain one of some names."""
    spelled = {form for name in names if name for form in (name, storable_json(name)[1:-1])}
    return sorted({row.subject_id for name in spelled for row in tx.rows(_SUBJECTS_WITH, {"name": name})})


def versions(tx: Tx, subject_id: str) -> list[Any]:
    """The versions of a block or memory in order."""
    return tx.rows(_VERSIONS_OF, {"subject": subject_id})


def rewrite_version(tx: Tx, subject_id: str, number: int, content: Mapping[str, Any], reason: str) -> None:
    """Rewrites a version."""
    tx.run(_REWRITE, {"subject": subject_id, "number": number, "what": dict(content), "why": reason})


def block(tx: Tx, block_id: str) -> Any | None:
    """A block, locked until the end of the transaction."""
    return tx.one(_BLOCK, {"block": block_id})


def rewrite_block(tx: Tx, block_id: str, content: str) -> None:
    """Rewrites a block without adding a version."""
    tx.run(_REWRITE_BLOCK, {"block": block_id, "what": content})


def rewrite_memory(tx: Tx, memory_id: str, text: str, digest: str, length: int) -> None:
    """Rewrites a memory without adding a version."""
    tx.run(_REWRITE_MEMORY, {"memory": memory_id, "what": text, "same": digest, "words": length})
