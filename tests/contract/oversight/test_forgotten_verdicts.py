"""Votes and results of checks are forgotten with the runs and missions that they belong to; verdicts stay."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from interlock.oversight import retention as job
from interlock.store.engine import Store
from interlock.store.mailboxes.mailbox import RUNS
from interlock.store.signoff import votes
from interlock.store.tx import Tx
from interlock.store.work import evidence
from interlock.store.work.evidence import EVIDENCE, GATE, RESULTS, Finding
from tests.contract.oversight.test_retention import end_mission, ended_run, runtime_of
from tests.contract.store.furniture import T0, hand_in, left_alone

LATER = T0 + timedelta(days=200)


def judged(tx: Tx, *, is_over: bool = True) -> str:
    """A mission that was voted on and checked twice, once before the work was handed in anew; its task."""
    made = left_alone(tx)
    ended_run(tx, "run_1", made.worker.id, made.mission_id, kind="vote")
    votes.ask(tx, votes.of_task(made.task_id, 1), 1, "acme/large", "run_1", T0)
    votes.give(tx, votes.about_task(tx, made.task_id)[0].id, "no", "secret words", 7, T0)
    last = hand_in(tx, made)
    for deliverable in ("dlv_before", last):
        for kind in (GATE, EVIDENCE):
            found = [
                Finding(position=0, name="`pytest` ends with 0", passed=deliverable == last, detail="secret words")
            ]
            evidence.record(tx, made.task_id, deliverable, "0", kind, found, T0, run_id="run_1")
    if is_over:
        over(tx, made.mission_id)
    return made.task_id


def over(tx: Tx, mission_id: str) -> None:
    tx.run(RUNS.update().where(RUNS.c.status == "created").values(status="completed", completed_at=T0))
    end_mission(tx, mission_id)


async def standing(store: Store, task: str) -> tuple[Any, list[Any]]:
    def look(tx: Tx) -> tuple[Any, list[Any]]:
        return votes.about_task(tx, task)[0], tx.rows(sa.select(RESULTS))

    return await store.read(look)


async def swept(store: Store, home: Path, **keep: int) -> None:
    runtime = runtime_of(store, home, LATER, **keep)
    await job.sweep(runtime)
    await job.prune(runtime)


async def test_words_of_votes_and_checks_go_and_what_was_decided_stays(store: Store, tmp_path: Path) -> None:
    task = await store.write(judged)
    await swept(store, tmp_path, runs_days=201)
    assert len((await standing(store, task))[1]) == 4
    await swept(store, tmp_path, runs_days=199)
    vote, (result,) = await standing(store, task)
    assert (vote.verdict, vote.model, vote.cost_microusd, vote.reason) == ("no", "acme/large", 7, "")
    assert (result.kind, result.passed, result.sha256, result.name) == (EVIDENCE, True, "0", "`pytest` ends with 0")
    assert result.detail == ""
    await swept(store, tmp_path, runs_days=199)
    assert (await standing(store, task))[1] == [result]


async def test_nothing_goes_where_no_number_is_set_or_the_mission_is_open(store: Store, tmp_path: Path) -> None:
    task = await store.write(lambda tx: judged(tx, is_over=False))
    await swept(store, tmp_path, runs_days=1)
    vote, results = await standing(store, task)
    assert (vote.reason, len(results)) == ("secret words", 4)
    assert {row.detail for row in results} == {"secret words"}
    await store.write(lambda tx: over(tx, _mission(tx, task)))
    await swept(store, tmp_path)
    vote, results = await standing(store, task)
    assert (vote.reason, len(results)) == ("secret words", 4)


def _mission(tx: Tx, task: str) -> str:
    row: Any = tx.one(sa.select(evidence.TASKS.c.mission_id).where(evidence.TASKS.c.id == task))
    return str(row.mission_id)
