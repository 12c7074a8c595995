"""Questions that are taken back, since nobody needs to answer them any more: those for money of a day that is over.

Questions that end with their runs, or unanswered, are `approvals`' matter.
"""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.values import SYSTEM
from interlock.store import approvals, audit, days, feed, ledger, outbox, shortfalls
from interlock.store.approvals import APPROVALS
from interlock.store.tx import Tx

WORDS = "the day that it asked money for is over, and what waited goes on with the money of the new day"
_a = APPROVALS.c
_WITHDRAW = (
    sa.update(APPROVALS)
    .where(_a.id == b("approval"), _a.status == sa.text("'pending'"))
    .values(status="void", answered_at=b("now", type_=UTCDateTime()), note=b("words"))
)


def questions(tx: Tx, now: datetime) -> list[str]:
    """Ids of the open questions for money of a project's day that is over."""
    found = []
    for row in shortfalls.open_questions(tx):
        account = ledger.account(tx, row.request.get("account", "")) if row.run_id is None else None
        if account is not None and days.is_over(tx, account, now):
            found.append(row.id)
    return found


def take_back(tx: Tx, approval_id: str, now: datetime) -> bool:
    """Takes a question back whose day is over, and lets all go on that waited for it; False where it was answered."""
    row = approvals.approval(tx, approval_id)
    account = None if row is None else ledger.account(tx, row.request.get("account", ""))
    if row is None or account is None or not days.is_over(tx, account, now):
        return False
    shortfalls.lock_parked(tx, row)
    if not _withdraw(tx, row, now):
        return False
    shortfalls.release(tx, row, SYSTEM, WORDS, now)
    return True


def _withdraw(tx: Tx, row: Any, now: datetime) -> bool:
    if tx.count(_WITHDRAW, {"approval": row.id, "words": WORDS, "now": now}) != 1:
        return False
    about = {"approval_id": row.id, "mission_id": row.mission_id, "task_id": row.task_id, "run_id": row.run_id}
    audit.note(
        tx, "APPROVAL_WITHDRAWN", SYSTEM, now, project_id=row.project_id, subject=row.id, risk=row.risk, reason=WORDS,
        mission_id=row.mission_id, task_id=row.task_id, run_id=row.run_id,
    )  # fmt: skip
    told = {**about, "verdict": "withdrawn", "by": None, "still_needed": 0}
    feed.tell(tx, "approval_answered", now, project_id=row.project_id, payload=told)
    outbox.touch(tx, approvals.about(row.id))
    return True
