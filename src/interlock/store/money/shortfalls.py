"""Runs that wait for money from a shared account: people are asked once, and one answer resumes all of them.

Runs ask, and check the account, by themselves. INVARIANT: a parked run without a question of its own waits for one of
these.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.core.values import Actor
from interlock.state_machine.table import TaskState
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import RUNS
from interlock.store.money import days, ledger, limits
from interlock.store.schema import Approval, table
from interlock.store.tx import Tx
from interlock.store.work import missions, tasks

SHARED = ("mission", "project_day")
"""Kinds of accounts that several runs share."""
BUDGET = "BUDGET"
_OPEN = ("pending", "consulting")
_a, _r, _t = table(Approval).c, RUNS.c, tasks.TASKS.c
_LAST = sa.select(table(Approval)).where(_a.kind == BUDGET, _a.subject == b("about"), _a.run_id.is_(None))
_LAST_ABOUT = _LAST.order_by(_a.created_at.desc(), _a.id.desc()).limit(1)
_OPEN_QUESTIONS = (
    sa.select(table(Approval)).where(_a.status == sa.text("'pending'"), _a.kind == BUDGET).order_by(_a.created_at)
)
_OWN_QUESTION = sa.exists().where(_a.run_id == _r.id, _a.status.in_(_OPEN))
_PARKED = (
    sa.select(_r.id, _r.agent_id, _r.project_id, _r.mission_id, _r.task_id)
    .where(_r.status == sa.text("'waiting'"), sa.not_(_OWN_QUESTION))
    .order_by(_r.agent_id, _r.seq)
)
_HELD_TASKS = (
    sa.select(_t.id, _t.held_from)
    .where(_t.ended_at.is_(None), _t.status == "NEEDS_APPROVAL", _t.wait_for == b("what"))
    .order_by(_t.mission_id, _t.created_at, _t.id)
)
_PARKED_OF_MISSION = sa.select(sa.func.count().label("n")).where(
    _r.mission_id == b("mission"), _r.status == sa.text("'waiting'"), sa.not_(_OWN_QUESTION)
)


def last_about(tx: Tx, subject: str) -> Any | None:
    """The latest question with this subject, in any state."""
    return tx.one(_LAST_ABOUT, {"about": subject})


def pending_for(tx: Tx, account_id: str) -> list[Any]:
    """The open questions about money of an account, oldest first; including those of single runs."""
    return [row for row in tx.rows(_OPEN_QUESTIONS) if row.request.get("account") == account_id]


def parked(tx: Tx, account: Any | None) -> list[Any]:
    """The runs that may wait for money of a shared account, in the order in which to lock their lanes."""
    if account is None:
        return []
    column = _r.mission_id if account.kind == "mission" else _r.project_id
    return tx.rows(_PARKED.where(column == account.owner_id)) if account.kind in SHARED else []


def parked_in(tx: Tx, mission_id: str) -> int:
    """How many parked runs of a mission have no question of their own."""
    return int(tx.rows(_PARKED_OF_MISSION, {"mission": mission_id})[0].n)


def pay(tx: Tx, row: Any, args: Any, person_id: str, words: str | None, now: datetime) -> None:
    """Carries out the approval of a question about money: raises the limit or the threshold.

    If the day in question is over, today's limit is raised, since the waiting runs will spend today's money.
    """
    asked = {**row.request, **(args or {})}
    if not int(asked["amount_microusd"]):
        return
    account_id = days.opened_in_place(tx, row.request["account"], now)
    change = limits.go_on if row.request.get("paused") and not args else limits.raise_limit
    change(tx, account_id, int(asked["amount_microusd"]), person_id, now, words)


def lock_parked(tx: Tx, row: Any) -> None:
    """Locks the lanes of all runs that wait for an answer; before the account is locked."""
    for run in parked(tx, ledger.account(tx, row.request["account"])) if row.run_id is None else ():
        mailbox.lock(tx, run.id)


def release(tx: Tx, row: Any, person: Actor, words: str, now: datetime) -> None:
    """Resumes all runs that waited for an answer about a shared account; each checks its money again."""
    account = ledger.account(tx, row.request["account"])
    if account is None or row.run_id is not None:
        return
    mission_ids = restore_tasks(tx, row, person, words, now)
    for run in parked(tx, account):
        mailbox.wake(tx, run.id, now)
    for mission_id in sorted(mission_ids):
        missions.notify(tx, mission_id, "answered", {"kind": BUDGET}, now)


def restore_tasks(tx: Tx, row: Any, person: Actor, words: str, now: datetime) -> set[str]:
    """Restores the other tasks that wait for an answer to their previous states; returns their missions."""
    mission_ids: set[str] = set()
    for task in held(tx, row.id):
        if task.id == row.task_id and row.kind != BUDGET:
            continue
        key = f"answer:{row.id}:{task.id}"
        found = tasks.task(tx, task.id)
        if (
            found is None
            or found.status != "NEEDS_APPROVAL"
            or found.held_from is None
            or _asks_more(tx, task.id, row.id)
        ):
            continue
        tasks.advance(
            tx,
            tasks.Move(task_id=task.id, to=TaskState(found.held_from), actor=person, reason=words, key=key),
            now,
        )
        mission_ids.add(found.mission_id)
    return mission_ids


def _asks_more(tx: Tx, task_id: str, but: str) -> bool:
    query = sa.select(_a.id).where(_a.task_id == task_id, _a.status.in_(_OPEN), _a.id != but).limit(1)
    return tx.one(query) is not None


def held(tx: Tx, approval_id: str) -> list[Any]:
    """The tasks that wait for an answer."""
    return tx.rows(_HELD_TASKS, {"what": f"approval:{approval_id}"})


def strays(tx: Tx) -> list[str]:
    """Ids of parked runs without an open question: what they waited for has passed."""
    runs: Sequence[Any] = tx.rows(_PARKED)
    if not runs:
        return []
    owners = set()
    for row in tx.rows(_OPEN_QUESTIONS):
        account = ledger.account(tx, row.request.get("account", "")) if row.run_id is None else None
        if account is not None:
            owners.add(account.owner_id)
    return [run.id for run in runs if not owners & {run.mission_id, run.project_id}]


def wake(tx: Tx, run_id: str, now: datetime) -> None:
    """Resumes a stray run, if it still is one."""
    mailbox.lock(tx, run_id)
    if run_id in strays(tx):
        mailbox.wake(tx, run_id, now)
