"""Core memory: what a persona always has before it, in blocks that it edits itself and may share with others.

INVARIANT: each change is a version with its author and reason, and no change is made over one that its author had not
seen. How blocks are shown in prompts is not known here.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from interlock.policy.taint import PRIVATE
from interlock.store import blocks as rows
from interlock.store.tx import Ask, Tx

MOST_CHARS = 4_000
"""Of a block."""
MOST_BLOCKS = 12
"""Of a persona."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block as its holder is shown it. `labels` are the taint that whoever reads it takes on."""

    id: str
    label: str
    content: str
    labels: frozenset[str]
    can_write: bool
    version: int = 1


def asked(project_id: str, persona: str) -> Ask:
    """What gives the rows for `blocks_of`, for a read together with others: a single statement."""
    return rows.shown(project_id, persona)


def blocks_of(found: Iterable[Any]) -> list[Block]:
    """The blocks of what `asked` gave."""
    return [_block(row) for row in found]


def shown(tx: Tx, project_id: str, persona: str) -> list[Block]:
    """The blocks of a persona, always in the same order. Source: row H2."""
    return blocks_of(tx.rows(*asked(project_id, persona)))


def _block(row: Any) -> Block:
    labels = frozenset({*row.labels, PRIVATE})
    return Block(row.id, row.label, row.content, labels, bool(row.can_write), row.version)
