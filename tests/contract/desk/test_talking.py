"""Talking with personas in a chat: whom words are for, where answers go, what waits for a person is told there."""

from datetime import timedelta
from typing import Any

import pytest

from interlock.desk.chats import chat_texts
from interlock.desk.chats.cards import Card
from interlock.desk.chats.drawing import draw
from interlock.store import squad
from interlock.store.messages import conversations
from interlock.store.runs import traces
from interlock.store.schema import Outgoing, Run, table
from interlock.store.tx import Tx
from tests.contract.desk.front import ANA, BEN, VIC, Front, request, text_of, until

_out, _runs = table(Outgoing), table(Run)


async def posted(front: Front) -> list[Any]:
    """The runs of chats, in order."""
    query = _runs.select().where(_runs.c.kind == "chat").order_by(_runs.c.created_at, _runs.c.id)
    return await front.box.runtime.store.read(lambda tx: tx.rows(query))


async def asked_about(front: Front) -> list[str]:
    """The texts for which a model is asked who is to hear them, in order."""
    query = _runs.select().where(_runs.c.kind == "route").order_by(_runs.c.created_at, _runs.c.id)
    return [row.payload["text"] for row in await front.box.runtime.store.read(lambda tx: tx.rows(query))]


async def told(front: Front, kind: str) -> list[Any]:
    """What has been put into the outbox of this kind for places where people talk, in order."""
    query = _out.select().where(_out.c.kind == kind, _out.c.subject.is_not(None)).order_by(_out.c.id)
    return await front.box.runtime.store.read(lambda tx: tx.rows(query))


async def answered(front: Front, count: int) -> list[Card]:
    """The answers of agents, once there are so many."""

    async def there() -> bool:
        front.box.check()
        return len(await told(front, "text")) >= count

    await until(there)
    cards = [await draw(front.box.runtime, row.subject) for row in await told(front, "text")]
    return [card for card in cards if card is not None]


async def persona_of(front: Front, run: Any) -> str:
    """Whose run it is."""

    def read(tx: Tx) -> str:
        agent = squad.agent(tx, run.agent_id)
        assert agent is not None
        return str(agent.persona)

    return await front.box.runtime.store.read(read)


async def test_an_agent_that_is_named_answers_where_it_was_spoken_to(front: Front) -> None:
    assert await front.say("@research what did you find?") is None
    (run,) = await posted(front)
    assert (run.payload["text"], run.dm_conversation_id) == ("what did you find?", "slack:C1/")
    await front.box.start()
    (card,) = await answered(front, 1)
    row = await front.box.runtime.store.read(traces.run, run.id)
    assert row is not None
    assert (card.title, card.passages[0].text) == ("research", row.result)


async def test_a_conversation_goes_on_without_the_name_and_each_place_has_its_own(front: Front) -> None:
    await front.say("@research what did you find?")
    await front.say("and what does it cost?")
    await front.say("@finance and what does it cost?")
    await front.say("thanks, go on with that")
    assert [await persona_of(front, run) for run in await posted(front)] == [
        "research", "research", "finance", "finance"
    ]  # fmt: skip
    first, second, *_ = await posted(front)
    assert first.agent_id == second.agent_id
    assert await front.say("and what does it cost?", BEN) is None
    assert await asked_about(front) == ["and what does it cost?"]


async def test_a_conversation_of_another_day_is_over(front: Front) -> None:
    await front.say("@research what did you find?")
    past = front.box.runtime.clock.now() - timedelta(hours=13)
    aged = conversations.CONVERSATIONS.update().where(conversations.CONVERSATIONS.c.id == "slack:C1/")
    await front.box.runtime.store.write(lambda tx: tx.run(aged.values(created_at=past)))
    assert await front.say("and what does it cost?") is None
    assert await asked_about(front) == ["and what does it cost?"]


async def test_a_conversation_begins_anew_where_it_is_had(front: Front) -> None:
    assert "nobody was talked with here" in text_of(await front.say("reset"))
    await front.say("@research what did you find?")
    assert "research" in text_of(await front.say("reset"))


async def test_who_may_not_operate_talks_with_nobody(front: Front) -> None:
    assert "may not talk to agents" in text_of(await front.say("@research what did you find?", VIC))
    assert await posted(front) == []


async def test_a_duplicate_message_counts_once(front: Front) -> None:
    for _ in range(2):
        await front.reception.accept(request("@research hello there", "same"))
    await front.quiet(ANA)
    assert len(await posted(front)) == 1


@pytest.mark.parametrize("text", ["Compare the three vendors", "and what does it cost?"])
async def test_a_message_that_is_worked_again_after_a_crash_is_passed_on_once(front: Front, text: str) -> None:
    runtime, ana = front.box.runtime, await front.reception.person(ANA, "slack")
    assert ana is not None
    await chat_texts.talk(runtime, ana, request(text, "cut-off"))
    before = [*await posted(front), *await asked_about(front)]
    there = conversations.chat_place
    await runtime.store.write(there, "slack", "C1", None, "research", runtime.settings.project, runtime.clock.now())
    await chat_texts.talk(runtime, ana, request(text, "cut-off"))
    assert [*await posted(front), *await asked_about(front)] == before
    assert len(before) == 1


async def test_a_squad_that_stands_still_says_so(front: Front) -> None:
    await front.say("pause")
    assert "research has it and waits\n\nthe squad was paused by Ana" in text_of(
        await front.say("@research hello there")
    )


async def test_a_run_that_fails_is_not_silence(front: Front) -> None:
    await front.say("@research what did you find?")
    (run,) = await posted(front)
    await front.say(f"cancel {run.id}")
    await front.box.start()
    (card,) = await answered(front, 1)
    assert card.title == "research was cancelled"


async def test_the_choice_is_shown_and_a_word_sets_it_right(front: Front) -> None:
    assert await front.say("Compare the three vendors") is None
    assert "→ research (0.93: `compare`)" in text_of(await front.told("routed:chat:slack:k1"))
    assert await front.say("no, finance") is None
    first, second = await posted(front)
    assert [await persona_of(front, each) for each in (first, second)] == ["research", "finance"]
    assert first.payload["text"] == second.payload["text"] == "Compare the three vendors"
    assert "nothing was said here that finance could be given" in text_of(await front.say("no, finance", BEN))
