"""In whose name a call is made: whoever had an agent ask cannot be the other person that a rule wants, by any way."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interlock.agents.running import handover
from interlock.core.errors import Refused
from interlock.desk.context import Person
from interlock.desk.operations import schedules
from interlock.desk.signoff import signing
from interlock.desk.workspace_chat import rooms
from interlock.llm.messages import ModelRequest, Text, ToolResult
from interlock.policy.as_code.policy_file import policy_from
from interlock.scheduler import starting
from interlock.scheduler.timetable import timetable
from interlock.store import squad
from interlock.store.duties import schedules as kept
from interlock.store.identities import principals
from interlock.store.schema import Person as PersonRow
from interlock.store.signoff import approvals
from interlock.store.work import tasks
from interlock.testing.scripted import ScriptedModel, calls
from interlock.tools.registry import tool
from tests.contract.runner.stage import PROJECT, CountingStore, Stage, staged
from tests.contract.runner.test_effects import Effect, Killed, killed

OPEN = "version: 1\nbase: {start_background_agent: GREEN, sessions_spawn: GREEN}\n"
ANOTHER = policy_from(
    f"{OPEN}rules:\n  - {{id: another, tools: [pay, act], risk: RED, not_requester: true, reason: it is money}}\n",
    "p.yaml",
)
PAID: list[int] = []


@pytest.fixture(autouse=True)
def _nothing_paid() -> None:
    PAID.clear()


@tool(risk="RED", outside=False)
async def pay(amount: int) -> str:
    """Pays somebody."""
    PAID.append(amount)
    return f"paid {amount}"


def last_words(request: ModelRequest) -> str:
    return "\n".join(block.text for block in request.messages[-1].blocks if isinstance(block, Text))


def pays(request: ModelRequest) -> Any:
    """An agent that pays whatever it is told, once."""
    answered = any(isinstance(block, ToolResult) for block in request.messages[-1].blocks)
    return "done" if answered else calls("pay", amount=7)


def has_it_paid(how: Any) -> Any:
    """An agent that does not pay itself, but has another one do it."""

    def answer(request: ModelRequest) -> Any:
        if "pay it, please" in last_words(request):
            return calls("pay", amount=7)
        answered = any(isinstance(block, ToolResult) for block in request.messages[-1].blocks)
        return "done" if answered or "has ended" in last_words(request) else how

    return answer


async def stage_of(store: CountingStore, folder: Path, says: Any, policy: Any = ANOTHER) -> Stage:
    stage = await staged(store, folder, ScriptedModel(otherwise=says), [pay], policy)
    found = stage.runtime.personas
    richer = {name: each.model_copy(update={"tools": (*each.tools, "pay")}) for name, each in found.personas.items()}
    stage.runtime = replace(stage.runtime, personas=replace(found, personas=richer))
    return stage


async def bob(stage: Stage, ident: str | None = None) -> Person:
    if ident is not None:
        made = {"id": ident, "name": "Bob", "role": "operator", "created_at": stage.clock.now()}
        await stage.store.write(lambda tx: tx.add(PersonRow, **made))
        return Person(ident, "Bob", "operator", "test")
    row = await stage.store.write(squad.ensure_person, "test:bob", "Bob", "operator", stage.clock.now())
    return Person(row.id, row.name, row.role, "test")


async def only_another_may(stage: Stage) -> None:
    """The question is in Ada's name: she cannot approve it, and Bob can."""
    asked = await stage.the_question()
    card = await signing.approval(stage.runtime, asked.id)
    assert card["on_behalf_of"] == "Ada"
    with pytest.raises(Refused, match="the policy asks for a second person"):
        await stage.approve(asked.id)
    await stage.work()
    assert PAID == []
    await signing.approve(stage.runtime, await bob(stage), asked.id)
    await stage.work()
    assert PAID == [7]


async def test_who_asks_in_a_conversation_is_not_another_person(store: CountingStore, tmp_path: Path) -> None:
    stage = await stage_of(store, tmp_path, pays)
    await stage.chat("pay it")
    await stage.work()
    await only_another_may(stage)


@pytest.mark.parametrize(
    "how",
    [
        calls("start_background_agent", prompt="pay it, please"),
        calls("sessions_spawn", task="pay it, please", label="payer"),
    ],
)
async def test_nor_who_has_an_agent_start_another(store: CountingStore, tmp_path: Path, how: Any) -> None:
    stage = await stage_of(store, tmp_path, has_it_paid(how))
    await stage.chat("have it paid")
    await stage.work()
    await only_another_may(stage)


async def test_nor_who_has_an_agent_tell_that_of_somebody_else(store: CountingStore, tmp_path: Path) -> None:
    stage = await stage_of(store, tmp_path, "hello")
    other = await bob(stage)
    room = await rooms.dm(stage.runtime, other, "operations")
    await rooms.say(stage.runtime, other, room["id"], "hello")
    (run_id,) = await stage.work()
    target = (await stage.run(run_id)).agent_id
    stage.model.otherwise = has_it_paid(calls("send_agent_message", text="pay it, please", agent_id=target))
    await stage.chat("have it paid")
    await stage.work()
    await only_another_may(stage)


async def test_nor_who_says_it_in_a_channel(store: CountingStore, tmp_path: Path) -> None:
    stage = await stage_of(store, tmp_path, pays)
    room = await rooms.create(stage.runtime, stage.ada, "launch", members=["operations"])
    await rooms.say(stage.runtime, stage.ada, room["id"], "@operations pay it")
    await stage.work()
    await only_another_may(stage)


@pytest.mark.parametrize("is_removed", [False, True], ids=["kept", "removed before the agent asks"])
async def test_nor_whose_schedule_wakes_the_agent(store: CountingStore, tmp_path: Path, is_removed: bool) -> None:
    stage = await stage_of(store, tmp_path, pays)
    now = stage.clock.now()
    times = timetable(cron=None, every="1h", timezone="UTC", anchor_at=now)
    await schedules.add(stage.runtime, stage.ada, "pay-day", times, persona="operations", message="pay it")
    row: Any = await store.read(kept.named, PROJECT, "pay-day")
    start = await starting.prepare(stage.runtime, row, now)
    await store.write(start.write, now)
    if is_removed:
        await schedules.remove(stage.runtime, stage.ada, "pay-day")
    await stage.work()
    await only_another_may(stage)


async def added_by(stage: Stage, run: str, person_id: str) -> None:
    """Makes a run's task one that somebody added to the mission."""
    row = await stage.run(run)
    key = principals.key_of_added(row.mission_id, person_id, "k")
    added = tasks.TASKS.update().where(tasks.TASKS.c.id == row.task_id).values(idempotency_key=key)
    await stage.store.write(lambda tx: tx.run(added))


@pytest.mark.parametrize("ident", [None, "sso:bob:1"])
async def test_nor_who_adds_the_task_to_the_mission_of_somebody_else(
    store: CountingStore, tmp_path: Path, ident: str | None
) -> None:
    stage = await stage_of(store, tmp_path, pays)
    other = await bob(stage, ident)
    await added_by(stage, await stage.task(), other.id)
    await stage.work()
    asked = await stage.the_question()
    assert (await signing.approval(stage.runtime, asked.id))["on_behalf_of"] == "Bob"
    with pytest.raises(Refused, match="the policy asks for a second person"):
        await signing.approve(stage.runtime, other, asked.id)
    await stage.approve(asked.id)
    await stage.work()
    assert PAID == [7]


async def test_question_of_the_breaker_is_in_the_name_of_who_added_the_task(
    store: CountingStore, tmp_path: Path
) -> None:
    stage = await stage_of(store, tmp_path, calls("post_comment", message="working on it"))
    other = await bob(stage)
    run = await stage.task(limits={"max_turns": 30})
    await added_by(stage, run, other.id)
    await stage.work()
    assert await stage.ended(run) == ("failed", "no_progress")
    asked = await stage.the_question()
    assert (asked.kind, asked.on_behalf_of) == ("ESCALATION", other.id)


async def test_call_that_may_have_happened_stays_in_the_name_of_who_edited_it(
    store: CountingStore, tmp_path: Path
) -> None:
    effect = Effect(Killed(), "did it", risk="RED")
    stage = await staged(store, tmp_path, ScriptedModel(calls("act", n=1), "done"), [effect.tool], ANOTHER)
    run = await stage.task()
    await stage.work()
    other, asked = await bob(stage), await stage.the_question()
    done = await signing.approve(stage.runtime, other, asked.id, args={"n": 2})
    await stage.approve(f"{asked.id}:{done['mark']}")
    await killed(stage)
    row, task, now = await stage.run(run), await stage.task_of(run), stage.clock.now()
    (asked_by_heartbeat,) = await store.write(
        handover.ask_about_uncertain, stage.runtime.toolbox, row, task, now, now
    )  # fmt: skip
    assert (await signing.approval(stage.runtime, asked_by_heartbeat))["on_behalf_of"] == "Bob"
    await store.write(approvals.void, asked_by_heartbeat, "of the heartbeat")
    await stage.work()
    asked = await stage.the_question()
    assert (asked.kind, asked.on_behalf_of) == ("UNKNOWN_OUTCOME", other.id)
    with pytest.raises(Refused, match="asked in the name of Bob"):
        await signing.approve(stage.runtime, other, asked.id)
    await stage.approve(asked.id)
    await stage.work()
    assert [args for _, _, args in effect.seen] == [{"n": 2}, {"n": 2}]


async def test_nor_who_writes_the_call_anew_and_approves_that(store: CountingStore, tmp_path: Path) -> None:
    stage = await stage_of(store, tmp_path, pays)
    await stage.chat("pay it")
    await stage.work()
    asked = await stage.the_question()
    other = await bob(stage)
    done = await signing.approve(stage.runtime, other, asked.id, args={"amount": 7_000})
    assert (done["asks_anew"], done["status"], done["on_behalf_of"]) == (True, "pending", "Bob")
    with pytest.raises(Refused, match="the policy asks for a second person"):
        await signing.approve(stage.runtime, other, f"{asked.id}:{done['mark']}")
    await stage.work()
    assert PAID == []
    await stage.approve(f"{asked.id}:{done['mark']}")
    await stage.work()
    assert PAID == [7_000]


async def test_nor_whose_words_the_call_has_when_a_rule_comes_after_the_yes(
    store: CountingStore, tmp_path: Path
) -> None:
    stage = await stage_of(store, tmp_path, pays, policy_from(OPEN, "p.yaml"))
    await stage.chat("pay it")
    await stage.work()
    asked = await stage.the_question()
    other = await bob(stage)
    await signing.approve(stage.runtime, other, asked.id, args={"amount": 7_000})
    stage.restart(policy=ANOTHER)
    await stage.work()
    assert PAID == []
    with pytest.raises(Refused, match="asked in the name of Bob"):
        await signing.approve(stage.runtime, other, (await stage.the_question()).id)


async def test_a_rule_that_comes_after_ones_own_yes_is_not_met_by_it(store: CountingStore, tmp_path: Path) -> None:
    stage = await stage_of(store, tmp_path, pays, policy_from(OPEN, "p.yaml"))
    await stage.chat("pay it")
    await stage.work()
    first = await stage.the_question()
    await stage.approve(first.id)
    stage.restart(policy=ANOTHER)
    await stage.work()
    assert PAID == []
    await only_another_may(stage)
