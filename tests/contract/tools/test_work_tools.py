"""Deliverables, threads, alerts: what the tools for an agent's own task write, and when they refuse."""

from pathlib import Path
from typing import Any

import pytest

from interlock.core.values import Actor, ActorKind, canonical_json, digest
from interlock.state_machine.table import TaskState
from interlock.store import blobs, squad
from interlock.store.auditing import audit
from interlock.store.engine import Store
from interlock.store.mailboxes.mailbox import Post, post
from interlock.store.runs import traces
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx
from interlock.store.work import evidence, tasks
from interlock.tools.contract import ToolContext
from interlock.tools.errors import ToolError
from interlock.tools.workspace import Workspaces
from tests.tool_calls import NOW, PROJECT, call, context, keep


def _prepare(tx: Tx, profile: str) -> tuple[str, str]:
    """A task, a review of it, an agent, and a queued run."""
    for task_id, reviews in (("tsk_1", None), ("tsk_2", "tsk_1")):
        tasks.add(
            tx, id=task_id, project_id=PROJECT, mission_id="tsk_0", key=task_id, title="Compare", description="",
            type="research", status="IN_PROGRESS", reviews_task_id=reviews, idempotency_key=task_id, created_at=NOW,
            updated_at=NOW,
        )  # fmt: skip
    descriptor = Descriptor("task", PROJECT, "coder", {"task": "tsk_1", "generation": "0"})
    agent = squad.ensure_agent(tx, descriptor, {"name": "coder", "risk_profile": profile}, "specialist", NOW)
    run_id, _ = post(
        tx,
        Post(
            project_id=PROJECT, agent_id=agent.id, kind="task", payload={}, idempotency_key="k", cause_kind="test",
            task_id="tsk_1",
        ),
        NOW,
    )  # fmt: skip
    return agent.id, run_id


def _executed(tx: Tx, run_id: str, position: int, risk: str, status: str) -> None:
    traces.add_call(
        tx, id=f"tcl_{position}", run_id=run_id, task_id="tsk_1", step_number=1, position=position, call_id="c",
        tool="t", tool_digest="d", risk=risk, effect="allow", policy_hash="p", status=status,
        idempotency_token="i", created_at=NOW,
    )  # fmt: skip


@pytest.fixture
async def ctx(tmp_path: Path, store: Store, workspaces: Workspaces) -> ToolContext:
    return await working(tmp_path, store, workspaces)


async def working(tmp_path: Path, store: Store, workspaces: Workspaces, profile: str = "GREEN") -> ToolContext:
    agent_id, run_id = await store.write(_prepare, profile)
    return context(
        tmp_path, store=store, workspace=workspaces.of(PROJECT, run_id), agent_id=agent_id, run_id=run_id,
        task_id="tsk_1", mission_id="tsk_0", labels=frozenset({"untrusted"}),
    )  # fmt: skip


async def current(store: Store, task_id: str = "tsk_1") -> Any:
    task: Any = await store.read(tasks.task, task_id)
    return None if task.deliverable_id is None else await store.read(tasks.deliverable, task.deliverable_id)


async def submit(ctx: ToolContext, store: Store, **args: Any) -> str:
    outcome = await call("submit_deliverable", ctx, **{"title": "T", "summary": "S", **args})
    await keep(store, outcome.writes)
    return outcome.content


async def test_text_is_pinned_by_its_hash_and_announced(ctx: ToolContext, store: Store) -> None:
    told = await submit(ctx, store, content="# Result\n")
    row = await current(store)
    assert (row.kind, row.text, row.title, row.summary) == ("text", "# Result\n", "T", "S")
    assert row.sha256 == digest("# Result\n")
    assert (row.run_id, row.labels, row.verdict, row.findings) == (ctx.run_id, ["untrusted"], None, [])
    assert row.id in told
    assert row.sha256 in told
    (said,) = await store.read(tasks.thread, "tsk_1")
    assert (said.kind, said.author_id) == ("ARTIFACT", "agt")
    assert row.sha256 in said.text


async def test_nothing_is_handed_in_before_the_outcome_is_written(ctx: ToolContext, store: Store) -> None:
    await call("submit_deliverable", ctx, title="T", summary="S", content="x")
    assert await current(store) is None


async def test_data_is_pinned_in_its_canonical_form(ctx: ToolContext, store: Store) -> None:
    data = {"b": [1, 2.5, None], "a": "ä"}
    await submit(ctx, store, data=data)
    row = await current(store)
    assert (row.kind, row.data) == ("data", data)
    assert row.sha256 == digest(canonical_json(data))


async def test_file_is_kept_with_its_version_and_blob(ctx: ToolContext, store: Store) -> None:
    await ctx.workspace.write("out/report.bin", b"\x00\x01")
    await submit(ctx, store, path="out/report.bin")
    row = await current(store)
    assert (row.kind, row.path, row.blob, row.sha256) == ("file", "out/report.bin", digest(b"\x00\x01"), row.blob)
    assert await store.read(blobs.get, row.blob) == b"\x00\x01"
    (file,) = await store.read(blobs.manifest, PROJECT)
    assert (file.path, file.version, file.labels) == ("out/report.bin", 1, ["untrusted"])


async def test_handing_in_again_replaces_and_keeps_the_first(ctx: ToolContext, store: Store) -> None:
    await submit(ctx, store, content="one")
    first = await current(store)
    await submit(ctx, store, content="two")
    assert (await current(store)).text == "two"
    kept: Any = await store.read(tasks.deliverable, first.id)
    assert kept.text == "one"


NO_DELIVERABLES: list[tuple[dict[str, Any], str]] = [
    ({}, "exactly one"),
    ({"content": "x", "data": {"a": 1}}, "exactly one"),
    ({"content": "x", "path": "a"}, "exactly one"),
    ({"path": "nowhere"}, "there is no file"),
    ({"path": "../x"}, "leads out"),
    ({"data": {"a": "x" * 1_000_001}}, "larger than"),
    ({"content": "x", "verdict": "pass"}, "not a review"),
]


async def test_deliverable_that_is_none_is_refused(ctx: ToolContext, store: Store) -> None:
    for args, message in NO_DELIVERABLES:
        with pytest.raises(ToolError, match=message):
            await submit(ctx, store, **args)
    assert await current(store) is None


TURNED_BACK: list[tuple[dict[str, Any], str]] = [
    ({"content": " \n"}, "the deliverable is empty"),
    ({"data": {}}, "the deliverable is empty"),
    ({"data": []}, "the deliverable is empty"),
    ({"content": "TODO"}, "only keeps the place"),
    ({"content": "```\ncut off"}, "cut off"),
    ({"content": "token: ghp_0123456789abcdefABCDEF"}, "looks like a secret"),
]


async def test_what_the_gate_turns_back_is_an_error_to_the_agent_and_on_record(ctx: ToolContext, store: Store) -> None:
    for number, (args, message) in enumerate(TURNED_BACK, start=1):
        outcome = await call("submit_deliverable", ctx, **{"title": "T", "summary": "S", **args})
        assert outcome.is_error
        assert message in outcome.content
        await keep(store, outcome.writes)
        rows = await store.read(evidence.results, "tsk_1")
        assert len(rows) == number
        assert (rows[-1].kind, rows[-1].passed, rows[-1].run_id) == ("gate", False, ctx.run_id)
        assert "ghp_" not in rows[-1].detail
    assert await current(store) is None


async def sent_back(store: Store, reason: str = "wrong", key: str = "back") -> None:
    for to, actor, name in (
        ("REVIEW", Actor(ActorKind.HUMAN, "per_1"), f"in:{key}"), ("IN_PROGRESS", Actor(ActorKind.HUMAN, "per_1"), key)
    ):  # fmt: skip
        move = tasks.Move(task_id="tsk_1", to=TaskState(to), actor=actor, reason=reason, key=name)
        await store.write(tasks.advance, move, NOW)


async def test_version_that_was_sent_back_cannot_be_handed_in_again_unless_files_changed(
    ctx: ToolContext, store: Store
) -> None:
    await submit(ctx, store, content="first")
    await submit(ctx, store, content="second")
    await sent_back(store)
    again = await call("submit_deliverable", ctx, title="T", summary="S", content="second")
    assert again.is_error
    assert "was sent back" in again.content
    assert not (await call("submit_deliverable", ctx, title="T", summary="S", content="first")).is_error
    await keep(store, (await call("file_write", ctx, path="style.css", content="a {}")).writes)
    assert not (await call("submit_deliverable", ctx, title="T", summary="S", content="second")).is_error


async def test_version_that_only_failed_a_check_may_be_handed_in_again(ctx: ToolContext, store: Store) -> None:
    await submit(ctx, store, content="fine")
    row = await current(store)
    failed = [evidence.Finding(position=0, name="file `a` exists", passed=False)]
    await store.write(evidence.record, "tsk_1", row.id, row.sha256, "evidence", failed, NOW)
    await sent_back(store)
    await submit(ctx, store, content="fine")
    assert (await current(store)).id != row.id


async def test_review_needs_a_verdict_and_changes_need_reasons(ctx: ToolContext, store: Store) -> None:
    review = ctx._replace(task_id="tsk_2")
    with pytest.raises(ToolError, match="give the `verdict`"):
        await submit(review, store, content="fine")
    with pytest.raises(ToolError, match="needs `findings`"):
        await submit(review, store, data={"a": 1}, verdict="changes")
    await submit(review, store, content="not fine", verdict="changes", findings=["wrong sum", "no source"])
    row = await current(store, "tsk_2")
    assert (row.verdict, row.findings) == ("changes", ["wrong sum", "no source"])


async def test_risk_is_the_higher_of_persona_and_executed_calls(ctx: ToolContext, store: Store) -> None:
    steps = [("GREEN", "done", "GREEN"), ("RED", "denied", "GREEN"), ("RED", "held", "GREEN"),
             ("YELLOW", "failed", "YELLOW"), ("RED", "unknown", "RED")]  # fmt: skip
    for position, (level, status, risk) in enumerate(steps):
        await store.write(_executed, ctx.run_id, position, level, status)
        await submit(ctx, store, content="x")
        assert (await current(store)).risk == risk


@pytest.mark.parametrize(("profile", "risk"), [("YELLOW", "YELLOW"), ("PURPLE", "RED")])
async def test_risk_profile_is_the_floor_of_the_review(
    tmp_path: Path, store: Store, workspaces: Workspaces, profile: str, risk: str
) -> None:
    await submit(await working(tmp_path, store, workspaces, profile), store, content="x")
    assert (await current(store)).risk == risk


async def test_progress_and_comments_go_to_the_thread_of_the_own_task(ctx: ToolContext, store: Store) -> None:
    for name in ("post_progress", "post_comment"):
        await keep(store, (await call(name, ctx, message=f"by {name}")).writes)
    said = [(row.kind, row.text, row.run_id) for row in await store.read(tasks.thread, "tsk_1")]
    assert said == [("PROGRESS", "by post_progress", ctx.run_id), ("COMMENT", "by post_comment", ctx.run_id)]
    assert await store.read(tasks.thread, "tsk_2") == []


async def test_run_without_a_task_is_told_so(ctx: ToolContext) -> None:
    alone = ctx._replace(task_id=None)
    with pytest.raises(ToolError, match="works on no task"):
        await call("submit_deliverable", alone, title="T", summary="S", content="x")
    with pytest.raises(ToolError, match="works on no task"):
        await call("post_progress", alone, message="x")


async def test_ended_task_takes_nothing_more(ctx: ToolContext, store: Store) -> None:
    await store.write(_end, "tsk_3")
    with pytest.raises(ToolError, match="the task is CANCELED"):
        await call("post_comment", ctx._replace(task_id="tsk_3"), message="x")


def _end(tx: Tx, task_id: str) -> None:
    tasks.add(
        tx, id=task_id, project_id=PROJECT, mission_id="tsk_0", key=task_id, title="", description="", type="other",
        status="CANCELED", idempotency_key=task_id, created_at=NOW, updated_at=NOW,
    )  # fmt: skip


async def test_notification_raises_one_alert_however_often_it_is_written(ctx: ToolContext, store: Store) -> None:
    outcome = await call("notification", ctx, message="disk is full", severity="critical")
    await keep(store, outcome.writes)
    await keep(store, outcome.writes)
    (alert,) = await store.read(audit.alerts)
    assert (alert.severity, alert.kind, alert.text, alert.subject) == (
        "critical", "notification", "coder: disk is full", "tsk_1",
    )  # fmt: skip


async def test_do_nothing_ends_the_run(ctx: ToolContext) -> None:
    outcome = await call("do_nothing", ctx, reason="nobody asked")
    assert (outcome.ends_run, outcome.writes) == (True, ())


async def test_question_that_nobody_waits_for_is_a_failure(ctx: ToolContext) -> None:
    with pytest.raises(ToolError, match="nobody can be asked"):
        await call("ask_operator", ctx, question="Which one?", options=["a", "b"])
