"""One member set apart: its runs, its tasks, its mailboxes and its money, while the others work on."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from interlock.core.ids import new_id
from interlock.desk.chats import outgoing
from interlock.desk.operations import emergency
from interlock.desk.work import controls
from interlock.llm.messages import ModelRequest, ToolResult
from interlock.oversight import expiry
from interlock.state_machine.table import BlockKind, TaskState
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.knowledge import incidents
from interlock.store.mailboxes import leases
from interlock.store.messages import dispatch, outbox
from interlock.store.runs import traces
from interlock.store.signoff import approvals
from interlock.store.squad import Descriptor
from interlock.store.work import loops, tasks
from interlock.testing.scripted import ScriptedModel, Stream, calls
from interlock.tools.contract import Outcome, Tool, ToolContext, write
from tests.contract.runner.stage import PROJECT, CountingStore, Stage, hand_in, staged, until
from tests.contract.runner.test_controls import Gate
from tests.contract.runner.test_subagents import OPEN
from tests.contract.runner.workers import becomes, working


async def blocked(stage: Stage, run: str) -> tuple[str, str | None]:
    """The state of a run's task, and of which kind its block is."""
    task = await stage.task_of(run)
    return task.status, task.block_kind


async def test_runs_end_at_once_tasks_are_blocked_and_all_goes_on_where_it_was(
    store: CountingStore, tmp_path: Path
) -> None:
    gate = Gate(idempotent=True)
    model = ScriptedModel(calls("wait"), hand_in(), otherwise=lambda _: "done")
    stage = await staged(store, tmp_path, model, [gate.tool])
    run = await stage.task()
    async with working(stage):
        await gate.began.wait()
        view = await emergency.quarantine(stage.runtime, stage.ada, "operations", reason="odd calls", wait_s=60)
        assert (view["state"], view["changed"], view["still_running"]) == ("QUARANTINED", True, [])
        assert [shown["id"] for shown in view["runs"]] == [run]
        assert (await stage.run(run)).status == "created"
        assert await blocked(stage, run) == ("BLOCKED", "OPERATOR")
        task = await stage.task_of(run)
        assert view["tasks"] == [task.id]
        assert "odd calls" in task.block_reason
        assert [row.kind for row in await store.read(incidents.of_task, task.id)] == ["QUARANTINE"]
        gate.may_end.set()
        released = await emergency.release(stage.runtime, stage.ada, "operations")
        assert (released["state"], released["changed"], released["tasks"]) == ("ACTIVE", True, [task.id])
        await becomes(stage, run, "completed")
    assert await blocked(stage, run) == ("REVIEW", None)
    assert gate.count == 2


async def test_run_whose_last_words_come_with_a_quarantine_hands_in_after_its_release(
    store: CountingStore, tmp_path: Path
) -> None:
    async def last_words(_: ModelRequest) -> str:
        await emergency.quarantine(stage.runtime, stage.ada, "operations", wait_s=0)
        return "done"

    stage = await staged(store, tmp_path, ScriptedModel(hand_in(), last_words, "done"))
    run = await stage.task()
    assert await stage.work() == [run]
    assert await blocked(stage, run) == ("BLOCKED", "OPERATOR")
    await emergency.release(stage.runtime, stage.ada, "operations")
    assert await stage.work() == [run], "else its coordinator would have all of it done again"
    assert await blocked(stage, run) == ("REVIEW", None)


async def test_being_set_apart_again_and_again_is_no_loop_of_the_task(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(otherwise=lambda _: "done"))
    task = await stage.task_of(await stage.task())
    for _ in range(4):
        await emergency.quarantine(stage.runtime, stage.ada, "operations", wait_s=0)
        await emergency.release(stage.runtime, stage.ada, "operations")
    now, limits = stage.runtime.clock.now(), stage.runtime.settings.loops
    assert len(await store.read(tasks.transitions, task.id)) >= 8
    assert await store.write(loops.check, task.id, limits, now) is None


async def test_queued_runs_wait_and_other_members_work_on(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(otherwise=lambda _: "done"))
    apart, other = await stage.chat("first"), await stage.chat("second", persona="coder")
    await emergency.quarantine(stage.runtime, stage.ada, "operations")
    assert await stage.work() == [other]
    new = await stage.think(name="spawned in quarantine")
    assert await stage.work() == []
    assert await stage.statuses(new) == []
    await emergency.release(stage.runtime, stage.ada, "operations")
    assert set(await stage.work()) == {apart, new}


async def test_member_that_has_no_agent_yet_is_set_apart_before_it_gets_one(
    store: CountingStore, tmp_path: Path
) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(otherwise=lambda _: "done"))
    view = await emergency.quarantine(stage.runtime, stage.ada, "Operations")
    assert (view["agent"], view["changed"], view["tasks"]) == ("operations", True, [])
    run = await stage.chat()
    assert await stage.work() == []
    await emergency.release(stage.runtime, stage.ada, "operations")
    assert await stage.work() == [run]


async def test_agent_is_found_by_its_id_too(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    agent = (await stage.run(await stage.think())).agent_id
    assert (await emergency.quarantine(stage.runtime, stage.ada, agent))["agent"] == "operations"
    assert not (await emergency.quarantine(stage.runtime, stage.ada, "operations"))["changed"]


async def test_release_of_one_that_is_free_changes_nothing(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    await stage.think()
    view = await emergency.release(stage.runtime, stage.ada, "operations")
    assert (view["changed"], view["state"], view["tasks"]) == (False, "ACTIVE", [])


async def held(stage: Stage) -> str:
    """A task's run that waits for the answer to a question."""
    run = await stage.task()
    await stage.work()
    assert await blocked(stage, run) == ("NEEDS_APPROVAL", None)
    return run


async def test_question_that_is_open_at_release_is_waited_for_again(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(calls("ask_operator", question="which?"), hand_in(), "done"))
    run = await held(stage)
    await emergency.quarantine(stage.runtime, stage.ada, "operations")
    assert await blocked(stage, run) == ("BLOCKED", "OPERATOR")
    await emergency.release(stage.runtime, stage.ada, "operations")
    assert await blocked(stage, run) == ("NEEDS_APPROVAL", None)
    await stage.approve((await stage.the_question()).id)
    await stage.work()
    assert await blocked(stage, run) == ("REVIEW", None)


async def test_answer_that_came_in_quarantine_is_taken_up_at_release(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(calls("ask_operator", question="which?"), hand_in(), "done"))
    run = await held(stage)
    await emergency.quarantine(stage.runtime, stage.ada, "operations")
    await stage.approve((await stage.the_question()).id)
    assert await stage.work() == []
    assert await blocked(stage, run) == ("BLOCKED", "OPERATOR")
    await emergency.release(stage.runtime, stage.ada, "operations")
    assert await blocked(stage, run) == ("IN_PROGRESS", None)
    await stage.work()
    assert await blocked(stage, run) == ("REVIEW", None)


async def test_work_that_was_handed_in_goes_back_to_its_review(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(hand_in(), "done"))
    run = await stage.task()
    await stage.work()
    await emergency.quarantine(stage.runtime, stage.ada, "operations")
    assert await blocked(stage, run) == ("BLOCKED", "OPERATOR")
    await emergency.release(stage.runtime, stage.ada, "operations")
    task = await stage.task_of(run)
    assert (task.status, task.review_cycles) == ("REVIEW", 0)


async def test_block_that_has_escalated_is_lifted_with_its_question(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(), times={"blocked_escalation_s": 600})
    run = await stage.task()
    await emergency.quarantine(stage.runtime, stage.ada, "operations")
    stage.clock.advance(599)
    await expiry.sweep(stage.runtime)
    assert await stage.pending() == []
    stage.clock.advance(1)
    await expiry.sweep(stage.runtime)
    question = await stage.the_question()
    assert question.kind == "ESCALATION"
    await emergency.release(stage.runtime, stage.ada, "operations")
    assert await blocked(stage, run) == ("ASSIGNED", None)
    row = await store.read(approvals.approval, question.id)
    assert row is not None
    assert row.status == "void"


async def test_task_that_was_blocked_before_stays_so(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    run = await stage.task()
    task = await stage.task_of(run)
    move = tasks.Move(
        task_id=task.id, to=TaskState.BLOCKED, actor=stage.ada.actor, reason="not now", key=new_id("key"),
        block_kind=BlockKind.OPERATOR, wait_for="owner:ada",
    )  # fmt: skip
    await store.write(tasks.advance, move, stage.clock.now())
    assert (await emergency.quarantine(stage.runtime, stage.ada, "operations"))["tasks"] == []
    assert (await emergency.release(stage.runtime, stage.ada, "operations"))["tasks"] == []
    assert (await stage.task_of(run)).block_reason == "not now"


async def test_second_quarantine_blocks_and_lifts_again(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    run = await stage.task()
    for _ in range(2):
        await emergency.quarantine(stage.runtime, stage.ada, "operations")
        assert await blocked(stage, run) == ("BLOCKED", "OPERATOR")
        stage.clock.advance(1)
        await emergency.release(stage.runtime, stage.ada, "operations")
        assert await blocked(stage, run) == ("ASSIGNED", None)
        stage.clock.advance(1)


async def test_pause_for_money_neither_replaces_nor_lifts_a_quarantine(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    await stage.think()
    member = await stage.member()
    account = f"agent_day:{member.id}:2020-01-01"
    await store.write(squad.pause_for_budget, member.id, account, 1)
    await emergency.quarantine(stage.runtime, stage.ada, "operations")
    await store.write(squad.pause_for_budget, member.id, account, 1)
    await expiry.sweep(stage.runtime)
    assert (await stage.member()).state == "QUARANTINED"
    assert await stage.claim() == []


async def test_what_a_person_pauses_while_it_waits_for_money_stays_paused(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    await stage.think()
    member = await stage.member()
    await store.write(squad.pause_for_budget, member.id, f"agent_day:{member.id}:2020-01-01", 1)
    view = await emergency.pause_agent(stage.runtime, stage.ada, "operations", reason="odd calls")
    assert (view["state"], view["changed"]) == ("PAUSED", True)
    await expiry.sweep(stage.runtime)
    await store.write(expiry.resume_member, member.id, stage.clock.now())
    assert (await stage.member()).state == "PAUSED"
    assert await stage.claim() == []
    await emergency.resume_agent(stage.runtime, stage.ada, "operations")
    assert (await stage.member()).state == "ACTIVE"


async def test_agent_spawned_at_the_same_moment_is_shut_too(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(otherwise=lambda _: "done"))
    await stage.think()
    persona: dict[str, Any] = {}

    def spawn(name: str) -> Any:
        descriptor = Descriptor("think", PROJECT, "operations", {"name": name})
        return store.write(squad.ensure_agent, descriptor, persona, "specialist", stage.clock.now())

    before = [spawn(f"before {number}") for number in range(10)]
    after = [spawn(f"after {number}") for number in range(10)]
    await asyncio.gather(*before, emergency.quarantine(stage.runtime, stage.ada, "operations"), *after)
    for number in range(10):
        await stage.think(name=f"before {number}")
        await stage.think(name=f"after {number}")
    assert await stage.claim() == []


async def test_claims_beside_a_quarantine_are_asked_back(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(otherwise=Stream(asyncio.Event())))
    runs = [await stage.think(name=str(number)) for number in range(3)]
    async with working(stage):
        await until(lambda: len(stage.model.requests) >= 1)
        view = await emergency.quarantine(stage.runtime, stage.ada, "operations", wait_s=60)
        assert view["still_running"] == []
        for run in runs:
            await becomes(stage, run, "created")
        assert await store.read(leases.running_runs) == []


async def test_who_did_what_and_why_is_on_record(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel())
    await stage.think()
    await emergency.quarantine(stage.runtime, stage.ada, "operations", reason="odd calls")
    (alert,) = await stage.alerts()
    assert (alert.kind, alert.severity, alert.subject) == ("QUARANTINE", "critical", "operations")
    assert "odd calls" in alert.text
    await emergency.release(stage.runtime, stage.ada, "operations")
    assert [row.severity for row in await stage.alerts()] == ["info"]
    noted = await store.read(audit.activities)
    found = [(row.action, row.actor_id, row.data["persona"]) for row in noted if row.action.startswith("AGENT_")]
    assert found == [
        ("AGENT_QUARANTINED", stage.ada.id, "operations"),
        ("AGENT_RELEASED", stage.ada.id, "operations"),
    ]


@pytest.mark.parametrize("is_noted", [True, False])
@pytest.mark.parametrize("writer", ["its agent", "a background agent of it"])
@pytest.mark.parametrize("how", ["quarantine", "mission", "task", "run"])
async def test_e_mail_that_waits_does_not_leave_for_work_that_was_stopped(
    store: CountingStore, tmp_path: Path, how: str, writer: str, is_noted: bool
) -> None:
    async def post(ctx: ToolContext) -> Outcome:
        """Puts a letter into the outbox."""
        what = {"to": ["eve@example.com"], "cc": [], "subject": "Hello", "attachments": []}
        wrote = ctx.run_id if is_noted else None
        sending = write(outbox.letter, ctx.idempotency_token, what, ctx.now, ctx.project_id, wrote)
        return Outcome("queued", writes=(sending,))

    tool = Tool(
        name="post", description="Posts a letter.", input_schema={"type": "object", "properties": {}}, fn=post,
        risk="GREEN", outside=False,
    )  # fmt: skip

    def boss(request: ModelRequest) -> Any:
        """Has another agent post it."""
        if "You are a background agent" not in str(request.messages):
            is_begun = any(isinstance(block, ToolResult) for block in request.messages[-1].blocks)
            return (
                calls("ask_operator", question="Go on?") if is_begun else calls("start_background_agent", prompt="go")
            )
        return calls("post") if len(request.messages) == 1 else "done"

    script = (calls("post"), calls("ask_operator", question="Go on?")) if writer == "its agent" else ()
    stage = await staged(store, tmp_path, ScriptedModel(*script, otherwise=boss), [tool], OPEN)
    await store.write(outbox.letter, "of-others", {"to": [], "cc": [], "subject": ""}, stage.clock.now(), PROJECT)
    run = await stage.task()
    await stage.work()
    row, wrote = await stage.run(run), [row.id for row in await store.read(traces.runs)]
    (call,) = [call for each in wrote for call in await stage.calls(each) if call.tool == "post"]
    if how == "quarantine":
        await emergency.quarantine(stage.runtime, stage.ada, "operations", reason="odd letters", wait_s=0)
    else:
        ident = {"mission": row.mission_id, "task": row.task_id, "run": run}[how]
        await controls.cancel(stage.runtime, stage.ada, ident, reason="odd letters", wait_s=0)
    found = {each["what"]: each for each in await outgoing.outgoing(stage.runtime)}
    letter: Any = await store.read(outbox.by_key, f"letter:{call.idempotency_token}")
    other = found["e-mail: "]
    assert (letter.status, "odd letters" in letter.error, other["state"]) == ("dead", True, "waits")
    assert await store.write(dispatch.take, "email", "1", stage.clock.now(), 8) != []
    await outgoing.retry(stage.runtime, stage.ada, str(letter.id))
    (taken,) = await store.write(dispatch.take, "email", "1", stage.clock.now(), 8)
    assert taken.id == letter.id
