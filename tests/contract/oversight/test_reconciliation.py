"""Accounts that are not the sum of their lines are told, and nothing else is."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from interlock.oversight import reconciliation
from interlock.store.engine import Store
from interlock.store.money.balances import ACCOUNTS
from interlock.testing.scripted import ScriptedModel
from tests.contract.runner.stage import Stage, staged


@pytest.fixture
async def stage(store: Store, tmp_path: Path) -> Stage:
    return await staged(store, tmp_path, ScriptedModel(otherwise="done"))


async def test_accounts_that_are_the_sum_of_their_lines_alert_nobody(stage: Stage) -> None:
    await stage.chat()
    await stage.work()
    held = await stage.chat("and another")
    (claim,) = await stage.claim()
    assert claim.run.id == held
    assert await reconciliation.sweep(stage.runtime) == "0 accounts differ from their lines"
    assert await stage.alerts() == []


async def test_account_that_says_something_else_is_told_once_with_both_sums(stage: Stage) -> None:
    run_id = await stage.chat()
    await stage.work()
    account, spent = f"run:{run_id}", (await stage.run(run_id)).cost_microusd
    more = sa.update(ACCOUNTS).where(ACCOUNTS.c.id == account).values(settled_microusd=spent + 1_000_000)
    await stage.store.write(lambda tx: tx.run(more))
    for _ in range(2):
        assert await reconciliation.sweep(stage.runtime) == "1 accounts differ from their lines"
    (alert,) = await stage.alerts()
    assert (alert.kind, alert.severity, alert.subject) == ("LEDGER_DIFFERS", "critical", account)
