"""The outbox: what changes is told to whoever listens, once, in the transaction of the change."""

import asyncio
import threading
from datetime import datetime
from typing import Any

import psycopg
import pytest

from interlock.agents.persona import COORDINATOR, load_personas
from interlock.graph.launch import Launch, launch
from interlock.state_machine.table import BlockKind, TaskState
from interlock.store.auditing import audit
from interlock.store.engine import Store
from interlock.store.messages import conversations, dispatch, outbox
from interlock.store.messages.conversations import CONVERSATIONS, Origin
from interlock.store.schema import Outgoing, table
from interlock.store.signoff import approvals
from interlock.store.tx import Tx
from interlock.store.upkeep import pruning
from interlock.store.work import tasks
from interlock.store.work.tasks import Move
from tests.contract.store.furniture import ADA, PROJECT, T0, Job, after, answer, ask, in_progress, job
from tests.tool_calls import BOX

ROOM, OTHER = "slack:C1", "telegram:-100"


def rows(tx: Tx) -> list[Any]:
    """Everything in the outbox, in order."""
    return tx.rows(table(Outgoing).select().order_by(table(Outgoing).c.id))


async def keys(store: Store) -> list[str]:
    return [row.key for row in await store.read(rows)]


async def revision(store: Store, key: str) -> int:
    row = await store.read(outbox.by_key, key)
    assert row is not None
    return int(row.revision)


def rooms(tx: Tx) -> None:
    conversations.room(tx, "slack", "C1", PROJECT, T0)
    conversations.room(tx, "telegram", "-100", PROJECT, T0)


def threads(tx: Tx) -> Job:
    """A mission under way with a thread in each of two rooms."""
    rooms(tx)
    made = in_progress(tx)
    conversations.threads_in_rooms(tx, made.mission_id, PROJECT, T0)
    outbox.notify(tx, "mission", f"mission:{made.mission_id}", T0, project_id=PROJECT, mission_id=made.mission_id)
    return made


def deliver_all(tx: Tx) -> None:
    """Everything that is due is posted."""
    for surface in ("slack", "telegram", "email"):
        while taken := dispatch.take(tx, surface, "me", after(60), 50):
            for row in taken:
                dispatch.delivered(tx, row.id, "me", row.revision, f"ref {row.id}", T0, rest_until=None)


def wish(**more: Any) -> Launch:
    coordinator = load_personas(True, [], known_tools=frozenset(BOX.names)).personas[COORDINATOR]
    given: dict[str, Any] = {
        "project_id": PROJECT, "goal": "a goal", "requested_by": "ada", "coordinator": coordinator,
        "budget_microusd": 1_000_000, "idempotency_key": "k", "mission_id": "mis_1", **more,
    }  # fmt: skip
    return Launch(**given)


async def test_question_is_a_row_for_each_conversation_of_its_mission(store: Store) -> None:
    made = await store.write(threads)
    await store.write(ask, "apr_1", mission_id=made.mission_id, task_id=made.task_id)
    told = [key for key in await keys(store) if key.startswith("approval:")]
    assert told == [f"approval:apr_1@{room}/{made.mission_id}" for room in (ROOM, OTHER)]


async def test_question_without_a_mission_is_put_to_every_room(store: Store) -> None:
    await store.write(rooms)
    await store.write(ask, "apr_1")
    assert await keys(store) == [f"approval:apr_1@{ROOM}", f"approval:apr_1@{OTHER}"]


async def test_where_nobody_listens_nothing_is_written(store: Store) -> None:
    made = await store.write(in_progress)
    await store.write(ask, "apr_1", mission_id=made.mission_id)
    await store.write(audit.alert, T0, project_id=PROJECT, severity="info", kind="K", text="t", key="k")
    assert await keys(store) == []


async def test_change_that_is_undone_tells_nobody(store: Store) -> None:
    def fails(tx: Tx) -> None:
        ask(tx, "apr_1")
        raise RuntimeError("undone")

    await store.write(rooms)
    with pytest.raises(RuntimeError):
        await store.write(fails)
    assert await keys(store) == []


async def test_answer_changes_what_was_said_in_place_of_saying_more(store: Store) -> None:
    await store.write(rooms)
    await store.write(ask, "apr_1")
    await store.write(deliver_all)
    before = len(await keys(store))
    await store.write(approvals.answer, answer("apr_1"), T0)
    [again] = await store.write(dispatch.take, "slack", "me", T0, 9)
    assert (again.key, again.remote_ref, again.revision) == (f"approval:apr_1@{ROOM}", f"ref {again.id}", 2)
    assert len(await keys(store)) == before


@pytest.mark.parametrize("how", ["expired", "void", "void_of_run"])
async def test_question_that_is_off_without_an_answer_is_brought_up_to_date(store: Store, how: str) -> None:
    await store.write(rooms)
    await store.write(ask, "apr_1", expires_at=after(5), run_id="run_1" if how == "void_of_run" else None)
    await store.write(ask, "apr_2")
    if how == "expired":
        await store.write(approvals.expire, "apr_1", after(9))
    elif how == "void":
        await store.write(approvals.void, "apr_1", "canceled")
    else:
        await store.write(approvals.void_of_run, "run_1", after(9), "canceled")
    assert await revision(store, f"approval:apr_1@{ROOM}") == 2
    assert await revision(store, f"approval:apr_2@{ROOM}") == 1


async def test_changes_of_a_mission_raise_one_row_however_many_there_are(store: Store) -> None:
    made = await store.write(threads)
    for number, state in enumerate((TaskState.BLOCKED, TaskState.IN_PROGRESS, TaskState.BLOCKED)):
        is_block = state is TaskState.BLOCKED
        move = Move(
            task_id=made.task_id, to=state, actor=ADA, reason="so", key=f"k{number}",
            block_kind=BlockKind.OPERATOR if is_block else None, wait_for="owner:ada" if is_block else None,
        )  # fmt: skip
        await store.write(tasks.advance, move, T0)
    root = f"mission:{made.mission_id}@{ROOM}/{made.mission_id}"
    assert (await keys(store)).count(root) == 1
    assert await revision(store, root) == 4
    [taken] = await store.write(dispatch.take, "slack", "me", T0, 9)
    assert (taken.key, taken.revision) == (root, 4)


async def test_end_of_a_mission_is_told_once_in_each_thread(store: Store) -> None:
    made = await store.write(threads)
    cancel = Move(task_id=made.mission_id, to=TaskState.CANCELED, actor=ADA, reason="enough", key="c")
    for _ in range(2):
        await store.write(tasks.advance, cancel, T0)
    ended = [row for row in await store.read(rows) if row.kind == "ended"]
    assert [row.conversation_id for row in ended] == [f"{room}/{made.mission_id}" for room in (ROOM, OTHER)]
    assert {row.revision for row in ended} == {1}


async def test_each_block_of_a_mission_and_its_end_are_messages_of_their_own(store: Store) -> None:
    made = await store.write(threads)

    async def move(to: TaskState, key: str, **more: Any) -> None:
        change = Move(task_id=made.mission_id, to=to, actor=ADA, reason="so", key=key, **more)
        await store.write(tasks.advance, change, T0)

    async def told() -> list[str]:
        here = f"@{ROOM}/{made.mission_id}"
        found = await store.read(rows)
        return [str(row.subject).split(":")[0] for row in found if row.kind == "ended" and row.key.endswith(here)]

    await move(TaskState.ASSIGNED, "a", assignee_agent_id=made.coordinator)
    assert await told() == []
    for number in range(2):
        await move(TaskState.BLOCKED, f"b{number}", block_kind=BlockKind.OPERATOR, wait_for="owner:ada")
        await move(TaskState.ASSIGNED, f"c{number}")
    await move(TaskState.CANCELED, "d")
    assert await told() == ["blocked", "blocked", "ended"]


async def test_alert_goes_to_the_rooms_once_and_is_edited_when_it_is_seen(store: Store) -> None:
    await store.write(rooms)
    for _ in range(2):
        await store.write(audit.alert, T0, project_id=PROJECT, severity="info", kind="K", text="t", key="k")
    [alert] = await store.read(audit.alerts)
    assert await keys(store) == [f"alert:{alert.id}@{ROOM}", f"alert:{alert.id}@{OTHER}"]
    await store.write(audit.acknowledge, alert.id, "ada", T0)
    assert await revision(store, f"alert:{alert.id}@{ROOM}") == 2


async def test_card_of_a_mission_is_the_first_in_every_thread_also_where_it_was_started(store: Store) -> None:
    await store.write(rooms)
    started = wish(origin=Origin("slack", "C9", "17.5"))
    await store.write(launch, started, T0)
    await store.write(launch, started, T0)
    await store.write(ask, "apr_1", mission_id="mis_1")
    found = await store.read(rows)
    for place in ("slack:C9", ROOM, OTHER):
        assert [row.kind for row in found if row.conversation_id == f"{place}/mis_1"] == ["mission", "approval"]
    thread = await store.read(conversations.conversation, "slack:C9/mis_1")
    assert thread is not None
    assert (thread.role, thread.channel, thread.address) == ("mission", "C9", {"thread": "17.5"})


async def test_mission_that_was_started_in_a_room_has_one_thread_there(store: Store) -> None:
    await store.write(rooms)
    await store.write(launch, wish(origin=Origin("slack", "C1")), T0)
    assert await keys(store) == [f"mission:mis_1@{ROOM}/mis_1", f"mission:mis_1@{OTHER}/mis_1"]


async def test_room_of_another_project_hears_nothing_unless_there_is_no_other(store: Store) -> None:
    await store.write(conversations.room, "slack", "C2", "elsewhere", T0)
    await store.write(ask, "apr_1")
    assert await keys(store) == ["approval:apr_1@slack:C2"]
    await store.write(rooms)
    await store.write(ask, "apr_2")
    assert (await keys(store))[1:] == [f"approval:apr_2@{ROOM}", f"approval:apr_2@{OTHER}"]


async def test_room_that_another_one_replaces_hears_no_more_news(store: Store) -> None:
    assert await store.write(conversations.room, "slack", "C1", PROJECT, T0)
    assert not await store.write(conversations.room, "slack", "C1", PROJECT, T0)
    assert await store.write(conversations.room, "slack", "C2", PROJECT, T0)
    await store.write(ask, "apr_1")
    assert await keys(store) == ["approval:apr_1@slack:C2"]
    assert not await store.write(conversations.room, "slack", None, PROJECT, T0)
    await store.write(ask, "apr_2")
    assert await keys(store) == ["approval:apr_1@slack:C2"]


async def test_room_that_is_named_later_catches_up_with_what_is_open(store: Store) -> None:
    made, ended = await store.write(in_progress), await store.write(job)
    await store.write(ask, "apr_1", mission_id=made.mission_id)
    await store.write(ask, "apr_2")
    await store.write(ask, "apr_3")
    await store.write(approvals.answer, answer("apr_3"), T0)
    cancel = Move(task_id=ended.mission_id, to=TaskState.CANCELED, actor=ADA, reason="enough", key="c")
    await store.write(tasks.advance, cancel, T0)
    for _ in range(2):
        await store.write(conversations.room, "slack", "C1", PROJECT, T0)
        await store.write(outbox.catch_up, "slack", "C1", T0)
    thread = f"{ROOM}/{made.mission_id}"
    assert await keys(store) == [
        f"mission:{made.mission_id}@{thread}",
        f"approval:apr_1@{thread}",
        f"approval:apr_2@{ROOM}",
    ]


async def test_reply_is_said_once_for_each_key(store: Store) -> None:
    place = await store.write(conversations.reply_place, "slack", "C1", "U1", None, PROJECT, T0)
    for _ in range(2):
        await store.write(outbox.enqueue, place, {"card": {}}, "reply:1", T0)
    [row] = await store.write(dispatch.take, "slack", "me", T0, 9)
    assert (row.key, row.channel, row.address, row.payload) == ("reply:1", "C1", {"user": "U1"}, {"card": {}})


async def test_dead_letter_stays_dead_whatever_changes_until_a_person_revives_it(store: Store) -> None:
    await store.write(rooms)
    await store.write(ask, "apr_1")
    [row] = await store.write(dispatch.take, "slack", "me", T0, 9)
    await store.write(dispatch.bury, row.id, "me", "no such channel")
    await store.write(outbox.touch, "approval:apr_1")
    [dead] = await store.read(outbox.dead)
    assert (dead.id, dead.error) == (row.id, "no such channel")
    assert await store.write(dispatch.take, "slack", "me", after(9e6), 9) == []
    assert await store.write(outbox.revive, row.id)
    assert not await store.write(outbox.revive, row.id)
    [again] = await store.write(dispatch.take, "slack", "me", T0, 9)
    assert (again.id, again.attempts, again.revision) == (row.id, 1, 2)


async def test_letter_is_repeated_once_for_each_word_of_a_person(store: Store) -> None:
    def give_up(tx: Tx) -> None:
        [row] = dispatch.take(tx, "email", "me", T0, 9)
        dispatch.bury(tx, row.id, "me", "cut off", uncertain=True)

    async def status() -> str:
        row = await store.read(outbox.by_key, outbox.letter_key("token"))
        assert row is not None
        return str(row.status)

    await store.write(outbox.letter, "token", {"to": ["a@b.co"]}, T0, PROJECT)
    for approval in ("apr_1", "apr_2"):
        await store.write(give_up)
        await store.write(outbox.repeat_letter, "token", approval)
        assert await status() == "pending"
        await store.write(give_up)
        await store.write(outbox.repeat_letter, "token", approval)
        assert await status() == "dead"
        await store.write(outbox.letter, "token", {"to": ["a@b.co"]}, T0, PROJECT)
        assert await status() == "dead"
        [dead] = await store.read(outbox.dead)
        await store.write(outbox.revive, dead.id)


def prune(tx: Tx, before: datetime) -> int:
    return pruning.drop(tx, pruning.REPLIES, pruning.found(tx, pruning.REPLIES, before), before)


async def test_delivered_replies_are_forgotten_in_time_and_cards_are_not(store: Store) -> None:
    await store.write(rooms)
    await store.write(outbox.enqueue, ROOM, {"card": {}}, "reply:1", T0)
    await store.write(ask, "apr_1")
    await store.write(deliver_all)
    assert await store.write(prune, T0) == 0
    assert await store.write(prune, after(1)) == 1
    assert await keys(store) == [f"approval:apr_1@{ROOM}", f"approval:apr_1@{OTHER}"]


def place_and_reply(tx: Tx, key: str, user: str, now: datetime) -> None:
    where = conversations.reply_place(tx, "slack", "C1", user, None, PROJECT, now)
    outbox.enqueue(tx, where, {"card": {}}, key, now)


def forget_places(tx: Tx) -> int:
    """All that may go: found before somebody speaks there again, perhaps, and looked at anew when they are deleted."""
    every = [{"id": row.id} for row in tx.rows(CONVERSATIONS.select().order_by(CONVERSATIONS.c.id))]
    return pruning.drop(tx, pruning.PLACES, every, after(1))


async def test_reply_threads_are_deleted_once_they_are_empty_and_unused(store: Store) -> None:
    await store.write(rooms)
    for key, user in (("reply:1", "ann"), ("reply:2", "ben"), ("reply:3", "cat")):
        await store.write(place_and_reply, key, user, T0)
    await store.write(deliver_all)
    await store.write(place_and_reply, "reply:4", "ann", after(60))
    await store.write(place_and_reply, "reply:5", "ben", T0)
    assert await store.write(prune, after(1)) == 3
    assert await store.write(forget_places) == 1
    assert await keys(store) == ["reply:4", "reply:5"]
    kept = [row.id for row in await store.read(lambda tx: tx.rows(CONVERSATIONS.select().order_by(CONVERSATIONS.c.id)))]
    assert kept == ["slack:C1", "slack:C1/@ann", "slack:C1/@ben", "telegram:-100"]


async def test_place_that_is_used_again_while_it_is_being_forgotten_is_there_for_its_reply(
    migrated_postgres_url: str,
) -> None:
    """Only where several processes write at once: on SQLite one waits for the other as a whole."""
    inside, go_on = threading.Event(), threading.Event()

    def slow(tx: Tx) -> None:
        conversations.reply_place(tx, "slack", "C1", "ann", None, PROJECT, after(60))
        tx.one(CONVERSATIONS.select())
        inside.set()
        go_on.wait(60)
        place_and_reply(tx, "reply:1", "ann", after(60))

    async with Store(migrated_postgres_url) as store, Store(migrated_postgres_url) as other:
        await store.write(lambda tx: conversations.reply_place(tx, "slack", "C1", "ann", None, PROJECT, T0))
        speaking = asyncio.create_task(store.write(slow))
        await asyncio.to_thread(inside.wait, 20)
        forgetting = asyncio.create_task(other.write(forget_places))
        with psycopg.connect(migrated_postgres_url, autocommit=True) as admin:
            while not admin.execute("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'").fetchall():
                await asyncio.sleep(0.005)
        go_on.set()
        await speaking
        assert await forgetting == 0
        assert await keys(store) == ["reply:1"]
