"""A mission driven by hand: the coordinator is real; runs of agents are ended by the test through the store's units."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from interlock.agents.persona import load_personas
from interlock.agents.running import steps
from interlock.agents.running.steps import Ending
from interlock.core.ids import new_id
from interlock.core.values import Actor, ActorKind, digest
from interlock.graph.applying import Waits
from interlock.graph.coordinator import Coordinator
from interlock.graph.launch import Launch, launch
from interlock.state_machine.table import BlockKind, TaskState
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.engine import Store
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Claim
from interlock.store.runs import traces
from interlock.store.schema import Run, table
from interlock.store.signoff import approvals
from interlock.store.signoff.approvals import Answer
from interlock.store.tx import Tx
from interlock.store.upkeep.migrate import upgrade
from interlock.store.work import missions, tasks
from interlock.testing import FakeClock

PERSONAS = load_personas(True, [], known_tools=frozenset()).personas
RUNS = table(Run)


def step(key: str, persona: str, kind: str, **more: Any) -> dict[str, Any]:
    """A task of a plan."""
    return {
        "key": key, "title": f"Task {key}", "description": f"Do {key}", "persona": persona, "type": kind,
        "priority": "medium", "estimated_minutes": 10, "capabilities": [], "deliverable": "a text",
        "budget_share": 0.2, "depends_on": [], "reviews": None, **more,
    }  # fmt: skip


def plan(*tasks_: dict[str, Any]) -> str:
    """A plan as answered by a model."""
    return json.dumps({"summary": "a plan", "tasks": list(tasks_)})


@dataclass
class Driver:
    """One mission. `held` are the claimed, unfinished runs, by idempotency key."""

    store: Store
    mission: str = ""
    clock: FakeClock = field(default_factory=FakeClock)
    held: dict[str, Claim] = field(default_factory=dict)
    looks: list[Claim] = field(default_factory=list)
    """The claimed runs of the Learner, for which nothing waits."""
    person: str = ""
    waits: Waits = field(default_factory=Waits)
    before: Callable[["Driver", Claim], Awaitable[Claim]] | None = None
    """What happens to each step of the coordinator before it is made."""

    @property
    def coordinator(self) -> Coordinator:
        """A coordinator without state in memory, as after a restart."""
        return Coordinator(self.store, self.clock, PERSONAS, self.waits)

    async def begin(self, goal: str = "Compare the three vendors", key: str = "k") -> str:
        """Launches the mission and lets the coordinator plan."""
        wish = Launch(
            project_id="default", goal=goal, requested_by=self.person, coordinator=PERSONAS["coordinator"],
            budget_microusd=20_000_000, idempotency_key=key,
        )  # fmt: skip
        self.mission = await self.store.write(launch, wish, self.clock.now())
        await self.settle()
        return self.mission

    async def claim(self) -> list[Claim]:
        """Claims ready runs."""
        return await self.store.write(mailbox.claim, "worker", 32, self.clock.now())

    async def settle(self) -> None:
        """Runs the coordinator until only agents have work."""
        for _ in range(60):
            claims = await self.claim()
            for each in sorted(claims, key=lambda claim: claim.run.kind == "mission"):
                if each.run.kind == "mission":
                    claim = await self.before(self, each) if self.before else each
                    await self.coordinator.handle(claim)
                elif each.run.kind == "learn":
                    self.looks.append(each)
                else:
                    self.held[each.run.idempotency_key] = each
            if not claims:
                return
        raise AssertionError("the coordinator does not come to rest")

    def held_for(self, wanted: str) -> Claim:
        """The claimed run whose key contains `wanted`, which is then no longer held."""
        keys = [key for key in self.held if wanted in key]
        assert len(keys) == 1, (wanted, list(self.held))
        return self.held.pop(keys[0])

    async def think(self, purpose: str, text: str | None, error: str | None = None, *, stop: str = "error") -> None:
        """Ends a model call of the coordinator."""
        await self._end(self.held_for(f":{purpose}:"), text, error, stop)

    async def fail(self, key: str, error: str = "the model went away", *, stop: str = "error") -> None:
        """Makes a task's run fail."""
        await self._end(self.held_for(await self.id_of(key)), None, error, stop)

    async def deliver(
        self, key: str, text: str = "the result", *, verdict: str | None = None, risk: str = "GREEN",
        path: str | None = None,
    ) -> None:  # fmt: skip
        """Lets a task's agent submit a deliverable and end successfully; with `path`, a file that the project has."""
        claim = self.held_for(await self.id_of(key))
        deliverable = {
            "id": new_id("dlv"), "task_id": claim.run.task_id, "run_id": claim.run.id, "kind": "text",
            "title": f"Result of {key}", "text": text, "sha256": digest(text), "verdict": verdict, "risk": risk,
        }  # fmt: skip
        if path is not None:
            deliverable |= {"kind": "file", "text": None, "path": path, "blob": digest(text)}
        await self.store.write(_started, claim, self.clock.now())
        await self.store.write(tasks.hand_in, deliverable, self.clock.now())
        await self._end(claim, text, None)

    async def _end(self, claim: Claim, text: str | None, error: str | None, stop: str = "error") -> None:
        if claim.run.task_id:
            await self.store.write(_started, claim, self.clock.now())
        await self.store.write(_ended, claim, text, error, stop, self.clock.now())
        await self.settle()

    async def answer(self, kind: str, verdict: str, note: str | None = None) -> None:
        """Answers the one pending question of a kind as a person."""
        pending = [q for q in await self.store.read(approvals.approvals) if q.kind == kind]
        assert len(pending) == 1, pending
        await self.answer_one(pending[0].id, verdict, note)

    async def answer_one(self, approval_id: str, verdict: str, note: str | None = None) -> None:
        """Answers a question as a person."""
        given = Answer(
            approval_id=approval_id, person_id=self.person, name="Ada", role="operator", surface="test",
            verdict=verdict, note=note,
        )  # fmt: skip
        await self.store.write(approvals.answer, given, self.clock.now())
        await self.settle()

    async def as_person(self, key: str, to: TaskState, reason: str) -> None:
        """Moves a task as a person."""
        row = await self.task(key)
        move = tasks.Move(
            task_id=row.id, to=to, actor=Actor(ActorKind.HUMAN, self.person), reason=reason, key=new_id("key"),
            feedback=reason,
        )  # fmt: skip
        await self.store.write(tasks.advance, move, self.clock.now())
        await self.settle()

    async def block(self, key: str) -> None:
        """Blocks a task as a person."""
        move = tasks.Move(
            task_id=await self.id_of(key), to=TaskState.BLOCKED, actor=Actor(ActorKind.HUMAN, self.person),
            reason="wait", key=new_id("key"), block_kind=BlockKind.OPERATOR, wait_for="owner:operator",
        )  # fmt: skip
        await self.store.write(tasks.advance, move, self.clock.now())
        await self.settle()

    async def rows(self) -> list[Any]:
        """The mission's tasks."""
        return await self.store.read(tasks.of_mission, self.mission)

    async def task(self, key: str) -> Any:
        """A task by its key in the plan."""
        return next(row for row in await self.rows() if row.key == key)

    async def id_of(self, key: str) -> str:
        """A task's id."""
        return str((await self.task(key)).id)

    async def statuses(self) -> dict[str, str]:
        """The state of each task, by its key in the plan."""
        return {row.key: row.status for row in await self.rows()}

    async def decisions(self, kind: str) -> list[Any]:
        """The data of the decisions of a kind."""
        found = await self.store.read(audit.activities, mission_id=self.mission, action="COORDINATOR_DECISION")
        return [row.data for row in found if row.data["decision"] == kind]

    async def pending(self) -> list[str]:
        """The kinds of the open questions."""
        return [q.kind for q in await self.store.read(approvals.approvals)]

    async def runs(self) -> list[Any]:
        """All runs but the coordinator's own steps, in order."""
        query = RUNS.select().where(RUNS.c.kind != "mission").order_by(RUNS.c.created_at, RUNS.c.id)
        return await self.store.read(lambda tx: tx.rows(query))

    async def deliverable(self) -> Any:
        """The mission's own deliverable."""
        root = await self.task("root")
        return await self.store.read(tasks.deliverable, root.deliverable_id)

    async def row(self) -> Any:
        """The mission's own row."""
        return await self.store.read(missions.mission, self.mission)

    async def approval(self, approval_id: str) -> Any:
        """A question or a record, by its id."""
        return await self.store.read(approvals.approval, approval_id)

    async def run(self, run_id: str) -> Any:
        """A run as it is now."""
        return await self.store.read(traces.run, run_id)

    async def member(self, persona: str) -> Any:
        """A persona's member."""
        return await self.store.read(squad.member_of, "default", persona)


@asynccontextmanager
async def driven(url: str) -> AsyncIterator[Driver]:
    """A driver over a fresh database."""
    await upgrade(url)
    async with Store(url) as store:
        driver = Driver(store)
        person = await store.write(squad.ensure_person, "test:1", "Ada", "operator", driver.clock.now())
        driver.person = person.id
        yield driver


def _started(tx: Tx, claim: Claim, now: datetime) -> None:
    row = tasks.task(tx, claim.run.task_id)
    assert row is not None
    if row.status == "ASSIGNED":
        actor = Actor(ActorKind.AGENT, claim.run.agent_id)
        key = f"start:{claim.run.id}"
        move = tasks.Move(task_id=row.id, to=TaskState.IN_PROGRESS, actor=actor, reason="started", key=key)
        tasks.advance(tx, move, now)


def _ended(tx: Tx, claim: Claim, text: str | None, error: str | None, why: str, now: datetime) -> None:
    status, stop = ("completed", "end_turn") if error is None else ("failed", why)
    mailbox.finish(tx, claim, status, stop, now, result=text, error=error)
    ending = Ending(status=status, stop_reason=stop, result=text, error=error)
    steps.close(tx, claim, ending, Actor(ActorKind.AGENT, claim.run.agent_id), now)
