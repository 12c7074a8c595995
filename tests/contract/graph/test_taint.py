"""The taint of a mission's runs goes with what the coordinator passes on: findings, results, the plan. Row C11."""

from typing import Any

import sqlalchemy as sa

from interlock.store.tx import Tx
from interlock.store.work.coordination import DELIVERABLES, RUNS
from tests.contract.graph.driving import Driver, driven, plan, step
from tests.contract.graph.test_reviews import REVIEWED, reviewed


def label(tx: Tx, table: Any, /, **where: Any) -> None:
    """Labels rows as their runs would have been."""
    rows = [table.c[name] == value for name, value in where.items()]
    tx.run(sa.update(table).where(*rows).values(labels=["untrusted"]))


async def labels_of(mission: Driver, key: str) -> list[str]:
    """Of the last run of a task."""
    task = await mission.id_of(key)
    return [list(run.labels) for run in await mission.runs() if run.task_id == task][-1]


async def test_findings_of_a_reviewer_who_read_strangers_taint_the_rework(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", REVIEWED)
        assert await labels_of(mission, "text") == []
        await mission.deliver("text")
        await mission.store.write(label, RUNS, task_id=await mission.id_of("look"))
        await reviewed(mission, "changes")
        assert await labels_of(mission, "text") == ["untrusted"]


async def test_tasks_of_a_plan_that_rests_on_strangers_words_begin_with_its_taint(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.store.write(label, RUNS, kind="think")
        await mission.think("plan", REVIEWED)
        assert await labels_of(mission, "text") == ["untrusted"]


async def test_compiling_takes_on_the_taint_of_the_results_and_so_does_the_whole(database_url: str) -> None:
    two = plan(step("one", "research", "research"), step("two", "research", "research"))
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", two)
        await mission.deliver("one")
        await mission.store.write(label, DELIVERABLES, task_id=await mission.id_of("one"))
        await mission.deliver("two")
        [compiling] = [run for run in await mission.runs() if ":compile:" in run.idempotency_key]
        assert compiling.labels == ["untrusted"]
        await mission.think("compile", "the whole")
        assert (await mission.deliverable()).labels == ["untrusted"]
