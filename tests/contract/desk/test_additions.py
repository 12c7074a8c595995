"""Tasks that people add to a mission under way."""

import asyncio
from pathlib import Path
from typing import Any

import psycopg
import pytest

from interlock import Interlock
from interlock.core.errors import Conflict, NotFound, Refused, UsageError
from interlock.desk.context import Person
from interlock.desk.reading import listings
from interlock.desk.reading.details import deliverable, task
from interlock.desk.reading.progress import Standing
from interlock.desk.signoff import signing
from interlock.desk.work import controls
from interlock.desk.work.additions import Addition, add
from interlock.graph.loading import load
from interlock.graph.view import MissionView
from interlock.store.engine import Store
from interlock.store.money import ledger, limits
from interlock.store.tx import Tx
from interlock.store.work import missions
from tests.contract.desk.test_emergency import finished

HELD = "Compare A and B and e-mail the result to board@example.com"


async def test_added_task_is_assigned_done_and_compiled(box: Interlock) -> None:
    result = await box.run(HELD)
    wanted = Addition(mission=result.mission_id, title="Count the\nkiosks", persona="research", key="k")
    added = await add(box.runtime, box.person, wanted)
    again = await add(box.runtime, box.person, wanted)
    assert (added["status"], added["changed"], again["id"], again["changed"]) == ("INBOX", True, added["id"], False)
    then = await add(
        box.runtime, box.person, Addition(mission=result.mission_id, title="Sum it up", depends_on=[added["id"]])
    )
    for ident in result.approvals:
        await signing.approve(box.runtime, box.person, ident)
    assert (await finished(box, result.mission_id)).standing is Standing.DONE
    rows = {row["id"]: row for row in await listings.tasks(box.runtime, mission=result.mission_id)}
    assert [rows[each["id"]]["status"] for each in (added, then)] == ["DONE", "DONE"]
    assert rows[added["id"]]["title"] == "Count the kiosks"
    assert rows[added["id"]]["persona"] == "research"
    assert "Count the kiosks" in (await deliverable(box.runtime, result.mission_id)).content.decode()
    with pytest.raises(Conflict, match=r"is DONE: start another one with `interlock run`"):
        await add(box.runtime, box.person, Addition(mission=result.mission_id, title="One more"))


async def test_added_task_raises_the_estimate_and_the_cost_at_which_a_person_is_asked(box: Interlock) -> None:
    mission_id = (await box.run(HELD)).mission_id
    account = f"mission:{mission_id}"

    def rows(tx: Tx) -> tuple[Any, Any]:
        return missions.mission(tx, mission_id), ledger.account(tx, account)

    async def expected() -> tuple[int, int]:
        mission, money = await box.runtime.store.read(rows)
        return mission.estimate_microusd, money.pause_at_microusd

    estimate, line = await expected()
    wanted = Addition(mission=mission_id, title="Count", persona="research", budget_usd=2.0, key="k")
    for _ in range(2):
        await add(box.runtime, box.person, wanted)
        assert await expected() == (estimate + 2_000_000, line + 6_000_000)
    await box.runtime.store.write(limits.watch, account, -1)
    await add(box.runtime, box.person, Addition(mission=mission_id, title="Another", budget_usd=1.0))
    assert await expected() == (estimate + 3_000_000, -1)


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        ({"title": " "}, UsageError, "the title has 1 to 200 characters"),
        ({"persona": "nobody"}, NotFound, "no persona `nobody`: there are "),
        ({"persona": "learner"}, UsageError, "`learner` takes no tasks: use one of "),
        ({"persona": "research", "type": "ops"}, UsageError, "`research` takes no `ops` tasks"),
        ({"type": "poetry"}, UsageError, "`poetry` is not a type of task: use one of content, "),
        ({"priority": "soon"}, UsageError, "`soon` is not a priority: use one of low, "),
        ({"budget_usd": 1_000.0}, UsageError, "`1000` is not a budget: a `other` task may cost 4 USD at most"),
        ({"budget_usd": float("nan")}, UsageError, "`nan` is not a budget"),
        ({"depends_on": ["tsk_none"]}, NotFound, "no task `tsk_none`"),
        ({"mission": "mis_none"}, NotFound, "no mission `mis_none`"),
        ({}, Conflict, "is not planned yet: comment on it"),
    ],
)
async def test_what_cannot_be_a_task_is_refused(
    box: Interlock, viewer: Person, given: dict[str, Any], error: type[Exception], told: str
) -> None:
    mission = await box.submit("Compare A and B")
    if "depends_on" in given:
        await box.run(HELD)
        mission = (await listings.missions(box.runtime))[0]["id"]
    with pytest.raises(error, match=told):
        await add(box.runtime, box.person, Addition(**{"mission": mission, "title": "Count", **given}))
    with pytest.raises(Refused, match="is a viewer and may not"):
        await add(box.runtime, viewer, Addition(mission=mission, title="Count"))
    assert "Count" not in str(await task(box.runtime, mission))


async def test_mission_is_not_handed_in_without_a_task_that_was_added_as_it_ended(
    box: Interlock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The coordinator has read the mission, all tasks of which are done, when one more is added."""
    read, added = type(box.runtime.store).read, list[str]()

    async def then_added(store: Store, fn: Any, *args: Any, **more: Any) -> Any:
        found = await read(store, fn, *args, **more)
        if fn is load and not added and found.view.root.status == "IN_PROGRESS" and _is_compiled(found.view):
            added.append("")
            made = await add(box.runtime, box.person, Addition(mission=found.view.id, title="Count"))
            added[:] = [made["id"]]
        return found

    monkeypatch.setattr(type(box.runtime.store), "read", then_added)
    mission = (await box.run("Compare A and B")).mission_id
    assert (await finished(box, mission)).standing is Standing.DONE
    [last] = [row for row in await listings.tasks(box.runtime, mission=mission) if row["id"] in added]
    assert last["status"] == "DONE"
    assert "Count" in (await deliverable(box.runtime, mission)).content.decode()


def _is_compiled(view: MissionView) -> bool:
    is_done = [task.status == "DONE" for task in view.tasks]
    tried = view.thoughts(f"compile:{view.root.review_cycles}")
    return bool(is_done) and all(is_done) and bool(tried) and not tried[-1].live


async def test_task_added_in_one_process_while_another_cancels_its_mission_ends_with_it(
    migrated_postgres_url: str, tmp_path: Path
) -> None:
    """Both wait for the mission, which a third transaction holds."""

    def home(name: str) -> Any:
        (tmp_path / name).mkdir()
        return Interlock.open(
            cwd=tmp_path / name, env={}, database_url=migrated_postgres_url, model="rehearsal/offline"
        )  # fmt: skip

    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    async with home("one") as one, home("other") as other:
        mission = (await one.run(HELD)).mission_id
        with psycopg.connect(migrated_postgres_url) as holder:
            holder.execute("SELECT 1 FROM tasks WHERE id = %s FOR UPDATE", [mission])
            canceling = asyncio.create_task(controls.cancel(one.runtime, one.person, mission))
            with psycopg.connect(migrated_postgres_url, autocommit=True) as admin:
                while admin.execute(waiting).fetchone() != (1,):
                    await asyncio.sleep(0.005)
                adding = asyncio.create_task(add(other.runtime, other.person, Addition(mission=mission, title="Count")))
                while not adding.done() and admin.execute(waiting).fetchone() != (2,):
                    await asyncio.sleep(0.005)
        await asyncio.wait([canceling, adding])
        assert canceling.result()["status"] == "CANCELED"
        assert isinstance(adding.exception(), Conflict)
        assert {row["status"] for row in await listings.tasks(one.runtime, mission=mission)} <= {"CANCELED", "DONE"}
