"""A question for money of a project's day, and midnight: no raise is lost, and none goes to a day that is over."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from interlock.core.errors import UsageError
from interlock.core.values import usd
from interlock.desk.budgets import money
from interlock.desk.signoff import asking
from interlock.llm.messages import ModelRequest, Usage
from interlock.oversight import expiry
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.money import ledger, limits
from interlock.store.work import tasks
from interlock.testing.scripted import Scripted, ScriptedModel, calls, reply_of
from tests.contract.runner.stage import CountingStore, Stage, hand_in, staged

NEW_YEAR, NEXT = "project_day:default:2026-01-01", "project_day:default:2026-01-02"
DAY_S = 86_400
LITTLE = 2_000


def opened(tx: Any, account: str, limit: int, now: Any) -> None:
    ledger.open_accounts(tx, [ledger.Opening(account, "project_day", "default", "default", limit)], now)


async def short(store: CountingStore, home: Path) -> tuple[Stage, str]:
    """A task that waits for money of the first of January; the run."""
    stage = await staged(store, home, ScriptedModel(hand_in(), "done"))
    stage.clock.advance(3_600)
    await store.write(opened, NEW_YEAR, LITTLE, stage.clock.now())
    run = await stage.task()
    await stage.work()
    assert await stands(stage, run) == ("waiting", "NEEDS_APPROVAL")
    return stage, run


async def stands(stage: Stage, run: str) -> tuple[str, str]:
    return (await stage.run(run)).status, (await stage.task_of(run)).status


async def limit_of(stage: Stage, account: str) -> int | None:
    row = await stage.account(account)
    return None if row is None else int(row.limit_microusd)


async def test_what_waits_for_people_waits_for_them_past_midnight_and_goes_on_with_todays_money(
    store: CountingStore, tmp_path: Path
) -> None:
    stage, run = await short(store, tmp_path)
    asked = await stage.the_question()
    stage.clock.advance(DAY_S - 1)
    await expiry.sweep(stage.runtime)
    assert await stands(stage, run) == ("waiting", "NEEDS_APPROVAL")
    await stage.approve(asked.id)
    assert await stands(stage, run) == ("created", "IN_PROGRESS")
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    assert (await stage.account(NEXT)).settled_microusd > 0
    moves = await store.read(tasks.transitions, (await stage.task_of(run)).id)
    (back,) = [row for row in moves if row.from_status == "NEEDS_APPROVAL"]
    assert (back.to_status, back.actor_kind) == ("IN_PROGRESS", "human")


async def test_card_of_a_question_that_is_open_past_midnight_says_what_an_answer_means_by_now(
    store: CountingStore, tmp_path: Path
) -> None:
    stage, _ = await short(store, tmp_path)
    asked = await stage.the_question()
    more = usd(asked.request["amount_microusd"])
    before = await asking.approval_card(stage.runtime, asked.id)
    stage.clock.advance(DAY_S - 1)
    after = await asking.approval_card(stage.runtime, asked.id)
    facts = [{fact.label: fact.value for fact in card.facts} for card in (before, after)]
    assert "after midnight it raises the new day's, and any answer lets work go on" in facts[0]["Because"]
    assert "By now" not in facts[0]
    assert facts[1]["By now"] == (
        "the day that it asks about is over: approve or deny, and work goes on with today's money; approving also "
        f"raises today's limit by {more}"
    )
    assert [action.verb for action in after.actions] == ["approve", "deny"]


@pytest.mark.parametrize("has_begun", [True, False])
async def test_raise_that_comes_after_midnight_is_todays(store: CountingStore, tmp_path: Path, has_begun: bool) -> None:
    stage, run = await short(store, tmp_path)
    asked = await stage.the_question()
    stage.clock.advance(DAY_S - 1)
    if has_begun:
        await store.write(opened, NEXT, 7_000_000, stage.clock.now())
    await stage.approve(asked.id)
    assert await limit_of(stage, NEW_YEAR) == LITTLE
    begun = 7_000_000 if has_begun else 50_000_000
    assert await limit_of(stage, NEXT) == begun + asked.request["amount_microusd"]
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    await expiry.sweep(stage.runtime)
    assert (await stage.account(NEW_YEAR)).settled_microusd == 0


async def test_raise_before_midnight_is_of_that_day_whenever_work_goes_on(store: CountingStore, tmp_path: Path) -> None:
    stage, run = await short(store, tmp_path)
    asked = await stage.the_question()
    await stage.approve(asked.id)
    assert await limit_of(stage, NEW_YEAR) == LITTLE + asked.request["amount_microusd"]
    stage.clock.advance(DAY_S)
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    assert await limit_of(stage, NEXT) == 50_000_000


async def test_denial_after_midnight_lets_work_go_on_with_the_new_days_money(
    store: CountingStore, tmp_path: Path
) -> None:
    stage, run = await short(store, tmp_path)
    stage.clock.advance(DAY_S - 1)
    await stage.deny((await stage.the_question()).id, "enough for that day")
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    assert await limit_of(stage, NEXT) == 50_000_000


async def test_who_lacks_money_for_another_reason_too_asks_for_that(store: CountingStore, tmp_path: Path) -> None:
    stage, run = await short(store, tmp_path)
    mission = f"mission:{(await stage.run(run)).mission_id}"
    await store.write(limits.set_limit, mission, LITTLE, stage.ada.id, stage.clock.now())
    stage.clock.advance(DAY_S - 1)
    await stage.approve((await stage.the_question()).id)
    await stage.work()
    assert (await stage.the_question()).request["account"] == mission
    assert await stands(stage, run) == ("waiting", "NEEDS_APPROVAL")


async def test_raise_by_a_clock_that_was_set_back_is_of_the_day_that_was_asked_about(
    store: CountingStore, tmp_path: Path
) -> None:
    stage, run = await short(store, tmp_path)
    stage.clock.jump_to(stage.clock.now() - timedelta(days=1))
    await expiry.sweep(stage.runtime)
    assert await stands(stage, run) == ("waiting", "NEEDS_APPROVAL")
    await stage.approve((await stage.the_question()).id)
    assert (await limit_of(stage, NEW_YEAR) or 0) > LITTLE


async def test_run_that_began_before_midnight_asks_nobody_for_yesterdays_money(
    store: CountingStore, tmp_path: Path
) -> None:
    def late(_: ModelRequest) -> Scripted:
        stage.clock.advance(DAY_S)
        return reply_of(calls("file_list"), usage=Usage(0, 4_000))

    stage = await staged(store, tmp_path, ScriptedModel(late, hand_in(), "done"))
    await store.write(opened, NEW_YEAR, 100_000, stage.clock.now())
    run = await stage.task()
    await store.write(limits.watch, NEW_YEAR, 1)
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    rows = await store.read(audit.activities)
    assert "APPROVAL_ASKED" not in [row.action for row in rows]
    assert (await stage.account(NEXT)).settled_microusd > 0


async def test_limits_of_days_that_are_over_are_not_changed(store: CountingStore, tmp_path: Path) -> None:
    stage, _ = await short(store, tmp_path)
    stage.clock.advance(DAY_S)
    for change in (money.raise_budget, money.set_budget):
        with pytest.raises(UsageError, match="the day of `project_day:default:2026-01-01` is over: `default` means"):
            await change(stage.runtime, stage.ada, NEW_YEAR, 5)
    assert (await money.raise_budget(stage.runtime, stage.ada, "default", 5))["limit_usd"] == 55
    assert (await money.set_budget(stage.runtime, stage.ada, "default", 60))["id"] == NEXT


async def test_project_keeps_the_time_zone_that_it_began_with(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel("done"))
    stage.clock.advance(20 * 3_600 - stage.clock.now().hour * 3_600)
    await store.write(squad.ensure_project, "default", "Asia/Tokyo", stage.clock.now())
    assert (await money.raise_budget(stage.runtime, stage.ada, "default", 5))["id"] == NEW_YEAR
