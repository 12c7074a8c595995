"""Core memory blocks as rows: who holds them, and writing them.

What may be written, and by whom, is decided in `memory.blocks`.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.store.schema import BlockHolder, Member, MemoryBlock, table
from interlock.store.tx import Ask, Tx

BLOCKS, HOLDERS, MEMBERS = table(MemoryBlock), table(BlockHolder), table(Member)
_bl, _h = BLOCKS.c, HOLDERS.c
_TIME = UTCDateTime()
_HELD = sa.select(BLOCKS, _h.can_write).join_from(HOLDERS, BLOCKS, _h.block_id == _bl.id)
SHOWN = _HELD.where(_h.project_id == b("project"), _h.persona == b("name")).order_by(_bl.created_at, _bl.id)
"""The blocks that a persona holds, always in the same order, so that prompt prefixes stay cacheable."""
_BY_LABEL = _HELD.where(_h.project_id == b("project"), _h.persona == b("name"), _h.label == b("label"))
_ONE = sa.select(BLOCKS).where(_bl.id == b("block"))
_TO_CHANGE = _ONE.with_for_update()
_OF_PROJECT = sa.select(BLOCKS).where(_bl.project_id == b("project")).order_by(_bl.label, _bl.created_at, _bl.id)
_HOLDERS_OF = sa.select(_h.persona, _h.can_write).where(_h.block_id == b("block")).order_by(_h.persona)
_ALL_HOLDERS = sa.select(_h.block_id, _h.persona).where(_h.project_id == b("project")).order_by(_h.persona)
_SEAT = (
    sa.select(MEMBERS.c.id)
    .where(MEMBERS.c.project_id == b("project"), MEMBERS.c.persona == b("name"))
    .with_for_update()
)
_CHANGE = (
    sa.update(BLOCKS)
    .where(_bl.id == b("block"))
    .values(
        content=b("words"), labels=b("taint", type_=_bl.labels.type), version=_bl.version + 1,
        updated_at=b("now", type_=_TIME),
    )
)  # fmt: skip
_GRANT = sa.update(HOLDERS).where(_h.block_id == b("block"), _h.persona == b("name")).values(can_write=b("may"))
_REVOKE = sa.delete(HOLDERS).where(_h.block_id == b("block"), _h.persona == b("name"))


def select_held(project_id: str, persona: str) -> Ask:
    """The select of a persona's blocks with its parameters, to be batched with others."""
    return SHOWN, {"project": project_id, "name": persona}


def held(tx: Tx, project_id: str, persona: str) -> list[Any]:
    """The blocks that a persona holds, in the order in which they were made, with `can_write`."""
    return tx.rows(*select_held(project_id, persona))


def by_label(tx: Tx, project_id: str, persona: str, label: str) -> Any | None:
    """The block with this label among those that a persona holds."""
    return tx.one(_BY_LABEL, {"project": project_id, "name": persona, "label": label})


def block(tx: Tx, block_id: str, *, to_change: bool = False) -> Any | None:
    """One block; `to_change` locks it until the end of the transaction."""
    return tx.one(_TO_CHANGE if to_change else _ONE, {"block": block_id})


def of_project(tx: Tx, project_id: str) -> list[Any]:
    """All blocks of a project, by name."""
    return tx.rows(_OF_PROJECT, {"project": project_id})


def holders(tx: Tx, block_id: str) -> list[Any]:
    """The personas that hold a block, with `can_write`."""
    return tx.rows(_HOLDERS_OF, {"block": block_id})


def all_holders(tx: Tx, project_id: str) -> dict[str, list[str]]:
    """The personas that hold blocks of a project, by block."""
    found: dict[str, list[str]] = {}
    for row in tx.rows(_ALL_HOLDERS, {"project": project_id}):
        found.setdefault(row.block_id, []).append(row.persona)
    return found


def lock(tx: Tx, project_id: str, persona: str) -> None:
    """Prevents concurrent changes of which blocks a persona holds, until the end of the transaction."""
    tx.rows(_SEAT, {"project": project_id, "name": persona})


def add(
    tx: Tx, block_id: str, project_id: str, label: str, content: str, labels: Sequence[str], now: datetime
) -> None:  # fmt: skip
    """Inserts a block that nobody holds yet."""
    tx.add(
        MemoryBlock, id=block_id, project_id=project_id, label=label, content=content, labels=list(labels),
        created_at=now, updated_at=now,
    )  # fmt: skip


def hold(tx: Tx, row: Any, persona: str, *, can_write: bool) -> None:
    """Attaches a block to a persona, or changes whether the persona may write to it."""
    tx.add_new(
        BlockHolder, block_id=row.id, persona=persona, project_id=row.project_id, label=row.label, can_write=can_write
    )
    tx.run(_GRANT, {"block": row.id, "name": persona, "may": can_write})


def let_go(tx: Tx, block_id: str, persona: str) -> bool:
    """Detaches a block from a persona; False if it was not attached."""
    return tx.count(_REVOKE, {"block": block_id, "name": persona}) == 1


def write(tx: Tx, row: Any, content: str, labels: Sequence[str], now: datetime) -> int:
    """Replaces the content of a block that the caller has locked; returns the new version number."""
    tx.run(_CHANGE, {"block": row.id, "words": content, "taint": list(labels), "now": now})
    return int(row.version) + 1
