"""A home led from Telegram: missions, questions and answers, strangers and redeliveries, end to end."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from interlock.desk.chats.outgoing import outgoing
from interlock.desk.reading import listings
from interlock.desk.reading.details import task
from interlock.desk.signoff import signing
from interlock.testing.telegram_api import TelegramApi, Trouble
from interlock.testing.telegram_state import Fault
from tests.integration.telegram.parts import SECRET
from tests.integration.telegram.stage import ANA, EVE, GOAL, VIC, Stage, at_work, eventually

GROUP = -1001


@pytest.fixture
async def stage(api: TelegramApi, tmp_path: Path) -> AsyncIterator[Stage]:
    """A home that executes and polls."""
    async with at_work(api, tmp_path) as found:
        yield found


async def test_a_mission_runs_from_its_command_to_its_end_with_a_tap_between(stage: Stage) -> None:
    card, view = await stage.held()
    root = await stage.sent("(🟡 )?Mission: ")
    assert card.reply_to == root.message_id
    assert view["args"]["to"] == ["board@example.com"]
    for said in ("send_email", "board@example.com", "RED", "operations"):
        assert said in card.text
    await stage.api.tap(card.buttons[0][1], on=card, user=ANA)
    answered = await stage.settled(view["id"], "used")
    assert answered["decided_by_name"] == "Ana"
    await stage.api.until(lambda _: not card.buttons)
    assert "by Ana on telegram" in card.text
    done = await stage.finished()
    assert done.reply_to == root.message_id
    await stage.api.until(lambda _: "DONE" in root.text)
    assert len(await stage.missions()) == 1


async def test_the_parked_run_goes_on_soon_after_a_tap(stage: Stage) -> None:
    card, view = await stage.held()
    loop = asyncio.get_running_loop()
    began = loop.time()
    await stage.api.tap(card.buttons[0][1], on=card, user=ANA)
    await stage.settled(view["id"], "used")
    assert loop.time() - began < 20


async def test_a_denial_by_tap_asks_for_its_reason(stage: Stage) -> None:
    card, view = await stage.held()
    await stage.api.tap(card.buttons[1][1], on=card, user=ANA)
    question = await stage.sent("Ann No. 42, why do you deny")
    assert (await signing.approval(stage.box.runtime, view["id"]))["status"] == "pending"
    await stage.api.answer("not this <address>", to=question, user=ANA)
    denied = await stage.settled(view["id"], "denied")
    assert (denied["note"], denied["decided_by_name"]) == ("not this <address>", "Ana")
    await stage.api.until(lambda _: "not this <address>" in card.text and not card.buttons)


async def test_a_denial_by_words_needs_its_reason(stage: Stage) -> None:
    _, view = await stage.held()
    await stage.api.say(f"/deny {view['id']}", user=ANA)
    assert f"/deny {view['id']} REASON" in (await stage.sent("🔴 That did not work")).text
    await stage.api.say(f"/deny {view['id']} the board is on holiday", user=ANA)
    assert (await stage.settled(view["id"], "denied"))["note"] == "the board is on holiday"


async def test_a_redelivered_update_acts_once(stage: Stage) -> None:
    update = await stage.api.say("/run Write a haiku about locks", user=ANA)
    await stage.finished()
    await stage.api.push(update)
    await stage.idle()
    assert len(await stage.missions()) == 1
    assert sum(sent.text.startswith("Mission started") for sent in stage.api.sent) == 1


async def test_a_double_tap_acts_once_and_says_no_more_than_once(stage: Stage) -> None:
    card, view = await stage.held()
    approve = card.buttons[0][1]
    for _ in range(3):
        await stage.api.tap(approve, on=card, user=ANA)
    await stage.settled(view["id"], "used")
    await stage.api.until(lambda server: len(server.given("answerCallbackQuery")) == 3)
    await stage.finished()
    await stage.idle()
    assert len(await signing.approvals(stage.box.runtime)) == 0
    assert not [sent.text for sent in stage.api.sent if "did not work" in sent.text]


async def test_a_stranger_is_refused_once_and_nothing_else_happens(stage: Stage) -> None:
    card, view = await stage.held()
    before = len(stage.api.sent)
    await stage.api.tap(card.buttons[0][1], on=card, user=EVE)
    refusal = await stage.sent("You are not known here")
    await stage.api.tap(card.buttons[1][1], on=card, user=EVE)
    for text in ("/stop", f"/run {GOAL}", f"/approve {view['id']}", "/start"):
        await stage.api.say(text, user=EVE)
    await stage.idle()
    assert "interlock people link NAME telegram:66" in refusal.text
    assert len(stage.api.sent) == before + 1
    assert (await signing.approval(stage.box.runtime, view["id"]))["status"] == "pending"
    assert len(await stage.missions()) == 1
    alerts = await listings.alerts(stage.box.runtime)
    assert [alert["subject"] for alert in alerts if alert["kind"] == "STRANGER"] == ["telegram:66"]


async def test_a_viewer_looks_and_does_not_act(stage: Stage) -> None:
    card, view = await stage.held()
    await stage.api.say("/status", user=VIC)
    await stage.sent("How things stand")
    await stage.api.tap(card.buttons[1][1], on=card, user=VIC)
    assert "Vic is a viewer" in (await stage.sent("🔴 That did not work")).text
    assert (await signing.approval(stage.box.runtime, view["id"]))["status"] == "pending"


@pytest.mark.parametrize("data", ["a:apr_nothere", "a:msn_1"])
async def test_a_tap_with_an_id_that_is_not_there_gets_one_line(stage: Stage, data: str) -> None:
    card, view = await stage.held()
    await stage.api.tap(data, on=card, user=ANA)
    told = await stage.sent("🔴 That did not work")
    assert data[2:] in told.text
    assert len(told.text.strip().splitlines()) <= 3
    assert (await signing.approval(stage.box.runtime, view["id"]))["status"] == "pending"


async def test_a_group_with_topics_has_one_for_each_mission(stage: Stage) -> None:
    stage.api.chats.forums.add(GROUP)
    await stage.api.say(f"/run@other_bot {GOAL}", user=ANA, chat=GROUP)
    card, _ = await stage.held(chat=GROUP, text=f"/run@interlock_bot {GOAL}")
    (topic,) = stage.api.chats.topics
    root = await stage.sent("(🟡 )?Mission: ")
    assert (root.chat_id, root.thread_id, card.thread_id) == (GROUP, topic, topic)
    assert len(await stage.missions()) == 1


async def test_the_room_of_the_settings_hears_of_missions_that_were_started_elsewhere(
    api: TelegramApi, tmp_path: Path
) -> None:
    async with at_work(api, tmp_path, chat=str(GROUP)) as stage:
        running = asyncio.create_task(stage.box.run(GOAL))
        card, view = await stage.question()
        assert card.chat_id == GROUP
        await signing.approve(stage.box.runtime, stage.box.person, view["id"])
        await stage.api.until(lambda _: not card.buttons)
        assert (await stage.finished()).chat_id == GROUP
        await running


async def test_rate_limits_and_dropped_connections_lose_nothing_that_telegram_did_not_get(stage: Stage) -> None:
    stage.api.fail("getUpdates", Trouble.DROP)
    stage.api.fail("sendMessage", Fault(429, "Too Many Requests: retry after 1", retry_after=0.1), Fault(500, "x"))
    card, view = await stage.held()
    stage.api.fail("editMessageText", Fault(429, "Too Many Requests: retry after 1", retry_after=0.1), Trouble.LOSE)
    await stage.api.tap(card.buttons[0][1], on=card, user=ANA)
    await stage.settled(view["id"], "used")
    await stage.finished()
    await stage.api.until(lambda _: not card.buttons)
    texts = [sent.text for sent in stage.api.sent]
    assert len(texts) == len(set(texts))


async def test_a_message_of_unknown_fate_is_told_of_and_never_said_twice(stage: Stage) -> None:
    stage.api.fail("sendMessage", Trouble.LOSE)
    await stage.api.say("/status", user=ANA)
    await stage.sent("How things stand")
    (dead,) = await eventually(lambda: outgoing(stage.box.runtime, dead_only=True), lambda found: len(found) == 1)
    assert "may or may not have arrived" in dead["error"]
    assert dead["state"] == "uncertain"
    assert [alert["severity"] for alert in await listings.alerts(stage.box.runtime)] == ["warning"]
    assert [sent.text.split("\n")[0] for sent in stage.api.sent] == ["How things stand"]


async def test_what_was_said_while_nobody_listened_is_done_at_the_next_start(api: TelegramApi, tmp_path: Path) -> None:
    async with at_work(api, tmp_path) as stage:
        card, view = await stage.held()
    await api.tap(card.buttons[0][1], on=card, user=ANA)
    async with at_work(api, tmp_path) as stage:
        await stage.settled(view["id"], "used")
        mission = (await stage.missions())[0]["id"]
        await stage.finished()
        assert (await task(stage.box.runtime, mission))["status"] == "DONE"


async def test_updates_come_by_the_webhook_over_the_real_door(api: TelegramApi, tmp_path: Path) -> None:
    hook = {"webhook_url": "https://example.com/telegram/webhook", "webhook_secret": SECRET}
    async with at_work(api, tmp_path, **hook) as stage:
        await api.until(lambda server: server.webhook is not None)
        door = stage.door.notices[-1].split()[-1]
        api.webhook = {"url": f"{door}/telegram/webhook", "secret_token": SECRET}
        update = {"update_id": api.next_update(), "message": api.message("/run Write a haiku about locks", user=ANA)}
        assert [await api.deliver(update) for _ in range(3)] == [200, 200, 200]
        await stage.sent("🟢 Done: ")
        api.webhook["secret_token"] = "another"
        forged = {"update_id": api.next_update(), "message": api.message("/stop", user=ANA)}
        assert await api.deliver(forged) == 401
        assert len(await stage.missions()) == 1
    assert api.given("getUpdates") == []
