"""Money that many runs share: people are asked once, whoever asks first, and one answer lets all go on."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from interlock.agents.running import runner
from interlock.agents.running.interruption import Interrupt
from interlock.core.ids import new_id
from interlock.core.values import SYSTEM
from interlock.llm.messages import ModelRequest, Usage
from interlock.oversight import expiry
from interlock.state_machine.table import TaskState
from interlock.store import squad
from interlock.store.mailboxes import leases
from interlock.store.money import ledger, limits
from interlock.store.money.ledger import Opening
from interlock.store.signoff import approvals
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx
from interlock.store.work import tasks
from interlock.testing.scripted import Scripted, ScriptedModel, calls, reply_of
from tests.contract.runner.stage import PROJECT, CountingStore, Stage, _mail, hand_in, staged

LIMIT = 2_000


def another(tx: Tx, first: Any, persona: dict[str, Any], now: Any) -> str:
    """A second task of the same mission, with an agent and a run of its own; returns the run."""
    task = new_id("tsk")
    agent = squad.ensure_agent(
        tx,
        Descriptor("task", PROJECT, persona["name"], {"task": task, "generation": "0"}),
        persona,
        persona["trust"],
        now,
    )
    tasks.add(
        tx, id=task, key=task, parent_id=first.mission_id, title="And this", description="Do it",
        persona=persona["name"], budget_microusd=3_000_000, idempotency_key=task, project_id=PROJECT,
        mission_id=first.mission_id, type="ops", created_at=now, updated_at=now,
    )  # fmt: skip
    ledger.open_accounts(tx, [Opening(f"task:{task}", "task", task, PROJECT, 3_000_000)], now)
    move = tasks.Move(
        task_id=task, to=TaskState.ASSIGNED, actor=SYSTEM, reason="delegated", key=f"assign:{task}",
        assignee_agent_id=agent.id,
    )  # fmt: skip
    tasks.advance(tx, move, now)
    return _mail(
        tx, agent.id, "task", {"purpose": "work", "task_id": task}, now, mission_id=first.mission_id, task_id=task
    )  # fmt: skip


async def worker(request: ModelRequest) -> Scripted:
    """Hands in at once, then ends."""
    handed = any(use.name == "submit_deliverable" for m in request.messages for use in m.tool_uses)
    return "done" if handed else hand_in()


async def short(store: CountingStore, home: Path, *, count: int = 3) -> tuple[Stage, str, list[str]]:
    """A mission with hardly any money left and some tasks that want to start, all of which were tried."""
    stage = await staged(store, home, ScriptedModel(otherwise=worker))
    runs = [await stage.task()]
    first = await stage.task_of(runs[0])
    persona = stage._persona({})
    runs += [await store.write(another, first, persona, stage.clock.now()) for _ in range(count - 1)]
    account = f"mission:{first.mission_id}"
    await store.write(limits.set_limit, account, LIMIT, stage.ada.id, stage.clock.now())
    claims = await stage.claim()
    await asyncio.gather(*(runner.handle(stage.runtime, claim, Interrupt()) for claim in claims))
    return stage, account, runs


async def states(stage: Stage, runs: list[str]) -> set[tuple[str, str]]:
    return {((await stage.run(run)).status, (await stage.task_of(run)).status) for run in runs}


async def test_mission_out_of_money_asks_once_for_all_its_tasks_and_all_go_on(
    store: CountingStore, tmp_path: Path
) -> None:
    stage, account, runs = await short(store, tmp_path)
    question = await stage.the_question()
    assert (question.kind, question.run_id, question.request["account"]) == ("BUDGET", None, account)
    assert await states(stage, runs) == {("waiting", "NEEDS_APPROVAL")}
    await expiry.sweep(stage.runtime)
    assert await states(stage, runs) == {("waiting", "NEEDS_APPROVAL")}
    stage.restart()
    await stage.approve(question.id, "go on")
    await limits_up(stage, account)
    await stage.work()
    assert await states(stage, runs) == {("completed", "REVIEW")}
    assert await stage.pending() == []


async def limits_up(stage: Stage, account: str) -> None:
    """Enough for everybody, since what was asked for was for one call."""
    await stage.store.write(limits.raise_limit, account, 5_000_000, stage.ada.id, stage.clock.now())


async def test_raise_that_is_too_small_asks_once_again(store: CountingStore, tmp_path: Path) -> None:
    stage, account, runs = await short(store, tmp_path)
    first = await stage.the_question()
    await store.write(limits.set_limit, account, LIMIT + 1, stage.ada.id, stage.clock.now())
    await stage.deny(first.id, "ask for the new limit")
    await stage.work()
    again = await stage.the_question()
    assert again.id != first.id
    assert again.request["limit_microusd"] == LIMIT + 1
    assert await states(stage, runs) == {("waiting", "NEEDS_APPROVAL")}


async def test_denial_ends_every_run_and_nobody_is_asked_again(store: CountingStore, tmp_path: Path) -> None:
    stage, account, runs = await short(store, tmp_path)
    await stage.deny((await stage.the_question()).id, "too dear")
    await stage.work()
    assert {await stage.ended(run) for run in runs} == {("failed", "budget")}
    for run in runs:
        assert "too dear" in (await stage.run(run)).error
    assert await stage.pending() == []
    assert stage.model.requests == []
    assert (await stage.account(account)).reserved_microusd == 0


async def test_question_that_expires_blocks_every_task_that_waited(store: CountingStore, tmp_path: Path) -> None:
    stage, _, runs = await short(store, tmp_path)
    stage.clock.advance(stage.runtime.settings.approval_expires_s + 1)
    await expiry.sweep(stage.runtime)
    assert {(await stage.task_of(run)).block_kind for run in runs} == {"EXPIRED"}
    assert {await stage.ended(run) for run in runs} == {("cancelled", "approval_expired")}


async def test_first_asker_that_is_cancelled_leaves_the_question_to_the_others(
    store: CountingStore, tmp_path: Path
) -> None:
    stage, account, runs = await short(store, tmp_path)
    await store.write(leases.cancel, runs[0], stage.clock.now(), "not needed")
    await stage.approve((await stage.the_question()).id)
    await limits_up(stage, account)
    await stage.work()
    assert {await stage.ended(run) for run in runs[1:]} == {("completed", "end_turn")}


async def test_parked_run_that_no_question_explains_is_woken(store: CountingStore, tmp_path: Path) -> None:
    stage, account, runs = await short(store, tmp_path)
    await store.write(approvals.void, (await stage.the_question()).id, "by hand")
    await limits_up(stage, account)
    await expiry.sweep(stage.runtime)
    assert {(await stage.run(run)).status for run in runs} == {"created"}


@pytest.mark.parametrize("verdict", ["approve", "deny"])
async def test_mission_past_its_estimate_waits_for_a_person_below_its_limit(
    store: CountingStore, tmp_path: Path, verdict: str
) -> None:
    dear = reply_of(calls("file_list"), usage=Usage(0, 4_000))
    stage = await staged(store, tmp_path, ScriptedModel(dear, hand_in(), "done"))
    run = await stage.task()
    account = f"mission:{(await stage.run(run)).mission_id}"
    await store.write(limits.watch, account, 30_000)
    await stage.work()
    assert (await stage.run(run)).cost_microusd == 40_000
    assert await states(stage, [run]) == {("waiting", "NEEDS_APPROVAL")}
    question, (alert,) = await stage.the_question(), await stage.alerts()
    assert (alert.kind, alert.subject) == ("ESTIMATE_EXCEEDED", account.partition(":")[2])
    assert "$0.0400, more than 3 times its estimate of $0.0100" in alert.text
    limit = (await stage.account(account)).limit_microusd
    if verdict == "approve":
        await stage.approve(question.id)
        row = await stage.account(account)
        assert row.limit_microusd == limit, "the line moves, not the limit"
        assert row.pause_at_microusd == 40_000 + question.request["amount_microusd"]
        assert question.request["amount_microusd"] == 20_000
        await stage.work()
        assert await stage.ended(run) == ("completed", "end_turn")
    else:
        await stage.deny(question.id, "stop here")
        await stage.work()
        assert await stage.ended(run) == ("failed", "budget")
