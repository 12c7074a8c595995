"""Writes memories: inserts with an index of their words, use counts, decay, archiving.

Each change of a memory's text has a version in `memory_versions`; the callers are in `memory.archive`.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.store.knowledge.memories import MEMORIES, WORDS
from interlock.store.schema import Memory, MemoryWord
from interlock.store.tx import Tx

_m, _w = MEMORIES.c, WORDS.c
_TIME = UTCDateTime()
_NOW = b("now", type_=_TIME)
_LIVE = _m.archived_at.is_(None)
_TO_CHANGE = sa.select(MEMORIES).where(_m.id == b("memory")).with_for_update(key_share=True)
_SAME = (
    sa.select(MEMORIES)
    .where(_m.project_id == b("project"), _m.scope == b("place"), _m.digest == b("same"))
    .with_for_update(key_share=True)
)
_WRITTEN = ("type", "text", "length", "importance", "digest", "labels", "person_id", "scope", "archived_at")
_CHANGE = (
    sa.update(MEMORIES)
    .where(_m.id == b("memory"))
    .values(**{name: b(f"to_{name}", type_=_m[name].type) for name in _WRITTEN}, version=_m.version + 1)
)
_USED = (
    sa.update(MEMORIES)
    .where(_m.id == b("memory"), _LIVE)
    .values(uses=_m.uses + 1, decay=sa.text("1"), used_at=_NOW, decayed_at=_NOW)
)
_FADED = (
    sa.update(MEMORIES)
    .where(_m.id == b("memory"), _m.decayed_at == b("seen", type_=_TIME))
    .values(decay=b("left", type_=_m.decay.type), decayed_at=b("upto", type_=_TIME))
)
_FADING = (
    sa.select(_m.id, _m.type, _m.importance, _m.decay, _m.decayed_at, _m.used_at)
    .where(_m.id > b("after"), _LIVE)
    .order_by(_m.id)
    .limit(b("most"))
)
_FORGET_WORDS = sa.delete(WORDS).where(_w.memory_id == b("memory"))


def to_change(tx: Tx, memory_id: str) -> Any | None:
    """One memory, locked until the end of the transaction."""
    return tx.one(_TO_CHANGE, {"memory": memory_id})


def same(tx: Tx, project_id: str, scope: str, digest: str) -> Any | None:
    """The memory with the same text, locked until the end of the transaction; archived ones included."""
    return tx.one(_SAME, {"project": project_id, "place": scope, "same": digest})


def add(tx: Tx, values: Mapping[str, Any]) -> Any:
    """Inserts a memory unless one with the same text exists; returns the current row."""
    tx.add_new(Memory, **values)
    return same(tx, values["project_id"], values["scope"], values["digest"])


def change(tx: Tx, row: Any, changes: Mapping[str, Any]) -> int:
    """Changes a memory that the caller has locked; returns the new version number."""
    to = {f"to_{name}": changes.get(name, getattr(row, name)) for name in _WRITTEN}
    tx.run(_CHANGE, {"memory": row.id, **to})
    return int(row.version) + 1


def index(tx: Tx, memory_id: str, project_id: str, scope: str, words: Mapping[str, int]) -> None:
    """Indexes a memory by its words, with their frequencies."""
    tx.add_many(
        MemoryWord,
        [
            {"project_id": project_id, "scope": scope, "word": word, "memory_id": memory_id, "times": times}
            for word, times in sorted(words.items())
        ],
    )


def unindex(tx: Tx, memory_id: str) -> None:
    """Removes a memory from the index."""
    tx.run(_FORGET_WORDS, {"memory": memory_id})


def used(tx: Tx, memory_ids: Sequence[str], now: datetime) -> None:
    """Counts the recall of memories, and resets their decay."""
    for memory_id in sorted(set(memory_ids)):
        tx.run(_USED, {"memory": memory_id, "now": now})


def fading(tx: Tx, after: str, most: int) -> list[Any]:
    """A page of the memories that are not archived, in id order."""
    return tx.rows(_FADING, {"after": after, "most": most})


def fade(tx: Tx, memory_id: str, left: float, upto: datetime, seen: datetime) -> bool:
    """Updates the decay of a memory; False if it was used, or decayed, since it was `seen`."""
    return tx.count(_FADED, {"memory": memory_id, "left": left, "upto": upto, "seen": seen}) == 1
