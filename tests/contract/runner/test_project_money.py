"""Limits that one project has in place of those of all: of its days, and of missions without a budget of their own."""

from pathlib import Path

from interlock.desk.budgets import money
from interlock.desk.work import goals
from interlock.store.money import ledger
from interlock.testing.scripted import ScriptedModel
from tests.contract.runner.stage import PROJECT, CountingStore, staged

OWN = {PROJECT: {"project_day_usd": 7, "mission_budget_usd": 1.5}}


async def test_days_and_missions_of_a_project_have_its_own_limits(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel("done"), projects=OWN)
    own, other = [
        await goals.submit(stage.runtime, stage.ada, "Compare A and B", project=project) for project in (PROJECT, "lab")
    ]
    said = await goals.submit(stage.runtime, stage.ada, "Compare C and D", budget_usd=3)
    limits = [(await stage.account(f"mission:{each}")).limit_microusd for each in (own, other, said)]
    assert limits == [1_500_000, 20_000_000, 3_000_000]
    await stage.think()
    await stage.work()
    days = {row.project_id: row.limit_microusd for row in await store.read(ledger.accounts, kinds=["project_day"])}
    assert days == {PROJECT: 7_000_000}


async def test_day_that_is_raised_before_anything_was_spent_begins_with_the_projects_limit(
    store: CountingStore, tmp_path: Path
) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(), projects=OWN)
    assert (await money.raise_budget(stage.runtime, stage.ada, PROJECT, 1))["limit_usd"] == 8
