"""Any balance is explained by its lines, and people change limits by whatever name they know."""

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from interlock import Interlock
from interlock.core.errors import Conflict, InterlockError, NotFound, Refused, UsageError
from interlock.desk.budgets import ledger_views, money
from interlock.desk.context import Person
from interlock.desk.reading import details, listings
from interlock.desk.reading.finding import Unknown
from interlock.llm.messages import Usage
from interlock.store.money import ledger, limits
from interlock.store.money.ledger import ACCOUNTS, LEDGER
from interlock.store.runs import traces
from interlock.store.work import tasks
from interlock.testing.scripted import ScriptedModel, calls, reply_of
from tests.contract.runner.stage import CountingStore, Stage, hand_in, staged

LINES = 6


@pytest.fixture
async def stage(store: CountingStore, tmp_path: Path) -> Stage:
    """A task that was done in three model calls."""
    script: list[Any] = [calls("file_list"), hand_in(), "done"]
    stage = await staged(store, tmp_path, ScriptedModel(*(reply_of(each, usage=Usage(1_000, 100)) for each in script)))
    await stage.task()
    await stage.work()
    return stage


async def the_run(stage: Stage) -> Any:
    (run,) = [row for row in await stage.store.read(traces.runs) if row.kind == "task"]
    return run


async def test_balance_of_an_account_is_explained_line_by_line(stage: Stage) -> None:
    run = await the_run(stage)
    for named in ({"run": run.id}, {"task": run.task_id}, {"mission": run.mission_id}, {"account": f"run:{run.id}"}):
        found = await ledger_views.explain(stage.runtime, **named)
        assert [line["kind"] for line in found["lines"]] == ["reserve", "settle"] * 3
        assert [line["step_number"] for line in found["lines"]] == [1, 1, 2, 2, 3, 3]
        last = found["lines"][-1]
        assert (last["settled_usd"], last["reserved_usd"]) == (0.009, 0)
        assert (last["model"], last["persona"], last["title"]) == ("anthropic/claude-sonnet-5-5", "operations", "Do it")
        assert last["set_aside_usd"] == found["lines"][-2]["amount_usd"]
        assert found["lines"][0]["reserved_usd"] == found["lines"][0]["amount_usd"]
        assert (found["sums"]["lines"], found["sums"]["settled_usd"], found["agrees"]) == (LINES, 0.009, True)
        assert found["account"]["settled_usd"] == 0.009


async def test_pages_of_the_ledger_add_up_to_the_same_balance(stage: Stage) -> None:
    run = await the_run(stage)
    whole = (await ledger_views.explain(stage.runtime, run=run.id))["lines"]
    paged, after = [], None
    while True:
        found = await ledger_views.explain(stage.runtime, run=run.id, after=after, most=4)
        paged += found["lines"]
        if (after := found["next"]) is None:
            break
    assert paged == whole
    latest = await ledger_views.explain(stage.runtime, most=2)
    assert [line["id"] for line in latest["lines"]] == [line["id"] for line in whole[-2:]]
    assert "settled_usd" not in latest["lines"][0]


async def test_lines_of_an_agent_and_of_a_persona(stage: Stage) -> None:
    run = await the_run(stage)
    for name in (run.agent_id, "operations"):
        found = await ledger_views.explain(stage.runtime, agent=name)
        assert (found["account"], found["agrees"], found["sums"]["lines"]) == (None, None, LINES)


async def test_raise_is_a_line_with_who_and_why(stage: Stage) -> None:
    run = await the_run(stage)
    await money.raise_budget(stage.runtime, stage.ada, run.task_id, 1, "the page is long")
    await money.set_budget(stage.runtime, stage.ada, run.task_id, 2.5)
    found = await ledger_views.explain(stage.runtime, task=run.task_id)
    raised, lowered = found["lines"][-2:]
    assert (raised["kind"], raised["amount_usd"], raised["person"], raised["note"]) == (
        "raise", 1, "Ada", "the page is long",
    )  # fmt: skip
    assert (lowered["amount_usd"], lowered["note"]) == (-1.5, None)
    assert (found["account"]["first_limit_usd"], found["account"]["limit_usd"]) == (3, 2.5)
    assert found["agrees"] is True


async def test_account_is_found_by_every_name_that_people_know(stage: Stage) -> None:
    run = await the_run(stage)
    member = await stage.member()
    names = {
        "account": (f"run:{run.id}", f"run:{run.id}"), "run": (run.id, f"run:{run.id}"),
        "task": (run.task_id[-6:], f"task:{run.task_id}"), "mission": (run.mission_id, f"mission:{run.mission_id}"),
        "agent": (run.agent_id, f"agent_day:{member.id}:2026-01-01"),
        "persona": ("operations", f"agent_day:{member.id}:2026-01-01"),
        "project": ("default", "project_day:default:2026-01-01"),
    }  # fmt: skip
    for given, expected in names.values():
        before = await stage.account(expected)
        raised = await money.raise_budget(stage.runtime, stage.ada, given, 2)
        assert raised["id"] == expected
        assert (await stage.account(expected)).limit_microusd == before.limit_microusd + 2_000_000


async def test_what_cannot_be_is_refused_in_words(stage: Stage) -> None:
    run = await the_run(stage)
    viewer = Person(stage.ada.id, "Vic", "viewer", "test")

    async def told(error: type[InterlockError], words: str, work: Any) -> None:
        with pytest.raises(error, match=words):
            await work

    context, ada = stage.runtime, stage.ada
    await told(Refused, "viewer", money.set_budget(context, viewer, run.id, 1))
    await told(Unknown, "no account `nobody`", money.raise_budget(context, ada, "nobody", 1))
    await told(Conflict, r"\$0.0090 spent or set aside already", money.set_budget(context, ada, run.id, 0.001))
    await told(UsageError, "is not a limit", money.set_budget(context, ada, run.id, float("nan")))
    await told(UsageError, "less than a millionth|is not an amount", money.raise_budget(context, ada, run.id, 0))
    await told(UsageError, "name one of them", ledger_views.explain(context, run=run.id, task=run.task_id))
    await told(NotFound, "no line `x`", ledger_views.explain(context, run=run.id, after="x"))
    await told(Unknown, "no run `nothing`", ledger_views.explain(context, run="nothing"))
    stage.clock.advance(86_400)
    await told(UsageError, "has no account yet", money.raise_budget(context, ada, "operations", 1))


async def test_question_about_money_is_answered_by_a_raise(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(hand_in(), "done"))
    run = await stage.task(budget_microusd=2_000)
    await stage.work()
    question = await stage.the_question()
    task = await stage.task_of(run)
    await money.raise_budget(stage.runtime, stage.ada, task.id, 1, "worth it")
    assert await stage.pending() == []
    assert (await stage.account(f"task:{task.id}")).limit_microusd == 1_002_000
    (asked,) = await stage.questions(run)
    assert (asked.id, asked.status, asked.decided_by, asked.note) == (question.id, "approved", stage.ada.id, "worth it")
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")


async def test_frozen_account_is_told_of_and_goes_on_once_its_limit_covers_what_was_billed(
    store: CountingStore, tmp_path: Path
) -> None:
    billed = reply_of(calls("file_list"), usage=Usage(0, 400_000))
    stage = await staged(store, tmp_path, ScriptedModel(billed, hand_in(), "done"))
    run = await stage.task(budget_microusd=3_000_000)
    await stage.work()
    (alert,) = await stage.alerts()
    assert (alert.kind, alert.severity) == ("OVERBILLED", "critical")
    assert "interlock budget set ACCOUNT USD" in alert.text
    frozen = [row.id for row in await store.read(ledger.accounts) if row.frozen]
    assert f"run:{run}" in frozen
    for account in frozen:
        still = await money.raise_budget(stage.runtime, stage.ada, account, 0.01)
        assert still["frozen"] is True
        freed = await money.set_budget(stage.runtime, stage.ada, account, 20)
        assert freed["frozen"] is False
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    assert (await ledger_views.verify(stage.runtime))["faults"] == []


async def test_verify_names_every_fault(stage: Stage) -> None:
    assert (await ledger_views.verify(stage.runtime))["faults"] == []
    run = await the_run(stage)
    change = sa.update(ACCOUNTS).where(ACCOUNTS.c.id == f"run:{run.id}")
    await stage.store.write(lambda tx: tx.run(change.values(settled_microusd=9_007)))
    gone = sa.delete(LEDGER).where(LEDGER.c.reservation_id == f"{run.id}:1:1", LEDGER.c.kind == "reserve")
    await stage.store.write(lambda tx: tx.run(gone))
    over = sa.update(ACCOUNTS).where(ACCOUNTS.c.id == f"task:{run.task_id}").values(limit_microusd=1)
    await stage.store.write(lambda tx: tx.run(over))
    faults = "\n".join((await ledger_views.verify(stage.runtime))["faults"])
    assert f"`run:{run.id}` says $0.009007 spent and its lines $0.009000 (a difference of $0.000007)" in faults
    assert f"`{run.id}:1:1` was settled and never set aside" in faults
    assert f"`task:{run.task_id}` has $0.0090 spent" in faults
    assert (await ledger_views.explain(stage.runtime, run=run.id))["agrees"] is False


async def test_line_is_lifted_by_a_raise_and_by_setting_the_limit(stage: Stage) -> None:
    run = await the_run(stage)
    account = f"mission:{run.mission_id}"
    await stage.store.write(limits.watch, account, 5_000)
    listed = {row["id"]: row for row in await money.budget(stage.runtime)}
    assert (listed[account]["paused"], listed[account]["asks_at_usd"]) == (True, 0.005)
    raised = await money.raise_budget(stage.runtime, stage.ada, account, 0.5)
    assert (raised["paused"], raised["asks_at_usd"]) == (False, 0.509)
    await stage.store.write(limits.watch, account, 5_000)
    assert (await money.set_budget(stage.runtime, stage.ada, account, 30))["asks_at_usd"] is None


async def test_actual_costs_are_known_by_type_and_model(stage: Stage) -> None:
    assert await money.actuals(stage.runtime) == []
    task_id = (await the_run(stage)).task_id
    done = sa.update(tasks.TASKS).where(tasks.TASKS.c.id == task_id).values(status="DONE")
    await stage.store.write(lambda tx: tx.run(done))
    (found,) = await money.actuals(stage.runtime)
    assert found == {
        "type": "ops", "model": "anthropic/claude-sonnet-5-5", "tasks": 1, "mean_usd": 0.009, "most_usd": 0.009,
        "budget_usd": 3, "counts": False,
    }  # fmt: skip


async def test_tasks_cost_at_most_what_the_settings_say_of_their_type(tmp_path: Path, database_url: str) -> None:
    limits = {"content": 0.25, "other": 0.5, "research": 0.5}
    opened = Interlock.open(
        cwd=tmp_path, env={}, database_url=database_url, model="rehearsal/offline", task_budgets_usd=limits
    )
    async with opened as box:
        mission = await box.run("Compare A and B")
        listed = await listings.tasks(box.runtime, mission=mission.mission_id)
        rows = [await details.task(box.runtime, each["id"]) for each in listed]
        assert all(row["budget_usd"] <= limits.get(row["type"], 8) for row in rows)
        assert {row["budget_usd"] for row in rows} & set(limits.values())
