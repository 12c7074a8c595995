"""Messages in Slack: posted once and whole, edited, found again; what its refusals mean for the outbox."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from interlock.desk.chats.cards import Action, Card, Passage
from interlock.integrations.contract import DeliveryUnknown, Later, Message, Undeliverable
from interlock.integrations.slack.api import REFUSED_S, Api, vendor_log
from interlock.integrations.slack.sender import SlackSender
from interlock.testing.slack_api import Fault, SlackApi

SMALL = Card("A mission", passages=(Passage("Compare A and B"),), footer="msn_1")
LONG_TEXT = "\n".join(f"line {number}: {'x' * 60}" for number in range(300))
LONG = Card(
    "To sign off", passages=(Passage(LONG_TEXT, "Command", verbatim=True),),
    actions=(Action("approve", "Approve", "apr_1"),),
)  # fmt: skip


@pytest.fixture
async def sender(api: SlackApi) -> AsyncIterator[SlackSender]:
    found = SlackSender(Api(api.base_url, api.bot_token))
    yield found
    await found.close()


def message(card: Card | None = SMALL, **more: Any) -> Message:
    given: dict[str, Any] = {
        "key": "mission:msn_1@slack:C0GENERAL", "kind": "mission", "channel": "C0GENERAL", "address": {}, "payload": {}
    }  # fmt: skip
    return Message(card=card, **{**given, **more})


def reply(card: Card = SMALL, **more: Any) -> Message:
    return message(card, **{"key": "reply:slack:1", "kind": "text", "address": {"user": "U0ANA"}, **more})


async def test_a_message_is_posted_without_previews_pings_or_names_made_links(
    api: SlackApi, sender: SlackSender
) -> None:
    ref = await sender.post(message())
    said = api.asked("chat.postMessage")[0]
    assert (said["unfurl_links"], said["unfurl_media"], said["link_names"]) == (False, False, False)
    assert said["metadata"]["event_payload"]["key"] == "mission:msn_1@slack:C0GENERAL"
    assert ref == api.messages[0].ts


async def test_messages_of_a_conversation_stand_in_the_thread_of_its_first(api: SlackApi, sender: SlackSender) -> None:
    root = await sender.post(message())
    await sender.post(message(key="approval:apr_1", root=root))
    assert api.messages[1].thread == root
    await sender.post(message(key="approval:apr_2", root=root, address={"thread": "1699999999.000100"}))
    assert api.messages[2].thread == "1699999999.000100"


async def test_an_edit_changes_the_message_and_posts_none(api: SlackApi, sender: SlackSender) -> None:
    ref = await sender.post(message())
    await sender.edit(message(Card("A mission has ended"), ref=ref))
    assert [(m.ts, m.body["text"]) for m in api.messages] == [(ref, "A mission has ended")]


async def test_a_long_text_is_shown_whole_over_several_messages_with_the_buttons_under_the_last(
    api: SlackApi, sender: SlackSender
) -> None:
    ref = await sender.post(message(LONG))
    assert len(api.messages) >= 3
    assert ref.split() == [m.ts for m in api.messages]
    assert {m.thread for m in api.messages[1:]} == {api.messages[0].ts}
    assert [bool(m.buttons()) for m in api.messages] == [False] * (len(api.messages) - 1) + [True]
    shown = "\n".join(m.text() for m in api.messages)
    assert [number for number in range(300) if f"line {number}: {'x' * 60}" not in shown] == []


async def test_an_attempt_that_breaks_off_goes_on_where_it_stopped(api: SlackApi, sender: SlackSender) -> None:
    api.fail("chat.postMessage", None, Fault(retry_after_s=7))
    with pytest.raises(Later) as held:
        await sender.post(message(LONG))
    assert held.value.seconds == 7
    ref = await sender.post(message(LONG))
    assert ref.split() == [
        m.ts for m in sorted(api.messages, key=lambda m: m.body["metadata"]["event_payload"]["part"])
    ]
    parts = [m.body["metadata"]["event_payload"]["part"] for m in api.messages]
    assert sorted(parts) == list(range(len(parts)))


async def test_an_edit_that_needs_fewer_or_more_messages_has_them(api: SlackApi, sender: SlackSender) -> None:
    ref = await sender.post(message(LONG))
    await sender.edit(message(SMALL, ref=ref))
    assert len(api.messages) == 1
    first = api.messages[0].ts
    await sender.edit(message(LONG, ref=first))
    count = len(api.messages)
    await sender.edit(message(LONG, ref=first))
    assert count == len(api.messages) >= 3
    again = SlackSender(Api(api.base_url, api.bot_token))
    await again.edit(message(LONG, ref=first))
    assert len(api.messages) == count
    await again.close()


async def test_a_message_whose_answer_never_came_is_found_again(api: SlackApi) -> None:
    sender = SlackSender(Api(api.base_url, api.bot_token, timeout_s=0.3))
    api.fail("chat.postMessage", Fault(is_silent=True, does_it=True))
    with pytest.raises(DeliveryUnknown, match="did not answer in time"):
        await sender.post(message())
    assert await sender.find(message()) == api.messages[0].ts
    assert await sender.find(message(key="mission:msn_2@slack:C0GENERAL")) is None
    await sender.close()


@pytest.mark.parametrize("root", [True, False])
async def test_a_long_message_that_is_there_in_part_is_completed(
    api: SlackApi, sender: SlackSender, root: bool
) -> None:
    thread = await sender.post(message(key="root")) if root else None
    whole = message(LONG, root=thread)
    ref = await sender.post(whole)
    gone = next(m for m in api.messages if m.ts == ref.split()[1])
    api.messages.remove(gone)
    after_a_crash = SlackSender(Api(api.base_url, api.bot_token))
    assert await after_a_crash.find(whole) is None
    completed = await after_a_crash.post(whole)
    assert completed.split()[0] == ref.split()[0]
    assert len(api.messages) == len(ref.split()) + root
    assert await after_a_crash.find(whole) == completed
    await after_a_crash.close()


async def test_what_is_looked_for_is_found_on_later_pages(api: SlackApi, sender: SlackSender) -> None:
    ref = await sender.post(message())
    for number in range(250):
        await sender.post(message(key=f"other:{number}"))
    assert await sender.find(message()) == ref


@pytest.mark.parametrize(
    ("fault", "expected", "said"),
    [
        (Fault(retry_after_s=30), Later, "fewer calls"),
        (Fault(retry_after_s=float("inf")), Later, "fewer calls"),
        (Fault(error="ratelimited"), Later, "fewer calls"),
        (Fault(status=500), DeliveryUnknown, "status 500"),
        (Fault(status=502, does_it=True), DeliveryUnknown, "status 502"),
        (Fault(error="fatal_error"), DeliveryUnknown, "fatal_error"),
        (Fault(hangs_up=True), DeliveryUnknown, "broke"),
        (Fault(error="channel_not_found"), Undeliverable, "/invite @Interlock"),
        (Fault(error="not_in_channel"), Undeliverable, "/invite @Interlock"),
        (Fault(error="is_archived"), Undeliverable, "unarchive"),
        (Fault(error="an_error_of_next_year"), Undeliverable, "an_error_of_next_year"),
    ],
)
async def test_what_slack_answers_tells_the_outbox_what_to_do(
    api: SlackApi, sender: SlackSender, fault: Fault, expected: type[Exception], said: str
) -> None:
    api.fail("chat.postMessage", fault)
    with pytest.raises(expected, match=said) as raised:
        await sender.post(message())
    assert api.bot_token not in str(raised.value)
    longest = None if fault.retry_after_s is None else min(fault.retry_after_s, 3_600)
    assert getattr(raised.value, "seconds", None) == longest
    assert len(api.asked("chat.postMessage")) == 1, "nothing is repeated behind the outbox's back"


async def test_a_wrong_token_is_said_to_be_one(api: SlackApi) -> None:
    sender = SlackSender(Api(api.base_url, "xoxb-wrong"))
    with pytest.raises(Later, match="set `SLACK_BOT_TOKEN` anew"):
        await sender.post(message())
    await sender.close()


@pytest.mark.parametrize("error", ["invalid_auth", "token_revoked", "account_inactive"])
async def test_what_is_said_waits_while_the_token_is_refused_and_a_person_is_to_act(
    api: SlackApi, sender: SlackSender, error: str
) -> None:
    api.fail("chat.postMessage", Fault(error=error))
    with pytest.raises(Later, match="SLACK_BOT_TOKEN") as raised:
        await sender.post(message())
    assert (raised.value.needs_person, raised.value.seconds) == (True, REFUSED_S)


async def test_a_slack_that_cannot_be_reached_has_certainly_not_got_it(api: SlackApi) -> None:
    sender = SlackSender(Api("http://127.0.0.1:9", api.bot_token))
    with pytest.raises(Later, match="cannot be reached"):
        await sender.post(message())
    with pytest.raises(Later):
        await sender.find(message())
    await sender.close()


async def test_a_search_that_fails_is_made_again_later(api: SlackApi, sender: SlackSender) -> None:
    api.fail("conversations.history", Fault(error="missing_scope"), Fault(status=500), Fault(retry_after_s=3))
    for _ in range(3):
        with pytest.raises(Later):
            await sender.find(message())
    assert await sender.find(message()) is None


async def test_a_reply_goes_by_the_address_that_came_with_the_command(api: SlackApi, sender: SlackSender) -> None:
    url = api.response_url()
    assert await sender.post(reply(payload={"response_url": url})) == "reply"
    assert (api.private[0]["text"], api.private[0]["response_type"]) == ("A mission", "ephemeral")
    assert api.asked("chat.postEphemeral") == []


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data",
        "https://hooks.slack.com.evil.example/actions/1",
        "https://hooks.slack.com@evil.example/actions/1",
        "http://hooks.slack.com/actions/1",
        "https://evil.example\\@hooks.slack.com/1",
        "file:///etc/passwd",
        "https://[",
        7,
    ],
)
async def test_nothing_is_ever_sent_to_an_address_that_is_not_slacks(
    api: SlackApi, sender: SlackSender, url: object
) -> None:
    await sender.post(reply(payload={"response_url": url}))
    assert len(api.asked("chat.postEphemeral")) == 1, "the reply goes the other way, and nowhere else"


async def test_the_hooks_of_slack_itself_are_called() -> None:
    found = Api("https://slack.com/api", "xoxb-test")
    assert found.webhook("https://hooks.slack.com/commands/T1/2/3") is not None
    assert found.webhook("http://127.0.0.1/commands/1") is None
    await found.close()


async def test_the_log_of_the_vendor_shows_no_ticket_and_no_token(caplog: pytest.LogCaptureFixture) -> None:
    token = "xapp-" + "1-A0123456789-abcdef0123456789"
    vendor_log().error("cannot connect: %s by %s", "url=URL('wss://wss.slack.com/link/?ticket=abc-1&app=2')", token)
    assert "wss://wss.slack.com/link/?…" in caplog.text
    assert "abc-1" not in caplog.text
    assert token not in caplog.text


async def test_a_reply_whose_address_is_used_up_goes_to_the_person_all_the_same(
    api: SlackApi, sender: SlackSender
) -> None:
    url = api.response_url(uses=0)
    await sender.post(reply(payload={"response_url": url}))
    assert api.asked("chat.postEphemeral")[0]["user"] == "U0ANA"


async def test_a_long_reply_does_not_use_its_address_up(api: SlackApi, sender: SlackSender) -> None:
    url = api.response_url()
    card = Card("Tasks", passages=(Passage(LONG_TEXT * 3),))
    await sender.post(reply(card, payload={"response_url": url}))
    assert len(api.asked("respond")) == 4
    assert len(api.asked("chat.postEphemeral")) >= 2


@pytest.mark.parametrize(
    ("fault", "expected"),
    [(Fault(retry_after_s=5), Later), (Fault(status=500), DeliveryUnknown), (Fault(hangs_up=True), DeliveryUnknown)],
)
async def test_a_reply_that_fails_is_a_matter_for_the_outbox(
    api: SlackApi, sender: SlackSender, fault: Fault, expected: type[Exception]
) -> None:
    api.fail("respond", fault)
    url = api.response_url()
    with pytest.raises(expected):
        await sender.post(reply(payload={"response_url": url}))
    await sender.post(reply(payload={"response_url": url}))
    assert len(api.private) == 1


async def test_a_reply_can_be_edited_or_found_by_nobody(api: SlackApi, sender: SlackSender) -> None:
    await sender.edit(reply(ref="reply"))
    assert await sender.find(reply()) is None
    assert api.calls == []


async def test_a_letter_is_not_for_slack(sender: SlackSender) -> None:
    with pytest.raises(Undeliverable):
        await sender.post(message(None))


async def test_a_message_is_found_in_a_public_channel_that_the_app_is_not_in(
    api: SlackApi, sender: SlackSender
) -> None:
    api.outside.add("C0GENERAL")
    api.fail("chat.postMessage", Fault(status=502, does_it=True))
    with pytest.raises(DeliveryUnknown):
        await sender.post(message())
    assert await sender.find(message()) == api.messages[0].ts
    assert len(api.asked("conversations.join")) == 1


async def test_a_channel_that_cannot_be_joined_leaves_a_message_of_unknown_fate_for_later(
    api: SlackApi, sender: SlackSender
) -> None:
    api.outside.add("C0GENERAL")
    api.fail("conversations.join", Fault(error="missing_scope"))
    with pytest.raises(Later):
        await sender.find(message())
    assert api.asked("chat.postMessage") == []


async def test_a_thread_whose_first_message_was_deleted_goes_on_in_the_channel(
    api: SlackApi, sender: SlackSender
) -> None:
    root = await sender.post(message())
    api.delete(api.messages[0])
    asked = message(LONG, key="approval:apr_1", root=root)
    ref = await sender.post(asked)
    assert [m.thread for m in api.messages] == [None, *[ref.split()[0]] * (len(api.messages) - 1)]
    after_a_crash = SlackSender(Api(api.base_url, api.bot_token))
    assert await after_a_crash.find(asked) == ref
    await after_a_crash.close()


async def test_a_message_that_somebody_has_deleted_needs_no_edit(api: SlackApi, sender: SlackSender) -> None:
    ref = await sender.post(message(LONG))
    for posted in list(api.messages):
        api.delete(posted)
    await sender.edit(message(SMALL, ref=ref))
    assert api.messages == []


async def test_a_reply_whose_address_is_out_of_reach_goes_another_way_at_once(
    api: SlackApi, sender: SlackSender
) -> None:
    await sender.post(reply(payload={"response_url": "http://127.0.0.1:9/respond/1"}))
    assert len(api.asked("chat.postEphemeral")) == 1


async def test_a_reply_whose_address_keeps_failing_goes_another_way_at_the_next_attempt(
    api: SlackApi, sender: SlackSender
) -> None:
    api.fail("respond", *[Fault(status=500)] * 9)
    given = reply(payload={"response_url": api.response_url()})
    with pytest.raises(DeliveryUnknown):
        await sender.post(given)
    await sender.post(given)
    assert (len(api.asked("respond")), len(api.asked("chat.postEphemeral"))) == (1, 1)
