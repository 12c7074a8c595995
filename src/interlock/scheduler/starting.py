"""Prepares what a firing of a schedule starts: a mission, or a message to a persona's agent.

When a schedule fires is decided in `schedules`.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from interlock.agents.persona import Persona
from interlock.agents.runtime import Runtime
from interlock.agents.special import scheduled
from interlock.core.errors import InterlockError, Refused
from interlock.core.values import MICRO
from interlock.desk.work import goals
from interlock.graph.launch import launch
from interlock.policy.budgets import day_key
from interlock.scheduler import standing_orders
from interlock.store import squad
from interlock.store.duties import schedules
from interlock.store.identities import people
from interlock.store.money import ledger
from interlock.store.signoff.approvals import ROLES_THAT_ANSWER
from interlock.store.tx import Tx


class CannotStart(InterlockError):
    """What a schedule should start cannot be started now."""


@dataclass(frozen=True, slots=True)
class Start:
    """What a firing does in its transaction. `write` returns a short description of the outcome; it may be retried."""

    write: Callable[[Tx, datetime], str]
    is_quiet: bool = False
    """Whether nothing is started, so that nobody needs to be notified."""


async def prepare(runtime: Runtime, row: Any, fire_at: datetime) -> Start:
    """Prepares what a schedule starts for one due time.

    Raises InterlockError if that cannot be started.
    """
    match row.kind:
        case "goal":
            return await _goal(runtime, row, fire_at)
        case "message":
            return _message(runtime, row, "cron", row.text, fire_at)
        case schedules.HEARTBEAT:
            return await _heartbeat(runtime, row, fire_at)
    raise CannotStart(f"this version does not know what a schedule of the kind `{row.kind}` starts: upgrade")


async def _goal(runtime: Runtime, row: Any, fire_at: datetime) -> Start:
    budget, key = row.options.get("budget_microusd"), schedules.start_key(row.id, fire_at)
    spec = await goals.prepare(
        runtime, row.created_by, row.text, budget_usd=None if budget is None else budget / MICRO,
        project=row.project_id, model=row.options.get("model"), idempotency_key=key,
    )  # fmt: skip

    def write(tx: Tx, now: datetime) -> str:
        _check(tx, runtime, row, now)
        return f"mission {launch(tx, spec, now)}"

    return Start(write)


def _message(runtime: Runtime, row: Any, kind: str, text: str, fire_at: datetime) -> Start:
    call = scheduled.Call(
        schedule_id=row.id, name=row.name, kind=kind, project_id=row.project_id, timezone=runtime.settings.timezone,
        persona=_persona(runtime, row.persona), text=text, key=schedules.start_key(row.id, fire_at), due_at=fire_at,
        ordered_by=row.created_by, model=_model(runtime, row.options.get("model")),
    )  # fmt: skip

    def write(tx: Tx, now: datetime) -> str:
        _check(tx, runtime, row, now)
        run_id, is_new = scheduled.post(tx, call, now)
        member = squad.member_of(tx, row.project_id, call.persona.name)
        state = member.state if member is not None else "ACTIVE"
        waits = f", which waits: `{call.persona.name}` is {state.lower()}" if state != "ACTIVE" else ""
        return f"run {run_id}{waits}" if is_new else f"run {run_id}, which was still queued{waits}"

    return Start(write)


async def _heartbeat(runtime: Runtime, row: Any, fire_at: datetime) -> Start:
    path = runtime.settings.heartbeat.file
    if row.project_id != runtime.settings.project:
        text, why = "", f"the process that leads works for the project `{runtime.settings.project}`"
    else:
        text = await asyncio.to_thread(standing_orders.read, path, runtime.settings.home / "workspaces")
        why = f"nothing is asked in {path.name}"
    if not text:
        return Start(lambda tx, now: why, is_quiet=True)
    return _message(runtime, row, "heartbeat", standing_orders.prompt(path.name, text), fire_at)


def _persona(runtime: Runtime, name: str) -> Persona:
    found = runtime.personas.personas.get(name)
    if found is None:
        raise CannotStart(f"there is no persona `{name}` any more: see `interlock persona check`")
    return found


def _model(runtime: Runtime, named: str | None) -> str | None:
    return None if named is None else str(goals.model_for(runtime, named))


def _check(tx: Tx, runtime: Runtime, row: Any, now: datetime) -> None:
    """Checks that the person it acts for may still start work, and that the project has budget left today.

    Raises Refused, CannotStart.
    """
    if row.kind != schedules.HEARTBEAT:
        person = next((each for each in people.people(tx) if each.id == row.created_by), None)
        if person is None:
            raise Refused("nobody is known any more in whose name it could start: remove it and add it again")
        if person.role not in ROLES_THAT_ANSWER:
            raise Refused(f"{person.name} is a {person.role} now and may not start anything: add it again as another")
    project = squad.project(tx, row.project_id)
    zone = runtime.settings.timezone if project is None else project.timezone
    account = ledger.account(tx, f"project_day:{row.project_id}:{day_key(now, zone)}")
    if account is not None and ledger.room(tx, [account.id], settled_only=True) <= 0:
        raise CannotStart(f"the budget of the day is used up: raise it with `interlock budget raise {account.id} USD`")
