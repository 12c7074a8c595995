"""Mailboxes at the desk: what waits and why, emptying them, and dead letters that are tried again."""

from datetime import timedelta
from typing import Any

import pytest

from interlock import Interlock
from interlock.core.errors import Conflict, NotFound, Refused
from interlock.desk.context import Person
from interlock.desk.operations import queues
from interlock.desk.reading import details, listings
from interlock.state_machine.table import TaskState
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.mailboxes import leases, mailbox
from interlock.store.mailboxes.mailbox import Claim
from interlock.store.runs import traces
from interlock.store.tx import Tx
from interlock.store.work import missions, tasks
from tests.contract.store.furniture import ADA, T0, agent, ask, claimed, in_progress, message


def put(tx: Tx, /, agent_id: str, key: str, now: Any, **more: Any) -> str:
    """A message in a mailbox of the home's own project."""
    return mailbox.post(tx, message(agent_id, key, **more), now)[0]


async def dead(box: Interlock, run: str, agent_id: str, **more: Any) -> None:
    """A run that four workers died of."""
    store, now = box.runtime.store, box.runtime.clock.now()
    for death in range(4):
        name = f"{run} {death}"
        if death == 0:
            await store.write(claimed, agent_id, run, name, **more)
        else:
            [claim] = await store.write(mailbox.claim, name, 1, now)
            assert claim.run.id == run
        await store.write(leases.take_back, name, now, crash_limit=3)


async def row(box: Interlock, run: str) -> Any:
    return await box.runtime.store.read(traces.run, run)


async def test_queue_shows_what_runs_waits_and_is_put_off_and_why(box: Interlock) -> None:
    store, now = box.runtime.store, box.runtime.clock.now()
    coder = await store.write(agent, "a", "user")
    parked = await store.write(claimed, coder, "parked")
    await store.write(ask, "apr_1", run_id="parked")
    await store.write(mailbox.park, parked, now)
    await store.write(claimed, coder, "running", "w1", cause_kind="schedule", cause_id="sch_1")
    await store.write(put, coder, "behind", now, parent_run_id="running")
    await store.write(put, coder, "delayed", now, due_at=now + timedelta(hours=1))
    found = await queues.queue(box.runtime, coder)
    [lane] = found["lanes"]
    assert [(r["id"], r["status"], r["because"].partition(" 20")[0]) for r in lane["runs"]] == [
        ("parked", "waiting", "waits for apr_1"),
        ("running", "running", "at work by w1"),
        ("behind", "created", "behind running"),
        ("delayed", "created", "not before"),
    ]
    behind = await queues.of_run(box.runtime, "behind")
    assert behind is not None
    assert behind["because"] == "behind running"
    causes = [(r["cause_kind"], r["cause_id"], r["parent_run_id"]) for r in lane["runs"]]
    assert causes[1:3] == [("schedule", "sch_1", None), ("message", None, "running")]
    assert (found["persona"], lane["running"], lane["pending"], lane["waiting"]) == ("coder", 1, 2, 1)


async def test_queue_of_a_retried_run_a_quarantined_agent_and_a_closed_lane_says_so(box: Interlock) -> None:
    store, now = box.runtime.store, box.runtime.clock.now()
    coder = await store.write(agent, "a", "task")
    claim = await store.write(claimed, coder, "failing")
    await store.write(mailbox.requeue, claim, now, due_at=now + timedelta(hours=1), error="provider down")
    await store.write(put, coder, "next", now)
    reasons = [r["because"] for r in (await queues.queue(box.runtime, coder))["lanes"][0]["runs"]]
    assert reasons[0].startswith("tried again ")
    assert reasons[0].endswith(": provider down")
    assert reasons[1] == "behind failing"
    other = await store.write(agent, "b", "think", "writer")
    await store.write(put, other, "shut", now)
    member = (await store.read(squad.agent, other)).member_id  # type: ignore[union-attr]
    await store.write(squad.set_state, member, "QUARANTINED", "odd")
    [lane] = (await queues.queue(box.runtime, other))["lanes"]
    assert [r["because"] for r in lane["runs"]] == ["its agent is quarantined: odd"]
    await store.write(squad.set_state, member, "ACTIVE", None)
    day = f"agent_day:{member}:2026-01-01"
    await store.write(squad.pause_for_budget, member, day, 20_000)
    [lane] = (await queues.queue(box.runtime, other))["lanes"]
    why = f"its money of the day is used up: it goes on at midnight, or after `interlock budget raise {day} USD`"
    assert [r["because"] for r in lane["runs"]] == [f"its agent is paused: {why}"]
    assert why in [row["state_reason"] for row in await listings.agents(box.runtime)]


async def test_task_says_why_its_open_runs_are_not_at_work(box: Interlock) -> None:
    store, now = box.runtime.store, box.runtime.clock.now()
    made = await store.write(in_progress)
    of_task = {"task_id": made.task_id, "mission_id": made.mission_id}
    await store.write(put, made.worker.id, "done", now, **of_task)
    await store.write(leases.cancel, "done", now, "for the test", stop_reason="cancelled")
    await store.write(put, made.worker.id, "open", now, **of_task)
    member = (await store.read(squad.agent, made.worker.id)).member_id  # type: ignore[union-attr]
    day = f"agent_day:{member}:2026-01-01"
    await store.write(squad.pause_for_budget, member, day, 20_000)
    runs = {run["id"]: run["because"] for run in (await details.task(box.runtime, made.task_id))["runs"]}
    assert runs["done"] is None
    assert runs["open"].startswith("its agent is paused: its money of the day is used up")


async def test_queue_of_a_persona_is_that_of_all_its_agents(box: Interlock) -> None:
    store, now, home = box.runtime.store, box.runtime.clock.now(), box.runtime.settings.project
    await store.write(squad.ensure_project, home, "UTC", now)
    for name in "abc":
        found = squad.Descriptor("user", home, "research", {"user": name})
        made = await store.write(squad.ensure_agent, found, {}, "specialist", now)
        if name != "c":
            await store.write(put, made.id, f"for {name}", now, project_id=home)
    lanes = (await queues.queue(box.runtime, "Research"))["lanes"]
    assert sorted(r["id"] for lane in lanes for r in lane["runs"]) == ["for a", "for b"]


async def test_cleared_queue_rejects_what_is_pending_and_nothing_else(box: Interlock) -> None:
    store, now = box.runtime.store, box.runtime.clock.now()
    coder = await store.write(agent, "a")
    claim = await store.write(claimed, coder, "running")
    await store.write(put, coder, "next", now)
    await store.write(put, coder, "later", now, due_at=now + timedelta(hours=1))
    done = await queues.clear(box.runtime, box.person, coder, reason="no longer wanted")
    assert (done["runs"], done["left"]) == (["next", "later"], 0)
    for run in ("next", "later"):
        found = await row(box, run)
        assert (found.status, found.stop_reason) == ("cancelled", "cleared")
        assert found.error == f"{box.person.name} cleared the queue: no longer wanted"
    await store.write(mailbox.finish, claim, "completed", "end_turn", now, result="ok", error=None)
    assert not await store.read(mailbox.has_ready, now + timedelta(hours=2))
    [noted] = await store.read(audit.activities, action="QUEUE_CLEARED")
    assert (noted.actor_id, noted.data["runs"]) == (box.person.id, ["next", "later"])
    assert (await queues.clear(box.runtime, box.person, coder))["runs"] == []
    assert len(await store.read(audit.activities, action="QUEUE_CLEARED")) == 1


async def test_cleared_queue_is_empty_however_much_was_in_it(box: Interlock) -> None:
    store, now = box.runtime.store, box.runtime.clock.now()
    coder = await store.write(agent, "a")
    await store.write(lambda tx: [put(tx, coder, f"run_{n}", now) for n in range(2_001)])
    done = await queues.clear(box.runtime, box.person, coder)
    assert (len(set(done["runs"])), done["left"]) == (2_001, 0)
    [lane] = (await queues.queue(box.runtime, coder))["lanes"]
    assert lane["pending"] == 0


async def test_cleared_queue_tells_coordinators_and_leaves_their_own_steps(box: Interlock) -> None:
    store, now = box.runtime.store, box.runtime.clock.now()
    made = await store.write(in_progress)
    await store.write(put, made.worker.id, "work", now, kind="task", mission_id=made.mission_id, task_id=made.task_id)
    await queues.clear(box.runtime, box.person, made.worker.id)
    [told] = [e for e in await store.read(missions.pending, made.mission_id) if e.kind == "run_ended"]
    assert (told.payload["run_id"], told.payload["status"]) == ("work", "cancelled")
    done = await queues.clear(box.runtime, box.person, made.coordinator)
    assert (done["runs"], done["left"]) == ([], 1)


@pytest.mark.parametrize("named", ["", "nobody", "agt_nope", "research; drop table runs"])
async def test_queue_of_an_unknown_agent_is_one_line(box: Interlock, named: str) -> None:
    with pytest.raises(NotFound, match="as `interlock agents` lists them"):
        await queues.queue(box.runtime, named)
    with pytest.raises(NotFound, match="as `interlock agents` lists them"):
        await queues.clear(box.runtime, box.person, named)


async def test_viewer_neither_clears_nor_requeues(box: Interlock, viewer: Person) -> None:
    coder = await box.runtime.store.write(agent, "a")
    for act in (queues.clear(box.runtime, viewer, coder), queues.requeue(box.runtime, viewer, "run")):
        with pytest.raises(Refused, match="ask an admin for the role operator"):
            await act


async def test_dead_letter_is_listed_and_goes_on_first_once_a_person_says_so(box: Interlock) -> None:
    store, now = box.runtime.store, box.runtime.clock.now()
    coder = await store.write(agent, "a")
    await dead(box, "poison", coder)
    await store.write(put, coder, "next", now)
    [listed] = await listings.runs(box.runtime, status="dead-letter")
    assert (listed["id"], listed["status"], listed["stop_reason"], listed["crashes"]) == (
        "poison", "failed", "dead_letter", 4,
    )  # fmt: skip
    assert (await listings.status(box.runtime))["dead_letters"] == 1
    done = await queues.requeue(box.runtime, box.person, "poison")
    assert (done["id"], done["status"]) == ("poison", "created")
    assert await listings.runs(box.runtime, status="dead_letter") == []
    assert await store.read(audit.alerts) == []
    [claim] = await store.write(mailbox.claim, "well", 9, now)
    assert (claim.run.id, claim.run.crashes) == ("poison", 0)
    [noted] = await store.read(audit.activities, action="RUN_REQUEUED")
    assert (noted.actor_id, noted.run_id) == (box.person.id, "poison")


async def test_what_is_no_dead_letter_is_not_requeued(box: Interlock) -> None:
    coder = await box.runtime.store.write(agent, "a")
    claim: Claim = await box.runtime.store.write(claimed, coder, "alive")
    with pytest.raises(Conflict, match="run `alive` is running: only a dead letter can be tried again"):
        await queues.requeue(box.runtime, box.person, "alive")
    now = box.runtime.clock.now()
    await box.runtime.store.write(mailbox.finish, claim, "failed", "error", now, result=None, error="no")
    with pytest.raises(Conflict, match=r"run `alive` is failed \(error\): only a dead letter"):
        await queues.requeue(box.runtime, box.person, "alive")


async def test_dead_letter_whose_task_moved_on_is_not_requeued(box: Interlock) -> None:
    store = box.runtime.store
    made = await store.write(in_progress)
    work = {"kind": "task", "mission_id": made.mission_id, "task_id": made.task_id}
    await store.write(mailbox.claim, "the coordinator's", 1, T0)
    await dead(box, "work", made.worker.id, **work)
    [told] = [e for e in await store.read(missions.pending, made.mission_id) if e.kind == "run_ended"]
    assert (told.payload["status"], told.payload["stop_reason"]) == ("failed", "dead_letter")
    move = tasks.Move(task_id=made.task_id, to=TaskState.CANCELED, actor=ADA, reason="not wanted", key="off")
    await store.write(tasks.advance, move, T0)
    with pytest.raises(Conflict, match=r"its task `.*` has moved on and is CANCELED, see `interlock task "):
        await queues.requeue(box.runtime, box.person, "work")
