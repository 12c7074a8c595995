"""Several processes and one outbox: what a broken commit, a long standstill or a long backlog leave behind."""

import os
from datetime import datetime

from interlock.integrations.attempts import Attempts
from interlock.integrations.delivery import duty
from interlock.scheduler.leadership import Leadership
from interlock.store.duties import leaders
from interlock.store.duties.leaders import Candidate
from interlock.store.mailboxes import processes
from interlock.store.messages import conversations, dispatch, outbox
from interlock.store.schema import Outgoing
from interlock.store.tx import Tx
from tests.contract.delivery.board import Board, Desk, delivering, until
from tests.contract.delivery.test_delivery import PROJECT, is_now, place, room, say, tell

BACKLOG = 4_000
KEY = "approval:1@board:C1"


async def fence(desk: Desk) -> int:
    row = await desk.store.read(leaders.leader, duty("board"))
    return 0 if row is None else int(row.fence)


def told_and_taken_unheard(tx: Tx, holder: str, now: datetime) -> None:
    """What is left where a message was taken, and the connection broke before the commit could be confirmed."""
    outbox.notify(tx, "approval", "approval:1", now, project_id=PROJECT)
    assert [row.key for row in dispatch.take(tx, "board", holder, now, 9)] == [KEY]


async def test_message_that_was_taken_without_its_holder_hearing_of_it_leaves_all_the_same(desk: Desk) -> None:
    board = Board()
    await room(desk)
    async with delivering(desk, board):
        await until(lambda: _leads(desk))
        await desk.store.write(told_and_taken_unheard, str(await fence(desk)), desk.clock.now())
        await tell(desk, "approval:2")
        await until(lambda: is_now(desk, KEY, "delivered"))
        await until(lambda: len(board.posted) == 2)
    assert (board.keys, board.asked) == ([KEY, "approval:2@board:C1"], [KEY])


async def _leads(desk: Desk) -> bool:
    return await fence(desk) > 0


async def test_a_delivery_in_progress_is_not_taken_for_abandoned(desk: Desk) -> None:
    await room(desk)
    await tell(desk, "approval:1")
    [row] = await desk.store.write(dispatch.take, "board", "1", desk.clock.now(), 9)
    now, underway = desk.clock.now(), {row.id}
    assert not await desk.store.read(dispatch.has_due, "board", "1", now, underway)
    assert await desk.store.write(dispatch.open_attempts, "board", "1", now, underway) == []
    assert await desk.store.read(dispatch.has_due, "board", "1", now)
    [found] = await desk.store.write(dispatch.open_attempts, "board", "1", now)
    assert (found.id, (await desk.row(KEY)).attempts) == (row.id, 2)


async def test_process_that_stood_still_until_it_was_replaced_sends_nothing_that_it_had_begun(desk: Desk) -> None:
    board = Board()
    leadership = Leadership(desk.store, desk.clock, duty("board"), takeover_s=45)
    attempts = Attempts(desk, board, desk.draw, lambda: leadership.leads)
    assert await leadership.hold()
    await say(desk, await place(desk, "C1"), "a")
    [row] = await desk.store.write(dispatch.take, "board", str(leadership.fence), desk.clock.now(), 9)
    desk.time.advance(45)
    await desk.store.write(_replace, leadership.fence, desk.clock.now())
    await attempts.make(row, str(leadership.fence), is_open=False)
    assert (board.begun, (await desk.row("a")).status) == ([], "sending")
    assert not await leadership.hold()


def _replace(tx: Tx, fence: int, now: datetime) -> None:
    row = leaders.leader(tx, duty("board"))
    assert row is not None
    other = Candidate("another", processes.host(), os.getpid(), processes.started(os.getpid()) or "")
    assert leaders.take(tx, duty("board"), (fence, row.beat), other, now) == fence + 1


async def test_long_backlog_keeps_no_other_place_waiting(desk: Desk) -> None:
    """A channel that takes a message a second has a queue after a bad night."""
    await room(desk)
    now = desk.clock.now()

    def pile_up(tx: Tx) -> None:
        rows = (
            {"key": f"alert:{n}@board:C1", "surface": "board", "conversation_id": "board:C1", "kind": "alert",
             "subject": f"alert:{n}", "created_at": now}
            for n in range(BACKLOG)
        )  # fmt: skip
        tx.add_many(Outgoing, rows)
        where = conversations.reply_place(tx, "board", "C2", "ann", None, PROJECT, now)
        outbox.enqueue(tx, where, {}, "reply", now)

    await desk.store.write(pile_up)
    taken = await desk.store.write(dispatch.take, "board", "1", now, 9)
    assert [row.key for row in taken] == ["alert:0@board:C1", "reply"]
    assert not await desk.store.read(dispatch.has_due, "board", "1", now, {row.id for row in taken})
