"""Models' votes: one row for each seat, from the question to the verdict. Source: rows A10, C8.

Prompts and counting are in `agents.special.voting`.
"""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.ids import new_id
from interlock.store.schema import Run, Vote, table
from interlock.store.tx import Tx

VOTES, RUNS = table(Vote), table(Run)
_v, _r = VOTES.c, RUNS.c
_OF = sa.select(VOTES).where(_v.about == b("subject")).order_by(_v.seat)
_ON_TASK = sa.select(VOTES).where(_v.about.like(b("subjects"))).order_by(_v.created_at, _v.about, _v.seat)
_LOCKED = _OF.with_for_update()
_BY_RUN = sa.select(VOTES).where(_v.run_id == b("run"))
_GIVE = (
    sa.update(VOTES)
    .where(_v.id == b("vote"), _v.verdict.is_(None))
    .values(
        verdict=b("said"), reason=b("why"), cost_microusd=_v.cost_microusd + b("spent"),
        given_at=b("now", type_=UTCDateTime()),
    )
)  # fmt: skip
_AGAIN = (
    sa.update(VOTES)
    .where(_v.id == b("vote"), _v.verdict.is_(None))
    .values(run_id=b("run"), cost_microusd=_v.cost_microusd + b("spent"))
)
_OUT = (
    sa.select(_v.id, _v.about, _v.run_id, _v.created_at, _r.status)
    .join_from(VOTES, RUNS, _v.run_id == _r.id, isouter=True)
    .where(sa.text("votes.verdict IS NULL"))
    .order_by(_v.created_at, _v.about, _v.seat)
)


def of_approval(approval_id: str) -> str:
    """The subject of votes on a held call."""
    return f"approval:{approval_id}"


def of_task(task_id: str, cycle: int) -> str:
    """The subject of votes on a task's disputed work in a review cycle."""
    return f"task:{task_id}:{cycle}"


def ask(tx: Tx, about: str, seat: int, model: str, run_id: str, now: datetime) -> None:
    """Opens the vote of one seat; each seat is asked once."""
    tx.add(Vote, id=new_id("vot"), about=about, seat=seat, model=model, run_id=run_id, created_at=now)


def about(tx: Tx, subject: str) -> list[Any]:
    """The votes on a subject, by seat."""
    return tx.rows(_OF, {"subject": subject})


def about_task(tx: Tx, task_id: str) -> list[Any]:
    """All votes on disputes about a task's work, by cycle and seat."""
    return tx.rows(_ON_TASK, {"subjects": f"task:{task_id}:%"})


def lock(tx: Tx, subject: str) -> list[Any]:
    """The same, locked until this transaction ends, so that the last vote to arrive sees all the others."""
    return tx.rows(_LOCKED, {"subject": subject})


def by_run(tx: Tx, run_id: str) -> Any | None:
    """The vote that a run should cast."""
    return tx.one(_BY_RUN, {"run": run_id})


def give(tx: Tx, vote_id: str, verdict: str, reason: str, spent_microusd: int, now: datetime) -> bool:
    """Stores a verdict; False if there is one already."""
    params = {"vote": vote_id, "said": verdict, "why": reason, "spent": spent_microusd, "now": now}
    return tx.count(_GIVE, params) == 1


def ask_again(tx: Tx, vote_id: str, run_id: str, spent_microusd: int) -> bool:
    """Reassigns an open vote to another run; False if it has been cast."""
    return tx.count(_AGAIN, {"vote": vote_id, "run": run_id, "spent": spent_microusd}) == 1


def out(tx: Tx) -> list[Any]:
    """The open votes, oldest first, with the status of their runs."""
    return tx.rows(_OUT)
