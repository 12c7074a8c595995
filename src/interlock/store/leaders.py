"""Duties that one process at a time has: taking them, showing that one still has them, giving them back.

When a silent holder counts as gone is judged in `scheduler.leadership`.
"""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.errors import Conflict
from interlock.store.schema import Leader, table
from interlock.store.tx import Tx, relaxed

LEADERS = table(Leader)
_l = LEADERS.c
_TIME = UTCDateTime()
_ONE = sa.select(LEADERS).where(_l.name == b("duty"))
_ALL = sa.select(LEADERS).order_by(_l.name)
_RENEW = (
    sa.update(LEADERS)
    .where(_l.name == b("duty"), _l.holder == b("who"), _l.fence == b("lease"))
    .values(beat=_l.beat + 1)
)
_TAKE = (
    sa.update(LEADERS)
    .where(_l.name == b("duty"), _l.fence == b("lease"), _l.beat == b("heard"))
    .values(
        holder=b("who"),
        host=b("machine"),
        pid=b("process"),
        process_started=b("began"),
        fence=_l.fence + 1,
        beat=_l.beat + 1,
        taken_at=b("now", type_=_TIME),
    )
)
_RELEASE = (
    sa.update(LEADERS)
    .where(_l.name == b("duty"), _l.holder == b("who"), _l.fence == b("lease"))
    .values(holder=None, fence=_l.fence + 1)
)
_CHECK = sa.update(LEADERS).where(_l.name == b("duty"), _l.fence == b("lease")).values(fence=_l.fence)


class LeadershipLost(Conflict):
    """Another process has the duty now, or it was given back: nothing more may be written for it."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"another process has the duty `{name}` now")


@dataclass(frozen=True, slots=True)
class Candidate:
    """Who wants a duty: `who` names it anew in each process, the rest says which process it is."""

    who: str
    machine: str
    process: int
    began: str


def leader(tx: Tx, name: str) -> Any | None:
    """Who has a duty, as its row; None if nobody ever had it."""
    return tx.one(_ONE, {"duty": name})


def leaders(tx: Tx) -> list[Any]:
    """All duties and who has them."""
    return tx.rows(_ALL)


def take(tx: Tx, name: str, seen: tuple[int, int] | None, candidate: Candidate, now: datetime) -> int | None:
    """Gives a duty to a candidate; returns its fence, or None if the holder stirred or another one was faster.

    `seen` is the fence and the beat of the row that the candidate judged by.
    """
    if seen is None:
        if tx.one(_ONE, {"duty": name}) is not None:
            return None
        tx.add(Leader, name=name)
    fence, beat = seen or (0, 0)
    taken = tx.count(_TAKE, {"duty": name, "lease": fence, "heard": beat, "now": now, **asdict(candidate)})
    return fence + 1 if taken == 1 else None


@relaxed
def renew(tx: Tx, name: str, who: str, fence: int) -> bool:
    """Shows that the holder lives; False if it is the holder no longer."""
    return tx.count(_RENEW, {"duty": name, "who": who, "lease": fence}) == 1


def release(tx: Tx, name: str, who: str, fence: int) -> None:
    """Gives a duty back; with its fence nothing can be written any more."""
    tx.run(_RELEASE, {"duty": name, "who": who, "lease": fence})


def check(tx: Tx, name: str, fence: int) -> None:
    """Fails the unit with `LeadershipLost` unless the duty is still held with this fence.

    INVARIANT: every write of a duty calls it, and nobody takes the duty between it and the commit.
    """
    tx.must(_CHECK, {"duty": name, "lease": fence}, 1, LeadershipLost(name))
