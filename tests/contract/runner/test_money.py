"""Money: set aside before each model call, settled after it, and never more than a limit allows."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interlock.agents.running import runner
from interlock.agents.running.interruption import Interrupt
from interlock.core.values import usd
from interlock.llm.messages import ModelRef, ModelRequest, Usage
from interlock.llm.providers import ProviderAccess, open_model
from interlock.oversight import expiry
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.mailboxes import leases
from interlock.store.money import ledger, limits
from interlock.store.money.ledger import Spender
from interlock.testing.messages_api import MessagesApi
from interlock.testing.messages_script import Answer, text
from interlock.testing.scripted import Scripted, ScriptedModel, Stream, calls, reply_of
from interlock.tools.registry import tool
from tests.contract.runner.stage import WORKER, CountingStore, Stage, hand_in, staged, until

OUTPUT_MICROUSD = 10
"""A token of the answer, at $10 a million."""


@tool(risk="GREEN", idempotent=True, outside=False)
async def look(what: str) -> str:
    """Looks something up."""
    return f"seen: {what}"


def budget(run_microusd: int, *, daily_usd: float = 5.0) -> dict[str, Any]:
    """A persona's budget with that much for a run."""
    return {"budget": {"run_usd": run_microusd / 1_000_000, "daily_usd": daily_usd, "chat_run_usd": 0.1}}


async def prompt_cost(store: CountingStore, home: Path) -> int:
    """What the prompt of a fresh think run is reserved at, in micro-dollars."""
    stage = await staged(store, home, ScriptedModel("done"))
    run = await stage.think(name="measured")
    await stage.work()
    return int((await stage.ledger(run))[0].amount_microusd) - 4096 * OUTPUT_MICROUSD


def asking(stage_of: Callable[[], Stage], run_of: Callable[[], str], script: list[Scripted]) -> Any:
    """A reply that looks at its account before it is given, and what it saw: what is set aside, the longest answer."""

    async def reply(request: ModelRequest) -> Scripted:
        account = await stage_of().account(f"run:{run_of()}")
        seen.append((account.reserved_microusd, request.max_tokens))
        return script.pop(0)

    seen: list[tuple[int, int]] = []
    return reply, seen


async def test_worst_case_is_set_aside_whenever_a_model_is_called(store: CountingStore, tmp_path: Path) -> None:
    found: dict[str, Any] = {}
    reply, seen = asking(
        lambda: found["stage"], lambda: found["run"], [calls("look", what="a"), calls("look", what="b"), "done"]
    )
    stage = found["stage"] = await staged(store, tmp_path, ScriptedModel(otherwise=reply), [look])
    run = found["run"] = await stage.think()
    await stage.work()
    reserved = [line.amount_microusd for line in await stage.ledger(run) if line.kind == "reserve"]
    assert [amount for amount, _ in seen] == reserved
    assert reserved == sorted(reserved)
    assert len(reserved) == 3
    assert min(reserved) > 4096 * OUTPUT_MICROUSD
    account = await stage.account(f"run:{run}")
    assert (account.reserved_microusd, account.settled_microusd) == (0, (await stage.run(run)).cost_microusd)


async def test_cache_s_prices_count(store: CountingStore, tmp_path: Path) -> None:
    usage = Usage(1000, 100, cache_read_tokens=2000, cache_write_5m_tokens=400, cache_write_1h_tokens=50)
    stage = await staged(store, tmp_path, ScriptedModel(reply_of("done", usage=usage)))
    run = await stage.think()
    await stage.work()
    row = await stage.run(run)
    assert row.cost_microusd == 1000 * 2 + 100 * 10 + 2000 * 2 // 20 + 400 * 2 * 5 // 4 + 50 * 2 * 2
    assert row.token_usage == usage.as_dict()


async def test_answer_is_made_shorter_where_little_is_left(store: CountingStore, tmp_path: Path) -> None:
    limit = await prompt_cost(store, tmp_path) + 1_000 * OUTPUT_MICROUSD
    stage = await staged(store, tmp_path, ScriptedModel("done"))
    run = await stage.think(**budget(limit))
    await stage.work()
    assert 990 <= stage.model.requests[0].max_tokens <= 1_000
    assert await stage.ended(run) == ("completed", "end_turn")


@pytest.mark.parametrize("verdict", ["approve", "deny"])
async def test_person_is_asked_where_too_little_is_left(store: CountingStore, tmp_path: Path, verdict: str) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(hand_in(), "done"))
    run = await stage.task(budget_microusd=2_000)
    await stage.work()
    task = await stage.task_of(run)
    assert ((await stage.run(run)).status, task.status) == ("waiting", "NEEDS_APPROVAL")
    assert stage.model.requests == []
    question = await stage.the_question()
    assert (question.kind, question.request["account"]) == ("BUDGET", f"task:{task.id}")
    stage.restart()
    if verdict == "approve":
        await stage.approve(question.id)
        raised = (await stage.account(f"task:{task.id}")).limit_microusd
        assert raised == 2_000 + question.request["amount_microusd"]
        await stage.work()
        assert await stage.ended(run) == ("completed", "end_turn")
    else:
        await stage.deny(question.id, "too dear")
        await stage.work()
        assert await stage.ended(run) == ("failed", "budget")
        assert "too dear" in (await stage.run(run)).error
        assert stage.model.requests == []


async def test_money_that_runs_out_on_the_way_parks_the_run_where_it_is(store: CountingStore, tmp_path: Path) -> None:
    first = await prompt_cost(store, tmp_path) + 4096 * OUTPUT_MICROUSD
    dear = reply_of(calls("look", what="x"), usage=Usage(0, 4_000))
    stage = await staged(store, tmp_path, ScriptedModel(dear, "done"), [look])
    run = await stage.think(**budget(first + 500))
    await stage.work()
    assert (await stage.run(run)).status == "waiting"
    assert await stage.statuses(run) == ["done"]
    await stage.approve((await stage.the_question()).id)
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    assert len(stage.model.requests) == 2


async def test_person_is_told_that_money_went_for_a_call_whose_process_died(
    store: CountingStore, tmp_path: Path
) -> None:
    worst = await prompt_cost(store, tmp_path) + 4096 * OUTPUT_MICROUSD
    stage = await staged(store, tmp_path, ScriptedModel(Stream(asyncio.Event()), "done"))
    run = await stage.think(**budget(worst + 500))
    dying = asyncio.create_task(runner.handle(stage.runtime, await stage.take(run), Interrupt()))
    await until(lambda: len(stage.model.requests) == 1)
    await store.write(leases.take_back, WORKER, stage.clock.now())
    dying.cancel()
    await asyncio.gather(dying, return_exceptions=True)
    stage.restart()
    await stage.work()
    question = await stage.the_question()
    assert question.request["account"] == f"run:{run}"
    assert f"({usd(worst)} of it for a call that was cut off, at the most it can cost)" in question.request["summary"]
    assert (await stage.account(f"run:{run}")).settled_microusd == worst, "no less is booked than may have been spent"
    await stage.approve(question.id)
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")


@pytest.mark.parametrize("by", ["midnight", "a raise"])
async def test_member_out_of_its_daily_money_pauses(store: CountingStore, tmp_path: Path, by: str) -> None:
    stage = await staged(store, tmp_path, ScriptedModel("done"))
    run = await stage.think(**budget(1_000, daily_usd=0.001))
    await stage.work()
    member = await stage.member()
    account, _ = squad.budget_pause(member) or ("", 0)
    assert (member.state, account.rpartition(":")[2]) == ("PAUSED", "2026-01-01")
    assert await stage.ended(run) == ("created", None)
    assert [alert.kind for alert in await stage.alerts()] == ["BUDGET"]
    await expiry.sweep(stage.runtime)
    assert await stage.claim() == []
    if by == "midnight":
        stage.clock.advance(86_400)
        await store.write(_allow, f"agent_day:{member.id}:2026-01-02", member.id, 5_000_000, stage.clock.now())
    else:
        await store.write(limits.raise_limit, account, 1_000_000, stage.ada.id, stage.clock.now())
    await store.write(limits.raise_limit, f"run:{run}", 1_000_000, stage.ada.id, stage.clock.now())
    await expiry.sweep(stage.runtime)
    assert (await stage.member()).state == "ACTIVE"
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")


def _allow(tx: Any, account: str, owner: str, limit: int, now: Any) -> None:
    ledger.open_accounts(tx, [ledger.Opening(account, account.partition(":")[0], owner, "default", limit)], now)


async def test_run_that_waits_overnight_spends_from_the_new_day(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(calls("ask_operator", question="which?"), "done"))
    run = await stage.think()
    await stage.work()
    stage.clock.advance(50_000)
    await stage.approve((await stage.the_question()).id, note="this one")
    stage.clock.advance(50_000)
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    days = await store.read(ledger.accounts, kinds=["project_day"])
    assert [(day.id, day.settled_microusd > 0) for day in days] == [
        ("project_day:default:2026-01-02", True), ("project_day:default:2026-01-01", True),
    ]  # fmt: skip


@pytest.mark.parametrize("left", [-1, 1_000 * OUTPUT_MICROUSD])
async def test_run_waits_for_what_others_have_set_aside(store: CountingStore, tmp_path: Path, left: int) -> None:
    prompt = await prompt_cost(store, tmp_path)
    limit = prompt + 4096 * OUTPUT_MICROUSD + 50_000
    stage = await staged(store, tmp_path, ScriptedModel("done"))
    run = await stage.think(**budget(limit))
    account = f"run:{run}"
    await store.write(_allow, account, run, limit, stage.clock.now())
    other = Spender("other", "agent", None, None, "default", (account,))
    place: dict[str, Any] = {"step": 1, "attempt": 1, "model": "m", "worst_microusd": limit - prompt - left}
    await store.write(ledger.reserve, other, **place, now=stage.clock.now())
    await stage.work()
    assert stage.model.requests == []
    assert await stage.ended(run) == ("created", None)
    assert await stage.pending() == []
    await store.write(ledger.settle, other, **place, actual_microusd=10, now=stage.clock.now())
    assert await stage.claim() == []
    stage.clock.advance(2)
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    assert [request.max_tokens for request in stage.model.requests] == [4096]


async def test_many_runs_at_once_never_pass_a_common_limit(store: CountingStore, tmp_path: Path) -> None:
    broken: list[str] = []
    limit = 400_000

    async def reply(request: ModelRequest) -> Scripted:
        for row in await stage.store.read(ledger.accounts, kinds=["agent_day", "run"]):
            if row.settled_microusd + row.reserved_microusd > row.limit_microusd:
                broken.append(row.id)
        last = request.messages[-1].role == "user" and len(request.messages) >= 5
        return reply_of("done" if last else calls("look", what="x"), usage=Usage(0, 3_000))

    stage = await staged(store, tmp_path, ScriptedModel(otherwise=reply), [look])
    runs = [await stage.think(name=str(number), **budget(limit, daily_usd=limit / 1e6)) for number in range(12)]
    for _ in range(40):
        claims = await stage.claim()
        await asyncio.gather(*(runner.handle(stage.runtime, claim, Interrupt()) for claim in claims))
        stage.clock.advance(3)
    assert broken == []
    member = await stage.member()
    (day,) = await store.read(ledger.accounts, kinds=["agent_day"])
    assert (day.reserved_microusd, day.limit_microusd, member.state) == (0, limit, "PAUSED")
    rows = [await stage.run(run) for run in runs]
    assert {row.status for row in rows} <= {"completed", "created"}
    assert day.settled_microusd == sum(row.cost_microusd for row in rows) <= limit
    assert day.settled_microusd + 3_000 * OUTPUT_MICROUSD * 2 > limit, "the money is used"


async def test_unknown_model_is_paid_at_the_configured_rate_and_says_so(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(reply_of("done", usage=Usage(10, 10))))
    run = await stage.think(model="acme/new", **budget(900_000))
    await stage.work()
    (settled,) = [line for line in await stage.ledger(run) if line.kind == "settle"]
    assert (settled.amount_microusd, settled.estimated, settled.model) == (10 * 15 + 10 * 75, True, "acme/new")
    (alert,) = await stage.alerts()
    assert (alert.kind, alert.subject) == ("UNKNOWN_MODEL_PRICE", "acme/new")
    assert "$15 in and $75 out for a million tokens" in alert.text
    await store.write(audit.acknowledge, alert.id, stage.ada.id, stage.clock.now())
    await stage.think(name="two", model="acme/new", **budget(900_000))
    await stage.work()
    assert await stage.alerts() == [], "once for each model"


@pytest.mark.parametrize("count", [2**32 - 1, 10**20, 1e300])
async def test_bill_that_no_column_can_hold_is_booked_and_freezes_the_account(
    store: CountingStore, tmp_path: Path, count: float
) -> None:
    bill = Answer([text("hello")], usage={"input_tokens": count, "output_tokens": count})
    async with MessagesApi(lambda *_: bill) as api:
        adapter: Any = open_model(ModelRef("anthropic", "m"), ProviderAccess("sk-test-key", api.base_url))
        stage = await staged(store, tmp_path, adapter)
        run = await stage.chat()
        await stage.work()
        await adapter.close()
    assert await stage.ended(run) == ("completed", "end_turn")
    reserved, settled = await stage.ledger(run)
    assert settled.amount_microusd > 1_000 * reserved.amount_microusd
    (alert,) = [each for each in await stage.alerts() if each.kind == ledger.OVERBILLED]
    assert (alert.severity, "frozen: " in alert.text) == ("critical", True)
