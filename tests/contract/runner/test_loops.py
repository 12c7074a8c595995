"""Work that goes round in circles: found where it happens and by the sweep, told once, ended by a person."""

from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from interlock.core.ids import new_id
from interlock.core.values import SYSTEM, Actor, ActorKind
from interlock.oversight import loops as oversight
from interlock.state_machine.table import BlockKind, TaskState
from interlock.store.auditing import audit
from interlock.store.knowledge import incidents
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Post
from interlock.store.runs import traces
from interlock.store.schema import ToolCall
from interlock.store.signoff import approvals
from interlock.store.tx import Tx
from interlock.store.work import loops, tasks
from interlock.testing.scripted import ScriptedModel, calls
from interlock.tools.errors import ToolError
from interlock.tools.registry import tool
from tests.contract.runner.stage import PROJECT, CountingStore, Stage, hand_in, staged

Act = Callable[[Stage, Any, int], Awaitable[None]]


@tool(risk="GREEN", idempotent=True, outside=False)
async def fetch(what: str) -> str:
    """Never finds anything."""
    raise ToolError(f"there is no {what}")


def comment(text: str = "noted") -> Any:
    """A call that comments on the agent's own task."""
    return calls("post_comment", message=text)


async def looped(stage: Stage, run: str) -> str:
    """The reason why a run's task is blocked as a loop."""
    task = await stage.task_of(run)
    assert (task.status, task.block_kind) == ("BLOCKED", "LOOP")
    return str(task.block_reason)


async def test_comment_that_is_one_too_many_stops_the_run_at_once(store: CountingStore, tmp_path: Path) -> None:
    model = ScriptedModel([comment() for _ in range(20)], comment())
    stage = await staged(store, tmp_path, model)
    run = await stage.task()
    await stage.work()
    assert await looped(stage, run) == "a loop: 21 comments in 30 min, more than 20 are a loop"
    assert await stage.ended(run) == ("cancelled", "cancelled")
    assert "stopped as a loop" in (await stage.run(run)).error
    assert len(model.requests) == 2


async def test_as_many_comments_as_are_allowed_stop_nothing(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel([comment() for _ in range(20)], hand_in(), "done"))
    run = await stage.task()
    await stage.work()
    assert (await stage.task_of(run)).status == "REVIEW"


async def test_fifth_failure_stops_the_run_before_it_asks_anything(store: CountingStore, tmp_path: Path) -> None:
    tried = [calls("fetch", what=str(number)) for number in range(4)]
    last = [calls("fetch", what="it"), calls("ask_operator", question="what now?")]
    model = ScriptedModel(tried, last)
    stage = await staged(store, tmp_path, model, [fetch])
    run = await stage.task()
    await stage.work()
    assert await looped(stage, run) == "a loop: 5 tool calls failed in its last 10 runs, 5 are a loop"
    assert [row.kind for row in await stage.pending()] == ["ESCALATION"]
    assert await stage.statuses(run) == ["failed"] * 5 + ["skipped"]
    assert len(model.requests) == 2


async def test_four_failures_stop_nothing(store: CountingStore, tmp_path: Path) -> None:
    tried = [calls("fetch", what=str(number)) for number in range(4)]
    stage = await staged(store, tmp_path, ScriptedModel(tried, hand_in(), "done"), [fetch])
    run = await stage.task()
    await stage.work()
    assert (await stage.task_of(run)).status == "REVIEW"


async def test_loop_is_reported_once_with_all_its_details(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel([calls("fetch", what="it") for _ in range(5)]), [fetch])
    run = await stage.task()
    await stage.work()
    await oversight.sweep(stage.runtime)
    task = await stage.task_of(run)
    question = await stage.the_question()
    assert task.wait_for == f"approval:{question.id}"
    assert (question.rules, question.on_behalf_of) == (["loops.failed_calls"], stage.ada.id)
    (alert,) = await stage.alerts()
    assert (alert.kind, alert.subject) == ("LOOP", task.id)
    (incident,) = await store.read(incidents.of_task, task.id)
    assert (incident.kind, incident.run_id, incident.agent_id) == ("LOOP", run, task.assignee_agent_id)
    (noted,) = await store.read(audit.activities, action="LOOP_FOUND")
    assert noted.data["rules"] == incident.data["rules"]
    assert noted.data["rules"] == [{"rule": "failed_calls", "count": 5, "limit": 5, "pair": None}]


async def test_counting_begins_anew_when_a_person_lets_it_go_on(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel([calls("fetch", what="it") for _ in range(5)]), [fetch])
    run = await stage.task()
    await stage.work()
    await stage.approve((await stage.the_question()).id)
    assert (await stage.task_of(run)).status == "IN_PROGRESS"
    stage.clock.advance(1)
    assert await oversight.sweep(stage.runtime) == "0 tasks blocked"
    task = await stage.task_of(run)
    await store.write(_failures, task, 4, run, stage.clock.now())
    assert await oversight.sweep(stage.runtime) == "0 tasks blocked"
    await store.write(_failures, task, 1, run, stage.clock.now())
    assert await oversight.sweep(stage.runtime) == "1 task blocked"
    assert len(await store.read(incidents.of_task, task.id)) == 2


async def test_person_may_end_the_task_instead(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel([calls("fetch", what="it") for _ in range(5)]), [fetch])
    run = await stage.task()
    await stage.work()
    await stage.deny((await stage.the_question()).id)
    assert (await stage.task_of(run)).status == "CANCELED"


_numbers = count(1)


def _failures(tx: Tx, task: Any, number: int, run_id: str, now: Any, status: str = "failed") -> None:
    """Failed calls on record."""
    for _ in range(number):
        tx.add(
            ToolCall, id=new_id("tcl"), run_id=run_id, task_id=task.id, step_number=1_000 + next(_numbers), position=0,
            call_id="c", tool="fetch", tool_digest="", risk="GREEN", effect="allow", policy_hash="", status=status,
            idempotency_token="", created_at=now,
        )  # fmt: skip


async def working_task(stage: Stage) -> Any:
    """A task that is in progress, its run parked far away from any model."""
    run = await stage.task()
    task = await stage.task_of(run)
    move = tasks.Move(
        task_id=task.id, to=TaskState.IN_PROGRESS, actor=Actor(ActorKind.AGENT, task.assignee_agent_id), reason="began",
        key=new_id("key"),
    )  # fmt: skip
    await stage.store.write(tasks.advance, move, stage.clock.now())
    return await stage.task_of(run)


async def comments(stage: Stage, task: Any, number: int) -> None:
    """So many comments."""
    actor = Actor(ActorKind.AGENT, task.assignee_agent_id)
    for _ in range(number):
        await stage.store.write(tasks.add_message, task.id, "COMMENT", actor, "again", stage.clock.now())


async def failures(stage: Stage, task: Any, number: int) -> None:
    """So many failed calls of its run."""
    (run,) = await stage.store.read(traces.runs, task_id=task.id)
    await stage.store.write(_failures, task, number, run.id, stage.clock.now())


async def moved(stage: Stage, task: Any, to: str, **more: Any) -> None:
    """A change of state by a person, or by the system where it blocks or asks."""
    actor = SYSTEM if to in ("BLOCKED", "NEEDS_APPROVAL") else stage.ada.actor
    move = tasks.Move(
        task_id=task.id, to=TaskState(to), actor=actor, reason="so", key=new_id("key"), wait_for="owner:ada",
        block_kind=BlockKind.FAILURE if to == "BLOCKED" else None, **more,
    )  # fmt: skip
    await stage.store.write(tasks.advance, move, stage.clock.now())


async def to_and_fro(stage: Stage, task: Any, number: int) -> None:
    """So many changes of state, the last of them back to work; an odd one is the first that began it."""
    stage.clock.advance(3_700)
    if number % 2:
        await moved(stage, task, "BLOCKED")
        stage.clock.advance(3_700)
        await moved(stage, task, "IN_PROGRESS")
    for _ in range(number // 2):
        await moved(stage, task, "BLOCKED")
        await moved(stage, task, "IN_PROGRESS")


async def cycles(stage: Stage, task: Any, number: int) -> None:
    """Sent back from review so often."""
    for _ in range(number):
        deliverable = {
            "id": new_id("dlv"),
            "task_id": task.id,
            "kind": "text",
            "title": "t",
            "text": "t",
            "sha256": "0",
        }
        await stage.store.write(tasks.hand_in, deliverable, stage.clock.now())
        await moved(stage, task, "REVIEW")
        await moved(stage, task, "IN_PROGRESS", feedback="again")
        stage.clock.advance(3_700)


async def messages(stage: Stage, task: Any, number: int) -> None:
    """So many messages to and fro between the task's agent and another."""
    other = (await stage.run(await stage.chat(persona="coder"))).agent_id
    for turn in range(number):
        sender, receiver = (task.assignee_agent_id, other) if turn % 2 else (other, task.assignee_agent_id)
        message = Post(
            project_id=PROJECT, agent_id=receiver, kind="chat", payload={"text": "and?"}, cause_kind="agent",
            idempotency_key=new_id("key"), cause_id=sender,
        )  # fmt: skip
        await stage.store.write(mailbox.post, message, stage.clock.now())


async def mentions(stage: Stage, task: Any, number: int) -> None:
    """So many mentions to and fro between the task's agent and another in the task's thread."""
    other = (await stage.run(await stage.chat(persona="coder"))).agent_id
    for turn in range(number):
        sender, text = (task.assignee_agent_id, "@coder, and?") if turn % 2 else (other, "what says @operations?")
        actor = Actor(ActorKind.AGENT, sender)
        await stage.store.write(tasks.add_message, task.id, "COMMENT", actor, text, stage.clock.now())


LIMITS: list[tuple[Act, int, str]] = [
    (comments, 21, "comments"),
    (cycles, 4, "review_cycles"),
    (failures, 5, "failed_calls"),
    (to_and_fro, 6, "transitions"),
    (messages, 8, "messages"),
    (mentions, 8, "messages"),
]


@pytest.mark.parametrize(("act", "limit", "rule"), LIMITS)
async def test_sweep_finds_each_rule_at_its_limit(
    store: CountingStore, tmp_path: Path, act: Act, limit: int, rule: str
) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    task = await working_task(stage)
    await act(stage, task, limit)
    assert await oversight.sweep(stage.runtime) == "1 task blocked"
    (noted,) = await store.read(audit.activities, action="LOOP_FOUND")
    assert [(found["rule"], found["count"]) for found in noted.data["rules"]] == [(rule, limit)]
    row = await store.read(tasks.task, task.id)
    assert row is not None
    assert (row.status, row.block_kind, row.held_from) == ("BLOCKED", "LOOP", "IN_PROGRESS")
    assert [run.status for run in await store.read(traces.runs, task_id=task.id)] == ["cancelled"]


@pytest.mark.parametrize(("act", "limit", "rule"), LIMITS)
async def test_sweep_ignores_what_is_just_below_the_threshold(
    store: CountingStore, tmp_path: Path, act: Act, limit: int, rule: str
) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    task = await working_task(stage)
    await act(stage, task, limit - 1)
    assert await oversight.sweep(stage.runtime) == "0 tasks blocked"


@pytest.mark.parametrize(
    ("act", "limit", "window_s"), [(comments, 21, 1800), (messages, 8, 600), (to_and_fro, 6, 3600)]
)
async def test_what_is_older_than_the_window_does_not_count(
    store: CountingStore, tmp_path: Path, act: Act, limit: int, window_s: int
) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    task = await working_task(stage)
    await act(stage, task, limit)
    stage.clock.advance(window_s)
    assert await oversight.sweep(stage.runtime) == "0 tasks blocked"


async def test_only_the_last_ten_runs_of_a_task_count(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    task = await working_task(stage)
    await failures(stage, task, 5)
    for _ in range(10):
        stage.clock.advance(1)
        message = Post(
            project_id=PROJECT, agent_id=task.assignee_agent_id, kind="task", payload={}, cause_kind="task",
            idempotency_key=new_id("key"), mission_id=task.mission_id, task_id=task.id,
        )  # fmt: skip
        await store.write(mailbox.post, message, stage.clock.now())
    assert await oversight.sweep(stage.runtime) == "0 tasks blocked"


@pytest.mark.parametrize("status", ["denied", "refused", "done", "skipped"])
async def test_calls_that_were_not_let_through_are_no_failures(
    store: CountingStore, tmp_path: Path, status: str
) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    task = await working_task(stage)
    (run,) = await store.read(traces.runs, task_id=task.id)
    await store.write(_failures, task, 9, run.id, stage.clock.now(), status)
    assert await oversight.sweep(stage.runtime) == "0 tasks blocked"


async def test_messages_with_several_do_not_add_up(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    task = await working_task(stage)
    for persona in ("coder", "research"):
        other = (await stage.run(await stage.chat(persona=persona))).agent_id
        for _ in range(7):
            actor = Actor(ActorKind.AGENT, other)
            await store.write(tasks.add_message, task.id, "COMMENT", actor, "@operations: go", stage.clock.now())
    assert await oversight.sweep(stage.runtime) == "0 tasks blocked"


@pytest.mark.parametrize("text", ["mail me@coder.example.com", "@nobody, and?", "coder, and?", "@operations"])
async def test_words_that_name_no_other_agent_are_no_messages(store: CountingStore, tmp_path: Path, text: str) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    task = await working_task(stage)
    for _ in range(9):
        actor = Actor(ActorKind.AGENT, task.assignee_agent_id)
        await store.write(tasks.add_message, task.id, "COMMENT", actor, text, stage.clock.now())
    assert await oversight.sweep(stage.runtime) == "0 tasks blocked"


async def test_limits_are_those_of_the_settings(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(), loops={"comments": 2})
    task = await working_task(stage)
    await comments(stage, task, 3)
    assert await oversight.sweep(stage.runtime) == "1 task blocked"


async def test_question_about_a_loop_outlives_the_block_s_time(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    task = await working_task(stage)
    await comments(stage, task, 21)
    await oversight.sweep(stage.runtime)
    question = await stage.the_question()
    assert question.expires_at is None
    await store.write(tasks.add_message, task.id, "COMMENT", SYSTEM, "still here", stage.clock.now())
    assert await store.write(loops.check, task.id, stage.runtime.settings.loops, stage.clock.now()) is None
    row = await store.read(approvals.approval, question.id)
    assert row is not None
    assert row.status == "pending"
