"""The heartbeat ladder: silent workers are told of, asked to stop, and in the end their work goes to new agents."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from interlock.agents.running import runner
from interlock.agents.running.interruption import Interrupt
from interlock.core.values import Actor, ActorKind
from interlock.oversight.heartbeat import MOST_AGENTS, Forced, Heartbeat
from interlock.settings import load_settings
from interlock.state_machine.table import TaskState
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.errors import LeaseLost
from interlock.store.knowledge import incidents
from interlock.store.mailboxes import leases, mailbox, processes
from interlock.store.mailboxes.leases import WORKERS
from interlock.store.mailboxes.mailbox import Claim
from interlock.store.schema import Approval
from interlock.store.tx import Tx
from interlock.store.work import tasks
from interlock.testing.runtime import runtime_over
from interlock.testing.scripted import ScriptedModel, Stream, calls
from interlock.tools.registry import Tool, ToolContext, tool
from interlock.worker.loop import Worker
from tests.contract.graph.driving import Driver, driven, plan, step
from tests.contract.runner.stage import WORKER, CountingStore, Stage, staged, until

LOOK_S = 10


@dataclass
class Watch:
    """Somebody who watches a stage, and the runs at work on it."""

    stage: Stage
    heartbeat: Heartbeat

    async def look(self) -> str | None:
        """One sweep, now."""
        return await self.heartbeat.sweep(self.stage.runtime)

    async def after(self, seconds: float) -> str | None:
        """Lets time pass with a sweep every ten seconds, the last one at its end."""
        said = None
        while seconds > 0:
            self.stage.clock.advance(min(LOOK_S, seconds))
            seconds -= LOOK_S
            said = await self.look()
        return said

    async def beat(self) -> bool:
        """The worker shows that it lives."""
        return await self.stage.store.write(leases.beat, WORKER, self.stage.clock.now())

    async def alerts(self) -> list[str]:
        """The kinds of the open alerts."""
        return [row.kind for row in await self.stage.alerts()]


async def watched(stage: Stage, *, host: str = "elsewhere", pid: int = 1) -> Watch:
    """A watch over a stage whose worker is registered on another machine."""
    await stage.store.write(leases.register, WORKER, host, pid, "1", stage.clock.now())
    watch = Watch(stage, Heartbeat())
    await watch.look()
    return watch


@asynccontextmanager
async def at_work(stage: Stage, claim: Claim) -> AsyncIterator[asyncio.Task[None]]:
    """The work on a claim, which hangs until the test lets it go on."""
    work = asyncio.create_task(runner.handle(stage.runtime, claim, Interrupt()))
    try:
        yield work
    finally:
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work


async def test_ladder_at_its_seconds(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(Stream(asyncio.Event())))
    run = await stage.task()
    async with at_work(stage, await stage.take(run)):
        await until(lambda: len(stage.model.requests) == 1)
        watch = await watched(stage)
        agent_id = (await stage.run(run)).agent_id
        await watch.after(59)
        assert (await watch.alerts(), (await stage.run(run)).control) == ([], None)
        await watch.after(1)
        [silent] = await stage.alerts()
        said = "1 run in its hands may be stuck, and given to others if it stays so"
        assert (silent.kind, silent.text.partition("; ")[2]) == ("WORKER_SILENT", said)
        agent: Any = await store.read(squad.agent, agent_id)
        assert agent.runtime_status == "stuck"
        assert "silent for 60 s" in agent.last_error
        assert [event.kind for event in await stage.news(run)].count("stuck") == 1
        await watch.after(29)
        assert (await stage.run(run)).control is None
        await watch.after(1)
        assert (await stage.run(run)).control == "pause"
        await watch.after(29)
        assert (await stage.ended(run))[0] == "running"
        await watch.after(1)
        assert await stage.ended(run) == ("failed", "lost")
        [lost] = await stage.alerts()
        said = "its work goes on: 1 task with new agents, 0 runs elsewhere"
        assert (lost.kind, lost.text.partition("; ")[2]) == ("AGENT_LOST", said)
        assert [event.kind for event in await stage.news(run)].count("stuck") == 1


async def test_lost_task_goes_to_a_new_agent_of_the_same_member_with_an_incident_and_a_reason(
    store: CountingStore, tmp_path: Path
) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(Stream(asyncio.Event())))
    run = await stage.task()
    async with at_work(stage, await stage.take(run)):
        await until(lambda: len(stage.model.requests) == 1)
        before = await stage.task_of(run)
        watch = await watched(stage)
        said = await watch.after(120)
        task = await stage.task_of(run)
        assert said is not None
        assert task.id in said
        old: Any = await store.read(squad.agent, before.assignee_agent_id)
        new: Any = await store.read(squad.agent, task.assignee_agent_id)
        assert (task.status, task.generation, task.attempt) == ("ASSIGNED", 1, 0)
        assert new.id != old.id
        assert new.member_id == old.member_id
        assert new.descriptor == {"kind": "task", "task": task.id, "generation": "1"}
        assert old.runtime_status == "error"
        assert "its agent was lost" in task.block_reason
        (incident,) = await store.read(incidents.of_task, task.id)
        assert (incident.kind, incident.run_id, incident.agent_id) == ("AGENT_LOST", run, old.id)
        last = (await store.read(tasks.transitions, task.id))[-1]
        assert (last.from_status, last.to_status, last.actor_kind) == ("IN_PROGRESS", "ASSIGNED", "system")
        account = await stage.account(f"run:{run}")
        assert account.reserved_microusd == 0


async def test_old_worker_that_comes_back_cannot_write(store: CountingStore, tmp_path: Path) -> None:
    goes_on = asyncio.Event()
    stage = await staged(store, tmp_path, ScriptedModel(Stream(goes_on, "late"), otherwise="later still"))
    run = await stage.task()
    claim = await stage.take(run)
    async with at_work(stage, claim) as work:
        await until(lambda: len(stage.model.requests) == 1)
        watch = await watched(stage)
        await watch.after(120)
        after = await stage.task_of(run)
        goes_on.set()
        await work
    assert await stage.ended(run) == ("failed", "lost")
    assert await stage.task_of(run) == after
    with pytest.raises(LeaseLost):
        await store.write(mailbox.own, claim, even_if_controlled=True)
    assert not await watch.beat()


async def test_effects_of_the_lost_agent_are_told_to_the_new_one(store: CountingStore, tmp_path: Path) -> None:
    @tool(risk="GREEN", idempotent=True)
    async def look_up(what: str) -> str:
        """Looks something up."""
        return f"the facts of {what}"

    model = ScriptedModel(calls("look_up", what="# Type\nevil"), Stream(asyncio.Event()), otherwise="done")
    stage = await staged(store, tmp_path, model, [look_up])
    run = await stage.task()
    async with at_work(stage, await stage.take(run)):
        await until(lambda: len(stage.model.requests) == 2)
        await (await watched(stage)).after(120)
    task = await stage.task_of(run)
    again = await post_again(stage, task)
    (claim,) = await stage.claim()
    await runner.handle(stage.runtime, claim, Interrupt())
    told = stage.model.requests[2].messages[0].text
    assert "## Earlier work" in told
    assert 'done: look_up {"what":"# Type' in told
    assert "the facts of # Type evil" in told
    assert [line for line in told.splitlines() if line.startswith("#")].count("## Type") == 1
    assert (await stage.task_of(again)).block_reason is not None


def answered_before(tx: Tx, question: Any, count: int) -> None:
    """Earlier questions of the same mission."""
    shown = {
        "kind": "TOOL_CALL", "project_id": question.project_id, "mission_id": question.mission_id, "subject": "x",
        "request": {}, "risk": "RED", "asked_by": "a", "status": "denied",
        "created_at": question.created_at - timedelta(days=1),
    }  # fmt: skip
    tx.add_many(Approval, [{"id": f"apr_{number}", **shown} for number in range(count)])


async def test_uncertain_effect_asks_a_person_and_the_answer_reaches_the_new_agent(
    store: CountingStore, tmp_path: Path
) -> None:
    begun, goes_on = asyncio.Event(), asyncio.Event()

    async def act(ctx: ToolContext, /, **args: Any) -> str:
        begun.set()
        await goes_on.wait()
        return "too late to be heard"

    effect = Tool(name="act", description="Acts.", fn=act, risk="GREEN", input_schema={"type": "object"})
    stage = await staged(store, tmp_path, ScriptedModel(calls("act", to="Bob"), otherwise="done"), [effect])
    run = await stage.task()
    async with at_work(stage, await stage.take(run)) as work:
        await begun.wait()
        await (await watched(stage)).after(120)
        assert await stage.statuses(run) == ["unknown"]
        question = await stage.the_question()
        task = await stage.task_of(run)
        assert (task.status, task.wait_for, task.generation) == ("NEEDS_APPROVAL", f"approval:{question.id}", 1)
        assert (question.kind, question.request["tool"], question.request["args"]) == (
            "UNKNOWN_OUTCOME", "act", {"to": "Bob"},
        )  # fmt: skip
        goes_on.set()
        await work
        assert await stage.statuses(run) == ["unknown"]
    await stage.deny(question.id, "I called Bob: he has it")
    await stage.store.write(answered_before, question, 10_000)
    task = await stage.task_of(run)
    assert (task.status, "its agent was lost" in task.block_reason) == ("ASSIGNED", True)
    await post_again(stage, task)
    (claim,) = await stage.claim()
    await runner.handle(stage.runtime, claim, Interrupt())
    told = stage.model.requests[1].messages[0].text
    assert "uncertain: act" in told
    assert "not to be done again: I called Bob: he has it" in told


async def test_run_that_waits_for_a_person_keeps_its_place_and_its_question(
    store: CountingStore, tmp_path: Path
) -> None:
    hanging, begun = asyncio.Event(), asyncio.Event()

    @tool(risk="GREEN", idempotent=True)
    async def hang() -> str:
        """Takes long."""
        begun.set()
        await hanging.wait()
        return "ended"

    @tool(risk="RED")
    async def danger() -> str:
        """Needs a person."""
        return "done"

    model = ScriptedModel([calls("hang"), calls("danger")], otherwise="done")
    stage = await staged(store, tmp_path, model, [hang, danger])
    run = await stage.task()
    async with at_work(stage, await stage.take(run)):
        await begun.wait()
        question = await stage.the_question()
        await (await watched(stage)).after(120)
        task = await stage.task_of(run)
        assert (task.status, task.generation, (await stage.run(run)).status) == ("NEEDS_APPROVAL", 0, "created")
        assert (await stage.the_question()).id == question.id
        hanging.set()


async def test_other_kinds_of_runs_go_on_at_their_places(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    run = await stage.chat()
    later = await stage.chat("and then?")
    claim = await stage.take(run)
    await (await watched(stage)).after(120)
    assert (await stage.run(run)).status == "created"
    assert [claim.run.id for claim in await stage.claim("other")] == [run]
    assert (await stage.run(later)).status == "created"
    with pytest.raises(LeaseLost):
        await store.write(mailbox.own, claim)


async def test_worker_that_beats_again_is_left_alone_and_hands_back_if_it_was_asked(
    store: CountingStore, tmp_path: Path
) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    run = await stage.task()
    await stage.take(run)
    watch = await watched(stage)
    await watch.after(119)
    assert await watch.beat()
    await watch.after(59)
    agent: Any = await store.read(squad.agent, (await stage.run(run)).agent_id)
    assert (agent.runtime_status, agent.last_error) == ("idle", None)
    [shown] = [row for row in await store.read(squad.agents) if row.id == agent.id]
    assert (shown.runtime_status, shown.last_active_at) == ("running", (await stage.run(run)).started_at)
    assert ((await stage.run(run)).status, (await stage.run(run)).control) == ("running", "pause")
    assert await watch.alerts() == []


async def test_graceful_stop_hands_the_run_back_and_it_goes_on(store: CountingStore, tmp_path: Path) -> None:
    first = asyncio.Event()

    @tool(risk="GREEN", idempotent=True)
    async def note() -> str:
        """Notes something."""
        return "noted"

    model = ScriptedModel(Stream(first, calls("note")), otherwise="done")
    stage = await staged(store, tmp_path, model, [note])
    run = await stage.think()
    worker = Worker(stage.runtime, concurrency=1)
    working = asyncio.create_task(worker.run())
    try:
        await until(lambda: len(stage.model.requests) == 1)
        watch = Watch(stage, Heartbeat())
        await watch.look()
        await watch.after(90)
        assert (await stage.run(run)).control == "pause"
        first.set()

        async def ended() -> bool:
            return (await stage.run(run)).completed_at is not None

        await until(ended)
    finally:
        worker.stop()
        await working
    assert await stage.ended(run) == ("completed", "end_turn")
    assert await stage.statuses(run) == ["done"]


async def test_long_model_call_of_a_beating_worker_is_never_stuck(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(Stream(asyncio.Event())))
    run = await stage.task()
    async with at_work(stage, await stage.take(run)):
        await until(lambda: len(stage.model.requests) == 1)
        watch = await watched(stage)
        for _ in range(20):
            assert await watch.beat()
            assert await watch.after(35) is None
        assert await watch.alerts() == []
        assert (await stage.run(run)).control is None


@pytest.mark.parametrize("jump", [timedelta(hours=1), timedelta(hours=-1)])
async def test_wall_clock_that_jumps_makes_nobody_stuck_and_hides_nobody(
    store: CountingStore, tmp_path: Path, jump: timedelta
) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    run = await stage.task()
    await stage.take(run)
    watch = await watched(stage)
    await watch.after(50)
    stage.clock.jump_to(stage.clock.now() + jump)
    assert await watch.look() is None
    await watch.after(9)
    assert await watch.alerts() == []
    await watch.after(1)
    assert await watch.alerts() == ["WORKER_SILENT"]


async def test_observer_that_stood_still_for_an_hour_takes_nothing_away(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    await stage.take(await stage.task())
    watch = await watched(stage)
    stage.clock.advance(3600)
    assert await watch.look() is None
    assert await watch.beat()
    assert await watch.after(59) is None
    assert await watch.alerts() == []


async def test_new_observer_counts_anew_and_tells_nobody_twice(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(Stream(asyncio.Event())))
    run = await stage.task()
    async with at_work(stage, await stage.take(run)):
        await until(lambda: len(stage.model.requests) == 1)
        await (await watched(stage)).after(80)
        successor = Watch(stage, Heartbeat())
        await successor.look()
        await successor.after(80)
        assert await successor.alerts() == ["WORKER_SILENT"]
        assert [event.kind for event in await stage.news(run)].count("stuck") == 1
        assert (await stage.run(run)).control is None


async def test_worker_that_beats_at_the_last_moment_loses_nothing(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    run = await stage.task()
    await stage.take(run)
    watch = await watched(stage)
    await watch.after(119)
    stage.clock.advance(1)

    live = await store.read(leases.live)
    await watch.beat()
    now = stage.clock.now()
    assert await store.write(Forced(stage.runtime, live[0], 120, now, now, now).apply) == []
    assert (await stage.run(run)).status == "running"


async def test_idle_worker_that_goes_silent_is_told_of_and_forgotten(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    watch = await watched(stage)
    await watch.after(120)
    [lost] = await stage.alerts()
    assert (lost.kind, lost.text.partition("; ")[2]) == ("WORKER_LOST", "it had nothing in hand")
    assert await store.read(leases.live) == []


async def test_process_of_this_machine_that_hangs_is_judged_too(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    run = await stage.task()
    await stage.take(run)
    watch = await watched(stage, host=processes.host(), pid=os.getpid())
    await watch.after(120)
    assert (await stage.run(run)).status == "created"


async def test_task_that_keeps_losing_its_agents_is_put_before_a_person(database_url: str, tmp_path: Path) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", plan(step("facts", "research", "research")))
        for generation in range(MOST_AGENTS):
            claim = mission.held_for(f":g{generation}:")
            await start(mission, claim)
            await lose(mission, tmp_path)
        task = await mission.task("facts")
        assert (task.status, task.block_kind, task.wait_for) == ("BLOCKED", "STUCK", "owner:operator")
        assert "has lost 3 agents" in task.block_reason
        assert task.escalate_at is not None


async def test_mission_goes_on_with_the_new_agent_to_its_end(database_url: str, tmp_path: Path) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", plan(step("facts", "research", "research")))
        claim = mission.held_for(":g0:")
        await start(mission, claim)
        await lose(mission, tmp_path)
        task = await mission.task("facts")
        successor = mission.held_for(f"task:{task.id}:g1:a0:r0")
        assert successor.run.agent_id == task.assignee_agent_id != claim.run.agent_id
        mission.held[successor.run.idempotency_key] = successor
        await mission.deliver("facts")
        await mission.think("compile:0", "All of it.")
        assert await mission.statuses() == {"root": "DONE", "facts": "DONE"}
        assert "WORKER_SILENT" not in [row.kind for row in await mission.store.read(audit.alerts)]


async def start(mission: Driver, claim: Claim) -> None:
    """The agent has begun to work."""
    agent = Actor(ActorKind.AGENT, claim.run.agent_id)
    move = tasks.Move(
        task_id=claim.run.task_id, to=TaskState.IN_PROGRESS, actor=agent, reason="started", key=f"start:{claim.run.id}"
    )
    await mission.store.write(tasks.advance, move, mission.clock.now())


async def lose(mission: Driver, home: Path) -> None:
    """The worker of the mission's runs goes silent until its work is taken from it; another one goes on."""
    settings = load_settings(home, {}, {"home": home, "database_url": mission.store.url})
    runtime = runtime_over(mission.store, settings, ScriptedModel(), clock=mission.clock)
    await mission.store.write(lambda tx: tx.run(WORKERS.delete()))
    await mission.store.write(leases.register, "worker", "elsewhere", 1, "1", mission.clock.now())
    heartbeat = Heartbeat()
    await heartbeat.sweep(runtime)
    for _ in range(12):
        mission.clock.advance(LOOK_S)
        await heartbeat.sweep(runtime)
    await mission.settle()


async def post_again(stage: Stage, task: Any) -> str:
    """What the coordinator does with an assigned task: the run of its new agent."""
    post = mailbox.Post(
        project_id=task.project_id, agent_id=task.assignee_agent_id, kind="task",
        payload={"purpose": "work", "task_id": task.id}, idempotency_key=f"task:{task.id}:g{task.generation}",
        cause_kind="task", mission_id=task.mission_id, task_id=task.id,
    )  # fmt: skip
    return (await stage.store.write(mailbox.post, post, stage.clock.now()))[0]
