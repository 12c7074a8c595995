"""The way out to Telegram: what is posted, edited, answered, put into topics, and what each trouble is taken for."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from interlock.desk.chats.cards import Action, Card, Fact, Passage
from interlock.integrations.contract import DeliveryUnknown, Later, Undeliverable
from interlock.integrations.telegram.sender import TelegramSender
from interlock.testing.telegram_api import TelegramApi, Trouble
from interlock.testing.telegram_state import Fault
from tests.integration.telegram.parts import outgoing, settings

ACTIONS = (Action("approve", "Approve", "apr_1"), Action("deny", "Deny", "apr_1", needs_reason=True))
CARD = Card("Push to <main>?", (Fact("Risk", "RED"),), (Passage("git push", verbatim=True),), ACTIONS)
LONG = Card(
    "Write a file", passages=(Passage("".join(f"line {n}\n" for n in range(1500)), verbatim=True),), actions=ACTIONS
)
FORUM = -1001


@pytest.fixture
async def sender(api: TelegramApi) -> AsyncIterator[TelegramSender]:
    """The sender."""
    found = TelegramSender(settings(api))
    yield found
    await found.close()


async def test_a_card_is_posted_with_its_buttons_and_without_previews(api: TelegramApi, sender: TelegramSender) -> None:
    ref = await sender.post(outgoing(CARD))
    (sent,) = api.sent
    assert (ref, sent.chat_id, sent.reply_to) == (str(sent.message_id), 42, None)
    assert sent.text == "Push to <main>?\nRisk: RED\n\ngit push"
    assert sent.buttons == [("Approve", "a:apr_1"), ("Deny", "d:apr_1")]
    assert api.given("sendMessage")[0]["link_preview_options"] == {"is_disabled": True}


async def test_an_edit_changes_the_message_and_takes_its_buttons(api: TelegramApi, sender: TelegramSender) -> None:
    message = outgoing(CARD)
    ref = await sender.post(message)
    await sender.edit(replace(message, ref=ref, card=Card("Approved by Ann")))
    (sent,) = api.sent
    assert (sent.text, sent.buttons, sent.edit_count) == ("Approved by Ann", [], 1)


async def test_an_edit_that_changes_nothing_is_done(api: TelegramApi, sender: TelegramSender) -> None:
    message = outgoing(CARD)
    await sender.edit(replace(message, ref=await sender.post(message)))
    assert api.sent[0].edit_count == 0


async def test_a_refused_token_waits_and_is_told_to_people(api: TelegramApi, sender: TelegramSender) -> None:
    api.fail("sendMessage", Fault(401, "Unauthorized"))
    with pytest.raises(Later, match="set TELEGRAM_BOT_TOKEN") as told:
        await sender.post(outgoing(CARD))
    assert told.value.needs_person


async def test_an_answer_goes_to_the_command_that_it_answers(api: TelegramApi, sender: TelegramSender) -> None:
    await sender.post(outgoing(Card("Mission started"), payload={"message_id": 9}, kind="text"))
    assert api.sent[0].reply_to == 9


async def test_messages_of_a_thread_answer_its_root(api: TelegramApi, sender: TelegramSender) -> None:
    root = await sender.post(outgoing(Card("Mission"), kind="mission", key="m"))
    await sender.post(outgoing(CARD, root=root))
    first, second = api.sent
    assert (first.reply_to, second.reply_to) == (None, first.message_id)


async def test_a_long_card_is_several_messages_with_all_of_it(api: TelegramApi, sender: TelegramSender) -> None:
    ref = await sender.post(outgoing(LONG))
    sent = api.sent
    assert ref == ",".join(str(message.message_id) for message in sent)
    shown = "\n".join(message.text for message in sent)
    assert all(f"line {number}\n" in shown + "\n" for number in range(1500))
    assert [bool(message.buttons) for message in sent] == [False] * (len(sent) - 1) + [True]
    assert {message.reply_to for message in sent[1:]} == {sent[0].message_id}


async def test_an_edit_takes_away_the_parts_that_are_not_needed_any_more(
    api: TelegramApi, sender: TelegramSender
) -> None:
    message = outgoing(LONG)
    await sender.edit(replace(message, ref=await sender.post(message), card=Card("Denied")))
    assert [sent.text for sent in api.sent] == ["Denied"]


async def test_an_attempt_goes_on_where_the_last_one_ended(api: TelegramApi, sender: TelegramSender) -> None:
    message = outgoing(LONG)
    api.pass_then_fail("sendMessage", 2, Fault(429, "Too Many Requests: retry after 1", retry_after=1))
    with pytest.raises(Later):
        await sender.post(message)
    begun = [sent.message_id for sent in api.sent]
    ref = await sender.post(message)
    assert len(begun) == 2
    assert ref == ",".join(str(sent.message_id) for sent in api.sent)
    assert [sent.message_id for sent in api.sent][:2] == begun


async def test_parts_that_are_there_are_brought_up_to_date_by_the_next_attempt(
    api: TelegramApi, sender: TelegramSender
) -> None:
    message = outgoing(LONG)
    api.pass_then_fail("sendMessage", 1, Fault(500, "Internal Server Error"))
    with pytest.raises(Later):
        await sender.post(message)
    await sender.post(replace(message, card=replace(LONG, title="Voided", actions=())))
    assert api.sent[0].text.startswith("Voided")
    assert not any(sent.buttons for sent in api.sent)


async def test_too_many_requests_wait_as_long_as_telegram_says(api: TelegramApi, sender: TelegramSender) -> None:
    api.fail("sendMessage", Fault(429, "Too Many Requests: retry after 17", retry_after=17))
    with pytest.raises(Later) as told:
        await sender.post(outgoing(CARD))
    assert told.value.seconds == 17


@pytest.mark.parametrize(
    ("trouble", "error"),
    [
        (Fault(500, "Internal Server Error"), Later), (Fault(502, "Bad Gateway"), Later),
        (Fault(504, "Gateway Timeout"), DeliveryUnknown), (Fault(401, "Unauthorized"), Later),
        (Fault(403, "Forbidden: bot was kicked"), Undeliverable),
        (Fault(400, "Bad Request: chat not found"), Undeliverable),
        (Fault(400, "Bad Request: not enough rights"), Undeliverable), (Trouble.DROP, DeliveryUnknown),
        (Trouble.LOSE, DeliveryUnknown),
        (Trouble.GARBAGE, DeliveryUnknown),
    ],
)  # fmt: skip
async def test_each_trouble_of_a_post_is_taken_for_what_it_is(
    api: TelegramApi, sender: TelegramSender, trouble: Trouble | Fault, error: type[Exception]
) -> None:
    api.fail("sendMessage", trouble)
    with pytest.raises(error) as told:
        await sender.post(outgoing(CARD))
    assert api.token not in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("trouble", [Trouble.DROP, Trouble.LOSE, Trouble.GARBAGE, Fault(500, "x"), Fault(504, "x")])
async def test_an_edit_can_always_be_repeated(
    api: TelegramApi, sender: TelegramSender, trouble: Trouble | Fault
) -> None:
    message = outgoing(CARD)
    changed = replace(message, ref=await sender.post(message), card=Card("Approved"))
    api.fail("editMessageText", trouble)
    with pytest.raises(Later):
        await sender.edit(changed)
    await sender.edit(changed)
    assert api.sent[0].text == "Approved"


async def test_nothing_leaves_where_nobody_listens(api: TelegramApi) -> None:
    sender = TelegramSender(settings(api).model_copy(update={"base_url": "http://127.0.0.1:9"}))
    with pytest.raises(Later):
        await sender.post(outgoing(CARD))
    await sender.close()


async def test_a_message_of_unknown_fate_is_not_looked_for_nor_repeated(
    api: TelegramApi, sender: TelegramSender
) -> None:
    assert (await sender.find(outgoing(CARD)), sender.repeats, sender.surface) == (None, False, "telegram")


async def test_a_mission_gets_a_topic_where_the_chat_has_topics(api: TelegramApi, sender: TelegramSender) -> None:
    api.chats.forums.add(FORUM)
    root = await sender.post(outgoing(Card("Compare the vendors"), chat=FORUM, kind="mission", key="m"))
    await sender.post(outgoing(CARD, chat=FORUM, root=root))
    (topic,) = api.chats.topics
    assert api.chats.topics[topic] == "Compare the vendors"
    assert [(sent.thread_id, sent.reply_to) for sent in api.sent] == [(topic, None), (topic, None)]


async def test_a_mission_that_was_started_in_a_topic_stays_in_it(api: TelegramApi, sender: TelegramSender) -> None:
    api.chats.forums.add(FORUM)
    api.chats.topics[77] = "Ours"
    where: dict[str, Any] = {"chat": FORUM, "address": {"thread": "77"}}
    root = await sender.post(outgoing(Card("Mission"), kind="mission", key="m", **where))
    await sender.post(outgoing(CARD, root=root, **where))
    assert api.given("createForumTopic") == []
    assert [sent.thread_id for sent in api.sent] == [77, 77]


async def test_a_group_without_topics_is_written_to_as_it_is(api: TelegramApi, sender: TelegramSender) -> None:
    await sender.post(outgoing(Card("Mission"), chat=FORUM, kind="mission"))
    assert [sent.thread_id for sent in api.sent] == [None]


async def test_a_bot_that_may_not_make_topics_writes_without(api: TelegramApi, sender: TelegramSender) -> None:
    api.chats.forums.add(FORUM)
    api.fail("createForumTopic", Fault(400, "Bad Request: not enough rights to create a topic"))
    await sender.post(outgoing(Card("Mission"), chat=FORUM, kind="mission"))
    assert [sent.thread_id for sent in api.sent] == [None]


async def test_a_topic_that_is_gone_loses_no_message(api: TelegramApi, sender: TelegramSender) -> None:
    await sender.post(outgoing(CARD, chat=FORUM, address={"thread": "77"}))
    assert [sent.thread_id for sent in api.sent] == [None]


async def test_a_group_that_moved_is_followed(api: TelegramApi, sender: TelegramSender) -> None:
    api.chats.moved[-5] = -1005
    message = outgoing(CARD, chat=-5, kind="mission")
    ref = await sender.post(message)
    await sender.edit(replace(message, ref=ref, card=Card("Approved")))
    assert [(sent.chat_id, sent.text) for sent in api.sent] == [(-1005, "Approved")]


async def test_marks_that_telegram_dislikes_cost_no_message(api: TelegramApi, sender: TelegramSender) -> None:
    api.fail("sendMessage", Fault(400, "Bad Request: can't parse entities: something"))
    await sender.post(outgoing(CARD))
    assert api.sent[0].source == "Push to <main>?\nRisk: RED\n\ngit push"
    assert api.sent[0].buttons


async def test_what_is_no_card_is_refused(sender: TelegramSender) -> None:
    with pytest.raises(Undeliverable):
        await sender.post(replace(outgoing(CARD), card=None))
