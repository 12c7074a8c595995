"""Providers that fail: each attempt paid for by itself, and a run that keeps its place while nothing can be reached."""

from pathlib import Path
from typing import Any

import pytest

from interlock.core.errors import Conflict
from interlock.llm.messages import ModelError, ModelFault, Usage
from interlock.store.errors import StoreUnavailable
from interlock.store.mailboxes import leases
from interlock.store.tx import Tx
from interlock.testing.scripted import ScriptedModel, calls
from interlock.tools.registry import Outcome, tool, write
from tests.contract.runner.stage import CountingStore, Stage, staged, until
from tests.contract.runner.workers import becomes, working


def fault(kind: ModelFault, usage: Usage | None = None, retry_after_s: float | None = None) -> ModelError:
    """A failure of the provider."""
    return ModelError(kind, f"{kind} happened", provider="anthropic", usage=usage, retry_after_s=retry_after_s)


async def lines(stage: Stage, run: str) -> list[tuple[int, bool, bool]]:
    """Each settled attempt: its number, whether it cost anything, whether that is an estimate."""
    found = [line for line in await stage.ledger(run) if line.kind == "settle"]
    return [(line.attempt, line.amount_microusd > 0, line.estimated) for line in found]


async def test_each_attempt_has_a_reservation_of_its_own(store: CountingStore, tmp_path: Path) -> None:
    script: list[Any] = [
        fault(ModelFault.RATE_LIMITED), fault(ModelFault.DROPPED), fault(ModelFault.SERVER, Usage(500, 7)), "done",
    ]  # fmt: skip
    stage = await staged(store, tmp_path, ScriptedModel(*script))
    run = await stage.think()
    await stage.work()
    assert await lines(stage, run) == [(1, False, False), (2, True, True), (3, True, True), (4, True, False)]
    row = await stage.run(run)
    settled = [line.amount_microusd for line in await stage.ledger(run) if line.kind == "settle"]
    assert (row.status, row.step_count, row.cost_microusd) == ("completed", 1, sum(settled))
    assert settled[2] == 500 * 2 + 7 * 10
    assert (await stage.account(f"run:{run}")).reserved_microusd == 0


async def test_outage_puts_the_run_off_and_it_goes_on(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(*[fault(ModelFault.OVERLOADED)] * 4, "done"))
    run = await stage.think()
    await stage.work()
    row = await stage.run(run)
    assert (row.status, row.attempt, (row.due_at - stage.clock.now()).total_seconds()) == ("created", 1, 15)
    (alert,) = await stage.alerts()
    assert (alert.kind, alert.severity, alert.subject) == ("MODEL_UNUSABLE", "warning", "anthropic")
    assert (await stage.account(f"run:{run}")).reserved_microusd == 0
    assert await stage.claim() == []
    stage.clock.advance(15)
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    assert await stage.alerts() == []


async def test_provider_s_own_wish_is_waited_for(store: CountingStore, tmp_path: Path) -> None:
    refusal = fault(ModelFault.RATE_LIMITED, retry_after_s=0.0)
    patience = fault(ModelFault.RATE_LIMITED, retry_after_s=900.0)
    stage = await staged(store, tmp_path, ScriptedModel(*[refusal] * 3, patience))
    run = await stage.think()
    await stage.work()
    assert ((await stage.run(run)).due_at - stage.clock.now()).total_seconds() == 900


async def test_outage_that_never_ends_fails_the_run(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(otherwise=fault(ModelFault.OVERLOADED)))
    run = await stage.think()
    for _ in range(8):
        await stage.work()
        stage.clock.advance(600)
    assert await stage.ended(run) == ("failed", "error")
    assert (await stage.account(f"run:{run}")).reserved_microusd == 0


@pytest.mark.parametrize("kind", [ModelFault.AUTH, ModelFault.BILLING])
async def test_key_that_does_not_work_loses_no_run(store: CountingStore, tmp_path: Path, kind: ModelFault) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(fault(kind), fault(kind), "done"))
    run = await stage.think()
    await stage.work()
    (alert,) = await stage.alerts()
    assert alert.severity == "critical"
    assert (await stage.ended(run), await lines(stage, run)) == (("created", "error"), [(1, False, False)])
    stage.clock.advance(600)
    await stage.work()
    await store.write(leases.retry_now, stage.clock.now())
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")


async def test_request_that_the_provider_refuses_fails_the_run(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(fault(ModelFault.INVALID)))
    run = await stage.think()
    await stage.work()
    assert await stage.ended(run) == ("failed", "error")
    assert await lines(stage, run) == [(1, False, False)]


async def test_run_that_somebody_was_ahead_of_steps_aside_and_goes_on(store: CountingStore, tmp_path: Path) -> None:
    tries: list[int] = []

    def busy(_: Tx) -> None:
        tries.append(1)
        if len(tries) == 1:
            raise Conflict("task was changed by somebody else: look again")

    @tool(risk="GREEN", idempotent=True, outside=False)
    async def touch() -> Outcome:
        """Touches what others touch too."""
        return Outcome("touched", writes=(write(busy),))

    stage = await staged(store, tmp_path, ScriptedModel(calls("touch"), "done"), [touch])
    run = await stage.think()
    await stage.work()
    assert (await stage.ended(run), (await stage.run(run)).attempt) == (("created", None), 1)
    stage.clock.advance(2)
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    assert await stage.statuses(run) == ["done"]
    assert len(tries) == 2


async def test_model_is_not_told_that_the_database_was_unavailable_to_a_tool(
    store: CountingStore, tmp_path: Path
) -> None:
    tries: list[str] = []

    @tool(risk="GREEN", idempotent=True, outside=False)
    async def look() -> str:
        """Looks."""
        tries.append("look")
        if len(tries) == 1:
            raise StoreUnavailable("PostgreSQL went away")
        return "seen"

    model = ScriptedModel(calls("look"), "done")
    stage = await staged(store, tmp_path, model, [look])
    run = await stage.think()
    async with working(stage):
        await until(lambda: len(tries) == 1)
        await becomes(stage, run, "created")
        stage.clock.advance(5)
        store.wake()
        await becomes(stage, run, "completed")
    assert len(tries) == 2
    assert [(c.status, c.result) for c in await stage.calls(run)] == [("done", "seen")]
