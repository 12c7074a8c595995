"""Uses of lessons: the runs they were shown to, and how the tasks ended. Scoring is in `memory.lesson_book`."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.store.schema import LessonUse, Task, table
from interlock.store.tx import Tx

USES, TASKS = table(LessonUse), table(Task)
_u, _t = USES.c, TASKS.c
_TIME = UTCDateTime()
_OPEN = (
    sa.select(_u.lesson_id, _u.run_id)
    .where(_u.task_id == b("task"), _u.outcome.is_(None))
    .order_by(_u.lesson_id, _u.shown_at.desc(), _u.run_id)
)
_DECIDE = (
    sa.update(USES)
    .where(_u.lesson_id == b("lesson"), _u.run_id == b("run_"), _u.outcome.is_(None))
    .values(outcome=b("what"), decided_at=b("now", type_=_TIME))
)
_STANDING = sa.or_(_u.outcome.is_(None), _u.outcome == "helped")
_COUNTED = (
    sa.select(_u.run_id, _u.task_id, _u.outcome)
    .where(_u.lesson_id == b("lesson"), _STANDING)
    .order_by(_u.shown_at.desc(), _u.run_id)
    .limit(200)
)
_RETRACT = (
    sa.update(USES)
    .where(_u.lesson_id == b("lesson"), _u.run_id == b("run_"), _STANDING)
    .values(outcome="neither", decided_at=b("now", type_=_TIME))
)
_FORGET = sa.update(USES).where(_u.lesson_id == b("lesson")).values(outcome="neither", decided_at=b("now", type_=_TIME))
_RECENT = (
    sa.select(_u.outcome)
    .where(_u.lesson_id == b("lesson"), _u.outcome.is_not(None))
    .order_by(_u.decided_at.desc(), _u.run_id.desc())
    .limit(b("most"))
)
_UNDECIDED = (
    sa.select(_t.id, _t.status, _t.block_kind, _t.attempt, _t.review_cycles)
    .where(_t.status.in_(("DONE", "CANCELED", "BLOCKED")), _t.updated_at >= b("since", type_=_TIME))
    .where(sa.exists().where(_u.task_id == _t.id, _u.outcome.is_(None)))
    .order_by(_t.updated_at, _t.id)
    .limit(200)
)
_OF = sa.select(USES).where(_u.lesson_id == b("lesson")).order_by(_u.shown_at.desc(), _u.run_id).limit(b("most"))


def record_use(tx: Tx, lesson_ids: Sequence[str], run_id: str, task_id: str | None, now: datetime) -> None:
    """Records that a run was shown lessons; the outcome of `task_id` decides whether they helped."""
    uses = [
        {"lesson_id": lesson, "run_id": run_id, "task_id": task_id, "shown_at": now} for lesson in sorted(lesson_ids)
    ]
    if uses:
        tx.add_many(LessonUse, uses)


def undecided(tx: Tx, task_id: str) -> dict[str, list[str]]:
    """The uses in runs of a task whose outcome is still open, by lesson, newest first."""
    found: dict[str, list[str]] = {}
    for row in tx.rows(_OPEN, {"task": task_id}):
        found.setdefault(row.lesson_id, []).append(row.run_id)
    return found


def decide(tx: Tx, lesson_id: str, run_id: str, outcome: str, now: datetime) -> None:
    """Records the outcome of one use, once."""
    tx.run(_DECIDE, {"lesson": lesson_id, "run_": run_id, "what": outcome, "now": now})


def retract(tx: Tx, lesson_id: str, evidence: Sequence[str], now: datetime) -> int:
    """Discounts the uses of a lesson by these runs and tasks; returns how many had counted as helpful."""
    named = set(evidence)
    vain = [row for row in tx.rows(_COUNTED, {"lesson": lesson_id}) if named & {row.run_id, row.task_id}]
    for row in vain:
        tx.run(_RETRACT, {"lesson": lesson_id, "run_": row.run_id, "now": now})
    return sum(row.outcome is not None for row in vain)


def forget(tx: Tx, lesson_id: str, now: datetime) -> None:
    """Discounts all uses of a lesson so far."""
    tx.run(_FORGET, {"lesson": lesson_id, "now": now})


def recent(tx: Tx, lesson_id: str, most: int) -> list[str]:
    """The outcomes of the last uses of a lesson, newest first."""
    return [row.outcome for row in tx.rows(_RECENT, {"lesson": lesson_id, "most": most})]


def ended_undecided(tx: Tx, since: datetime) -> list[Any]:
    """Tasks that ended or were blocked since a time, with lessons whose outcome is still open."""
    return tx.rows(_UNDECIDED, {"since": since})


def of_lesson(tx: Tx, lesson_id: str, most: int = 100) -> list[Any]:
    """The uses of a lesson, newest first."""
    return tx.rows(_OF, {"lesson": lesson_id, "most": most})
