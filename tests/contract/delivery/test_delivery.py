"""Messages on their way out: in order, retried, edited in place, held where a surface says so."""

import asyncio
import os
from datetime import datetime, timedelta
from typing import Any

import pytest

from interlock.desk.chats.cards import Card
from interlock.integrations.attempts import MOST_ATTEMPTS, backoff_s
from interlock.integrations.contract import Later, Undeliverable
from interlock.integrations.delivery import duty
from interlock.store.auditing import audit
from interlock.store.duties import leaders
from interlock.store.engine import Store
from interlock.store.mailboxes import processes
from interlock.store.messages import conversations, dispatch, outbox
from interlock.store.messages.conversations import Origin
from interlock.store.tx import Tx
from tests.contract.delivery.board import Board, Desk, delivering, until

PROJECT = "demo"


async def place(desk: Desk, channel: str, user: str = "ann") -> str:
    """A conversation of one person in a channel."""
    return await desk.store.write(
        conversations.reply_place, "board", channel, user, None, PROJECT, desk.clock.now()
    )  # fmt: skip


async def say(desk: Desk, where: str, *keys: str) -> None:
    for key in keys:
        await desk.store.write(outbox.enqueue, where, {"card": Card(title=key).to_json()}, key, desk.clock.now())


async def room(desk: Desk, channel: str = "C1") -> None:
    await desk.store.write(conversations.room, "board", channel, PROJECT, desk.clock.now())


async def tell(desk: Desk, subject: str, kind: str = "approval", mission_id: str | None = None) -> None:
    await desk.store.write(
        outbox.notify, kind, subject, desk.clock.now(), project_id=PROJECT, mission_id=mission_id
    )  # fmt: skip


async def thread(desk: Desk) -> None:
    """The thread of a mission, with its card as the first message."""
    await desk.store.write(
        conversations.of_mission, "mis_1", Origin("board", "C1"), PROJECT, desk.clock.now()
    )  # fmt: skip
    await tell(desk, "mission:mis_1", "mission", "mis_1")


async def is_put_off(desk: Desk, key: str, attempts: int) -> bool:
    row = await desk.row(key)
    return bool(row.status == "pending" and row.attempts == attempts)


async def is_held(desk: Desk, key: str) -> bool:
    row = await desk.row(key)
    return bool(row.status == "pending" and row.error is not None)


async def is_now(desk: Desk, key: str, status: str) -> bool:
    return bool((await desk.row(key)).status == status)


def pass_time(desk: Desk, seconds: float) -> None:
    desk.time.advance(seconds)
    desk.store.wake()


async def alerts(desk: Desk) -> list[Any]:
    return await desk.store.read(audit.alerts)


async def has_alerts(desk: Desk, count: int) -> bool:
    return len(await alerts(desk)) == count


async def test_one_conversation_is_delivered_in_order_despite_failures_and_others_do_not_wait(desk: Desk) -> None:
    board = Board()
    slow, other = await place(desk, "C1"), await place(desk, "C2")
    board.faults = {"a": [Later("busy"), Later("busy")], "b": [Later("busy")]}
    await say(desk, slow, "a", "b", "c")
    await say(desk, other, "x", "y")
    async with delivering(desk, board):
        await until(lambda: is_put_off(desk, "a", 1))
        await until(lambda: board.keys == ["x", "y"])
        pass_time(desk, 1)
        await until(lambda: is_put_off(desk, "a", 2))
        pass_time(desk, 2)
        await until(lambda: is_put_off(desk, "b", 1))
        pass_time(desk, 1)
        await until(lambda: board.keys == ["x", "y", "a", "b", "c"])


async def test_conversations_are_spoken_in_side_by_side_and_each_one_message_at_a_time(desk: Desk) -> None:
    board = Board()
    gate = asyncio.Event()
    for channel in ("C1", "C2", "C3"):
        where = await place(desk, channel)
        board.gates[f"{channel} 1"] = gate
        await say(desk, where, f"{channel} 1", f"{channel} 2")
    async with delivering(desk, board):
        await until(lambda: len(board.open) == 3)
        gate.set()
        await until(lambda: len(board.posted) == 6)
    assert board.most_open == 3
    for channel in ("C1", "C2", "C3"):
        assert [key for key in board.begun if key.startswith(channel)] == [f"{channel} 1", f"{channel} 2"]


async def test_changes_before_the_first_post_are_part_of_it(desk: Desk) -> None:
    board = Board()
    await room(desk)
    await tell(desk, "approval:1")
    desk.looks["approval:1"] = Card(title="answered")
    await desk.store.write(outbox.touch, "approval:1")
    async with delivering(desk, board):
        await until(lambda: is_now(desk, "approval:1@board:C1", "delivered"))
    assert [message.card for message in board.posted] == [Card(title="answered")]
    assert board.edited == []


async def test_many_changes_after_it_are_one_edit_that_says_how_it_is_now(desk: Desk) -> None:
    board = Board()
    await room(desk)
    await tell(desk, "approval:1")
    async with delivering(desk, board):
        await until(lambda: is_now(desk, "approval:1@board:C1", "delivered"))
    for number in range(5):
        desk.looks["approval:1"] = Card(title=f"change {number}")
        await desk.store.write(outbox.touch, "approval:1")
    async with delivering(desk, board):
        await until(lambda: is_now(desk, "approval:1@board:C1", "delivered"))
    assert len(board.posted) == 1
    assert [(edit.ref, edit.card) for edit in board.edited] == [("m1", Card(title="change 4"))]


async def test_change_while_a_message_is_being_posted_is_not_lost(desk: Desk) -> None:
    board = Board()
    await room(desk)
    key = "approval:1@board:C1"
    board.gates[key] = asyncio.Event()
    await tell(desk, "approval:1")
    async with delivering(desk, board):
        await until(lambda: board.open == [key])
        desk.looks["approval:1"] = Card(title="answered")
        await desk.store.write(outbox.touch, "approval:1")
        board.gates[key].set()
        await until(lambda: len(board.edited) == 1)
    assert board.edited[0].card == Card(title="answered")
    assert len(board.posted) == 1


async def test_card_of_a_mission_is_first_in_its_thread_and_edited_at_most_every_two_seconds(desk: Desk) -> None:
    board = Board()
    await thread(desk)
    await tell(desk, "approval:1", mission_id="mis_1")
    root = "mission:mis_1@board:C1/mis_1"
    async with delivering(desk, board):
        await until(lambda: len(board.posted) == 2)
        assert [(m.kind, m.root) for m in board.posted] == [("mission", None), ("approval", "m1")]
        await desk.store.write(outbox.touch, "mission:mis_1")
        await tell(desk, "approval:2", mission_id="mis_1")
        await until(lambda: len(board.posted) == 3)
        assert board.edited == []
        assert (await desk.row(root)).due_at == desk.clock.now() + timedelta(seconds=2)
        pass_time(desk, 2)
        await until(lambda: [edit.key for edit in board.edited] == [root])


async def test_rate_limit_holds_the_whole_channel_as_long_as_the_surface_says_and_no_other(desk: Desk) -> None:
    board = Board()
    ann, bob, other = await place(desk, "C1"), await place(desk, "C1", "bob"), await place(desk, "C2")
    board.faults = {"a": [Later("slow down", seconds=30)]}
    await say(desk, ann, "a")
    async with delivering(desk, board):
        await until(lambda: is_held(desk, "a"))
        assert (await desk.row("a")).attempts == 0
        await say(desk, bob, "b")
        await say(desk, other, "x")
        await until(lambda: board.keys == ["x"])
        pass_time(desk, 29)
        await say(desk, other, "y")
        await until(lambda: board.keys == ["x", "y"])
        assert (await desk.row("b")).attempts == 0
        pass_time(desk, 1)
        await until(lambda: sorted(board.keys) == ["a", "b", "x", "y"])


async def test_people_are_told_once_of_a_surface_that_one_of_them_has_to_open_again(desk: Desk) -> None:
    board = Board()
    where = await place(desk, "C1")
    refused = [Later("the token is refused: set another", seconds=30, needs_person=True) for _ in range(2)]
    board.faults = {"a": list(refused)}
    await say(desk, where, "a")
    async with delivering(desk, board):
        for left in (1, 0):
            await until(lambda left=left: len(board.faults["a"]) == left and is_held(desk, "a"))  # type: ignore[misc]
            await until(lambda: has_alerts(desk, 1))
            [alert] = await alerts(desk)
            assert (alert.kind, alert.subject, alert.severity) == ("SURFACE_SHUT", "board", "critical")
            assert "the token is refused: set another" in alert.text
            pass_time(desk, 30)
        await until(lambda: "a" in board.keys)
        await until(lambda: has_alerts(desk, 0))


async def test_message_is_given_up_after_its_last_attempt_and_one_alert_says_so(desk: Desk) -> None:
    board = Board()
    where = await place(desk, "C1")
    board.faults = {"a": [Later("down") for _ in range(MOST_ATTEMPTS)]}
    await say(desk, where, "a", "b")
    async with delivering(desk, board):
        for attempt in range(1, MOST_ATTEMPTS):
            await until(lambda attempt=attempt: is_put_off(desk, "a", attempt))  # type: ignore[misc]
            pass_time(desk, 300)
        await until(lambda: is_now(desk, "a", "dead"))
        await until(lambda: board.keys == ["b"])
        [alert] = await alerts(desk)
        row = await desk.row("a")
        assert (alert.kind, alert.severity, alert.dedup_key) == ("DEAD_LETTER", "warning", f"dead:{row.id}")
        assert (row.error, len(board.begun)) == ("down", MOST_ATTEMPTS + 1)
        assert await desk.store.write(outbox.revive, row.id)
        await until(lambda: board.keys == ["b", "a"])


async def test_what_a_surface_will_never_take_is_given_up_at_once_and_does_not_hold_up_the_rest(desk: Desk) -> None:
    board = Board()
    await room(desk)
    key = "approval:1@board:C1"
    board.faults = {key: [Undeliverable("xoxb-0123456789-abcdefghijklmnop is not a token: make a new one")]}
    await tell(desk, "approval:1")
    await tell(desk, "approval:2")
    async with delivering(desk, board):
        await until(lambda: len(board.posted) == 2)
    [dead] = await desk.store.read(outbox.dead)
    [alert] = await alerts(desk)
    assert "abcdefghijklmnop" not in dead.error + alert.text
    assert board.keys == ["approval:2@board:C1", f"alert:{alert.id}@board:C1"]


async def test_dead_alert_raises_no_alert(desk: Desk) -> None:
    board = Board()
    await room(desk)
    await desk.store.write(
        audit.alert, desk.clock.now(), project_id=PROJECT, severity="info", kind="K", text="t", key="k"
    )  # fmt: skip
    [raised] = await alerts(desk)
    key = f"alert:{raised.id}@board:C1"
    board.faults = {key: [Undeliverable("no such channel")]}
    async with delivering(desk, board):
        await until(lambda: is_now(desk, key, "dead"))
    assert [alert.id for alert in await alerts(desk)] == [raised.id]


async def test_outdated_messages_are_not_sent(desk: Desk) -> None:
    board = Board()
    await room(desk)
    desk.looks["approval:1"] = None
    await tell(desk, "approval:1")
    async with delivering(desk, board):
        await until(lambda: is_now(desk, "approval:1@board:C1", "delivered"))
        desk.looks["approval:1"] = Card(title="it is so after all")
        await desk.store.write(outbox.touch, "approval:1")
        await until(lambda: len(board.posted) == 1)
    assert board.edited == []


async def test_message_that_cannot_be_drawn_up_stops_no_other_conversation(desk: Desk) -> None:
    board = Board()
    where, other = await place(desk, "C1"), await place(desk, "C2")
    await desk.store.write(outbox.enqueue, where, {"card": {"title": "half a card"}}, "bad", desk.clock.now())
    await say(desk, other, "x")
    async with delivering(desk, board):
        await until(lambda: is_put_off(desk, "bad", 1))
        await until(lambda: board.keys == ["x"])
    assert "cannot be drawn up" in (await desk.row("bad")).error


async def test_edit_that_fails_is_tried_again_and_keeps_no_news_back(desk: Desk) -> None:
    board = Board()
    await room(desk)
    key = "approval:1@board:C1"
    await tell(desk, "approval:1")
    async with delivering(desk, board):
        await until(lambda: is_now(desk, key, "delivered"))
        board.faults = {key: [Later("busy")]}
        await desk.store.write(outbox.touch, "approval:1")
        await until(lambda: is_put_off(desk, key, 1))
        await tell(desk, "approval:2")
        await until(lambda: len(board.posted) == 2)
        pass_time(desk, 1)
        await until(lambda: [edit.key for edit in board.edited] == [key])


async def test_message_leaves_at_once_when_its_change_is_committed(desk: Desk) -> None:
    board = Board()
    where = await place(desk, "C1")
    took: list[float] = []
    loop = asyncio.get_running_loop()
    async with delivering(desk, board):
        for number in range(5):
            began = loop.time()
            await say(desk, where, f"{number}")
            await until(lambda number=number: len(board.posted) > number)  # type: ignore[misc]
            took.append(loop.time() - began)
    assert min(took[1:]) < 0.15


async def test_messages_due_when_the_process_ends_are_still_sent(desk: Desk) -> None:
    board = Board()
    where = await place(desk, "C1")
    board.gates["a"] = asyncio.Event()
    await say(desk, where, "a", "b")
    async with delivering(desk, board):
        await until(lambda: board.open == ["a"])
        asyncio.get_running_loop().call_later(0.05, board.gates["a"].set)
    assert board.keys == ["a", "b"]
    assert board.closed


async def test_of_two_processes_one_delivers_and_the_other_goes_on_after_it(desk: Desk) -> None:
    first, second = Board(), Board()
    where = await place(desk, "C1")
    async with Store(desk.store.url) as store:
        other = Desk(desk.settings, desk.clock, store)
        async with delivering(desk, first):
            await say(desk, where, "a")
            await until(lambda: first.keys == ["a"])
            async with delivering(other, second):
                await say(desk, where, "b")
                await until(lambda: first.keys == ["a", "b"])
                assert second.begun == []
        async with delivering(other, second):
            await say(desk, where, "c")
            await until(lambda: second.keys == ["c"])
    assert first.keys == ["a", "b"]


async def test_sender_presumed_dead_records_nothing_any_more(desk: Desk) -> None:
    """Its attempt is another's to judge: what it still hears of it is not written over what the other found out."""
    board = Board()
    where = await place(desk, "C1")
    board.gates["a"] = asyncio.Event()
    await say(desk, where, "a")
    async with delivering(desk, board):
        await until(lambda: board.open == ["a"])
        await desk.store.write(_take_over, desk.clock.now())
        board.gates["a"].set()
        await until(lambda: board.open == [])
        await say(desk, where, "b")
    row = await desk.row("a")
    assert (row.status, row.holder, board.begun) == ("sending", "another", ["a"])


def _take_over(tx: Tx, now: datetime) -> None:
    row = leaders.leader(tx, duty("board"))
    assert row is not None
    other = leaders.Candidate("another", processes.host(), os.getpid(), processes.started(os.getpid()) or "")
    assert leaders.take(tx, duty("board"), (row.fence, row.beat), other, now)
    [open_attempt] = dispatch.open_attempts(tx, "board", "another", now)
    assert open_attempt.key == "a"


@pytest.mark.parametrize(("attempts", "least", "most"), [(1, 0.5, 1), (2, 1, 2), (5, 8, 16), (12, 150, 300)])
def test_wait_doubles_up_to_five_minutes_and_half_of_it_is_chance(attempts: int, least: float, most: float) -> None:
    assert backoff_s(attempts, jitter=0.0) == least
    assert backoff_s(attempts, jitter=1.0) == most
