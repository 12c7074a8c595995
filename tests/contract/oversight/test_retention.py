"""What has ended is forgotten by kind and age as the settings say; what is open, or is still needed, stays."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from interlock.agents.runtime import Runtime
from interlock.core.values import SYSTEM
from interlock.oversight import retention as job
from interlock.settings import load_settings
from interlock.store.auditing import audit
from interlock.store.auditing.audit import ACTIVITIES
from interlock.store.engine import Store
from interlock.store.mailboxes import mailbox
from interlock.store.money import ledger
from interlock.store.runs import traces
from interlock.store.schema import RunStep, Task, table
from interlock.store.signoff import approvals
from interlock.store.tx import Tx
from interlock.store.upkeep import retention
from interlock.store.upkeep.partitions import partitions
from interlock.store.upkeep.retention import FORGOTTEN, MARK, RUNS
from interlock.testing import FakeClock
from interlock.testing.runtime import runtime_over
from interlock.testing.scripted import ScriptedModel
from tests.contract.store.furniture import PROJECT, T0, account, agent, ask, claimed, done, spender
from tests.contract.store.furniture import job as mission_of

LATER = T0 + timedelta(days=40)
TASKS = table(Task)
CALL = {
    "step_number": 1, "call_id": "c", "tool": "fetch", "tool_digest": "d", "args": {"url": "x"}, "raw_args": "{}",
    "risk": "GREEN", "effect": "allow", "policy_hash": "p", "idempotency_token": "t", "result": "secret words",
    "created_at": T0,
}  # fmt: skip


def runtime_of(store: Store, home: Path, now: datetime = LATER, **keep: int) -> Runtime:
    settings = load_settings(home, {}, {"home": home, "database_url": store.url, "project": PROJECT, "keep": keep})
    return runtime_over(store, settings, ScriptedModel(), clock=FakeClock(now))


def spoken(tx: Tx, run_id: str, status: str = "done") -> None:
    """A step with its messages and a call."""
    step = {"id": f"stp_{run_id}", "run_id": run_id, "step_number": 1, "status": "completed", "model_id": "m"}
    tx.add(RunStep, **step, token_usage={}, cost_microusd=7, created_at=T0)
    traces.add_call(tx, id=f"cal_{run_id}", run_id=run_id, position=0, status=status, **CALL)
    for position in range(3):
        traces.add_message(tx, run_id, position, "user_message", "secret words", T0, blocks=["secret words"])


def ended_run(tx: Tx, run_id: str, agent_id: str, mission_id: str | None = None, kind: str = "task") -> None:
    """A run that has spoken, paid and ended."""
    payload = {"purpose": "work", "text": "secret words", "from": "Ann"}
    claim = claimed(tx, agent_id, run_id, mission_id=mission_id, kind=kind, payload=payload)
    spoken(tx, run_id)
    payer = spender(run_id, account(tx, f"run:{run_id}", 100))
    cost = partial(dict[str, Any], step=1, attempt=1, model="m", worst_microusd=9, now=T0)
    ledger.reserve(tx, payer, **cost())
    ledger.settle(tx, payer, **cost(actual_microusd=7))
    done(tx, claim)


def end_mission(tx: Tx, mission_id: str) -> None:
    tx.run(TASKS.update().where(TASKS.c.mission_id == mission_id).values(status="DONE", ended_at=T0))


def ended_mission(tx: Tx) -> str:
    """A mission with one run, all of it over."""
    made = mission_of(tx)
    ended_run(tx, "run_1", made.worker.id, made.mission_id)
    end_mission(tx, made.mission_id)
    return made.mission_id


async def row_of(store: Store, run_id: str = "run_1") -> Any:
    return await store.read(traces.run, run_id)


async def said(store: Store, run_id: str = "run_1") -> tuple[int, int, list[Any]]:
    """How many steps and messages a run has, and what its calls were given and answered."""
    calls = [(c.args, c.raw_args, c.result) for c in await store.read(traces.calls, run_id)]
    return len(await store.read(traces.steps, run_id)), len(await store.read(traces.messages, run_id)), calls


WHOLE = (1, 3, [({"url": "x"}, "{}", "secret words")])
GONE = (0, 0, [(None, None, None)])


async def test_nothing_is_forgotten_where_no_number_is_set(store: Store, tmp_path: Path) -> None:
    await store.write(ended_mission)
    assert (await job.sweep(runtime_of(store, tmp_path))).runs == 0
    assert await said(store) == WHOLE


async def test_old_run_keeps_its_row_totals_ledger_and_calls_without_their_bodies(store: Store, tmp_path: Path) -> None:
    await store.write(ended_mission)
    before = await row_of(store)
    assert (await job.sweep(runtime_of(store, tmp_path, runs_days=41))).runs == 0
    assert (await job.sweep(runtime_of(store, tmp_path, runs_days=39))).runs == 1
    after = await row_of(store)
    assert await said(store) == GONE
    assert (after.status, after.result, after.cost_microusd) == (before.status, "ok", before.cost_microusd)
    assert (after.payload["purpose"], "text" in after.payload, MARK in after.payload) == ("work", False, True)
    assert [line.kind for line in await store.read(ledger.lines, "run_1")] == ["reserve", "settle"]
    assert (await job.sweep(runtime_of(store, tmp_path, runs_days=39))).runs == 0


def open_mission(tx: Tx) -> None:
    made = mission_of(tx)
    ended_run(tx, "run_1", made.worker.id, made.mission_id)


def open_question(tx: Tx) -> None:
    ended_mission(tx)
    ask(tx, "apr_1", run_id="run_1")


def open_reservation(tx: Tx) -> None:
    ended_mission(tx)
    payer = spender("run_1", "run:run_1")
    ledger.reserve(tx, payer, step=2, attempt=1, model="m", worst_microusd=9, now=T0)


def unknown_effect(tx: Tx) -> None:
    ended_mission(tx)
    traces.add_call(tx, id="cal_2", run_id="run_1", position=1, status="unknown", **CALL)


def dead_letter(tx: Tx) -> None:
    ended_mission(tx)
    tx.run(RUNS.update().where(RUNS.c.id == "run_1").values(status="failed", stop_reason="dead_letter"))


def conversation_at_work(tx: Tx) -> None:
    someone = agent(tx, "ann's", "user")
    ended_run(tx, "run_1", someone, kind="chat")
    claimed(tx, someone, "run_2", kind="chat")


def look_that_is_due(tx: Tx) -> None:
    mission_id = ended_mission(tx)
    mailbox.post(tx, _learn(agent(tx, "learner", "learn"), mission_id), T0)


def _learn(agent_id: str, mission_id: str) -> mailbox.Post:
    return mailbox.Post(
        project_id=PROJECT, agent_id=agent_id, kind="learn", payload={}, idempotency_key="learn", cause_kind="event",
        mission_id=mission_id,
    )  # fmt: skip


@pytest.mark.parametrize(
    "furnish",
    [
        open_mission, open_question, open_reservation, unknown_effect, dead_letter, conversation_at_work,
        look_that_is_due,
    ],
)  # fmt: skip
async def test_what_is_open_stays_whole(store: Store, tmp_path: Path, furnish: Any) -> None:
    await store.write(furnish)
    assert (await job.sweep(runtime_of(store, tmp_path, runs_days=1, messages_days=1))).runs == 0
    steps, messages, calls = await said(store)
    assert (steps, messages, calls[0]) == (1, 3, WHOLE[2][0])


async def test_conversations_go_by_the_shorter_of_two_times_with_what_was_said_and_replied(
    store: Store, tmp_path: Path
) -> None:
    def furnish(tx: Tx) -> None:
        ended_mission(tx)
        ended_run(tx, "run_2", agent(tx, "ann's", "user"), kind="chat")

    await store.write(furnish)
    assert (await job.sweep(runtime_of(store, tmp_path, runs_days=99, messages_days=39))).runs == 1
    row = await row_of(store, "run_2")
    assert (await said(store, "run_2"), row.result, set(row.payload)) == (GONE, None, {"purpose", MARK})
    assert await said(store) == WHOLE


async def test_a_sweep_that_was_cut_off_is_taken_up_by_the_next(store: Store, tmp_path: Path) -> None:
    await store.write(ended_mission)
    runtime = runtime_of(store, tmp_path, runs_days=39)
    cut = job.cut_of(runtime, LATER)
    assert cut is not None
    assert not await store.write(retention.mark, "run_1", cut, 1, LATER)
    assert await store.write(retention.mark, "run_1", cut, 1, LATER)
    assert await store.write(retention.empty, "run_1", 2) == 2
    assert [m.position for m in await store.read(traces.messages, "run_1")] == [0, 1]
    await job.sweep(runtime)
    assert await said(store) == GONE


@pytest.fixture
async def postgres_store(migrated_postgres_url: str) -> AsyncIterator[Store]:
    async with Store(migrated_postgres_url) as opened:
        yield opened


def note(tx: Tx, action: str, now: datetime, mission_id: str | None = None) -> None:
    audit.note(tx, action, SYSTEM, now, project_id=PROJECT, mission_id=mission_id, word="ü", number=1)


async def activities(store: Store) -> list[Any]:
    return await store.read(lambda tx: tx.rows(ACTIVITIES.select().order_by(ACTIVITIES.c.id)))


async def test_forgotten_activities_leave_their_range_count_and_digest(store: Store, tmp_path: Path) -> None:
    def furnish(tx: Tx) -> str:
        made = mission_of(tx)
        for number in range(30):
            note(tx, f"OLD_{number}", T0)
        note(tx, "OF_OPEN_MISSION", T0, made.mission_id)
        note(tx, "YOUNG", LATER)
        return made.mission_id

    mission_id = await store.write(furnish)
    before = {row.id: row for row in await activities(store)}
    gone = await job.sweep(runtime_of(store, tmp_path, activities_days=39))
    kept, *marks = [row for row in await activities(store) if row.action != "YOUNG"]
    assert (gone.activities, kept.mission_id) == (30, mission_id)
    assert sum(mark.data["count"] for mark in marks) == 30
    for mark in marks:
        rows = [r for i, r in sorted(before.items()) if mark.data["first"] <= i <= mark.data["last"] and i != kept.id]
        assert (mark.action, mark.data["count"]) == (FORGOTTEN, len(rows))
        assert mark.data["sha256"] == retention.digest_of(rows)


async def test_marks_that_are_old_themselves_are_folded_into_one_that_counts_on(store: Store, tmp_path: Path) -> None:
    for _ in range(3):
        await store.write(note, "OLD", T0)
    first = (await activities(store))[0].id
    await job.sweep(runtime_of(store, tmp_path, activities_days=39))
    [mark] = await activities(store)
    await job.sweep(runtime_of(store, tmp_path, LATER + timedelta(days=50), activities_days=39))
    [folded] = await activities(store)
    assert (folded.data["first"], folded.data["last"], folded.data["count"]) == (first, mark.id, 1)
    assert (folded.data["total"], folded.data["sha256"]) == (3, retention.digest_of([mark]))


async def test_whole_months_are_dropped_where_nothing_in_them_is_kept(postgres_store: Store, tmp_path: Path) -> None:
    store = postgres_store

    def names(tx: Tx) -> set[str]:
        return {part.name for name in ("run_messages", "activities") for part in partitions(tx, name)}

    await job.sweep(runtime_of(store, tmp_path, MONTH))
    await store.write(ended_mission)
    await store.write(open_question_of_another)
    await store.write(move_to_month)
    runtime = runtime_of(store, tmp_path, MONTH + timedelta(days=99), runs_days=1, activities_days=1)
    found = await job.sweep(runtime)
    assert (found.runs, "run_messages_2031_01" in found.months) == (1, False)
    assert await said(store) == GONE
    await store.write(lambda tx: tx.run(approvals.APPROVALS.delete()))
    assert "run_messages_2031_01" in (await job.sweep(runtime)).months
    assert "run_messages_2031_01" not in await store.read(names)
    assert {"run_messages_2031_04", "run_messages_2031_07", "activities_2031_07"} <= await store.read(names)


MONTH = datetime(2031, 1, 10, tzinfo=UTC)
"""Later than any month that the database was made in."""


def move_to_month(tx: Tx) -> None:
    for column in ("run_steps.created_at", "run_messages.created_at", "runs.completed_at", "tasks.ended_at"):
        name, field = column.split(".")
        tx.run(sa.text(f"UPDATE {name} SET {field} = '{MONTH:%Y-%m-%d}' WHERE {field} IS NOT NULL"))


def open_question_of_another(tx: Tx) -> None:
    ended_run(tx, "run_2", agent(tx, "another", "user"), kind="chat")
    ask(tx, "apr_1", run_id="run_2")


async def test_bites_become_smaller_where_they_take_long_and_larger_where_they_do_not(
    store: Store, tmp_path: Path
) -> None:
    runtime, batches = runtime_of(store, tmp_path), job.BatchSizer(most=64, size=16)
    clock = runtime.clock
    assert isinstance(clock, FakeClock)
    await batches.write(runtime, lambda tx: None)
    assert batches.size == 32
    await batches.write(runtime, lambda tx: clock.advance(2 * job.TARGET_S))
    assert batches.size == 16
    assert batches.longest_s == pytest.approx(2 * job.TARGET_S)
