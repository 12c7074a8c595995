"""What the outbox makes of Slack's moods: in order, once, edited everywhere, and said to be dead where it is."""

from pathlib import Path

from interlock.desk.chats.outgoing import outgoing
from interlock.desk.reading import listings
from interlock.desk.reading.views import View
from interlock.store.messages import conversations
from interlock.testing.slack_api import Fault, SlackApi
from tests.integration.slack.stage import GOAL, Stage, at_work, eventually, found

ROOM = "C0ROOM"


async def with_a_room(stage: Stage) -> None:
    stage.api.channels = (*stage.api.channels, ROOM)
    runtime = stage.box.runtime
    await runtime.store.write(conversations.room, "slack", ROOM, runtime.settings.project, runtime.clock.now())


async def dead_letters(stage: Stage) -> list[View]:
    return await outgoing(stage.box.runtime, dead_only=True)


async def test_a_mission_has_a_thread_where_it_was_started_and_one_in_the_room(stage: Stage) -> None:
    await with_a_room(stage)
    await stage.said(f"run {GOAL}")
    await stage.api.until(lambda slack: len(found(slack, "🔴 To sign off")) == 2)
    roots = {m.channel: m.ts for m in stage.api.messages if m.thread is None}
    assert set(roots) == {"C0GENERAL", ROOM}
    assert {(m.channel, m.thread) for m in found(stage.api, "🔴 To sign off")} == set(roots.items())


async def test_an_answer_in_one_channel_changes_the_card_in_the_other(stage: Stage) -> None:
    await with_a_room(stage)
    await stage.said(f"run {GOAL}")
    await stage.api.until(lambda slack: len(found(slack, "🔴 To sign off")) == 2)
    cards = found(stage.api, "🔴 To sign off")
    await stage.post(stage.tap("Approve", cards[1]))
    await stage.api.until(lambda _: not any(card.buttons() for card in cards))
    assert all("by Ana on slack" in card.text() for card in cards)


async def test_messages_of_a_thread_keep_their_order_through_a_rate_limit(stage: Stage) -> None:
    stage.api.fail("chat.postMessage", Fault(retry_after_s=0.4), Fault(status=503), None, Fault(retry_after_s=0.3))
    await stage.said(f"run {GOAL}")
    card = await stage.card("🔴 To sign off")
    root = stage.api.messages[0]
    assert root.thread is None
    assert card.thread == root.ts
    assert [m.thread for m in stage.api.messages].count(None) == 1


async def test_a_message_whose_answer_was_lost_is_there_once(stage: Stage) -> None:
    stage.api.fail("chat.postMessage", Fault(status=502, does_it=True), None, Fault(hangs_up=True, does_it=True))
    await stage.said(f"run {GOAL}")
    card = await stage.card("🔴 To sign off")
    await stage.post(stage.tap("Approve", card))
    await stage.api.until(lambda _: not card.buttons())
    keys = [m.body["metadata"]["event_payload"]["key"] for m in stage.api.messages]
    assert len(keys) == len(set(keys))


async def test_what_slack_refuses_for_good_is_a_dead_letter_and_an_alert_that_says_what_to_do(stage: Stage) -> None:
    stage.api.channels = ("C0OTHER",)
    await stage.said("run Compare A and B")
    dead = await eventually(lambda: dead_letters(stage), bool)
    assert "/invite @Interlock" in str(dead[0])
    alerts = await listings.alerts(stage.box.runtime)
    assert any(alert["kind"] == "DEAD_LETTER" for alert in alerts)


async def test_what_was_not_sent_when_the_process_ended_is_sent_by_the_next_one(api: SlackApi, tmp_path: Path) -> None:
    async with at_work(api, tmp_path, executes=False) as stage:
        await stage.said("run Compare A and B")
        await stage.idle()
        assert api.messages == []
    async with at_work(api, tmp_path) as stage:
        await stage.card("Mission")
        assert len([m for m in api.messages if m.thread is None]) == 1


async def test_who_starts_a_mission_where_the_app_may_not_write_is_told_so(stage: Stage) -> None:
    await with_a_room(stage)
    await stage.post(stage.command(f"run {GOAL}", channel="G0PRIVATE"))
    told = await stage.reply(2)
    assert "The mission has no thread here" in told
    assert "/invite @Interlock" in told
    assert (await stage.card("🔴 To sign off")).channel == ROOM
    assert len(stage.api.private) == 2, "it is told of once, and not of the room"
