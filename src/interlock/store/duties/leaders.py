"""Leases of duties that one process at a time holds: acquiring, renewing, releasing.

When a silent holder counts as dead is decided in `scheduler.leadership`.
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
    """Another process holds the duty now, or it was released: nothing more may be written for it."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"another process has the duty `{name}` now")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate for a duty: `who` is unique to this candidacy, the other fields identify the process."""

    who: str
    machine: str
    process: int
    began: str


def leader(tx: Tx, name: str) -> Any | None:
    """The row of a duty with its holder; None if nobody ever held it."""
    return tx.one(_ONE, {"duty": name})


def leaders(tx: Tx) -> list[Any]:
    """All duties with their holders."""
    return tx.rows(_ALL)


def take(tx: Tx, name: str, seen: tuple[int, int] | None, candidate: Candidate, now: datetime) -> int | None:
    """Assigns a duty to a candidate; returns the fencing token, or None if the holder renewed or another was faster.

    `seen` is the fencing token and the beat of the row on which the candidate's decision is based.
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
    """Renews the lease; False if the caller no longer holds it."""
    return tx.count(_RENEW, {"duty": name, "who": who, "lease": fence}) == 1


def release(tx: Tx, name: str, who: str, fence: int) -> None:
    """Releases a duty; its fencing token becomes invalid."""
    tx.run(_RELEASE, {"duty": name, "who": who, "lease": fence})


def check(tx: Tx, name: str, fence: int) -> None:
    """Fails the unit with `LeadershipLost` unless the duty is still held with this fencing token.

    INVARIANT: every write of a duty calls it, and nobody can take the duty between this check and the commit.
    """
    tx.must(_CHECK, {"duty": name, "lease": fence}, 1, LeadershipLost(name))
