"""Attempts of unknown outcome: cut off by a death, or never answered; found, made again, or put before a person."""

import asyncio

import pytest

from interlock.desk.chats.cards import Card
from interlock.integrations.contract import DeliveryUnknown, Later, Message
from interlock.store.auditing import audit
from interlock.store.messages import conversations, dispatch, outbox
from tests.contract.delivery.board import Board, Desk, delivering, until
from tests.contract.delivery.test_delivery import is_now, is_put_off, pass_time, place, room, say, tell

KEY = "approval:1@board:C1"


async def cut_off(desk: Desk) -> None:
    """A process took the message and died before it could record anything."""
    [row] = await desk.store.write(dispatch.take, "board", "dead leader", desk.clock.now(), 9)
    assert row.key == KEY


def posted(board: Board) -> None:
    """The message of that process is there."""
    board.posted.append(
        Message(key=KEY, kind="approval", channel="C1", address={}, card=Card(title="before"), payload={})
    )  # fmt: skip


async def test_message_of_a_dead_process_that_is_there_is_found_and_not_repeated(desk: Desk) -> None:
    board = Board()
    await room(desk)
    await tell(desk, "approval:1")
    await cut_off(desk)
    posted(board)
    async with delivering(desk, board):
        await until(lambda: is_now(desk, KEY, "delivered"))
        assert (await desk.row(KEY)).remote_ref == "m1"
        await desk.store.write(outbox.touch, "approval:1")
        await until(lambda: len(board.edited) == 1)
    assert (board.keys, board.asked, board.begun) == ([KEY], [KEY], [])


async def test_message_that_has_changed_since_is_found_and_brought_up_to_date(desk: Desk) -> None:
    board = Board()
    await room(desk)
    await tell(desk, "approval:1")
    await cut_off(desk)
    posted(board)
    await desk.store.write(outbox.touch, "approval:1")
    async with delivering(desk, board):
        await until(lambda: is_now(desk, KEY, "delivered"))
    assert [(edit.ref, edit.card) for edit in board.edited] == [("m1", Card(title="approval:1"))]
    assert board.begun == []


async def test_message_that_is_not_there_is_posted_before_what_came_after_it(desk: Desk) -> None:
    board = Board()
    await room(desk)
    await tell(desk, "approval:1")
    await cut_off(desk)
    await tell(desk, "approval:2")
    async with delivering(desk, board):
        await until(lambda: len(board.posted) == 2)
    assert board.keys == [KEY, "approval:2@board:C1"]


async def test_what_must_not_be_repeated_and_cannot_be_found_is_put_before_people(desk: Desk) -> None:
    board = Board(repeats=False, tells=False)
    await room(desk)
    await tell(desk, "approval:1")
    await cut_off(desk)
    async with delivering(desk, board):
        await until(lambda: is_now(desk, KEY, "dead"))
        [alert] = await desk.store.read(audit.alerts)
        await until(lambda: is_now(desk, f"alert:{alert.id}@board:C1", "delivered"))
    row = await desk.row(KEY)
    assert (row.holder, alert.kind) == (dispatch.UNCERTAIN, "DEAD_LETTER")
    assert row.error == "the process that sent it was cut off: it may or may not have arrived"
    assert KEY not in board.begun


@pytest.mark.parametrize("is_there", [True, False])
async def test_message_without_an_answer_is_looked_for_before_it_is_repeated(desk: Desk, is_there: bool) -> None:
    board = Board()
    await room(desk)
    if is_there:
        board.lost = {KEY: [DeliveryUnknown("no answer")]}
    else:
        board.faults = {KEY: [DeliveryUnknown("no answer")]}
    await tell(desk, "approval:1")
    async with delivering(desk, board):
        await until(lambda: is_in_doubt(desk))
        pass_time(desk, 1)
        if not is_there:
            await until(lambda: is_put_off(desk, KEY, 2))
            pass_time(desk, 2)
        await until(lambda: is_now(desk, KEY, "delivered"))
    assert (board.keys, board.asked) == ([KEY], [KEY])


async def is_in_doubt(desk: Desk) -> bool:
    row = await desk.row(KEY)
    return bool(row.status == "sending" and row.holder is None)


async def test_while_nobody_can_look_nothing_is_repeated_and_the_conversation_waits(desk: Desk) -> None:
    board = Quiet()
    await room(desk)
    await tell(desk, "approval:1")
    await cut_off(desk)
    posted(board)
    await tell(desk, "approval:2")
    async with delivering(desk, board):
        for _ in range(2):
            await until(lambda: is_in_doubt(desk))
            assert board.begun == []
            board.silent -= 1
            pass_time(desk, 5)
        await until(lambda: len(board.posted) == 2)
    assert board.begun == ["approval:2@board:C1"]


class Quiet(Board):
    """Cannot be asked what is there at first."""

    silent = 2

    async def find(self, message: Message) -> str | None:
        if self.silent > 0:
            raise Later("try again")
        return await super().find(message)


async def test_edit_of_a_dead_process_is_simply_made_again(desk: Desk) -> None:
    board = Board(repeats=False, tells=False)
    await room(desk)
    await tell(desk, "approval:1")
    async with delivering(desk, board):
        await until(lambda: is_now(desk, KEY, "delivered"))
    await desk.store.write(outbox.touch, "approval:1")
    await cut_off(desk)
    async with delivering(desk, board):
        await until(lambda: is_now(desk, KEY, "delivered"))
    assert (len(board.posted), len(board.edited), board.asked) == (1, 1, [])


async def test_surface_that_breaks_leaves_the_outcome_unknown_as_one_that_does_not_answer(desk: Desk) -> None:
    board = Board(repeats=False, tells=False)
    where = await desk.store.write(
        conversations.reply_place, "board", "C9", "ann", None, "demo", desk.clock.now()
    )  # fmt: skip
    board.lost = {"a": [ZeroDivisionError("a bug")]}
    await say(desk, where, "a", "b")
    async with delivering(desk, board):
        await until(lambda: is_now(desk, "a", "dead"))
        await until(lambda: board.keys == ["a", "b"])
    assert (await desk.row("a")).holder == dispatch.UNCERTAIN


async def test_attempt_that_is_cut_off_with_its_process_is_judged_by_the_next_one(desk: Desk) -> None:
    board, where = Board(), await place(desk, "C1")
    board.gates["a"] = asyncio.Event()
    await say(desk, where, "a")
    async with delivering(desk, board):
        await until(lambda: board.open == ["a"])
    assert (await desk.row("a")).status == "sending"
    board.gates.clear()
    async with delivering(desk, board):
        await until(lambda: is_now(desk, "a", "delivered"))
    assert (board.keys, board.asked, board.begun) == (["a"], ["a"], ["a", "a"])
