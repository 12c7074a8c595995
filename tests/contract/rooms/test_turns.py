"""Who gets a turn in a channel, in which order, and what each of them has heard by then. Row E16."""

from pathlib import Path
from typing import Any

import pytest

from interlock.agents.running import runner
from interlock.agents.running.interruption import Interrupt
from interlock.agents.special import rounds as turns
from interlock.desk.workspace_chat import rooms
from interlock.llm.messages import ModelRequest, ToolUse
from interlock.store import squad
from interlock.store.engine import Store
from interlock.store.mailboxes import leases
from interlock.store.messages import rooms as rows
from interlock.store.messages import rounds
from interlock.testing.scripted import calls
from tests.contract.rooms.house import House, housed, in_turn, persona_of, silent, speaks

THREE = ("coder", "qa", "research")


def says_its_name(persona: str, _: ModelRequest) -> ToolUse:
    """An agent of few words, which all agents can answer."""
    return speaks(f"{persona} here")


@pytest.fixture
async def house(store: Store, tmp_path: Path) -> House:
    """Agents that all say who they are."""
    return await housed(store, tmp_path, says_its_name)


def answers_first(house: House, says: Any) -> list[ModelRequest]:
    """Has the model do as `says`; the first requests of the turns from then on, in order."""
    seen: list[ModelRequest] = []

    def answer(persona: str, request: ModelRequest) -> Any:
        seen.append(request)
        return says(persona, request)

    house.stage.model.otherwise = in_turn(answer)
    return seen


async def test_agents_answer_one_after_another_and_each_sees_those_before(house: House) -> None:
    shown: list[tuple[str, list[str]]] = []

    async def heard(persona: str) -> Any:
        shown.append((persona, [text for _, text in await house.said(channel)]))
        return speaks(f"{persona} here")

    house.stage.model.otherwise = in_turn(lambda persona, _: heard(persona))
    channel = await house.channel("launch", *THREE)
    await house.say(channel, "who is there?")
    await house.stage.work()
    first = shown[:3]
    assert first == [
        ("coder", ["who is there?"]),
        ("qa", ["who is there?", "coder here"]),
        ("research", ["who is there?", "coder here", "qa here"]),
    ]


async def test_turns_of_one_message_never_overlap(house: House) -> None:
    answers_first(house, lambda persona, _: silent())
    channel = await house.channel("launch", *THREE)
    await house.say(channel, "who is there?")
    at_once = []
    while claims := await house.stage.claim():
        at_once.append(len(claims))
        await runner.handle(house.stage.runtime, claims[0], Interrupt())
    assert at_once == [1, 1, 1]


async def test_those_who_are_named_come_first(house: House) -> None:
    seen = answers_first(house, lambda persona, _: silent())
    channel = await house.channel("launch", *THREE)
    said = await house.say(channel, "@research and @QA, is it true?")
    await house.stage.work()
    assert said["turns"] == ["qa", "research", "coder"]
    assert [persona_of(request) for request in seen] == ["qa", "research", "coder"]


async def test_do_nothing_is_a_full_answer(house: House) -> None:
    answers_first(house, lambda persona, _: silent())
    channel = await house.channel("launch", *THREE)
    await house.say(channel, "thanks, all")
    await house.stage.work()
    assert await house.said(channel) == [("Ada", "thanks, all")]
    assert {(run.status, run.stop_reason) for run in await house.runs()} == {("completed", "end_turn")}


async def test_final_text_is_recorded_and_not_said(house: House) -> None:
    answers_first(house, lambda persona, _: "I would rather write than call.")
    channel = await house.channel("launch", "coder")
    await house.say(channel, "hello")
    await house.stage.work()
    assert await house.said(channel) == [("Ada", "hello")]
    assert [run.result for run in await house.runs()] == ["I would rather write than call."]


async def test_chain_of_agents_ends_three_away_from_a_person(house: House) -> None:
    channel = await house.channel("launch", "coder", "qa")
    await house.say(channel, "go")
    await house.stage.work()
    said = await house.stage.store.read(rows.latest, channel, 100)
    assert [row.depth for row in said] == [0, 1, 1, 2, 3]
    assert [row.author for row in said[1:]] == ["coder", "qa", "coder", "qa"]


async def test_chain_is_as_long_as_the_settings_say(store: Store, tmp_path: Path) -> None:
    house = await housed(store, tmp_path, says_its_name, chat={"chain_depth": 1})
    channel = await house.channel("launch", "coder", "qa")
    await house.say(channel, "go")
    await house.stage.work()
    assert [text for _, text in await house.said(channel)] == ["go", "coder here", "qa here"]


async def test_two_that_wake_each_other_too_often_are_left_to_rest(store: Store, tmp_path: Path) -> None:
    house = await housed(store, tmp_path, says_its_name, chat={"chain_depth": 30}, loops={"messages": 4})
    channel = await house.channel("launch", "coder", "qa")
    await house.say(channel, "go")
    await house.stage.work()
    (alert,) = await house.stage.alerts()
    assert alert.kind == rounds.CIRCLES
    assert "coder and qa have woken each other 4 times" in alert.text
    before = len(await house.said(channel))
    await house.say(channel, "and now?")
    await house.stage.work()
    assert len(await house.said(channel)) == before + 3, "a person is always answered"


async def test_message_during_a_round_has_its_own_round_after(house: House) -> None:
    seen = answers_first(house, lambda persona, _: silent())
    channel = await house.channel("launch", *THREE)
    await house.say(channel, "first")
    later = await house.say(channel, "second", house.bob)
    assert later["runs"] == []
    await house.stage.work()
    woke = [(persona_of(request), request.messages[0].text.splitlines()[-1]) for request in seen]
    assert woke == [(name, text) for text in ("first", "second") for name in THREE]


async def test_threads_have_rounds_of_their_own(house: House) -> None:
    answers_first(house, lambda persona, _: silent())
    channel = await house.channel("launch", *THREE)
    root = await house.say(channel, "first")
    reply = await house.say(channel, "aside, @qa", parent_id=root["id"])
    assert (len(root["runs"]), len(reply["runs"])) == (1, 1)


async def test_turn_of_an_agent_set_apart_is_passed_on_and_it_finds_the_message_later(house: House) -> None:
    seen = answers_first(house, lambda persona, _: silent())
    channel = await house.channel("launch", *THREE)
    store = house.stage.store
    coder: Any = await store.read(squad.member_of, "default", "coder")
    await store.write(squad.set_state, coder.id, "QUARANTINED", "odd")
    await house.say(channel, "first")
    await house.say(channel, "second")
    await house.stage.work()
    assert [persona_of(request) for request in seen] == ["qa", "research", "qa", "research"]
    await store.write(squad.set_state, coder.id, "ACTIVE", None)
    await house.stage.work()
    assert [persona_of(request) for request in seen[4:]] == ["coder"], "once, as it is shown what came after"


async def test_turn_that_stands_still_meanwhile_is_passed_on_by_the_sweep(house: House) -> None:
    seen = answers_first(house, lambda persona, _: silent())
    channel = await house.channel("launch", *THREE)
    await house.say(channel, "first")
    store = house.stage.store
    coder: Any = await store.read(squad.member_of, "default", "coder")
    await store.write(squad.set_state, coder.id, "QUARANTINED", "odd")
    assert await house.stage.work() == []
    assert await turns.sweep(house.stage.runtime) == "1 turns passed on"
    assert await turns.sweep(house.stage.runtime) == "0 turns passed on"
    await house.stage.work()
    assert [persona_of(request) for request in seen] == ["qa", "research"]


async def test_turn_that_waits_for_a_person_is_passed_on_and_ends_by_itself(house: House) -> None:
    def asks(persona: str, _: ModelRequest) -> ToolUse:
        return calls("ask_operator", question="May I?") if persona == "coder" else silent()

    seen = answers_first(house, asks)
    channel = await house.channel("launch", *THREE)
    await house.say(channel, "first")
    await house.stage.work()
    assert [persona_of(request) for request in seen] == list(THREE)
    question = await house.stage.the_question()
    await house.stage.approve(question.id, "yes")
    await house.stage.work()
    assert {run.status for run in await house.runs()} == {"completed"}
    assert len(seen) == 3


async def test_canceled_turn_is_passed_on(house: House) -> None:
    seen = answers_first(house, lambda persona, _: silent())
    channel = await house.channel("launch", *THREE)
    said = await house.say(channel, "first")
    await house.stage.store.write(leases.cancel, said["runs"][0], house.stage.clock.now(), "not now")
    await house.stage.work()
    assert [persona_of(request) for request in seen] == ["qa", "research"]


async def test_who_leaves_and_who_comes_in_a_round_have_no_turn_in_it(house: House) -> None:
    seen = answers_first(house, lambda persona, _: silent())
    channel = await house.channel("launch", "coder", "qa")
    await house.say(channel, "first")
    await rooms.leave(house.stage.runtime, house.ada, channel, "qa")
    await rooms.join(house.stage.runtime, house.ada, channel, "research")
    await house.stage.work()
    assert [persona_of(request) for request in seen] == ["coder"]


async def test_archived_channel_gives_no_more_turns(house: House) -> None:
    seen = answers_first(house, lambda persona, _: silent())
    channel = await house.channel("launch", *THREE)
    await house.say(channel, "first")
    await rooms.archive(house.stage.runtime, house.ada, channel)
    await house.stage.work()
    assert [persona_of(request) for request in seen] == ["coder"]
