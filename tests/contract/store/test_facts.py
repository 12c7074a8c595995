"""What the Learner is shown, and whether the labels of all that it rests on come with it."""

from datetime import datetime, timedelta
from typing import Any

from interlock.memory import facts
from interlock.store.engine import Store
from interlock.store.runs import traces
from interlock.store.schema import Run, table
from interlock.store.tx import Tx
from tests.contract.store.furniture import T0, claimed, done, left_alone

RUNS = table(Run)
PAGE = "a page of strangers"


def failed(tx: Tx, number: int, labels: list[str], *, at: datetime = T0, **more: Any) -> None:
    """A run with labels whose only call has failed."""
    made = claimed(tx, more.pop("agent_id"), f"run_{number}", **more)
    tx.run(RUNS.update().where(RUNS.c.id == made.run.id).values(labels=labels))
    traces.add_call(
        tx, id=f"tcl_{number}", run_id=made.run.id, step_number=1, position=0, call_id="c", tool="web_fetch",
        tool_digest="0", args={}, risk="GREEN", effect="allow", rules=[], reasons=[], policy_hash="0", status="failed",
        idempotency_token="t", result=f"{PAGE}, {number}", is_error=True, created_at=at,
    )  # fmt: skip
    done(tx, made)


async def test_labels_of_helpers_and_of_the_last_of_very_many_runs_come_with_a_mission(store: Store) -> None:
    made = await store.write(left_alone)
    of_it: dict[str, Any] = {"agent_id": made.worker.id, "mission_id": made.mission_id}

    def many(tx: Tx) -> None:
        failed(tx, 0, ["private"], kind="subagent", **of_it)
        for number in range(1, 205):
            failed(tx, number, [], **of_it)
        failed(tx, 205, ["untrusted"], **of_it)

    await store.write(many)
    found = await store.read(facts.of_mission, "default", made.mission_id)
    assert PAGE in str(found.shown)
    assert found.labels == {"private", "untrusted"}


async def test_look_at_a_project_is_shown_the_newest_of_what_failed_with_its_labels(store: Store) -> None:
    made = await store.write(left_alone)

    def many(tx: Tx) -> None:
        failed(tx, 0, ["private"], agent_id=made.worker.id)
        for number in range(1, 200):
            failed(tx, number, [], agent_id=made.worker.id, at=T0 + timedelta(seconds=number))
        failed(tx, 200, ["untrusted"], agent_id=made.worker.id, kind="chat", at=T0 + timedelta(seconds=200))

    await store.write(many)
    project = (await store.read(traces.run, "run_0")).project_id  # type: ignore[union-attr]
    found = await store.read(facts.of_project, project, T0 + timedelta(minutes=5))
    shown = [failure["id"] for failure in found.shown["tool_failures"]]
    assert "tcl_0" not in shown
    assert found.labels == {"untrusted"}
