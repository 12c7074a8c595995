"""Resolves which account a person means: by its id, or by that of a run, task, mission, agent or project."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from interlock.core.errors import UsageError
from interlock.core.values import microusd
from interlock.desk.context import DeskContext
from interlock.desk.reading.finding import Unknown, as_id, find, find_any
from interlock.policy.budgets import day_key
from interlock.store import squad
from interlock.store.money import days, ledger
from interlock.store.money.ledger import Opening
from interlock.store.tx import Tx
from interlock.store.work import tasks as task_store

KINDS = ("mission", "task", "run", "agent")


def account_of(tx: Tx, context: DeskContext, given: str, *, kinds: Sequence[str] | None = None) -> str:
    """Resolves `given` to an account's id: the account of a run, task or mission, today's account of an agent, persona
    or project, or an account's own id.

    Raises Unknown, and UsageError if it is ambiguous, or if nothing has been spent from the account yet.
    """
    wanted = as_id(given)
    if kinds is None:
        if ledger.account(tx, wanted) is not None:
            return wanted
        if (today := _today(tx, context, wanted)) is not None:
            return _opened(tx, *today)
    try:
        kind, ident = find_any(tx, KINDS if kinds is None else kinds, wanted)
    except Unknown:
        if kinds is not None:
            raise
        return find(tx, "account", given)
    if kind == "agent":
        agent: Any = squad.agent(tx, ident)
        return _opened(tx, f"agent_day:{agent.member_id}:{_day(tx, context, agent.project_id)}", agent.persona)
    if kind == "task":
        task: Any = task_store.task(tx, ident)
        kind = "task" if task.parent_id is not None else "mission"
    return _opened(tx, f"{kind}:{ident}", f"{kind} {ident}")


def _today(tx: Tx, context: DeskContext, name: str) -> tuple[str, str] | None:
    """Today's account of a persona or a project, with its name."""
    if (project := squad.project(tx, name)) is not None:
        return f"project_day:{name}:{_day(tx, context, project.id)}", f"project {name}"
    member = squad.member_of(tx, context.settings.project, name)
    return None if member is None else (f"agent_day:{member.id}:{_day(tx, context, member.project_id)}", name)


def open_today(tx: Tx, context: DeskContext, project_id: str, now: datetime) -> None:
    """Opens today's account of a project, if it does not exist yet, with the limit from the settings."""
    project = squad.project(tx, project_id)
    if project is not None:
        ident = f"project_day:{project_id}:{day_key(now, project.timezone)}"
        limit = microusd(context.settings.day_usd(project_id))
        ledger.open_accounts(tx, [Opening(ident, "project_day", project_id, project_id, limit)], now)


def require_open_day(tx: Tx, account: Any, now: datetime) -> None:
    """Raises UsageError for a daily account of a past day."""
    if days.is_over(tx, account, now):
        name = whose(tx, account) or account.owner_id
        raise UsageError(f"the day of `{account.id}` is over: `{name}` means today's")


def _day(tx: Tx, context: DeskContext, project_id: str) -> str:
    project = squad.project(tx, project_id)
    return day_key(context.clock.now(), project.timezone if project else "UTC")


def _opened(tx: Tx, account_id: str, name: str) -> str:
    if ledger.account(tx, account_id) is None:
        raise UsageError(f"`{name}` has no account yet (`{account_id}`): it is opened with the first call it pays for")
    return account_id


def agent_of(tx: Tx, context: DeskContext, given: str) -> tuple[str | None, str | None]:
    """The agent with an id, or the member with a persona's name; the other one is None.

    Raises Unknown.
    """
    member = squad.member_of(tx, context.settings.project, as_id(given))
    return (None, member.id) if member is not None else (find(tx, "agent", given), None)


def whose(tx: Tx, row: Any) -> str | None:
    """What an account is for, in words: a persona, a goal, a title."""
    return owners(tx, [row])[0]


def owners(tx: Tx, rows: Sequence[Any]) -> list[str | None]:
    """The same for several accounts, in one batch."""
    days = [row for row in rows if row.kind == "agent_day"]
    works = [row for row in rows if row.kind in ("mission", "learn", "task")]
    members = squad.some_members(tx, [row.owner_id for row in days])
    tasks = task_store.some(tx, [row.owner_id for row in works])
    names = {
        **{row.id: member.persona for row, member in zip(days, members, strict=True) if member is not None},
        **{row.id: task.title for row, task in zip(works, tasks, strict=True) if task is not None},
        **{row.id: row.project_id for row in rows if row.kind == "project_day"},
    }
    return [names.get(row.id) for row in rows]
