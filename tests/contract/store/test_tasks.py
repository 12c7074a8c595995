"""Tasks change their state through `advance()` alone, once for each key, with all that belongs to it or not at all."""

import asyncio
import contextlib
from typing import Any

import pytest

from interlock.core.errors import Conflict, NotFound
from interlock.core.values import Actor, ActorKind
from interlock.state_machine.table import BlockKind, TaskState
from interlock.store.auditing import audit
from interlock.store.engine import Store
from interlock.store.tx import Tx
from interlock.store.work import missions, tasks
from interlock.store.work.tasks import Move, TransitionRefused
from tests.contract.store.furniture import ADA, T0, Job, after, ask, ask_for_review, hand_in, in_progress, job

SYSTEM = Actor(ActorKind.SYSTEM, "system:test")
STRANGER = Actor(ActorKind.AGENT, "somebody", "coder")


def block(made: Job, key: str = "block", **more: Any) -> Move:
    wish: dict[str, Any] = {
        "actor": ADA, "reason": "stop", "block_kind": BlockKind.OPERATOR, "wait_for": "owner:ada", **more,
    }  # fmt: skip
    return Move(task_id=made.task_id, to=TaskState.BLOCKED, key=key, **wish)


async def state(store: Store, made: Job) -> tuple[str, int]:
    row = await store.read(tasks.task, made.task_id)
    assert row is not None
    return row.status, row.version


async def recorded(store: Store, made: Job) -> tuple[int, int, int]:
    """How many transitions, activities and events there are."""
    return (
        len(await store.read(tasks.transitions, made.task_id)),
        len(await store.read(lambda tx: audit.activities(tx, action="TASK_TRANSITION"))),
        len(await store.read(missions.pending, made.mission_id)),
    )


async def test_change_of_state_comes_with_its_transition_activity_and_event(store: Store) -> None:
    made = await store.write(in_progress)
    transition = await store.write(tasks.advance, block(made, escalate_at=after(60)), after(1))
    row = await store.read(tasks.task, made.task_id)
    assert row is not None
    assert (row.status, row.held_from, row.block_kind, row.block_reason, row.wait_for, row.escalate_at) == (
        "BLOCKED", "IN_PROGRESS", "OPERATOR", "stop", "owner:ada", after(60),
    )  # fmt: skip
    last = (await store.read(tasks.transitions, made.task_id))[-1]
    assert (last.id, last.from_status, last.to_status, last.actor_kind, last.actor_id, last.reason) == (
        transition, "IN_PROGRESS", "BLOCKED", "human", "ada", "stop",
    )  # fmt: skip
    assert await recorded(store, made) == (3, 3, 3)
    event = (await store.read(missions.pending, made.mission_id))[-1]
    assert (event.kind, event.payload["to"], event.created_at) == ("task_changed", "BLOCKED", after(1))


async def test_unit_that_fails_after_the_change_leaves_nothing(store: Store) -> None:
    made = await store.write(in_progress)
    before = await state(store, made), await recorded(store, made)

    def fail(tx: Tx) -> None:
        tasks.advance(tx, block(made), T0)
        raise Conflict("later in the same unit")

    with pytest.raises(Conflict, match="later in the same unit"):
        await store.write(fail)
    assert (await state(store, made), await recorded(store, made)) == before


async def test_same_key_again_changes_nothing_and_gives_the_first_result(store: Store) -> None:
    made = await store.write(in_progress)
    first = await store.write(tasks.advance, block(made), T0)
    before = await state(store, made), await recorded(store, made)
    assert await store.write(tasks.advance, block(made), after(1)) == first
    assert (await state(store, made), await recorded(store, made)) == before


async def test_same_key_at_once_gives_one_result_to_all(store: Store) -> None:
    async with contextlib.AsyncExitStack() as stack:
        other = store if store.dialect == "sqlite" else await stack.enter_async_context(Store(store.url))
        made = await store.write(in_progress)
        for i in range(10):
            stop = block(made, f"stop {i}")
            go = Move(task_id=made.task_id, to=TaskState.IN_PROGRESS, actor=ADA, reason="go", key=f"go {i}")
            for move in (stop, go):
                results = await asyncio.gather(*[each.write(tasks.advance, move, T0) for each in (store, other)])
                assert len(set(results)) == 1
        assert await recorded(store, made) == (22, 22, 22)


async def test_of_two_who_change_a_task_at_once_the_second_hears_of_it(store: Store) -> None:
    async with contextlib.AsyncExitStack() as stack:
        other = store if store.dialect == "sqlite" else await stack.enter_async_context(Store(store.url))
        made = await store.write(in_progress)
        for i in range(10):
            results = await asyncio.gather(
                store.write(tasks.advance, block(made, f"one {i}"), T0),
                other.write(tasks.advance, block(made, f"two {i}"), T0),
                return_exceptions=True,
            )
            [lost] = [r for r in results if isinstance(r, BaseException)]
            assert isinstance(lost, Conflict | TransitionRefused)
            go = Move(task_id=made.task_id, to=TaskState.IN_PROGRESS, actor=ADA, reason="go", key=f"go {i}")
            await store.write(tasks.advance, go, T0)


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        ({"to": TaskState.IN_PROGRESS, "actor": ADA}, "INBOX does not lead to IN_PROGRESS"),
        ({"to": TaskState.ASSIGNED, "actor": ADA}, "it has no assignee"),
        ({"to": TaskState.ASSIGNED, "actor": STRANGER}, "an agent that has no part in it may not do this"),
        ({"to": TaskState.INBOX, "actor": ADA}, "it is in INBOX already"),
        ({"to": TaskState.CANCELED, "actor": SYSTEM}, "only when its mission is canceled"),
        ({"to": TaskState.NEEDS_APPROVAL, "actor": SYSTEM}, "nothing is recorded that would wake it"),
    ],
)
async def test_change_that_the_table_does_not_allow_is_refused(store: Store, wish: dict[str, Any], why: str) -> None:
    made = await store.write(job)
    with pytest.raises(TransitionRefused, match=why):
        await store.write(tasks.advance, Move(task_id=made.task_id, reason="because", key="k", **wish), T0)
    assert (await state(store, made), await recorded(store, made)) == (("INBOX", 0), (0, 0, 0))


async def test_unknown_task_is_not_found(store: Store) -> None:
    with pytest.raises(NotFound, match="no task `nothing`"):
        await store.write(
            tasks.advance, Move(task_id="nothing", to=TaskState.DONE, actor=ADA, reason="", key="k"), T0
        )  # fmt: skip


async def test_work_starts_when_what_it_depends_on_is_done(store: Store) -> None:
    made = await store.write(job)
    root = await store.read(tasks.task, made.mission_id)
    assert root is not None
    upstream = {**root._asdict(), "id": "up", "idempotency_key": "up", "key": "up", "parent_id": root.id}
    await store.write(lambda tx: tasks.add(tx, **upstream))
    await store.write(tasks.depend, made.task_id, "up")
    assign = Move(
        task_id=made.task_id, to=TaskState.ASSIGNED, actor=ADA, reason="x", key="a", assignee_agent_id=made.worker.id
    )
    await store.write(tasks.advance, assign, T0)
    start = Move(task_id=made.task_id, to=TaskState.IN_PROGRESS, actor=made.worker, reason="x", key="s")
    with pytest.raises(TransitionRefused, match="a task that it depends on is not finished"):
        await store.write(tasks.advance, start, T0)
    await store.write(lambda tx: tasks.add(tx, **{**upstream, "id": "new", "idempotency_key": "new", "status": "DONE"}))
    await store.write(tasks.depend, made.task_id, "new")
    with pytest.raises(TransitionRefused):
        await store.write(tasks.advance, start, T0)


async def test_task_is_not_done_without_an_approval_of_what_it_handed_in(store: Store) -> None:
    made = await store.write(in_progress)
    await store.write(hand_in, made)
    await store.write(ask, "other", kind="TOOL_CALL", task_id=made.task_id, status="approved")
    for record in (None, "no such", "other"):
        end = Move(
            task_id=made.task_id, to=TaskState.DONE, actor=ADA, reason="good", key=f"d {record}", approval_id=record
        )
        with pytest.raises(TransitionRefused, match="it has no approval record"):
            await store.write(tasks.advance, end, T0)


async def test_task_that_waits_for_an_answer_does_not_go_on_without_it(store: Store) -> None:
    made = await store.write(in_progress)
    await store.write(ask_for_review, made, "q", await store.write(hand_in, made))
    back = Move(task_id=made.task_id, to=TaskState.REVIEW, actor=ADA, reason="never mind", key="back")
    with pytest.raises(TransitionRefused, match="it waits for 1 more answer"):
        await store.write(tasks.advance, back, T0)


async def test_events_of_a_mission_make_one_queued_run_of_its_coordinator(store: Store) -> None:
    from interlock.store.mailboxes import mailbox

    made = await store.write(in_progress)
    await store.write(tasks.advance, block(made), T0)
    [claim] = await store.write(mailbox.claim, "w", 9, after(1))
    assert (claim.run.kind, claim.run.mission_id, claim.run.agent_id) == ("mission", made.mission_id, made.coordinator)
    events = await store.read(missions.pending, made.mission_id)
    await store.write(missions.consume, [event.id for event in events], T0)
    assert await store.read(missions.pending, made.mission_id) == []
