"""The mode of the whole squad: running, draining, paused or stopped; one row that every claim reads.

What happens to active runs is up to the worker; who may change the mode, to the desk.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.store.messages import feed
from interlock.store.schema import Control, table
from interlock.store.tx import Tx

CONTROLS = table(Control)
_c = CONTROLS.c
SQUAD = "squad"


class Mode(StrEnum):
    """The squad's modes, each stricter than the one before. Source: row I2, decisions, "Controls"."""

    RUNNING = "running"
    DRAINING = "draining"
    """Active runs finish; nothing starts."""
    PAUSED = "paused"
    """Each run stops after its current step; nothing starts."""
    STOPPED = "stopped"
    """Calls are aborted at once; nothing starts."""

    @property
    def strictness(self) -> int:
        """0 for running; greater for stricter modes."""
        return list(Mode).index(self)


_SQUAD = _c.scope == sa.text(f"'{SQUAD}'")
MAY_START = sa.not_(sa.exists(sa.select(_c.scope).where(_SQUAD, _c.mode != sa.text("'running'"))))
"""SQL condition: whether new work may start."""
MAY_ACT = sa.not_(sa.exists(sa.select(_c.scope).where(_SQUAD, _c.mode == sa.text("'stopped'"))))
"""SQL condition: whether active runs may continue."""
_ROW = sa.select(CONTROLS).where(_SQUAD)
_LOCKED = _ROW.with_for_update()
_SAID_AGAIN = sa.update(CONTROLS).where(_SQUAD).values(version=_c.version + 1)
_SET = (
    sa.update(CONTROLS)
    .where(_SQUAD)
    .values(
        mode=b("to"), version=_c.version + 1, reason=b("why"), set_by=b("who"),
        set_at=b("now", type_=UTCDateTime()),
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Standing:
    """The squad's mode, since when, set by whom (a person's id) and why."""

    mode: Mode = Mode.RUNNING
    version: int = 0
    """Incremented by each change, and whenever the current mode or a laxer one is requested again."""
    reason: str | None = None
    set_by: str | None = None
    set_at: datetime | None = None


def standing(tx: Tx) -> Standing:
    """The current mode. A squad whose mode was never set is running."""
    return _standing(tx.one(_ROW))


def held(tx: Tx) -> Standing:
    """The current mode with its metadata, locked until the end of this transaction."""
    return _standing(tx.one(_LOCKED))


def mode(tx: Tx) -> Mode:
    """The current mode."""
    return standing(tx).mode


def set_mode(tx: Tx, wanted: Mode, person_id: str, reason: str | None, now: datetime) -> Standing:
    """Sets the squad's mode; returns the previous one.

    INVARIANT: only RUNNING relaxes a mode, so that if two people act at once, the stricter one prevails. The mode
    does not change if the squad is already in `wanted` or a stricter mode.
    """
    before = held(tx)
    is_looser = wanted.strictness <= before.mode.strictness
    if wanted is before.mode or (is_looser and wanted is not Mode.RUNNING):
        if wanted is not Mode.RUNNING:
            tx.run(_SAID_AGAIN)
        return before
    if before.version == 0:
        tx.add(
            Control, scope=SQUAD, mode=str(wanted), version=1, reason=reason, set_by=person_id, set_at=now,
        )  # fmt: skip
    else:
        tx.run(_SET, {"to": str(wanted), "why": reason, "who": person_id, "now": now})
    feed.append(tx, "control_changed", now, project_id=feed.EVERYWHERE, payload={"mode": str(wanted), "reason": reason})
    return before


def _standing(row: Any | None) -> Standing:
    if row is None:
        return Standing()
    return Standing(Mode(row.mode), row.version, row.reason, row.set_by, row.set_at)
