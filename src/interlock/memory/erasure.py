"""Personal data in memories and blocks: gathered for an export, and erased.

Authorisation is checked by the desk; other records of a person are in `store.identities.personal`. Source: row L6.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from interlock.memory.words import same_text, words_of
from interlock.store.identities import personal_memories
from interlock.store.identities.personal import ERASED, Known
from interlock.store.knowledge import memory_writes
from interlock.store.tx import Tx


def gathered(tx: Tx, known: Known) -> dict[str, list[Any]]:
    """The memories of what a person said, and the blocks that name them."""
    return {
        "memories": personal_memories.theirs(tx, known.id),
        "memory_blocks": [
            row for row in personal_memories.blocks_with(tx, _names(known)) if _fits(known).search(row.content)
        ],
    }


def erase(tx: Tx, known: Known, most: int) -> int:
    """Deletes up to `most` memories of what a person said, with all versions; returns how many."""
    found = personal_memories.theirs(tx, known.id)[:most]
    for row in found:
        personal_memories.delete(tx, row.id)
    return len(found)


def mentions(tx: Tx, known: Known) -> list[str]:
    """Ids of the blocks and memories that name a person, in any version."""
    return personal_memories.subjects_with(tx, _names(known))


def redact(tx: Tx, known: Known, ids: Sequence[str]) -> None:
    """Replaces a person's names in blocks and memories by their name after erasure, in all versions."""
    for ident in ids:
        for version in personal_memories.versions(tx, ident):
            content = {name: _clean(known, value) for name, value in version.content.items()}
            reason = str(_clean(known, version.reason))
            if version.author_id == known.id:
                reason = ERASED
            if content != version.content or reason != version.reason:
                personal_memories.rewrite_version(tx, ident, version.version, content, reason)
        _redact_block(tx, known, ident)
        _redact_memory(tx, known, ident)


def _redact_block(tx: Tx, known: Known, ident: str) -> None:
    row = personal_memories.block(tx, ident)
    if row is not None:
        personal_memories.rewrite_block(tx, ident, str(_clean(known, row.content)))


def _redact_memory(tx: Tx, known: Known, ident: str) -> None:
    row = memory_writes.to_change(tx, ident)
    if row is None or (text := str(_clean(known, row.text))) == row.text:
        return
    same = memory_writes.same(tx, row.project_id, row.scope, same_text(text))
    if same is not None:
        personal_memories.delete(tx, ident)
        return
    words = words_of(text)
    personal_memories.rewrite_memory(tx, ident, text, same_text(text), words.total())
    memory_writes.unindex(tx, ident)
    if row.archived_at is None:
        memory_writes.index(tx, ident, row.project_id, row.scope, words)


def _names(known: Known) -> Iterable[str]:
    return (known.name, *known.identities)


def _fits(known: Known) -> re.Pattern[str]:
    return re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in _names(known) if name))


def _clean(known: Known, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    for identity in known.identities:
        value = value.replace(identity, ERASED)
    return re.sub(rf"(?<!\w){re.escape(known.name)}(?!\w)", known.pseudonym, value)
