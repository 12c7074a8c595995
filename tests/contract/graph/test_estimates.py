"""A plan draws the line at which its mission asks: so many times what it is likely to cost."""

from pathlib import Path

from interlock.oversight import overspend
from interlock.settings import load_settings
from interlock.store.auditing import audit
from interlock.store.money import ledger
from interlock.store.money.ledger import ACCOUNTS
from interlock.store.work import missions
from interlock.testing.runtime import runtime_over
from interlock.testing.scripted import ScriptedModel
from tests.contract.graph.driving import driven, plan, step


async def test_plan_sets_the_threshold_and_the_sweep_reports_once_who_exceeded_it(
    database_url: str, tmp_path: Path
) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", plan(step("facts", "research", "research"), step("rules", "compliance", "docs")))
        row = await mission.store.read(missions.mission, mission.mission)
        account = f"mission:{mission.mission}"
        budgets = sum(task.budget_microusd for task in await mission.rows() if task.parent_id)
        assert row is not None
        assert row.estimate_microusd == budgets
        found = await mission.store.read(ledger.account, account)
        assert found is not None
        assert found.pause_at_microusd == 3 * budgets
        settings = load_settings(tmp_path, {}, {"home": tmp_path, "database_url": database_url})
        runtime = runtime_over(mission.store, settings, ScriptedModel(), clock=mission.clock)
        assert await overspend.sweep(runtime) == "0 missions past a multiple of their estimate"
        spent = ACCOUNTS.update().where(ACCOUNTS.c.id == account).values(settled_microusd=3 * budgets + 1)
        await mission.store.write(lambda tx: tx.run(spent))
        for _ in range(2):
            assert await overspend.sweep(runtime) == "1 missions past a multiple of their estimate"
        told = [a for a in await mission.store.read(audit.alerts) if a.kind == "ESTIMATE_EXCEEDED"]
        assert [(a.subject, "more than 3 times its estimate" in a.text) for a in told] == [(mission.mission, True)]
