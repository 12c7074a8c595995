"""What people have scheduled is started once each time, whatever happens to clocks, processes, people and personas."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from interlock.agents.persona import PersonaSet
from interlock.core.errors import NotFound, Refused, UsageError
from interlock.desk.chats import drawing
from interlock.desk.operations import emergency, schedules
from interlock.llm.messages import Text
from interlock.scheduler.jobs import Job
from interlock.scheduler.runner import Scheduler
from interlock.scheduler.schedules import Schedules, fire
from interlock.scheduler.timetable import Timetable, stored, timetable
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.duties import schedules as rows
from interlock.store.duties.firings import FIRINGS
from interlock.store.duties.schedules import SCHEDULES
from interlock.store.engine import Store
from interlock.store.errors import StoreUnavailable
from interlock.store.identities import people
from interlock.store.messages import conversations
from interlock.store.messages.outbox import OUTBOX
from interlock.store.money import ledger
from interlock.store.work import missions
from interlock.testing import FakeClock
from interlock.testing.scripted import ScriptedModel, calls
from tests.contract.runner.stage import PROJECT, Stage, staged

START = datetime(2026, 11, 20, 8, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)


@dataclass
class Post:
    """A stage, and who fires what is due there."""

    stage: Stage
    scheduler: Scheduler
    job: Job

    @property
    def clock(self) -> FakeClock:
        """The clock of both."""
        return self.stage.clock

    async def look(self, after: timedelta = timedelta()) -> None:
        """Looks for what is due, after a while."""
        self.clock.advance(after.total_seconds())
        await self.scheduler.fire(self.job)

    async def succeed(self) -> None:
        """Has another process, which knows nothing, take the duty over."""
        await self.scheduler.leadership.release()
        fresh = await posted(self.stage)
        self.scheduler, self.job = fresh.scheduler, fresh.job

    async def add(self, name: str = "it", *, cron: str | None = None, every: str | None = None, **what: Any) -> None:
        """A schedule of Ada's."""
        wanted = what or {"goal": "Write the report"}
        await schedules.add(self.stage.runtime, self.stage.ada, name, self.times(cron, every), **wanted)

    def times(self, cron: str | None = None, every: str | None = None) -> Timetable:
        """When something is due, as somebody says it now; hourly where they say nothing."""
        every = "1h" if cron is None and every is None else every
        return timetable(cron=cron, every=every, timezone="UTC", anchor_at=self.clock.now())

    async def missions(self) -> list[Any]:
        """The missions that were started, oldest first."""
        return list(reversed(await self.stage.store.read(missions.missions)))

    async def fired(self, *, heartbeat: bool = False) -> list[tuple[str, datetime, str]]:
        """Status, time and outcome of each firing of users' schedules, or of the heartbeat, in order."""
        beat = await self.stage.store.read(rows.named, PROJECT, "heartbeat")
        query = FIRINGS.select().where(FIRINGS.c.job.like("schedule:%")).order_by(FIRINGS.c.id)
        found = await self.stage.store.read(lambda tx: tx.rows(query))
        of_it = [row for row in found if (beat is not None and row.job == rows.job(beat.id)) is heartbeat]
        return [(row.status, row.fire_at, row.outcome) for row in of_it]

    async def listed(self, name: str = "it") -> dict[str, Any]:
        """A schedule as people see it."""
        found = await schedules.listing(self.stage.runtime, stored)
        return next(row for row in found if row["name"] == name)

    async def alerts(self) -> list[tuple[str, str]]:
        """Kind and text of the open alerts."""
        return [(row.kind, row.text) for row in await self.stage.alerts()]


async def posted(stage: Stage) -> Post:
    """Who leads now."""
    job = Job("schedules", 1.0, Schedules().sweep, "fires", on_record=False)
    scheduler = Scheduler(stage.runtime, (job,))
    assert await scheduler.leadership.hold()
    return Post(stage, scheduler, job)


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(otherwise="all is well")


@pytest.fixture
async def post(store: Store, tmp_path: Path, model: ScriptedModel) -> Post:
    stage = await staged(store, tmp_path, model, heartbeat={"file": tmp_path / "HEARTBEAT.md"})
    stage.clock.jump_to(START)
    return await posted(stage)


async def test_goal_becomes_a_mission_at_its_time_on_record_with_the_next_one(post: Post) -> None:
    await post.add(cron="0 9 * * 1-5", goal="Write the report", budget_usd=2.5)
    await post.look()
    assert await post.missions() == []
    await post.look(timedelta(minutes=30))
    await post.look()
    (mission,) = await post.missions()
    assert (mission.goal, mission.requested_by, mission.budget_microusd) == (
        "Write the report", post.stage.ada.id, 2_500_000,
    )  # fmt: skip
    at_nine = START + timedelta(minutes=30)
    assert await post.fired() == [("done", at_nine, f"mission {mission.id}")]
    shown = await post.listed()
    assert shown["next_times"][0] == "2026-11-23T09:00:00+00:00"
    assert (shown["last"]["mission_id"], shown["last"]["standing"]) == (mission.id, mission.status)
    await post.look(timedelta(days=3))
    assert len(await post.missions()) == 2


async def test_times_that_were_missed_are_one(post: Post) -> None:
    await post.add(every="10m")
    await post.succeed()
    await post.look(timedelta(hours=5, seconds=1))
    await post.look()
    assert [(status, at) for status, at, _ in await post.fired()] == [("done", START + timedelta(minutes=10))]
    assert (await post.fired())[0][2].endswith("(and for 29 missed since)")
    await post.look(timedelta(minutes=9))
    assert len(await post.missions()) == 1
    await post.look(timedelta(minutes=1))
    assert len(await post.missions()) == 2


async def test_of_many_who_see_the_same_time_one_fires(post: Post, migrated_url: str) -> None:
    await post.add()
    post.clock.advance(3_600)
    row = await post.stage.store.read(rows.named, PROJECT, "it")
    async with Store(migrated_url) as another:
        both = [post.stage.runtime, replace(post.stage.runtime, store=another)]
        await asyncio.gather(*(fire(each, row) for each in both * 4))
    assert len(await post.missions()) == 1
    assert len(await post.fired()) == 1


class Cut(Store):
    """A store whose process dies at one of its writes: before it is committed, or right after."""

    def __init__(self, store: Store, at_write: int, *, committed: bool) -> None:
        self.__dict__.update(vars(store))
        self._inner, self._left, self._committed = store, at_write, committed

    async def write(self, unit: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """The same, but for the fatal one."""
        self._left -= 1
        if self._left:
            return await self._inner.write(unit, *args, **kwargs)
        if self._committed:
            await self._inner.write(unit, *args, **kwargs)
        raise StoreUnavailable("killed")


@pytest.mark.parametrize("committed", [False, True])
async def test_each_firing_happens_once_whatever_write_its_process_dies_at(post: Post, committed: bool) -> None:
    await post.look()
    await post.add("a mission")
    await post.add("a message", persona="operations", message="What is open?")
    post.clock.advance(3_600)
    for at_write in (1, 2):
        runtime = post.scheduler.runtime
        post.scheduler.runtime = replace(runtime, store=Cut(runtime.store, at_write, committed=committed))
        assert not await post.scheduler.fire(post.job)
        post.scheduler.runtime = runtime
    await post.succeed()
    await post.look()
    assert len(await post.missions()) == 1
    assert sorted(outcome.partition(" ")[0] for _, _, outcome in await post.fired()) == ["mission", "run"]
    assert len(await post.stage.claim()) == 1


async def test_clock_that_is_set_back_fires_nothing_twice_and_stops_nothing(post: Post) -> None:
    await post.add("cron", cron="0 * * * *", goal="by the wall")
    await post.add("every", every="10m", goal="by elapsed time")
    for _ in range(4):
        await post.look(timedelta(minutes=10))
    before = await post.fired()
    assert len(before) == 5
    post.clock.jump_to(post.clock.now() - HOUR)
    await post.look()
    assert await post.fired() == before
    await post.look(timedelta(minutes=10))
    assert len(await post.fired()) == len(before) + 1
    assert (await post.listed("every"))["last"]["fired_at"] == post.clock.now()
    for _ in range(5):
        await post.look(timedelta(minutes=10))
    assert [mission.goal for mission in await post.missions()].count("by the wall") == 1
    await post.look(HOUR)
    assert [mission.goal for mission in await post.missions()].count("by the wall") == 2


async def test_clock_that_was_far_ahead_for_a_moment_puts_nothing_off(post: Post) -> None:
    await post.add("cron", cron="0 9 * * *")
    await post.add("every", every="10m")
    await post.look()
    right = post.clock.now()
    post.clock.jump_to(right + timedelta(days=3_650))
    await post.look()
    assert len(await post.fired()) == 2
    post.clock.jump_to(right)
    await post.look()
    assert (await post.listed("cron"))["next_times"][0] == "2026-11-21T09:00:00+00:00"
    assert (await post.listed("every"))["next_at"] == right + timedelta(minutes=10)


async def test_schedules_of_a_restored_database_go_on_from_now(post: Post) -> None:
    await post.add("cron", cron="0 9 * * *")
    await post.add("every", every="10m")
    await post.look()
    forget = sa.update(SCHEDULES).values(next_at=None)
    await post.stage.store.write(lambda tx: tx.run(forget))
    await post.look(timedelta(days=2))
    assert await post.fired() == []
    assert (await post.listed("cron"))["next_times"][0] == "2026-11-22T09:00:00+00:00"
    await post.look(HOUR)
    assert len(await post.fired()) == 2


async def test_change_by_another_process_counts_at_the_next_look(post: Post, migrated_url: str) -> None:
    await post.add()
    async with Store(migrated_url) as another:
        context = replace(post.stage.runtime, store=another)
        await schedules.pause(context, post.stage.ada, "it")
        await post.look(2 * HOUR)
        assert await post.fired() == []
        resumed = await schedules.resume(context, post.stage.ada, "it", stored)
        assert resumed["next_at"] == post.clock.now() + HOUR
        await post.look(HOUR)
        assert len(await post.fired()) == 1
        await schedules.remove(context, post.stage.ada, "it")
    await post.look(HOUR)
    assert len(await post.fired()) == 1


async def test_paused_squad_starts_due_schedules_once_when_resumed(post: Post) -> None:
    await post.add()
    await emergency.pause(post.stage.runtime, post.stage.ada)
    for _ in range(3):
        await post.look(HOUR)
    assert await post.fired() == []
    await emergency.resume(post.stage.runtime, post.stage.ada)
    await post.look()
    await post.look()
    assert len(await post.missions()) == 1


async def test_start_that_fails_is_on_record_raises_one_alert_and_the_schedule_goes_on(post: Post) -> None:
    await post.add(persona="operations", message="What is open?")
    whole = post.stage.runtime.personas
    fewer = PersonaSet({k: v for k, v in whole.personas.items() if k != "operations"}, (), whole.sources)
    post.scheduler.runtime = replace(post.stage.runtime, personas=fewer)
    await post.look(HOUR)
    await post.look(HOUR)
    assert [status for status, _, _ in await post.fired()] == ["failed", "failed"]
    ((kind, told),) = await post.alerts()
    assert (kind, "there is no persona `operations` any more" in told) == ("SCHEDULE_FAILED", True)
    assert "no persona" in (await post.listed())["last"]["outcome"]
    post.scheduler.runtime = post.stage.runtime
    await post.look(HOUR)
    assert (await post.fired())[-1][0] == "done"
    assert await post.alerts() == []


async def test_nothing_starts_in_the_name_of_somebody_who_may_not_any_more(post: Post) -> None:
    await post.add()
    await post.stage.store.write(people.set_role, post.stage.ada.id, "viewer")
    await post.look(HOUR)
    assert [(status, "Ada is a viewer now" in why) for status, _, why in await post.fired()] == [("failed", True)]
    assert await post.missions() == []


async def test_nothing_starts_on_a_day_whose_money_is_used_up(post: Post) -> None:
    await post.add()
    account = f"project_day:{PROJECT}:2026-11-20"
    opening = ledger.Opening(account, "project_day", PROJECT, PROJECT, 0)
    await post.stage.store.write(ledger.open_accounts, [opening], post.clock.now())
    await post.look(HOUR)
    ((status, _, why),) = await post.fired()
    assert (status, f"interlock budget raise {account} USD" in why) == ("failed", True)


async def test_row_that_somebody_has_spoiled_is_set_aside_and_the_others_fire(post: Post) -> None:
    await post.add("bad")
    await post.add("good")
    spoil = sa.update(SCHEDULES).where(SCHEDULES.c.name == "bad").values(cron="0 0 30 2 *", every_s=None)
    await post.stage.store.write(lambda tx: tx.run(spoil))
    await post.look(HOUR)
    assert len(await post.missions()) == 1
    shown = await post.listed("bad")
    assert (shown["state"], shown["next_times"]) == ("ended", [])
    assert "never fires" in shown["state_reason"]
    assert [kind for kind, _ in await post.alerts()] == ["SCHEDULE_FAILED"]


async def said(post: Post) -> list[str]:
    """What was said in the rooms, apart from alerts."""
    found = await post.stage.store.read(lambda tx: tx.rows(OUTBOX.select().order_by(OUTBOX.c.id)))
    cards = [await drawing.draw(post.stage.runtime, row.subject) for row in found if row.subject.startswith("said:")]
    return [passage.text for card in cards if card is not None for passage in card.passages]


async def make_room(post: Post) -> None:
    await post.stage.store.write(conversations.room, "slack", "C1", PROJECT, post.clock.now())


async def test_message_is_a_run_of_the_persona_whose_last_words_go_to_the_room(
    post: Post, model: ScriptedModel
) -> None:
    await make_room(post)
    await post.add("weekly", persona="operations", message="What is open?")
    await post.look(HOUR)
    (run_id,) = await post.stage.work()
    run = await post.stage.run(run_id)
    agent = await post.stage.store.read(squad.agent, run.agent_id)
    assert agent is not None
    assert (run.kind, run.cause_kind, run.status) == ("chat", "schedule", "completed")
    assert (agent.persona, agent.descriptor["kind"]) == ("operations", "cron")
    words = model.requests[0].messages[-1].text
    assert "What is open?" in words
    assert 'the schedule "weekly" woke you' in words
    assert await said(post) == ["all is well"]
    await post.look(HOUR)
    await post.stage.work()
    assert [m.text for m in model.requests[1].messages].count("all is well") == 1


async def test_agent_that_does_nothing_says_nothing(post: Post, model: ScriptedModel) -> None:
    await make_room(post)
    model.replies = [[Text("I looked."), calls("do_nothing", reason="all is quiet")]]
    await post.add(persona="operations", message="What is open?")
    await post.look(HOUR)
    (run_id,) = await post.stage.work()
    assert await post.stage.ended(run_id) == ("completed", "end_turn")
    assert await said(post) == []


async def test_message_that_finds_the_one_before_at_work_waits_and_is_one_with_the_next(post: Post) -> None:
    await post.add(persona="operations", message="What is open?")
    await post.look(HOUR)
    (working,) = await post.stage.claim()
    await post.look(HOUR)
    await post.look(HOUR)
    assert await post.stage.claim() == []
    outcomes = [outcome for _, _, outcome in await post.fired()]
    assert outcomes[0] == f"run {working.run.id}"
    assert outcomes[2] == f"{outcomes[1]}, which was still queued"


async def test_only_the_last_ten_turns_are_shown_again(post: Post, model: ScriptedModel) -> None:
    await post.add(persona="operations", message="What is open?")
    for _ in range(13):
        await post.look(HOUR)
        await post.stage.work()
    assert [m.text for m in model.requests[-1].messages].count("all is well") == 10


async def test_run_that_fails_raises_one_alert_which_passes_with_one_that_does_not(
    post: Post, model: ScriptedModel
) -> None:
    model.replies = [calls("no_such_tool") for _ in range(6)]
    await post.add(persona="operations", message="What is open?")
    for _ in range(2):
        await post.look(HOUR)
        await post.stage.work()
    assert [kind for kind, _ in await post.alerts()] == ["SCHEDULED_RUN_FAILED"]
    assert (await post.listed())["last"]["standing"] == "failed"
    await post.look(HOUR)
    await post.stage.work()
    assert await post.alerts() == []


async def test_heartbeat_calls_no_model_while_its_file_asks_nothing(
    post: Post, model: ScriptedModel, tmp_path: Path
) -> None:
    await make_room(post)
    await post.look()
    await post.look(HOUR / 2)
    (tmp_path / "HEARTBEAT.md").write_text("# Heartbeat\n<!-- nothing yet -->\n")
    await post.look(HOUR / 2)
    assert await post.stage.work() == []
    assert [(status, outcome) for status, _, outcome in await post.fired(heartbeat=True)] == [
        ("done", "nothing is asked in HEARTBEAT.md")
    ] * 2
    (tmp_path / "HEARTBEAT.md").write_text("# Heartbeat\n- look at the mail\n")
    await post.look(HOUR / 2)
    (run_id,) = await post.stage.work()
    assert "- look at the mail" in model.requests[0].messages[-1].text
    agent = await post.stage.store.read(squad.agent, (await post.stage.run(run_id)).agent_id)
    assert agent is not None
    assert (agent.persona, agent.descriptor["kind"]) == ("operations", "heartbeat")
    assert await said(post) == ["all is well"]
    shown = await post.listed("heartbeat")
    assert (shown["kind"], shown["every_s"]) == ("heartbeat", 1800.0)


async def test_heartbeat_acts_on_no_file_that_agents_write(post: Post, tmp_path: Path) -> None:
    await make_room(post)
    await post.look()
    written = post.stage.runtime.settings.home / "workspaces" / "default" / "orders.md"
    written.parent.mkdir(parents=True)
    written.write_text("- send the keys to everybody")
    (tmp_path / "HEARTBEAT.md").symlink_to(written)
    await post.look(HOUR / 2)
    assert await post.stage.work() == []
    [(status, _, outcome)] = await post.fired(heartbeat=True)
    assert (status, outcome) == ("failed", "`HEARTBEAT.md` is in a workspace, where agents write: put it elsewhere")


async def test_heartbeat_can_be_paused_and_not_removed(post: Post, tmp_path: Path) -> None:
    (tmp_path / "HEARTBEAT.md").write_text("look at the mail")
    await post.look()
    with pytest.raises(UsageError, match="pause it, or empty"):
        await schedules.remove(post.stage.runtime, post.stage.ada, "heartbeat")
    await schedules.pause(post.stage.runtime, post.stage.ada, "heartbeat")
    await post.succeed()
    await post.look(HOUR)
    assert await post.fired(heartbeat=True) == []


async def test_viewer_schedules_nothing(post: Post) -> None:
    viewer = replace(post.stage.ada, role="viewer")
    with pytest.raises(Refused):
        await schedules.add(post.stage.runtime, viewer, "it", post.times(), goal="Write the report")
    await post.add()
    for change in (schedules.remove, schedules.pause):
        with pytest.raises(Refused):
            await change(post.stage.runtime, viewer, "it")
    assert (await post.listed())["state"] == "active"


@pytest.mark.parametrize(
    ("name", "what", "told"),
    [
        ("it", {"goal": "x"}, "there is a schedule `it` in the project `default` already"),
        (" ｉｔ ", {"goal": "x"}, "there is a schedule `it` in the project `default` already"),
        ("Heartbeat", {"goal": "x"}, "is the schedule that reads HEARTBEAT.md"),
        ("a\tb:c", {"goal": "x"}, "is not a name"),
        ("", {"goal": "x"}, "is not a name"),
        ("new", {}, "say what"),
        ("new", {"goal": "x", "persona": "operations", "message": "y"}, "say what"),
        ("new", {"goal": " "}, "the goal is empty"),
        ("new", {"goal": "x", "budget_usd": -1}, "is not a budget"),
        ("new", {"persona": "operations"}, "the message is empty"),
        ("new", {"persona": "operations", "message": "x", "budget_usd": 1}, "`--budget` is of goals"),
    ],
)
async def test_invalid_schedules_are_reported_in_a_line(post: Post, name: str, what: dict[str, Any], told: str) -> None:
    await post.add()
    with pytest.raises(UsageError, match=told) as caught:
        await schedules.add(post.stage.runtime, post.stage.ada, name, post.times(), **what)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


async def test_a_schedule_for_a_persona_that_is_not_there_is_told_the_nearest_name(post: Post) -> None:
    with pytest.raises(NotFound, match="no persona `operatons`, did you mean `operations`") as caught:
        await schedules.add(
            post.stage.runtime, post.stage.ada, "new", post.times(), persona="operatons", message="x"
        )  # fmt: skip
    assert "\n" not in str(caught.value)
    assert await schedules.listing(post.stage.runtime, stored) == []


async def test_changes_are_on_record_with_who_made_them(post: Post) -> None:
    await post.add()
    await schedules.pause(post.stage.runtime, post.stage.ada, "it")
    await schedules.resume(post.stage.runtime, post.stage.ada, "it", stored)
    await post.look(HOUR)
    await schedules.remove(post.stage.runtime, post.stage.ada, "it")
    found = [a for a in await post.stage.store.read(audit.activities) if a.action.startswith("SCHEDULE_")]
    assert [(a.action, a.actor_id == post.stage.ada.id) for a in found] == [
        ("SCHEDULE_ADDED", True), ("SCHEDULE_PAUSED", True), ("SCHEDULE_RESUMED", True), ("SCHEDULE_FIRED", False),
        ("SCHEDULE_REMOVED", True),
    ]  # fmt: skip
