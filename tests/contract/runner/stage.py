"""A stage for runs: agents with mailboxes, a person, a clock; rows are created through units. No test lives here."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from interlock.agents.running import runner
from interlock.agents.running.interruption import Interrupt, Interruption
from interlock.agents.runtime import Runtime
from interlock.core.ids import new_id
from interlock.core.values import SYSTEM
from interlock.desk.agents import conversation
from interlock.desk.context import Person
from interlock.desk.signoff import signing
from interlock.llm.messages import Block, ToolUse
from interlock.policy.in_force import InForce
from interlock.policy.rules import Policy
from interlock.settings import load_settings
from interlock.state_machine.table import TaskState
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.engine import Store
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Claim, Post
from interlock.store.money import ledger
from interlock.store.money.ledger import Opening
from interlock.store.runs import traces
from interlock.store.schema import LedgerEntry, Mission, MissionEvent, table
from interlock.store.signoff import approvals
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx, is_relaxed
from interlock.store.work import tasks
from interlock.store.work.tasks import Move
from interlock.testing import FakeClock
from interlock.testing.runtime import runtime_over
from interlock.testing.scripted import ScriptedModel, calls
from interlock.tools.registry import Tool
from interlock.tools.workspace import Workspaces

PROJECT = "default"
WORKER = "worker"
LEDGER, EVENTS = table(LedgerEntry), table(MissionEvent)


class CountingStore(Store):
    """Counts transactions, and those among them that do not wait for the disk."""

    writes = relaxed = 0

    async def write(self, unit: Any, *args: Any, **kwargs: Any) -> Any:
        """The same, counted."""
        self.writes += 1
        self.relaxed += is_relaxed(unit)
        return await super().write(unit, *args, **kwargs)


@dataclass
class Stage:
    """The objects that a test uses. `runtime` is replaced by `restart`, as by a new process."""

    runtime: Runtime
    model: ScriptedModel
    clock: FakeClock
    ada: Person

    @property
    def store(self) -> Store:
        """The open database."""
        return self.runtime.store

    def restart(self, *, policy: Policy | None = None) -> None:
        """Continues without state in memory, as another process would."""
        runtime = self.runtime
        fresh = Workspaces(runtime.settings.home, runtime.store)
        self.runtime = replace(runtime, workspaces=fresh, in_force=InForce(policy or runtime.policy))

    async def chat(self, text: str = "hello", persona: str = "operations") -> str:
        """A message by Ada to a persona; returns the run."""
        return await conversation.say(self.runtime, self.ada, persona, text)

    async def think(self, prompt: str = "think", *, name: str = "one", **persona: Any) -> str:
        """A run of kind think, without a task, for a new agent; `persona` changes its persona."""
        return await self.store.write(
            _post, self._persona(persona), Descriptor("think", PROJECT, "operations", {"name": name}), "think",
            {"purpose": "plan", "prompt": prompt}, self.clock.now(),
        )  # fmt: skip

    async def task(self, *, budget_microusd: int = 3_000_000, **persona: Any) -> str:
        """A task with its run, assigned to a new agent; returns the run."""
        return await self.store.write(_task, self._persona(persona), self.ada.id, budget_microusd, self.clock.now())

    def _persona(self, changes: dict[str, Any]) -> dict[str, Any]:
        usual = self.runtime.personas.personas["operations"].to_json()
        named = [tool for tool in self.runtime.toolbox.names if tool not in usual["tools"]]
        return {**usual, "tools": [*usual["tools"], *named], **changes}

    async def claim(self, worker_id: str = WORKER) -> list[Claim]:
        """The ready runs; steps of coordinators are ended without execution."""
        found = await self.store.write(mailbox.claim, worker_id, 32, self.clock.now())
        for each in [claim for claim in found if claim.run.kind == "mission"]:
            await self.store.write(
                mailbox.finish, each, "completed", "end_turn", self.clock.now(), result=None, error=None
            )  # fmt: skip
        return [claim for claim in found if claim.run.kind != "mission"]

    async def take(self, run_id: str) -> Claim:
        """The claim of one run, which must be ready."""
        found = {claim.run.id: claim for claim in await self.claim()}
        assert set(found) == {run_id}
        return found[run_id]

    async def work(self) -> list[str]:
        """Claims and executes ready runs until there are none; returns them in order."""
        worked = []
        while claims := await self.claim():
            for claim in claims:
                await runner.handle(self.runtime, claim, Interrupt())
                worked.append(claim.run.id)
                assert len(worked) < 50, "the runs do not come to rest"
        return worked

    async def cut(self, claim: Claim, reason: Interruption = Interruption.SHUTDOWN, *, at_request: int = 1) -> None:
        """Executes a claim that is interrupted from outside in the model call of that number, where it must hang."""
        interrupt = Interrupt()
        work = asyncio.create_task(runner.handle(self.runtime, claim, interrupt))
        await until(lambda: len(self.model.requests) >= at_request)
        interrupt.reason = reason
        work.cancel()
        await work
        self.restart()

    async def news(self, run_id: str) -> list[Any]:
        """The events for the coordinator of its mission, in order."""
        query = EVENTS.select().where(EVENTS.c.mission_id == (await self.run(run_id)).mission_id).order_by(EVENTS.c.id)
        return await self.store.read(lambda tx: tx.rows(query))

    async def run(self, run_id: str) -> Any:
        """The row of a run."""
        return await self.store.read(traces.run, run_id)

    async def ended(self, run_id: str) -> tuple[str, str | None]:
        """Its status and stop reason."""
        row = await self.run(run_id)
        return row.status, row.stop_reason

    async def calls(self, run_id: str) -> list[Any]:
        """Its tool calls in order."""
        return await self.store.read(traces.calls, run_id)

    async def messages(self, run_id: str) -> list[Any]:
        """Its messages in order."""
        return await self.store.read(traces.messages, run_id)

    async def statuses(self, run_id: str) -> list[str]:
        """The statuses of its tool calls."""
        return [call.status for call in await self.calls(run_id)]

    async def task_of(self, run_id: str) -> Any:
        """The task that it works on."""
        return await self.store.read(tasks.task, (await self.run(run_id)).task_id)

    async def member(self) -> Any:
        """Of operations, in this project."""
        return await self.store.read(squad.member_of, PROJECT, "operations")

    async def ledger(self, run_id: str) -> list[Any]:
        """The lines of the ledger that it caused, in order."""
        query = sa.select(LEDGER).where(LEDGER.c.run_id == run_id).order_by(LEDGER.c.created_at, LEDGER.c.id)
        return await self.store.read(lambda tx: tx.rows(query))

    async def account(self, account_id: str) -> Any:
        """An account."""
        return await self.store.read(ledger.account, account_id)

    async def questions(self, run_id: str) -> list[Any]:
        """All approvals of a run, in order of creation."""
        return await self.store.read(approvals.of_run, run_id)

    async def pending(self) -> list[Any]:
        """The open questions."""
        return await self.store.read(approvals.approvals)

    async def alerts(self) -> list[Any]:
        """The open alerts."""
        return await self.store.read(audit.alerts)

    async def approve(self, ident: str, note: str | None = None, args: dict[str, Any] | None = None) -> None:
        """Ada approves."""
        await signing.approve(self.runtime, self.ada, ident, note=note, args=args)

    async def deny(self, ident: str, reason: str = "not now") -> None:
        """Ada denies."""
        await signing.deny(self.runtime, self.ada, ident, reason=reason)

    async def the_question(self) -> Any:
        """The one open question."""
        (found,) = await self.pending()
        return found


async def until(happened: Callable[[], bool | Awaitable[bool]]) -> None:
    """Waits until a condition holds."""
    while True:
        found = happened()
        if found if isinstance(found, bool) else await found:
            return
        await asyncio.sleep(0.002)


async def staged(
    store: Store,
    home: Path,
    model: ScriptedModel,
    tools: Sequence[Tool | Callable[..., object]] = (),
    policy: Policy | None = None,
    **overrides: Any,
) -> Stage:
    """A stage over a migrated, empty database."""
    retry = {"base_s": 0.001, "cap_s": 0.002}
    given = {"home": home, "database_url": store.url, "retry": retry, **overrides}
    settings, clock = load_settings(home, {}, given), FakeClock()
    runtime = runtime_over(store, settings, model, clock=clock, tools=tools, policy=policy)
    await store.write(squad.ensure_project, PROJECT, "UTC", clock.now())
    row = await store.write(squad.ensure_person, "test:ada", "Ada", "operator", clock.now())
    return Stage(runtime, model, clock, Person(row.id, row.name, row.role, "test"))


def hand_in(text: str = "the result") -> ToolUse:
    """A call that submits a deliverable."""
    return calls("submit_deliverable", title="Result", summary="what it says", content=text)


def told(model: ScriptedModel, request: int = -1) -> tuple[Block, ...]:
    """The blocks of the last message of a request."""
    return model.requests[request].messages[-1].blocks


def _post(tx: Tx, persona: dict[str, Any], descriptor: Descriptor, kind: str, payload: dict[str, Any], now: Any) -> str:
    agent = squad.ensure_agent(tx, descriptor, persona, persona["trust"], now)
    return _mail(tx, agent.id, kind, payload, now)


def _mail(tx: Tx, agent_id: str, kind: str, payload: dict[str, Any], now: Any, **more: Any) -> str:
    message = Post(
        project_id=PROJECT, agent_id=agent_id, kind=kind, payload=payload, idempotency_key=new_id("key"),
        cause_kind="message", **more,
    )  # fmt: skip
    return mailbox.post(tx, message, now)[0]


def _task(tx: Tx, persona: dict[str, Any], person_id: str, budget_microusd: int, now: Any) -> str:
    mission, task = new_id("mis"), new_id("tsk")
    lead = squad.ensure_agent(tx, Descriptor("mission", PROJECT, "coordinator", {"mission": mission}), {}, "lead", now)
    agent = squad.ensure_agent(
        tx, Descriptor("task", PROJECT, persona["name"], {"task": task, "generation": "0"}), persona,
        persona["trust"], now,
    )  # fmt: skip
    common = {"project_id": PROJECT, "mission_id": mission, "type": "ops", "created_at": now, "updated_at": now}
    tasks.add(tx, id=mission, key="root", title="Root", description="all", idempotency_key=mission, **common)
    tx.add(
        Mission, id=mission, project_id=PROJECT, goal="all", graph_version=1, coordinator_agent_id=lead.id,
        thinker_agent_id=lead.id, requested_by=person_id, created_at=now,
    )  # fmt: skip
    tasks.add(
        tx, id=task, key="one", parent_id=mission, title="Do it", description="Do it well", persona=persona["name"],
        budget_microusd=budget_microusd, idempotency_key=task, **common,
    )  # fmt: skip
    accounts = [
        Opening(f"mission:{mission}", "mission", mission, PROJECT, 20_000_000),
        Opening(f"task:{task}", "task", task, PROJECT, budget_microusd),
    ]
    ledger.open_accounts(tx, accounts, now)
    assign = Move(
        task_id=task, to=TaskState.ASSIGNED, actor=SYSTEM, reason="delegated", key=f"assign:{task}",
        assignee_agent_id=agent.id,
    )  # fmt: skip
    tasks.advance(tx, assign, now)
    return _mail(
        tx, agent.id, "task", {"purpose": "work", "task_id": task}, now, mission_id=mission, task_id=task
    )  # fmt: skip
