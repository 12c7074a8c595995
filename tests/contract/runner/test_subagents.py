"""Agents that agents start: limits, no further ones, their end told once, whatever is cut off; rows E11, E12."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from interlock.agents.running import runner
from interlock.agents.running.interruption import Interrupt
from interlock.desk.agents import conversation
from interlock.desk.context import Person
from interlock.desk.operations import emergency
from interlock.desk.work import controls
from interlock.desk.workspace_chat import rooms as rooms_desk
from interlock.llm.messages import ModelRequest, Text, ToolResult
from interlock.oversight import expiry
from interlock.policy.as_code.policy_file import policy_from
from interlock.store import squad
from interlock.store.identities import personal
from interlock.store.mailboxes import leases, mailbox, posting
from interlock.store.mailboxes.mailbox import Post
from interlock.store.runs import offspring, traces
from interlock.store.runs.offspring import SUBAGENTS
from interlock.store.squad import Descriptor
from interlock.testing.scripted import ScriptedModel, calls
from tests.contract.runner.stage import PROJECT, WORKER, CountingStore, Stage, staged

OPEN = policy_from("version: 1\nbase: {start_background_agent: GREEN, sessions_spawn: GREEN}\n", "p.yaml")
START = {"prompt": "find out how many there are, and report half way"}


def last_words(request: ModelRequest) -> str:
    return "\n".join(b.text for b in request.messages[-1].blocks if isinstance(b, Text))


def results(request: ModelRequest) -> list[str]:
    return [b.content for b in request.messages[-1].blocks if isinstance(b, ToolResult)]


def household(request: ModelRequest) -> Any:
    """A parent that starts an agent when a person asks, and the agent that it starts; by what they were just told."""
    told, done = last_words(request), results(request)
    if done:
        is_child = "background agent" in str(request.messages)[:3000] and "half way there" in str(request.messages)
        return "forty-two of them" if is_child else "I am having it looked up"
    if "You are a background agent" in told:
        return calls("send_agent_message", text="half way there")
    if "has ended: completed" in told:
        return "There are forty-two."
    if 'origin="background"' in told:
        return "Good, go on."
    return calls("start_background_agent", **START)


async def subagents_of(stage: Stage) -> list[Any]:
    query = SUBAGENTS.select().order_by(SUBAGENTS.c.created_at, SUBAGENTS.c.agent_id)
    return await stage.store.read(lambda tx: tx.rows(query))


async def runs_of(stage: Stage, agent_id: str) -> list[Any]:
    found = await stage.store.read(traces.runs)
    return sorted((run for run in found if run.agent_id == agent_id), key=lambda run: run.seq)


async def household_of(store: CountingStore, folder: Path, model: ScriptedModel, **settings: Any) -> Stage:
    return await staged(store, folder, model, policy=OPEN, **settings)


async def test_a_person_asks_and_is_told_what_an_agent_in_the_background_found(
    store: CountingStore, tmp_path: Path
) -> None:  # fmt: skip
    model = ScriptedModel(otherwise=household)
    stage = await household_of(store, tmp_path, model)
    first = await stage.chat("how many are there?")
    await stage.work()
    parent = (await stage.run(first)).agent_id
    asked, progress, end = await runs_of(stage, parent)
    assert asked.result == "I am having it looked up"
    assert (progress.kind, progress.cause_kind, progress.result) == ("chat", "agent", "Good, go on.")
    assert (end.kind, end.result) == (posting.CHILD_END, "There are forty-two.")
    (child,) = await subagents_of(stage)
    assert (child.kind, child.outcome, child.parent_id) == ("background", "completed", parent)
    (its_run,) = await runs_of(stage, child.agent_id)
    assert (its_run.kind, its_run.status, its_run.result) == ("subagent", "completed", "forty-two of them")
    told = [last_words(request) for request in model.requests]
    (letter,) = [text for text in told if "half way there" in text]
    assert '<system_message origin="background">half way there</system_message>' in letter
    (announced,) = [text for text in told if "has ended: completed" in text]
    assert "forty-two of them" in announced
    last = model.requests[-1].messages
    assert "how many are there?" in str(last[0])
    assert "half way there" in str(last)


async def test_subagent_has_a_session_of_its_own_a_report_tool_and_starts_nobody(
    store: CountingStore, tmp_path: Path
) -> None:
    start = calls("start_background_agent", **START)
    model = ScriptedModel(start, "begun", start, "no", otherwise="well")
    stage = await household_of(store, tmp_path, model)
    await stage.chat("SECRET-OF-THE-PARENT: have it done", "strategist")
    await stage.work()
    (child,) = await subagents_of(stage)
    own = [request for request in model.requests if "SECRET-OF-THE-PARENT" not in str(request.messages)]
    assert len(own) == 2
    offered = {tool.name for tool in own[0].tools}
    assert "send_agent_message" in offered
    assert not offered & {"start_background_agent", "sessions_spawn", "submit_deliverable"}
    assert "there is no tool `start_background_agent` for you here" in results(own[1])[0]
    assert [row.agent_id for row in await subagents_of(stage)] == [child.agent_id]


async def begin(stage: Stage, *wishes: Any, person: str = "ada") -> tuple[str, list[str]]:
    """A chat whose agent makes these calls in order; whom it starts is not worked. Returns the results."""
    heard: list[str] = []
    left = list(wishes)

    def say(request: ModelRequest) -> Any:
        heard.extend(results(request))
        return left.pop(0) if left else "that is all"

    stage.model.otherwise = say
    who = replace(stage.ada, surface=f"test-{person}")
    run_id = await conversation.say(stage.runtime, who, "operations", "go")
    claim = next(claim for claim in await stage.claim() if claim.run.id == run_id)
    await runner.handle(stage.runtime, claim, Interrupt())
    return run_id, heard


async def test_a_live_label_is_refused_and_may_come_again_after_its_end(store: CountingStore, tmp_path: Path) -> None:
    stage = await household_of(store, tmp_path, ScriptedModel())
    spawn = [calls("sessions_spawn", task="do it", label="one") for _ in range(3)]
    run_id, heard = await begin(stage, *spawn[:2])
    parent = (await stage.run(run_id)).agent_id
    assert f"{parent}:subagent:one" in heard[0]
    assert "`one` is still at work" in heard[1]
    stage.model.otherwise = "done"
    await stage.work()
    _, heard = await begin(stage, spawn[2])
    assert "agent_id" in heard[0]
    rows = await subagents_of(stage)
    assert [row.key for row in rows] == [f"{parent}:subagent:one"] * 2
    assert len({row.agent_id for row in rows}) == 2


async def test_three_a_parent_and_so_many_in_all(store: CountingStore, tmp_path: Path) -> None:
    stage = await household_of(store, tmp_path, ScriptedModel(), subagents={"most": 4})
    wishes = [calls("start_background_agent", **START) for _ in range(4)]
    _, heard = await begin(stage, *wishes)
    assert ["agent_id" in text for text in heard] == [True, True, True, False]
    assert "3 of your agents are at work" in heard[3]
    _, heard = await begin(stage, *wishes[:2], person="bob")
    assert ["agent_id" in text for text in heard] == [True, False]
    assert "4 background agents are at work" in heard[1]


async def test_starts_at_the_same_moment_keep_the_limit(store: CountingStore, tmp_path: Path) -> None:
    stage = await household_of(store, tmp_path, ScriptedModel(), subagents={"most": 3})
    stage.model.otherwise = lambda request: "ok" if results(request) else calls("start_background_agent", **START)
    for number in range(8):
        await conversation.say(stage.runtime, replace(stage.ada, surface=f"s{number}"), "operations", "go")
    claims = await stage.claim()
    await asyncio.gather(*(runner.handle(stage.runtime, claim, Interrupt()) for claim in claims))
    assert len(await subagents_of(stage)) == 3


@pytest.mark.parametrize(("persona", "said"), [("nobody", "no persona `nobody`"), ("research", "may not work now")])
async def test_who_does_not_exist_or_is_set_apart_is_not_started(
    store: CountingStore, tmp_path: Path, persona: str, said: str
) -> None:
    stage = await household_of(store, tmp_path, ScriptedModel("hello"))
    await stage.chat("hello", "research")
    await stage.work()
    await emergency.quarantine(stage.runtime, replace(stage.ada, role="admin"), "research", reason="odd")
    _, heard = await begin(stage, calls("start_background_agent", prompt="x", persona=persona))
    assert said in heard[0]
    assert await subagents_of(stage) == []


async def test_another_persona_may_be_started_with_its_own_tools(store: CountingStore, tmp_path: Path) -> None:
    stage = await household_of(store, tmp_path, ScriptedModel())
    await begin(stage, calls("start_background_agent", prompt="x", persona="research"))
    (child,) = await subagents_of(stage)
    agent: Any = await stage.store.read(squad.agent, child.agent_id)
    assert (agent.persona, agent.persona_json["name"]) == ("research", "research")
    assert agent.descriptor["kind"] == "subagent"


async def test_failure_is_reported_once_and_the_label_is_free(store: CountingStore, tmp_path: Path) -> None:
    stage = await household_of(store, tmp_path, ScriptedModel())
    run_id, _ = await begin(stage, calls("sessions_spawn", task="x", label="one"))
    seen: list[str] = []

    def fail(request: ModelRequest) -> Any:
        seen.append(last_words(request))
        return RuntimeError("broken") if "You are a background agent" in seen[-1] else "a pity"

    stage.model.otherwise = fail
    await stage.work()
    (child,) = await subagents_of(stage)
    assert child.outcome == "failed"
    ends = [run for run in await runs_of(stage, (await stage.run(run_id)).agent_id) if run.kind == posting.CHILD_END]
    assert len(ends) == 1
    assert "has ended: failed (error)" in seen[-1]
    assert "broken" in seen[-1]


async def test_lifetime_ends_and_the_parent_is_told_once(store: CountingStore, tmp_path: Path) -> None:
    stage = await household_of(store, tmp_path, ScriptedModel())
    run_id, _ = await begin(stage, calls("sessions_spawn", task="x", label="one"))
    stage.clock.advance(timedelta(hours=5, minutes=59).total_seconds())
    await expiry.sweep(stage.runtime)
    assert [row.ended_at for row in await subagents_of(stage)] == [None]
    stage.clock.advance(61)
    for _ in range(2):
        await expiry.sweep(stage.runtime)
    (child,) = await subagents_of(stage)
    assert child.outcome == "expired"
    stage.model.otherwise = "I see"
    parent = (await stage.run(run_id)).agent_id
    await stage.work()
    ends = [run for run in await runs_of(stage, parent) if run.kind == posting.CHILD_END]
    assert [run.payload["status"] for run in ends] == ["expired"]
    assert [run.status for run in await runs_of(stage, child.agent_id)] == ["cancelled"]


async def test_who_is_cancelled_takes_along_whom_it_started_and_is_not_woken_by_that(
    store: CountingStore, tmp_path: Path
) -> None:
    hang = asyncio.Event()
    stage = await household_of(store, tmp_path, ScriptedModel())

    async def stay(request: ModelRequest) -> Any:
        if results(request):
            await hang.wait()
        return calls("start_background_agent", **START)

    stage.model.otherwise = stay
    run_id = await stage.chat("go")
    (claim,) = await stage.claim()
    interrupt = Interrupt()
    work = asyncio.create_task(runner.handle(stage.runtime, claim, interrupt))
    while not await subagents_of(stage):
        await asyncio.sleep(0.002)
    await controls.cancel(stage.runtime, stage.ada, run_id, wait_s=0)
    (child,) = await subagents_of(stage)
    assert child.outcome == "cancelled"
    assert [run.status for run in await runs_of(stage, child.agent_id)] == ["cancelled"]
    hang.set()
    await work
    stage.model.otherwise = "woken"
    await stage.work()
    assert [run.id for run in await runs_of(stage, claim.run.agent_id)] == [run_id]


async def test_a_cancelled_run_that_does_not_know_it_yet_starts_nobody(store: CountingStore, tmp_path: Path) -> None:
    stage = await household_of(store, tmp_path, ScriptedModel())
    asked: list[str] = []

    async def cancel_first(request: ModelRequest) -> Any:
        asked.append(claim.run.id)
        await controls.cancel(stage.runtime, stage.ada, claim.run.id, wait_s=0)
        return calls("start_background_agent", **START)

    stage.model.otherwise = cancel_first
    await stage.chat("go")
    (claim,) = await stage.claim()
    await runner.handle(stage.runtime, claim, Interrupt())
    assert asked
    assert await subagents_of(stage) == []


async def test_quarantine_ends_whom_the_agent_started_elsewhere(store: CountingStore, tmp_path: Path) -> None:
    stage = await household_of(store, tmp_path, ScriptedModel())
    await begin(
        stage, calls("start_background_agent", prompt="x", persona="research"), calls("start_background_agent", **START)
    )  # fmt: skip
    await emergency.quarantine(stage.runtime, replace(stage.ada, role="admin"), "operations", reason="odd")
    rows = {(row.purpose, row.outcome) for row in await subagents_of(stage)}
    assert rows == {("x", "cancelled"), (START["prompt"], None)}


async def test_what_taints_the_one_taints_the_other_both_ways(store: CountingStore, tmp_path: Path) -> None:
    stage = await household_of(store, tmp_path, ScriptedModel(otherwise=household))
    first = await stage.chat("how many?")
    (claim,) = await stage.claim()
    claim.run = claim.run._replace(labels=["untrusted"])
    await runner.handle(stage.runtime, claim, Interrupt())
    (child,) = await subagents_of(stage)
    await stage.work()
    (its_run,) = await runs_of(stage, child.agent_id)
    assert its_run.labels == ["untrusted"]
    *_, end = await runs_of(stage, (await stage.run(first)).agent_id)
    assert end.labels == ["untrusted"]


async def test_a_rehearsal_stays_one(store: CountingStore, tmp_path: Path) -> None:
    model = ScriptedModel(otherwise=household, simulated=True)
    stage = await household_of(store, tmp_path, model)
    await conversation.say(stage.runtime, stage.ada, "operations", "how many?", model="anthropic/claude-haiku-4-5")
    await stage.work()
    found = await stage.store.read(traces.runs)
    assert {(run.model, run.simulated) for run in found} == {("anthropic/claude-haiku-4-5", True)}
    assert len(found) == 4


async def test_work_for_a_task_is_paid_by_the_task_and_its_mission(store: CountingStore, tmp_path: Path) -> None:
    stage = await household_of(store, tmp_path, ScriptedModel())
    left = [calls("start_background_agent", **START)]
    stage.model.otherwise = lambda _: left.pop() if left else "text"
    run_id = await stage.task()
    claim = await stage.take(run_id)
    await runner.handle(stage.runtime, claim, Interrupt())
    (child,) = await subagents_of(stage)
    stage.model.otherwise = "done"
    await stage.work()
    (its_run,) = await runs_of(stage, child.agent_id)
    assert (its_run.mission_id, its_run.task_id) == (claim.run.mission_id, None)
    (line,) = [line for line in await stage.ledger(its_run.id) if line.kind == "settle"]
    assert {f"task:{claim.run.task_id}", f"mission:{claim.run.mission_id}"} < set(line.accounts)


class Killed(BaseException):
    """The process is gone."""


class Mortal(CountingStore):
    """A store whose process dies after so many commits, or before the next one is made."""

    lives: int | None = None

    async def write(self, unit: Any, *args: Any, **kwargs: Any) -> Any:
        """The same, until it is killed."""
        if self.lives is not None and self.lives <= 0:
            raise Killed
        done = await super().write(unit, *args, **kwargs)
        if self.lives is not None:
            self.lives -= 1
            if self.lives == 0:
                raise Killed
        return done


async def test_wherever_the_process_is_killed_each_word_arrives_once(migrated_url: str, tmp_path: Path) -> None:
    """After every second commit on one engine, and after those between them on the other."""
    store = Mortal(migrated_url)
    async with store:
        stage = await household_of(store, tmp_path, ScriptedModel(otherwise=household))
        kills, tries, number = 0, 0, int(store.url.startswith("postgres")) - 1
        while kills == tries:
            tries, number = tries + 1, number + 2
            ada = Person(stage.ada.id, "Ada", "operator", f"life-{number}")
            first = await conversation.say(stage.runtime, ada, "operations", "how many?")
            store.lives = number
            try:
                await stage.work()
            except Killed:
                kills += 1
                store.lives = None
                stage.restart()
                await store.write(leases.take_back, WORKER, stage.clock.now())
                await stage.work()
            store.lives = None
            parent = (await stage.run(first)).agent_id
            said = [(run.kind, run.status, run.result) for run in await runs_of(stage, parent)]
            assert said == [
                ("chat", "completed", "I am having it looked up"), ("chat", "completed", "Good, go on."),
                (posting.CHILD_END, "completed", "There are forty-two."),
            ], f"killed after commit {number}"  # fmt: skip
        children = await subagents_of(stage)
        assert [child.outcome for child in children] == ["completed"] * tries
        assert kills > 5
        assert await store.read(offspring.live) == 0


async def test_who_is_forgotten_is_forgotten_by_whom_the_words_were_passed_on_to(
    store: CountingStore, tmp_path: Path
) -> None:
    stage = await household_of(store, tmp_path, ScriptedModel(otherwise=household))
    await stage.chat("how many are there?")
    await stage.work()
    known = personal.Known(stage.ada.id, stage.ada.name, ())
    runs = await store.read(personal.chats, known)
    assert set(runs) == {run.id for run in await store.read(traces.runs)}
    for run_id in runs:
        while await store.write(personal.erase_chat, run_id, 100, stage.clock.now()) is False:
            pass
    (child,) = await subagents_of(stage)
    assert child.purpose == personal.ERASED
    assert [await stage.messages(run_id) for run_id in runs] == [[]] * 4


async def test_what_was_started_in_a_channel_is_told_of_in_it(store: CountingStore, tmp_path: Path) -> None:
    stage = await household_of(store, tmp_path, ScriptedModel(otherwise="well"))
    persona = stage.runtime.personas.personas["operations"]
    who = Descriptor("room", PROJECT, "operations", {"project": PROJECT})
    channel = await rooms_desk.create(stage.runtime, stage.ada, "plans")
    agent = await store.write(squad.ensure_agent, who, persona.to_json(), persona.trust, stage.clock.now())
    words = Post(
        project_id=PROJECT, agent_id=agent.id, kind="chat", payload={"text": "go", "room": "plans", "message": "m"},
        cause_kind="room", idempotency_key="said", channel_id=channel["id"],
    )  # fmt: skip
    await store.write(mailbox.post, words, stage.clock.now())
    stage.model.replies = [calls("start_background_agent", **START), "begun"]
    with stage.runtime.events.listening(lambda _: True) as listener:
        await stage.work()
        heard = {(event.run_id, event.channel_id) for event in listener.ready()}
    runs = await store.read(traces.runs)
    assert heard == {(run.id, channel["id"]) for run in runs}, "who may not see the channel hears nothing of it"
    (end,) = [run for run in runs if run.kind == posting.CHILD_END]
    assert (end.channel_id, end.payload["room"]) == (channel["id"], "plans")
