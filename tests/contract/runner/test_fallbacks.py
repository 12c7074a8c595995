"""Models that cannot be used: which one a run has, what stands in for it, and providers that are left alone."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interlock.llm.messages import Model, ModelError, ModelFault, ModelRef, ModelRequest
from interlock.llm.providers import NoKey
from interlock.settings.loading import KEY_VARIABLES
from interlock.store.auditing import audit
from interlock.store.mailboxes import leases
from interlock.testing.runtime import OneModel
from interlock.testing.scripted import USUAL, Scripted, ScriptedModel, calls
from interlock.tools.registry import tool
from tests.contract.runner.stage import CountingStore, Stage, staged
from tests.contract.runner.test_outages import fault

FIRST, SECOND, THIRD = "anthropic/claude-sonnet-5-5", "openai/gpt-5.5", "google/gemini-3.8-flash"


@tool(risk="GREEN", idempotent=True, outside=False)
async def look(what: str) -> str:
    """Looks something up."""
    return f"seen: {what}"


def by_model(**answers: Any) -> ScriptedModel:
    """A model that answers by the name it is called by: each key is the beginning of one; lists are used up."""

    def answer(request: ModelRequest) -> Scripted:
        found = next(said for name, said in answers.items() if request.model.startswith(name))
        said: Scripted = (found.pop(0) if len(found) > 1 else found[0]) if isinstance(found, list) else found
        return said

    return ScriptedModel(otherwise=answer)


def asked(stage: Stage) -> list[str]:
    """Which models were called, in order."""
    return [request.model for request in stage.model.requests]


async def switches(stage: Stage, run: str) -> list[tuple[str, str, str]]:
    """Each change of model on record: from, to, and the fault."""
    found = await stage.store.read(audit.activities, run_id=run, action="MODEL_SWITCHED")
    return [(row.data["from"], row.data["to"], row.data["fault"]) for row in found]


@pytest.mark.parametrize("kind", [ModelFault.AUTH, ModelFault.BILLING])
async def test_key_that_does_not_work_leads_to_the_next_provider_at_once(
    store: CountingStore, tmp_path: Path, kind: ModelFault
) -> None:
    model = by_model(claude=fault(kind), gpt="done")
    stage = await staged(store, tmp_path, model, fallbacks=("anthropic/claude-opus-5-5", SECOND))
    run = await stage.think()
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    assert asked(stage) == ["claude-sonnet-5-5", "gpt-5.5"], "the same key is not tried with another model"
    assert await switches(stage, run) == [(FIRST, SECOND, str(kind))]
    row = await stage.run(run)
    assert (row.model, row.attempt) == (SECOND, 0)
    (alert,) = await stage.alerts()
    assert (alert.kind, alert.severity, alert.subject) == ("MODEL_SWITCHED", "warning", "anthropic")


async def test_attempts_are_used_up_before_another_model_stands_in(store: CountingStore, tmp_path: Path) -> None:
    model = by_model(claude=fault(ModelFault.OVERLOADED), gpt="done")
    stage = await staged(store, tmp_path, model, fallbacks=(SECOND,))
    run = await stage.think()
    await stage.work()
    assert asked(stage) == ["claude-sonnet-5-5"] * 4 + ["gpt-5.5"]
    assert await switches(stage, run) == [(FIRST, SECOND, "overloaded")]


async def test_each_attempt_is_reserved_at_the_prices_of_its_own_model(store: CountingStore, tmp_path: Path) -> None:
    model = by_model(claude=fault(ModelFault.AUTH), gpt="done")
    stage = await staged(store, tmp_path, model, fallbacks=(SECOND,))
    run = await stage.think()
    await stage.work()
    lines = await stage.ledger(run)
    assert [(line.kind, line.model, line.attempt) for line in lines] == [
        ("reserve", FIRST, 1), ("settle", FIRST, 1), ("reserve", SECOND, 2), ("settle", SECOND, 2),
    ]  # fmt: skip
    prices, request = stage.runtime.prices, stage.model.requests[-1]
    paid = prices.cost(ModelRef.parse(SECOND), USUAL).microusd
    assert [line.amount_microusd for line in lines][1::2] == [0, paid]
    assert request.model == "gpt-5.5"
    assert (await stage.account(f"run:{run}")).reserved_microusd == 0


async def test_fallbacks_of_the_persona_go_before_those_of_the_settings(store: CountingStore, tmp_path: Path) -> None:
    model = by_model(claude=fault(ModelFault.AUTH), gemini="done", gpt="wrong")
    stage = await staged(store, tmp_path, model, fallbacks=(SECOND,))
    run = await stage.think(fallbacks=[THIRD])
    await stage.work()
    assert await switches(stage, run) == [(FIRST, THIRD, "auth")]


async def test_model_that_does_not_exist_is_passed_over(store: CountingStore, tmp_path: Path) -> None:
    gone = ModelError(ModelFault.INVALID, "no such model", provider="anthropic", status=404)
    stage = await staged(store, tmp_path, by_model(claude=gone, gpt="done"), fallbacks=(SECOND,))
    run = await stage.think()
    await stage.work()
    assert (await stage.ended(run), asked(stage)) == (("completed", "end_turn"), ["claude-sonnet-5-5", "gpt-5.5"])


async def test_request_that_is_refused_as_such_is_put_to_no_other_model(store: CountingStore, tmp_path: Path) -> None:
    bad = ModelError(ModelFault.INVALID, "bad request", provider="anthropic", status=400)
    stage = await staged(store, tmp_path, by_model(claude=bad, gpt="wrong"), fallbacks=(SECOND,))
    run = await stage.think()
    await stage.work()
    assert (await stage.ended(run), asked(stage)) == (("failed", "error"), ["claude-sonnet-5-5"])


async def test_stand_in_that_does_not_take_the_request_is_not_the_last_word(
    store: CountingStore, tmp_path: Path
) -> None:
    bad = ModelError(ModelFault.INVALID, "no tools here", provider="openai", status=400)
    stage = await staged(
        store, tmp_path, by_model(claude=fault(ModelFault.AUTH), gpt=bad, gemini="done"), fallbacks=(SECOND, THIRD)
    )
    run = await stage.think()
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    assert await switches(stage, run) == [(FIRST, SECOND, "auth"), (SECOND, THIRD, "invalid")]


async def test_run_in_its_midst_goes_on_with_another_model_and_keeps_it(store: CountingStore, tmp_path: Path) -> None:
    model = by_model(claude=[calls("look", what="a"), fault(ModelFault.AUTH)], gpt=[calls("look", what="b"), "done"])
    stage = await staged(store, tmp_path, model, [look], fallbacks=(SECOND,))
    run = await stage.think()
    await stage.work()
    assert asked(stage) == ["claude-sonnet-5-5", "claude-sonnet-5-5", "gpt-5.5", "gpt-5.5"]
    assert await stage.ended(run) == ("completed", "end_turn")
    assert len(await switches(stage, run)) == 1


async def test_run_that_was_cut_off_keeps_the_model_it_had_come_to(store: CountingStore, tmp_path: Path) -> None:
    held: list[Any] = [never, "done"]
    stage = await staged(store, tmp_path, by_model(claude=fault(ModelFault.AUTH), gpt=held), fallbacks=(SECOND,))
    run = await stage.think()
    await stage.cut(await stage.take(run), at_request=2)
    await stage.work()
    assert asked(stage) == ["claude-sonnet-5-5", "gpt-5.5", "gpt-5.5"]
    assert await stage.ended(run) == ("completed", "end_turn")


async def never(_: ModelRequest) -> Scripted:
    """An answer that does not come."""
    await asyncio.Event().wait()
    raise AssertionError


async def test_run_is_put_off_once_every_model_has_failed_and_tries_all_of_them_again(
    store: CountingStore, tmp_path: Path
) -> None:
    model = by_model(claude=[fault(ModelFault.AUTH), "done"], gpt=fault(ModelFault.OVERLOADED))
    stage = await staged(store, tmp_path, model, fallbacks=(SECOND,))
    run = await stage.think()
    await stage.work()
    row = await stage.run(run)
    assert (row.status, row.attempt, (row.due_at - stage.clock.now()).total_seconds()) == ("created", 1, 15)
    assert {alert.kind for alert in await stage.alerts()} == {"MODEL_UNUSABLE", "MODEL_SWITCHED"}
    stage.clock.advance(60)
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    assert (await stage.run(run)).model == FIRST
    assert (await stage.account(f"run:{run}")).reserved_microusd == 0


async def test_fallback_that_does_not_exist_fails_no_run_whose_provider_may_come_back(
    store: CountingStore, tmp_path: Path
) -> None:
    gone = ModelError(ModelFault.INVALID, "no such model", provider="openai", status=404)
    model = by_model(claude=fault(ModelFault.OVERLOADED), gpt=gone)
    stage = await staged(store, tmp_path, model, fallbacks=(SECOND,))
    run = await stage.think()
    await stage.work()
    assert await stage.ended(run) == ("created", None)


async def test_model_with_too_small_a_window_is_passed_over(store: CountingStore, tmp_path: Path) -> None:
    model = by_model(claude=fault(ModelFault.AUTH), openai="wrong", gpt="done")
    stage = await staged(store, tmp_path, model, fallbacks=("groq/openai/gpt-oss-120b", SECOND))
    run = await stage.think("x" * 400_000)
    await stage.work()
    assert await switches(stage, run) == [(FIRST, SECOND, "auth")]


async def test_second_run_raises_no_second_alert_about_a_failing_provider(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, by_model(claude=fault(ModelFault.AUTH), gpt="done"), fallbacks=(SECOND,))
    runs = [await stage.think(name=name) for name in ("one", "two", "three")]
    await stage.work()
    assert [len(await switches(stage, run)) for run in runs] == [1, 1, 1]
    assert [alert.kind for alert in await stage.alerts()] == ["MODEL_SWITCHED"]


async def test_provider_that_keeps_failing_is_left_alone_by_all_runs(store: CountingStore, tmp_path: Path) -> None:
    model = ScriptedModel(*[fault(ModelFault.CONNECTION)] * 3, otherwise="done")
    stage = await staged(store, tmp_path, model, retry={"base_s": 0.001, "open_after": 3, "probe_s": 20.0})
    one, two = await stage.think(name="one"), await stage.think(name="two")
    await stage.work()
    assert len(stage.model.requests) == 3, "neither does the first try a fourth time, nor the second once"
    rows = sorted([await stage.run(run) for run in (one, two)], key=lambda row: -row.attempt)
    assert [row.status for row in rows] == ["created", "created"]
    assert [row.attempt for row in rows] == [1, 0], "only one of them has tried"
    assert [(row.due_at - stage.clock.now()).total_seconds() for row in rows] == [20, 20]
    assert "left alone for now after 3 faults in a row" in rows[1].error
    assert [line.amount_microusd for line in await stage.ledger(rows[1].id) if line.kind == "settle"] == [0]
    stage.clock.advance(20)
    await stage.work()
    assert [await stage.ended(run) for run in (one, two)] == [("completed", "end_turn")] * 2
    assert await stage.alerts() == []


async def test_run_begins_with_another_model_while_its_provider_is_left_alone(
    store: CountingStore, tmp_path: Path
) -> None:
    model = by_model(claude=fault(ModelFault.CONNECTION), gpt="done")
    stage = await staged(store, tmp_path, model, fallbacks=(SECOND,), retry={"base_s": 0.001, "open_after": 4})
    one, two = await stage.think(name="one"), await stage.think(name="two")
    await stage.work()
    assert asked(stage) == ["claude-sonnet-5-5"] * 4 + ["gpt-5.5"] * 2
    assert [await stage.ended(run) for run in (one, two)] == [("completed", "end_turn")] * 2
    assert await switches(stage, two) == [(FIRST, SECOND, "connection")]


class SomeOpen(OneModel):
    """Providers of which some have no key."""

    def __init__(self, model: Model, *shut: str) -> None:
        super().__init__(model)
        self._shut = shut

    async def get(self, ref: ModelRef) -> Model:
        """The one adapter, where there is a key."""
        if ref.provider in self._shut:
            raise NoKey(ref.provider, KEY_VARIABLES[ref.provider])
        return await super().get(ref)


def shut(stage: Stage, *providers: str) -> None:
    """Takes the keys of some providers away."""
    stage.runtime = replace(stage.runtime, models=SomeOpen(stage.model, *providers))


async def test_provider_without_a_key_is_passed_over_from_the_start(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, by_model(gemini="done"), fallbacks=(SECOND, THIRD))
    shut(stage, "anthropic", "openai")
    run = await stage.think()
    await stage.work()
    assert (await stage.ended(run), asked(stage)) == (("completed", "end_turn"), ["gemini-3.8-flash"])
    assert await switches(stage, run) == [(FIRST, THIRD, "unusable")]
    assert (await stage.run(run)).model == THIRD


async def test_run_keeps_its_place_where_no_provider_has_a_key(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, by_model(claude="done"), fallbacks=(SECOND,))
    shut(stage, "anthropic", "openai")
    run = await stage.think()
    await stage.work()
    row = await stage.run(run)
    assert (row.status, row.attempt, (row.due_at - stage.clock.now()).total_seconds()) == ("created", 0, 600)
    assert "anthropic needs a key: set ANTHROPIC_API_KEY" in row.error
    (alert,) = await stage.alerts()
    assert (alert.kind, alert.severity, alert.subject) == ("MODEL_UNUSABLE", "critical", "anthropic")
    shut(stage)
    await store.write(leases.retry_now, stage.clock.now())
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    assert await stage.alerts() == []


async def test_who_waits_for_an_answer_is_told_at_once_that_no_provider_has_a_key(
    store: CountingStore, tmp_path: Path
) -> None:
    stage = await staged(store, tmp_path, by_model())
    shut(stage, "anthropic")
    run = await stage.chat()
    await stage.work()
    row = await stage.run(run)
    assert (row.status, row.error.partition(":")[0]) == ("failed", "anthropic needs a key")


@pytest.mark.parametrize(
    ("persona", "found"),
    [({}, "gemini-3.8-flash"), ({"model": "openai/gpt-5.4"}, "gpt-5.4")],
)
async def test_model_is_the_persona_s_else_that_of_the_type_of_task(
    store: CountingStore, tmp_path: Path, persona: dict[str, Any], found: str
) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(otherwise="done"), task_models={"ops": THIRD, "other": SECOND})
    await stage.task(**persona)
    await stage.work()
    assert asked(stage)[0] == found


async def test_wait_that_would_outlast_the_run_is_not_sat_out(store: CountingStore, tmp_path: Path) -> None:
    slow = fault(ModelFault.RATE_LIMITED, retry_after_s=50.0)
    stage = await staged(store, tmp_path, ScriptedModel(slow, "done"), times={"task_run_s": 40.0})
    run = await stage.think()
    await stage.work()
    row = await stage.run(run)
    assert (row.status, (row.due_at - stage.clock.now()).total_seconds()) == ("created", 50)


@pytest.mark.parametrize("what", [ModelFault.AUTH, ModelFault.BILLING])
async def test_who_talks_with_an_agent_is_told_of_a_key_at_once(
    store: CountingStore, tmp_path: Path, what: ModelFault
) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(fault(what), "done"))
    run = await stage.chat()
    await stage.work()
    assert await stage.ended(run) == ("failed", "error")


async def test_who_talks_with_an_agent_waits_for_a_provider_as_long_as_for_an_answer(
    store: CountingStore, tmp_path: Path
) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(otherwise=fault(ModelFault.SERVER)), times={"chat_run_s": 40.0})
    run = await stage.chat()
    await stage.work()
    assert (await stage.run(run)).status == "created"
    stage.clock.advance(16)
    await stage.work()
    assert await stage.ended(run) == ("failed", "error")
