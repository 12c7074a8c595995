"""Crashes, lost leases and broken threads: a step happens once or not at all, over both databases."""

import asyncio
from typing import Any

import pytest

from interlock.core.errors import InterlockError
from interlock.graph import coordinator
from interlock.graph.applying import Waits
from interlock.graph.coordinator import LONGEST_BACKOFF_S, TRIES, Coordinator, Outcome
from interlock.graph.loading import Loaded
from interlock.store.auditing import audit
from interlock.store.drivers.postgres import Unreachable
from interlock.store.mailboxes import leases, mailbox
from interlock.store.mailboxes.mailbox import Claim
from interlock.store.schema import Mission, table
from interlock.store.tx import Tx
from interlock.store.work import checkpoints, missions
from interlock.store.work.checkpoints import Place, SavedWrite
from tests.contract.graph.driving import PERSONAS, Driver, driven, plan, step

PLAN = plan(step("facts", "research", "research"), step("text", "storyteller", "content", depends_on=["facts"]))
MISSIONS = table(Mission)


class Power(InterlockError):
    """The machine was switched off."""


class Dying(Coordinator):
    """A coordinator whose process dies when everything is decided and written, but not committed."""

    def _commit(self, tx: Tx, claim: Claim, loaded: Loaded, outcome: Outcome) -> None:
        super()._commit(tx, claim, loaded, outcome)
        raise Power("off")

    async def _put_off(self, claim: Claim, error: Exception) -> None:
        raise error


async def journey(mission: Driver, crashes: bool) -> dict[str, Any]:
    if crashes:
        mission.before = _crash
    await mission.begin()
    await mission.think("plan", PLAN)
    await mission.deliver("facts")
    await mission.deliver("text")
    await mission.think("compile:0", "All of it.")
    decisions = await mission.store.read(
        audit.activities, mission_id=mission.mission, action="COORDINATOR_DECISION"
    )  # fmt: skip
    return {
        "tasks": await mission.statuses(),
        "runs": sorted(run.idempotency_key.replace(mission.mission, "M").split(":")[0] for run in await mission.runs()),
        "decisions": [row.data["decision"] for row in decisions],
        "members": (await mission.member("research")).done_count,
    }


async def test_crash_before_each_commit_changes_nothing_in_the_outcome(database_url: str, sqlite_url: str) -> None:
    async with driven(database_url) as mission:
        crashed = await journey(mission, True)
    async with driven(sqlite_url + ".calm") as mission:
        calm = await journey(mission, False)
    assert crashed == calm


async def test_step_that_did_not_commit_left_no_trace(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        thought = mission.held_for(":plan:")
        await mission.store.write(_end, thought, PLAN, mission.clock.now())
        (claim,) = await mission.claim()
        before = await mission.store.read(checkpoints.get, mission.mission, "")
        with pytest.raises(Power):
            await Dying(mission.store, mission.clock, PERSONAS, Waits()).handle(claim)
        assert await mission.store.read(checkpoints.get, mission.mission, "") == before
        assert await mission.statuses() == {"root": "IN_PROGRESS"}
        assert len(await mission.store.read(missions.pending, mission.mission)) == 1


async def test_worker_whose_lease_was_given_away_writes_nothing(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.store.write(_end, mission.held_for(":plan:"), PLAN, mission.clock.now())
        (stale,) = await mission.claim()
        await mission.store.write(leases.take_back, "worker", mission.clock.now())
        (fresh,) = await mission.claim()
        await mission.coordinator.handle(stale)
        assert await mission.statuses() == {"root": "IN_PROGRESS"}
        await mission.coordinator.handle(fresh)
        assert set(await mission.statuses()) == {"root", "facts", "text"}


async def test_two_workers_on_one_step_make_it_once(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.store.write(_end, mission.held_for(":plan:"), PLAN, mission.clock.now())
        (claim,) = await mission.claim()
        await asyncio.gather(mission.coordinator.handle(claim), mission.coordinator.handle(claim))
        await mission.settle()
        assert len(await mission.decisions("plan")) == 1
        assert len(await mission.rows()) == 3


async def test_failing_step_is_tried_again_later_with_an_alert_and_its_events_kept(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", "no plan")
        await mission.store.write(_end, mission.held_for(":plan:2"), PLAN, mission.clock.now())
        (claim,) = await mission.claim()
        nobody = Coordinator(mission.store, mission.clock, {}, Waits())
        await nobody.handle(claim)
        run = await mission.run(claim.run.id)
        assert (run.status, run.attempt) == ("created", 1)
        assert [a.kind for a in await mission.store.read(audit.alerts)] == ["coordinator_failed"]
        mission.clock.advance(2)
        await mission.settle()
        assert set(await mission.statuses()) == {"root", "facts", "text"}
        assert await mission.store.read(audit.alerts) == [], "it is settled by the try that works"


async def test_lost_connection_is_no_fault_of_the_coordinator_and_nobody_is_alerted(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: Any, **__: Any) -> Loaded:
        raise Unreachable("PostgreSQL went away")

    async with driven(database_url) as mission:
        await mission.begin()
        await mission.store.write(_end, mission.held_for(":plan:"), PLAN, mission.clock.now())
        (claim,) = await mission.claim()
        with monkeypatch.context() as away:
            away.setattr(coordinator, "load", lost)
            await mission.coordinator.handle(claim)
        run = await mission.run(claim.run.id)
        assert (run.status, run.attempt) == ("created", 0)
        assert await mission.store.read(audit.alerts) == []
        mission.clock.advance(2)
        await mission.settle()
        assert set(await mission.statuses()) == {"root", "facts", "text"}


async def fail(mission: Driver, nobody: Coordinator) -> str:
    """Has the step of a mission fail until it is not tried again; returns its run."""
    tried: set[str] = set()
    for _ in range(TRIES):
        (claim,) = await mission.claim()
        tried.add(claim.run.id)
        await nobody.handle(claim)
        mission.clock.advance(LONGEST_BACKOFF_S)
    (run,) = tried
    return run


async def test_step_that_fails_again_and_again_blocks_the_mission_until_a_person_has_looked(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", "no plan")
        await mission.store.write(_end, mission.held_for(":plan:2"), PLAN, mission.clock.now())
        run = await fail(mission, Coordinator(mission.store, mission.clock, {}, Waits()))
        row = await mission.run(run)
        assert (row.status, row.stop_reason) == ("failed", "error")
        await mission.settle()
        root = await mission.task("root")
        assert (root.status, root.block_kind, await mission.pending()) == ("BLOCKED", "OPERATOR", ["ESCALATION"])
        assert [alert.kind for alert in await mission.store.read(audit.alerts)] == ["task_waits"], "there is a question"
        assert f"{TRIES} tries in a row of its coordinator failed: " in root.block_reason
        assert (await mission.store.read(missions.pending, mission.mission))[0].kind == "run_ended"
        await mission.answer("ESCALATION", "approve")
        assert set(await mission.statuses()) == {"root", "facts", "text"}
        assert await mission.store.read(audit.alerts) == []


async def test_step_of_a_mission_that_cannot_even_be_read_is_a_dead_letter(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.store.write(_end, mission.held_for(":plan:"), PLAN, mission.clock.now())
        await mission.store.write(lambda tx: tx.run(missions.MISSIONS.delete()))
        run = await fail(mission, mission.coordinator)
        assert ((await mission.run(run)).status, (await mission.run(run)).stop_reason) == ("failed", "dead_letter")
        assert [alert.kind for alert in await mission.store.read(audit.alerts)] == ["DEAD_LETTER"]
        assert await mission.claim() == []


async def test_foreign_interrupt_blocks_the_mission_and_a_person_has_the_thread_made_anew(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", PLAN)
        await mission.store.write(_foreign, mission.mission, mission.clock)
        await mission.deliver("facts")
        root = await mission.task("root")
        assert (root.status, root.block_kind, await mission.pending()) == ("BLOCKED", "OPERATOR", ["ESCALATION"])
        assert any(a.subject == root.id for a in await mission.store.read(audit.alerts))
        assert (await mission.task("facts")).status == "REVIEW"
        await mission.answer("ESCALATION", "approve")
        assert (await mission.statuses())["facts"] == "DONE"
        await mission.deliver("text")
        await mission.think("compile:0", "All of it.")
        assert (await mission.task("root")).status == "DONE"


async def test_lost_thread_blocks_the_mission_and_it_can_still_be_cancelled(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.store.write(checkpoints.forget, mission.mission)
        await mission.think("plan", PLAN)
        assert await mission.statuses() == {"root": "BLOCKED"}
        await mission.answer("ESCALATION", "deny")
        assert await mission.statuses() == {"root": "CANCELED"}
        assert await mission.store.read(missions.pending, mission.mission) == []


async def test_lost_thread_is_made_anew_while_the_plan_is_awaited(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.store.write(checkpoints.forget, mission.mission)
        await mission.think("plan", PLAN)
        await mission.answer("ESCALATION", "approve")
        assert (await mission.statuses())["facts"] == "ASSIGNED"


async def test_mission_of_another_graph_version_is_not_run_but_blocked_with_an_alert(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.store.write(_older, mission.mission)
        await mission.think("plan", PLAN)
        root = await mission.task("root")
        assert (root.status, root.block_kind, root.wait_for) == ("BLOCKED", "OPERATOR", "owner:operator")
        alert = (await mission.store.read(audit.alerts))[0]
        assert "version 7" in alert.text
        assert await mission.store.read(missions.pending, mission.mission) != []
        assert await mission.statuses() == {"root": "BLOCKED"}


async def _crash(mission: Driver, claim: Claim) -> Claim:
    """A worker dies over a step before its commit, and the step is given out again."""
    with pytest.raises(Power):
        await Dying(mission.store, mission.clock, PERSONAS, Waits()).handle(claim)
    await mission.store.write(leases.take_back, "worker", mission.clock.now())
    again = await mission.claim()
    mission.held = {each.run.idempotency_key: each for each in again if each.run.kind != "mission"}
    return next(each for each in again if each.run.kind == "mission")


def _end(tx: Tx, claim: Claim, text: str, now: Any) -> None:
    mailbox.finish(tx, claim, "completed", "end_turn", now, result=text, error=None)
    missions.notify(tx, claim.run.mission_id, "run_ended", {"run_id": claim.run.id}, now)


def _foreign(tx: Tx, mission_id: str, clock: Any) -> None:
    """Makes the thread wait at an interrupt of another mission."""
    row = checkpoints.get(tx, mission_id, "")
    assert row is not None
    place = Place(mission_id, "", row.id)
    (asked,) = checkpoints.pending(tx, place)
    value = [{"$interrupt": {"id": "0" * 32, "value": {"mission": "mis_other", "graph": 1, "at": "watch"}}}]
    checkpoints.put_writes(tx, [SavedWrite(place, asked.task_id, asked.idx, asked.channel, value, asked.task_path)])


def _older(tx: Tx, mission_id: str) -> None:
    tx.run(MISSIONS.update().where(MISSIONS.c.id == mission_id).values(graph_version=7))
