"""Runs of people who talk with agents in a connector: told there of answers, questions and failures; of silence not."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from interlock.desk.agents import conversation
from interlock.desk.chats.drawing import draw
from interlock.desk.chats.requests import Place
from interlock.store.messages import conversations
from interlock.store.schema import Outgoing, table
from interlock.testing.scripted import ScriptedModel, calls
from tests.contract.runner.stage import CountingStore, Stage, staged

_out = table(Outgoing)
PLACE = Place("slack", "C1", "17.1")
MAIL = calls("send_email", to=["bob@example.com"], subject="Plan", body="The plan.")


async def talked(store: CountingStore, home: Path, *replies: Any) -> tuple[Stage, str]:
    """A stage on which Ada has said something in a thread of Slack, and the run of it."""
    stage = await staged(store, home, ScriptedModel(*replies))
    ada = replace(stage.ada, surface="slack")
    return stage, await conversation.say(stage.runtime, ada, "operations", "hello", place=PLACE)


async def told(stage: Stage) -> list[tuple[str, str, str]]:
    """What was put into the outbox for that thread: kind, subject, conversation."""
    rows = await stage.store.read(lambda tx: tx.rows(_out.select().order_by(_out.c.id)))
    return [(row.kind, row.subject, row.conversation_id) for row in rows]


async def test_an_answer_goes_to_where_it_was_asked(store: CountingStore, tmp_path: Path) -> None:
    stage, run = await talked(store, tmp_path, "It is sunny.")
    await stage.work()
    assert await told(stage) == [("text", f"reply:{run}", "slack:C1/17.1")]
    card = await draw(stage.runtime, f"reply:{run}")
    assert card is not None
    assert (card.title, card.passages[0].text) == ("operations", "It is sunny.")


async def test_a_question_is_asked_where_the_person_is_and_the_answer_follows_it(
    store: CountingStore, tmp_path: Path
) -> None:
    stage, run = await talked(store, tmp_path, MAIL, "Then I will not.")
    await stage.work()
    question = await stage.the_question()
    assert await told(stage) == [("approval", f"approval:{question.id}", "slack:C1/17.1")]
    await stage.deny(question.id)
    await stage.work()
    assert (await told(stage))[1:] == [("text", f"reply:{run}", "slack:C1/17.1")]


async def test_the_room_of_the_project_does_not_hear_what_somebody_asks_elsewhere(
    store: CountingStore, tmp_path: Path
) -> None:
    stage, _ = await talked(store, tmp_path, MAIL)
    project = stage.runtime.settings.project
    await stage.store.write(conversations.room, "slack", "CROOM", project, stage.clock.now())
    await stage.work()
    assert [there for _, _, there in await told(stage)] == ["slack:C1/17.1"]


async def test_a_run_that_fails_says_why(store: CountingStore, tmp_path: Path) -> None:
    stage, run = await talked(store, tmp_path, RuntimeError("the model broke"))
    await stage.work()
    assert await stage.ended(run) == ("failed", "error")
    card = await draw(stage.runtime, f"reply:{run}")
    assert card is not None
    assert card.title == "operations could not answer"
    assert "the model broke" in card.facts[0].value


async def test_who_does_nothing_says_nothing(store: CountingStore, tmp_path: Path) -> None:
    stage, run = await talked(store, tmp_path, ["Nobody needs this.", calls("do_nothing", reason="no need")])
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    assert await draw(stage.runtime, f"reply:{run}") is None


async def test_an_empty_answer_is_sent_to_nobody(store: CountingStore, tmp_path: Path) -> None:
    stage, run = await talked(store, tmp_path, "")
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    assert await told(stage) == []
