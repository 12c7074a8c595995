"""The squad's controls at the desk: what is told, what is on record, who may, and what a mission says meanwhile."""

import asyncio
from typing import Any

import pytest

from interlock import Interlock
from interlock.core.errors import Conflict, NotFound, Refused, UsageError
from interlock.desk.context import Person
from interlock.desk.operations import emergency
from interlock.desk.reading import listings
from interlock.desk.reading.progress import Progress, Standing, progress
from interlock.desk.signoff import signing
from interlock.store.auditing import audit
from interlock.store.schema import Alert
from interlock.store.tx import Tx

GOAL = "Compare three note-taking apps"


async def activities(box: Interlock, action: str) -> list[dict[str, Any]]:
    """The data of what was done, in order."""
    return [row.data for row in await box.runtime.store.read(audit.activities, action=action)]


async def finished(box: Interlock, mission_id: str) -> Progress:
    """The mission at its end, everything that it asks signed off."""
    found = await box.settled(mission_id)
    while found.standing is Standing.WAITING:
        for ident in found.approvals:
            await signing.approve(box.runtime, box.person, ident)
        found = await box.settled(mission_id)
    return found


async def test_changes_are_told_once_each_with_who_and_why(box: Interlock) -> None:
    context, ada = box.runtime, box.person
    done = [
        await emergency.pause(context, ada, reason="too many  mails"),
        await emergency.pause(context, ada),
        await emergency.stop(context, ada),
        await emergency.resume(context, ada),
        await emergency.resume(context, ada),
    ]
    assert [(view["before"], view["mode"], view["changed"]) for view in done] == [
        ("running", "paused", True),
        ("paused", "paused", False),
        ("paused", "stopped", True),
        ("stopped", "running", True),
        ("running", "running", False),
    ]
    noted = await activities(box, "CONTROL_CHANGED")
    assert [(note["before"], note["mode"], note["reason"], note["name"]) for note in noted] == [
        ("running", "paused", "too many mails", ada.name),
        ("paused", "stopped", None, ada.name),
        ("stopped", "running", None, ada.name),
    ]


async def test_open_alert_is_the_last_change(box: Interlock) -> None:
    await emergency.pause(box.runtime, box.person, reason="fire")
    (alert,) = await listings.alerts(box.runtime)
    assert (alert["kind"], alert["severity"]) == ("CONTROL", "critical")
    assert "(fire); `interlock resume` lets it go on" in alert["text"]
    await emergency.resume(box.runtime, box.person)
    (alert,) = await listings.alerts(box.runtime)
    assert alert["severity"] == "info"


async def test_second_quarantine_is_told_however_many_alerts_nobody_has_seen(box: Interlock) -> None:
    context, ada = box.runtime, box.person

    def fill(tx: Tx) -> None:
        now = context.clock.now()
        rows = [
            {
                "id": f"alt_{n}", "project_id": "default", "severity": "info", "kind": "X", "text": "x",
                "dedup_key": f"x:{n}", "created_at": now,
            }
            for n in range(1_001)
        ]  # fmt: skip
        tx.add_many(Alert, rows)

    await emergency.quarantine(context, ada, "coder")
    await emergency.pause(context, ada)
    await context.store.write(fill)
    await emergency.release(context, ada, "coder")
    await emergency.resume(context, ada)
    await emergency.quarantine(context, ada, "coder")
    every = await context.store.read(audit.alerts, open_only=False, most=2_000)
    assert [alert.acked_at is None for alert in every if alert.dedup_key.startswith("quarantine:")] == [True, False]
    assert [alert.severity for alert in every if alert.kind == "CONTROL" and alert.acked_at is None] == ["info"]


@pytest.mark.parametrize("softer", ["pause", "drain"])
async def test_nothing_but_resume_makes_a_stop_less_strict(box: Interlock, softer: str) -> None:
    await emergency.stop(box.runtime, box.person)
    view = await getattr(emergency, softer)(box.runtime, box.person)
    assert (view["mode"], view["changed"]) == ("stopped", False)


async def test_of_two_who_act_at_once_the_more_careful_is_heeded(box: Interlock) -> None:
    context, ada = box.runtime, box.person
    await asyncio.gather(emergency.drain(context, ada), emergency.stop(context, ada), emergency.pause(context, ada))
    assert (await listings.status(context))["squad"]["mode"] == "stopped"


class SlowContext:
    """A context of a process that is slow to write: what it has decided by is old by then."""

    def __init__(self, box: Interlock) -> None:
        self.settings, self.clock, self.policy = box.runtime.settings, box.runtime.clock, box.runtime.policy
        self.store: Any = self
        self.read = box.runtime.store.read
        self._write = box.runtime.store.write
        self.has_come, self.may_go = asyncio.Event(), asyncio.Event()

    async def write(self, *args: Any, **kwargs: Any) -> Any:
        self.has_come.set()
        await self.may_go.wait()
        return await self._write(*args, **kwargs)


async def test_stop_that_is_said_while_a_resume_waits_is_heeded(box: Interlock) -> None:
    context, ada, slow = box.runtime, box.person, SlowContext(box)
    await emergency.stop(context, ada)
    resuming = asyncio.create_task(emergency.resume(slow, ada))
    await slow.has_come.wait()
    again = await emergency.stop(context, ada)
    slow.may_go.set()
    with pytest.raises(Conflict, match="since you said `resume`"):
        await resuming
    assert (again["mode"], again["changed"]) == ("stopped", False)
    assert (await listings.status(context))["squad"]["mode"] == "stopped"
    assert (await emergency.resume(context, ada))["mode"] == "running"


async def test_status_says_what_the_squad_may_do_and_who_is_set_apart(box: Interlock) -> None:
    before = await listings.status(box.runtime)
    assert (before["squad"]["mode"], before["squad"]["by"], before["quarantined"]) == ("running", None, [])
    await emergency.drain(box.runtime, box.person, reason="upgrade")
    await emergency.quarantine(box.runtime, box.person, "coder")
    after = await listings.status(box.runtime)
    squad = after["squad"]
    assert (squad["mode"], squad["by"], squad["reason"]) == ("draining", box.person.name, "upgrade")
    assert squad["since"] is not None
    assert after["quarantined"] == ["coder"]


@pytest.mark.parametrize("control", ["pause", "drain", "stop", "resume"])
async def test_a_viewer_controls_nothing(box: Interlock, viewer: Person, control: str) -> None:
    with pytest.raises(Refused, match="Vic is a viewer"):
        await getattr(emergency, control)(box.runtime, viewer)
    assert (await listings.status(box.runtime))["squad"]["mode"] == "running"


async def test_a_viewer_quarantines_nobody(box: Interlock, viewer: Person) -> None:
    await emergency.quarantine(box.runtime, box.person, "coder")
    with pytest.raises(Refused, match="Vic is a viewer"):
        await emergency.release(box.runtime, viewer, "coder")
    with pytest.raises(Refused, match="Vic is a viewer"):
        await emergency.quarantine(box.runtime, viewer, "research")
    assert (await listings.status(box.runtime))["quarantined"] == ["coder"]


@pytest.mark.parametrize(
    ("name", "hint"), [("codr", "did you mean `coder`"), ("", "give a persona"), ("a" * 99, "no agent")]
)
async def test_an_unknown_agent_is_refused_with_what_was_meant(box: Interlock, name: str, hint: str) -> None:
    with pytest.raises(NotFound, match=hint):
        await emergency.quarantine(box.runtime, box.person, name)
    with pytest.raises(NotFound, match="no agent"):
        await emergency.release(box.runtime, box.person, name)


async def test_a_reason_is_short(box: Interlock) -> None:
    with pytest.raises(UsageError, match="501 characters"):
        await emergency.pause(box.runtime, box.person, reason="x" * 501)
    assert (await listings.status(box.runtime))["squad"]["mode"] == "running"


async def test_a_mission_under_a_pause_says_why_it_does_not_move_and_ends_after_it(box: Interlock) -> None:
    await emergency.pause(box.runtime, box.person, reason="lunch")
    stopped = await box.run(GOAL)
    assert (stopped.standing, stopped.status) == (Standing.STOPPED, "INBOX")
    assert stopped.reason is not None
    assert "paused by" in stopped.reason
    assert "(lunch): `interlock resume` lets it go on" in stopped.reason
    await emergency.resume(box.runtime, box.person)
    assert (await finished(box, stopped.mission_id)).standing is Standing.DONE


async def test_a_mission_that_is_stopped_again_and_again_ends_all_the_same(box: Interlock) -> None:
    mission_id = await box.submit(GOAL)
    await box.start()
    for _ in range(6):
        view = await emergency.stop(box.runtime, box.person, wait_s=60)
        assert (view["still_running"], view["uncertain"]) == ([], [])
        async with asyncio.timeout(60):
            while (found := await progress(box.runtime, mission_id)).standing is Standing.MOVING:
                await asyncio.sleep(0.01)
        assert found.standing in (Standing.STOPPED, Standing.WAITING, Standing.DONE)
        await emergency.resume(box.runtime, box.person)
    assert (await finished(box, mission_id)).standing is Standing.DONE


async def test_delegation_passes_over_who_is_set_apart(box: Interlock) -> None:
    await emergency.quarantine(box.runtime, box.person, "research")
    result = await box.run(GOAL)
    rows = await listings.tasks(box.runtime, mission=result.mission_id)
    agents = await listings.agents(box.runtime)
    assert "research" not in {row["persona"] for row in agents if row["works_for"]["kind"] == "task"}
    assert all(row["status"] != "IN_PROGRESS" for row in rows if row["persona"] == "research")


async def test_a_mission_whose_coordinator_is_set_apart_goes_on_at_release(box: Interlock) -> None:
    await emergency.quarantine(box.runtime, box.person, "coordinator")
    stopped = await box.run(GOAL)
    assert stopped.standing is Standing.STOPPED
    assert stopped.reason == "`coordinator` is quarantined: `interlock release coordinator` lets it work again"
    await emergency.release(box.runtime, box.person, "coordinator")
    assert (await finished(box, stopped.mission_id)).standing is Standing.DONE


async def test_a_coordinator_set_apart_in_the_middle_goes_on_at_release(box: Interlock) -> None:
    result = await box.run("Compare A and B and e-mail the result to board@example.com")
    assert result.standing is Standing.WAITING
    view = await emergency.quarantine(box.runtime, box.person, "coordinator")
    assert view["tasks"] == [result.mission_id]
    for ident in result.approvals:
        await signing.approve(box.runtime, box.person, ident)
    assert (await box.settled(result.mission_id)).standing is Standing.STOPPED
    await emergency.release(box.runtime, box.person, "coordinator")
    assert (await finished(box, result.mission_id)).standing is Standing.DONE


async def test_paused_member_is_given_nothing_until_it_is_resumed(box: Interlock, viewer: Person) -> None:
    context, ada = box.runtime, box.person
    first = await box.chat("research", "one")
    assert first.stop_reason == "end_turn"
    paused = await emergency.pause_agent(context, ada, "research", reason="look first")
    again = await emergency.pause_agent(context, ada, "research")
    assert [(view["state"], view["changed"]) for view in (paused, again)] == [("PAUSED", True), ("PAUSED", False)]
    (shown,) = [each for each in await listings.agents(context) if each["persona"] == "research"]
    assert shown["state_reason"] == f"{ada.name} paused it: look first"
    handle = await box.post("research", "two")
    assert (await box.chat("finance", "three")).stop_reason == "end_turn"
    assert await handle.status() == "created"
    resumed = await emergency.resume_agent(context, ada, "research")
    assert (resumed["state"], resumed["changed"]) == ("ACTIVE", True)
    assert (await asyncio.wait_for(handle, 30)).stop_reason == "end_turn"
    assert [note["name"] for note in await activities(box, "AGENT_PAUSED")] == [ada.name]
    assert [note["persona"] for note in await activities(box, "AGENT_RESUMED")] == ["research"]
    await emergency.quarantine(context, ada, "research")
    with pytest.raises(Refused, match="`interlock release research` ends that"):
        await emergency.resume_agent(context, ada, "research")
    for act in (emergency.pause_agent, emergency.resume_agent):
        with pytest.raises(Refused, match="is a viewer and may not"):
            await act(context, viewer, "research")
