"""What updates come to: commands, taps, reasons, and everything that asks for nothing."""

from typing import Any

import pytest

from interlock.desk.chats.requests import Place
from interlock.testing.telegram_api import BOT_ID, TelegramApi
from interlock.testing.telegram_state import Fault, Sent
from tests.integration.telegram.parts import Recording, at_work

GROUP = -1001


def posted(api: TelegramApi, *, chat: int = 42, thread: int | None = None) -> Sent:
    """A message of the bot that can be tapped on."""
    return Sent(chat, api.chats.number(), "May I?", "May I?", thread_id=thread)


async def nothing_of(api: TelegramApi, reception: Recording, *updates: dict[str, Any]) -> None:
    """Passes where these updates ask for nothing, and the one after them is heard."""
    async with at_work(api, reception):
        for update in updates:
            await api.push({"update_id": api.next_update(), **update})
        last = await api.say("/status")
        (found,) = await reception.count(1)
    assert found.key == f"telegram:{last['update_id']}"


async def test_a_command_is_handed_in_with_who_says_it_and_where(api: TelegramApi, reception: Recording) -> None:
    async with at_work(api, reception):
        update = await api.say("/run Compare the vendors\nand <choose> one")
        (found,) = await reception.count(1)
    number = update["message"]["message_id"]
    assert (found.key, found.identity, found.name) == (f"telegram:{update['update_id']}", "telegram:42", "Ann No. 42")
    assert (found.command, found.words, found.fields) == ("run", "Compare the vendors\nand <choose> one", None)
    assert found.place == Place("telegram", "42", None, "42", {"message_id": number})


@pytest.mark.parametrize(
    ("text", "command", "words"),
    [
        ("/run@interlock_bot GOAL", "run", "GOAL"),
        ("/RUN@Interlock_Bot GOAL", "RUN", "GOAL"),
        ("/status", "status", ""),
        ("/deny apr_1 too dear", "deny", "apr_1 too dear"),
        ("/deny apr_1\ntoo\ndear", "deny", "apr_1\ntoo\ndear"),
        ("/start anything", "help", ""),
        ("/statsu", "statsu", ""),
        ("status", "status", ""),
        ("run a goal\nof two lines", "run", "a goal\nof two lines"),
        ("hello there", "hello", "there"),
    ],
)  # fmt: skip
async def test_a_private_chat_takes_commands_with_and_without_a_slash(
    api: TelegramApi, reception: Recording, text: str, command: str, words: str
) -> None:
    async with at_work(api, reception):
        await api.say(text)
        (found,) = await reception.count(1)
    assert (found.command, found.words) == (command, words)


async def test_a_group_takes_commands_for_this_bot_only(api: TelegramApi, reception: Recording) -> None:
    async with at_work(api, reception):
        for text in ("/run@other_bot GOAL", "run GOAL", "/weather", "hello", "/status@interlock_botx"):
            await api.say(text, chat=GROUP)
        await api.say("/run@interlock_bot GOAL", chat=GROUP)
        await api.say("/tasks", chat=GROUP, topic=77)
        first, second = await reception.count(2)
    assert (first.command, first.words, first.place.channel, first.place.thread) == ("run", "GOAL", str(GROUP), None)
    assert (second.command, second.place.thread, second.identity) == ("tasks", "77", "telegram:42")


async def test_a_group_talks_with_this_bot_by_its_name(api: TelegramApi, reception: Recording) -> None:
    async with at_work(api, reception):
        for text in ("@other_bot @research hello", "@interlock_botx hello", "ask @interlock_bot hi", "@interlock_bot"):
            await api.say(text, chat=GROUP)
        await api.say("@Interlock_Bot, research: what did you find?", chat=GROUP, topic=77)
        (found,) = await reception.count(1)
    assert (found.command, found.words, found.place.thread) == ("research:", "what did you find?", "77")


async def test_a_topic_is_one_only_where_telegram_says_so(api: TelegramApi, reception: Recording) -> None:
    async with at_work(api, reception):
        await api.say("/tasks", chat=GROUP, message_thread_id=5)
        (found,) = await reception.count(1)
    assert found.place.thread is None


async def test_edited_messages_and_posts_of_channels_ask_for_nothing(api: TelegramApi, reception: Recording) -> None:
    said = api.message("/stop")
    channel = {**said, "chat": {"id": -1009, "type": "channel", "title": "News"}}
    await nothing_of(
        api, reception, {"edited_message": {**said, "edit_date": 1_790_000_001}}, {"channel_post": channel},
        {"edited_channel_post": channel},
    )  # fmt: skip


async def test_a_request_says_when_it_was_said(api: TelegramApi, reception: Recording) -> None:
    async with at_work(api, reception):
        await api.push({"update_id": api.next_update(), "message": {**api.message("/resume"), "date": 1_790_000_000}})
        (request,) = await reception.count(1)
    assert (request.command, request.said_at) == ("resume", 1_790_000_000.0)


async def test_service_messages_and_pictures_ask_for_nothing(api: TelegramApi, reception: Recording) -> None:
    await nothing_of(
        api, reception,
        {"message": api.message(None, chat=GROUP, new_chat_members=[api.person(BOT_ID)])},
        {"message": api.message(None, caption="/stop")},
        {"my_chat_member": {}},
    )  # fmt: skip


async def test_what_is_forwarded_or_said_by_machines_or_unsigned_asks_for_nothing(
    api: TelegramApi, reception: Recording
) -> None:
    origin = {"type": "hidden_user", "date": 1, "sender_user_name": "Eve"}
    await nothing_of(
        api, reception,
        {"message": api.message("/stop", forward_origin=origin)},
        {"message": api.message("/stop", via_bot={"id": 9, "is_bot": True, "first_name": "B"})},
        {"message": {**api.message("/stop", chat=GROUP), "from": {"id": 9, "is_bot": True, "first_name": "B"}}},
        {"message": api.message("/stop", chat=GROUP, sender_chat={"id": GROUP, "type": "supergroup", "title": "S"})},
    )  # fmt: skip


async def test_a_tap_approves_in_the_name_of_who_tapped_and_is_acknowledged(
    api: TelegramApi, reception: Recording
) -> None:
    async with at_work(api, reception):
        message = posted(api, chat=GROUP, thread=77)
        await api.tap("a:apr_1", on=message, user=43, query_id="q9")
        (found,) = await reception.count(1)
        await api.until(lambda server: len(server.given("answerCallbackQuery")) == 1)
    assert (found.command, found.fields, found.identity) == ("approve", {"id": "apr_1"}, "telegram:43")
    assert found.place == Place("telegram", str(GROUP), "77", "43", {"message_id": message.message_id})
    assert api.given("answerCallbackQuery") == [{"callback_query_id": "q9"}]


@pytest.mark.parametrize(
    "data", ["x:apr_1", "a:", "a", "a:apr_1 b", "a:apr_1\n", "a:../../x", "d:<b>", "a:" + "x" * 63, "", None]
)
async def test_a_tap_with_other_data_does_nothing(api: TelegramApi, reception: Recording, data: str | None) -> None:
    async with at_work(api, reception):
        await api.tap(data, on=posted(api))
        await api.until(lambda server: len(server.given("answerCallbackQuery")) == 1)
    assert reception.handed_in == 0
    assert "none of ours" in api.given("answerCallbackQuery")[0]["text"]


async def test_a_tap_on_deny_asks_for_the_reason_and_the_answer_denies(api: TelegramApi, reception: Recording) -> None:
    async with at_work(api, reception):
        await api.tap("d:apr_1", on=posted(api, chat=GROUP))
        await api.until(lambda server: bool(server.sent))
        (question,) = api.sent
        await api.answer("ask finance\nfirst", to=question)
        (found,) = await reception.count(1)
    assert question.force_reply
    assert question.text.startswith("Ann No. 42, why do you deny apr_1?")
    assert (found.command, found.fields) == ("deny", {"id": "apr_1", "reason": "ask finance\nfirst"})


async def test_a_question_of_an_agent_is_answered_in_words(api: TelegramApi, reception: Recording) -> None:
    async with at_work(api, reception):
        await api.tap("q:apr_1", on=posted(api))
        await api.until(lambda server: bool(server.sent))
        await api.answer("the second one", to=api.sent[0])
        (found,) = await reception.count(1)
    assert (found.command, found.fields) == ("approve", {"id": "apr_1", "note": "the second one"})


async def test_a_reason_counts_only_as_an_answer_to_the_question_of_this_bot(
    api: TelegramApi, reception: Recording
) -> None:
    async with at_work(api, reception):
        await api.tap("d:apr_1", on=posted(api, chat=GROUP))
        await api.until(lambda server: bool(server.sent))
        (question,) = api.sent
        forged = {**api.message(question.text, user=66, chat=GROUP), "message_id": question.message_id}
        await api.say("because", chat=GROUP, reply_to_message=forged)
        around = Sent(GROUP, api.chats.number(), f"An agent says:\n{question.text}", "")
        await api.answer("because", to=around)
        await api.say("/status", chat=GROUP)
        (found,) = await reception.count(1)
    assert found.command == "status"


async def test_whoever_may_not_deny_is_not_asked_why(api: TelegramApi, reception: Recording) -> None:
    async with at_work(api, reception):
        await api.tap("d:apr_1", on=posted(api), user=66)
        (found,) = await reception.count(1)
    assert (found.command, found.fields, found.identity) == ("deny", {"id": "apr_1"}, "telegram:66")
    assert api.sent == []


async def test_a_tap_that_comes_again_asks_once(api: TelegramApi, reception: Recording) -> None:
    reception.failures = 1
    async with at_work(api, reception):
        update = await api.tap("d:apr_1", on=posted(api))
        await api.push(update)
        await api.say("/status")
        await reception.count(1)
    assert len(api.sent) == 1


async def test_a_double_tap_asks_once_and_each_person_is_asked(api: TelegramApi, reception: Recording) -> None:
    reception.operators.add("telegram:44")
    async with at_work(api, reception):
        for user in (42, 42, 44):
            await api.tap("d:apr_1", on=posted(api), user=user)
        await api.tap("d:apr_2", on=posted(api))
        await api.until(lambda server: len(server.given("answerCallbackQuery")) == 4)
    assert sorted(sent.text.partition(", ")[0] for sent in api.sent) == ["Ann No. 42", "Ann No. 42", "Ann No. 44"]


async def test_a_tap_counts_although_telegram_refuses_to_hear_of_it(api: TelegramApi, reception: Recording) -> None:
    api.fail("answerCallbackQuery", Fault(400, "Bad Request: query is too old"))
    async with at_work(api, reception):
        await api.tap("a:apr_1", on=posted(api))
        await api.tap("a:apr_2", on=posted(api))
        found = await reception.count(2)
    assert [request.fields for request in found] == [{"id": "apr_1"}, {"id": "apr_2"}]


async def test_signs_that_no_database_keeps_are_replaced(api: TelegramApi, reception: Recording) -> None:
    async with at_work(api, reception):
        await api.say("/run a\x00b \ud800")
        (found,) = await reception.count(1)
    assert found.words == "a\ufffdb \ufffd"
