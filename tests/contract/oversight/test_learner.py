"""Whole missions of the offline model: what the first one teaches is in the prompts of the next, with its evidence."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from interlock.agents.running import runner
from interlock.agents.running.interruption import Interrupt
from interlock.agents.runtime import Runtime
from interlock.core.errors import NotFound, Refused
from interlock.desk.agents import lessons as desk
from interlock.desk.context import Person
from interlock.desk.signoff import signing
from interlock.desk.work import goals
from interlock.graph import coordinator
from interlock.llm.messages import Model
from interlock.llm.rehearsal.model import RehearsalModel
from interlock.memory import facts as memory
from interlock.memory import lesson_book
from interlock.oversight import learner
from interlock.policy.learning.lesson_rules import Outcome, best
from interlock.settings import load_settings
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.engine import Store
from interlock.store.knowledge import facts, lesson_uses, lessons
from interlock.store.mailboxes import mailbox
from interlock.store.money import ledger
from interlock.store.runs import traces
from interlock.store.signoff import approvals
from interlock.store.work import tasks
from interlock.testing import FakeClock
from interlock.testing.runtime import runtime_over

OF_OPERATIONS = {"project": "default", "name": "operations", "sort": "ops"}
GOAL = "Research job queues, write a page and e-mail it to ops@example.com"
REASON = "Ana is on leave: write to the whole team"


@dataclass
class Squad:
    """A squad at work without a worker: the test claims, coordinator and agents are real."""

    runtime: Runtime
    ada: Person

    @property
    def store(self) -> Store:
        """The open database."""
        return self.runtime.store

    async def mission(self, goal: str = GOAL, *, deny: str | None = None) -> str:
        """Works a mission to its end; a tool call is denied with that reason, everything else approved."""
        mission = await goals.submit(self.runtime, self.ada, goal)
        for _ in range(20):
            await self.work()
            for row in await self.store.read(approvals.approvals):
                if deny is not None and row.kind == "TOOL_CALL":
                    await signing.deny(self.runtime, self.ada, row.id, reason=deny)
                else:
                    await signing.approve(self.runtime, self.ada, row.id)
            if (await self.task(mission)).status == "DONE":
                await self.work()
                return mission
        raise AssertionError("the mission does not end")

    async def work(self) -> None:
        """Works whatever is ready until nothing is."""
        clock = self.runtime.clock
        while claims := await self.store.write(mailbox.claim, "worker", 32, clock.now()):
            for claim in claims:
                assert isinstance(clock, FakeClock)
                clock.advance(0.001)
                if claim.run.kind == "mission":
                    await coordinator.handle(self.runtime, claim)
                else:
                    await runner.handle(self.runtime, claim, Interrupt())

    async def task(self, ident: str) -> Any:
        """A task or a mission's root."""
        found: Any = await self.store.read(tasks.task, ident)
        return found

    async def tasks(self, mission: str) -> list[Any]:
        """The tasks of a mission without its root."""
        return [row for row in await self.store.read(tasks.of_mission, mission) if row.parent_id]

    async def lessons(self) -> list[Any]:
        """All lessons."""
        return await self.store.read(lambda tx: lessons.lessons(tx, every=True))

    async def lesson(self, ident: str) -> Any:
        """One lesson."""
        return await self.store.read(lessons.lesson, ident)

    async def looks(self, mission: str) -> list[Any]:
        """The Learner's runs for a mission, in order."""
        found = await self.store.read(lambda tx: traces.runs(tx, mission_id=mission))
        return [run for run in reversed(found) if run.kind == "learn"]

    async def prompt_of(self, task: Any) -> str:
        """The system prompt of a task's first run."""
        found = await self.store.read(lambda tx: traces.runs(tx, task_id=task.id))
        return str((await self.store.read(traces.messages, found[-1].id))[0].content)


@pytest.fixture
async def team(store: Store, tmp_path: Path) -> Squad:
    """A squad with the offline model."""
    return await squad_with(store, tmp_path, RehearsalModel())


async def squad_with(store: Store, home: Path, model: Model) -> Squad:
    """A squad with that model, over a migrated database without rows."""
    settings = load_settings(home, {}, {"home": home, "database_url": store.url, "model": "rehearsal/offline"})
    runtime = runtime_over(store, settings, model)
    row = await store.write(squad.ensure_person, "test:ada", "Ada", "operator", runtime.clock.now())
    return Squad(runtime, Person(row.id, row.name, row.role, "test"))


async def test_reason_of_a_denial_is_in_the_prompt_of_the_next_mission(team: Squad) -> None:
    first = await team.mission(deny=REASON)
    taught = [row for row in await team.lessons() if REASON in row.rule]
    assert [(row.persona, row.task_type, row.kind) for row in taught] == [("operations", "email", "fix")]
    (lesson,) = taught
    assert "send_email" in lesson.rule
    assert lesson.evidence
    for ident in lesson.evidence:
        assert await team.store.read(facts.exists, ident, "default", first)
    second = await team.mission()
    mailing = [task for task in await team.tasks(second) if task.type == "email"]
    others = [task for task in await team.tasks(second) if task.type != "email"]
    assert [REASON in await team.prompt_of(task) for task in mailing] == [True]
    assert not any([REASON in await team.prompt_of(task) for task in others])
    assert not any([REASON in await team.prompt_of(task) for task in await team.tasks(first)])


async def test_every_ended_task_is_looked_at_and_then_the_mission(team: Squad) -> None:
    mission = await team.mission()
    looked = [(run.payload["scope"], run.payload["about"]) for run in await team.looks(mission)]
    ended = {("task", task.id) for task in await team.tasks(mission)}
    assert set(looked[:-1]) == ended
    assert looked[-1] == ("mission", mission)
    assert {run.status for run in await team.looks(mission)} == {"completed"}


async def test_use_of_a_lesson_is_decided_by_the_end_of_its_task(team: Squad) -> None:
    await team.mission(deny=REASON)
    (lesson,) = [row for row in await team.lessons() if REASON in row.rule]
    second = await team.mission()
    (mailing,) = [task for task in await team.tasks(second) if task.type == "email"]
    (use,) = await team.store.read(lesson_uses.of_lesson, lesson.id)
    assert (use.task_id, use.outcome) == (mailing.id, "helped")
    row = await team.lesson(lesson.id)
    assert (row.applied_count, row.helped_count, row.hurt_count, row.status) == (1, 1, 0, "active")
    assert row.confidence == pytest.approx(2 / 3)


async def test_same_trouble_again_adds_evidence_and_no_second_lesson(team: Squad) -> None:
    first = await team.mission(deny=REASON)
    before = await team.lessons()
    second = await team.mission(deny=REASON)
    assert len(await team.lessons()) == len(before)
    (lesson,) = [row for row in await team.lessons() if REASON in row.rule]
    for mission in (first, second):
        assert any([await team.store.read(facts.exists, each, "default", mission) for each in lesson.evidence])


async def test_lesson_has_not_helped_where_its_trouble_came_again(team: Squad) -> None:
    await team.mission(deny=REASON)
    (lesson,) = [row for row in await team.lessons() if REASON in row.rule]
    await team.mission()
    helped = await team.lesson(lesson.id)
    await team.mission(deny="Write it in plain words")
    refused = await team.lesson(lesson.id)
    assert (refused.applied_count, refused.helped_count, refused.confidence) == (2, 1, helped.confidence)
    await team.mission(deny=REASON)
    assert (await team.lesson(lesson.id)).helped_count == 1
    uses = await team.store.read(lesson_uses.of_lesson, lesson.id)
    assert sorted(use.outcome for use in uses) == ["helped", "neither", "neither"]


async def test_rule_whose_trouble_comes_again_is_a_rule_no_longer_unless_strangers_say_so(team: Squad) -> None:
    rule = "Check the totals twice before handing in."
    lesson = await _lesson(team, [], rule)
    for number in range(5):
        await _used(team, lesson, f"tsk_{number}", Outcome.HELPED)
    assert (await team.lesson(lesson)).status == "promoted"
    await _found(team, ["untrusted"], rule, ["tsk_3"])
    assert (await team.lesson(lesson)).status == "promoted"
    await _found(team, [], rule, ["tsk_4"])
    row = await team.lesson(lesson)
    assert (row.status, row.helped_count, row.confidence) == ("active", 4, pytest.approx(5 / 6))
    await _found(team, [], rule, ["tsk_4"])
    assert (await team.lesson(lesson)).helped_count == 4


async def test_rehearsal_neither_proves_nor_changes_what_was_learned_for_real(team: Squad) -> None:
    rule = "Check the totals twice before handing in."
    lesson = await _lesson(team, [], rule, persona="operations", task_type="email")
    for number in range(5):
        await _used(team, lesson, f"tsk_{number}", Outcome.HELPED)
    before = await team.lesson(lesson)
    assert before.status == "promoted"
    mission = await team.mission()
    (mailing,) = [task for task in await team.tasks(mission) if task.type == "email"]
    assert rule in await team.prompt_of(mailing)
    await _found(team, ["rehearsal"], rule, ["tsk_4"], task_type="email")
    await _lesson(team, ["rehearsal"], "Never check the totals twice before handing in.", task_type="email")
    assert await team.lesson(lesson) == before


async def test_what_a_rehearsal_taught_begins_anew_where_it_is_found_for_real(team: Squad) -> None:
    rule = "Check the totals twice before handing in."
    lesson = await _lesson(team, ["rehearsal"], rule)
    for number in range(5):
        await _used(team, lesson, f"tsk_{number}", Outcome.HELPED)
    assert await _lesson(team, [], rule, evidence="run_2") == lesson
    row = await team.lesson(lesson)
    assert (row.status, row.labels, row.helped_count, row.evidence) == ("probation", [], 0, ["run_2"])
    await _used(team, lesson, "tsk_9", Outcome.HELPED)
    assert (await team.lesson(lesson)).confidence == pytest.approx(2 / 3)


async def test_look_for_real_is_shown_nothing_of_rehearsals(team: Squad) -> None:
    await team.mission(deny=REASON)
    now = team.runtime.clock.now()
    rehearsed = await team.store.read(memory.of_project, "default", now, rehearsal=True)
    assert REASON in str(rehearsed.shown["approvals"])
    assert REASON in str(rehearsed.shown["known_lessons"])
    assert "rehearsal" in rehearsed.labels
    real = await team.store.read(memory.of_project, "default", now)
    assert {"approvals", "known_lessons", "tool_failures"} & set(real.shown) == set()
    assert real.labels == frozenset()


async def test_of_two_that_contradict_the_one_seen_again_has_the_newer_evidence(team: Squad) -> None:
    old = await _lesson(team, [], "Ask for the file name before you write.")
    clock = team.runtime.clock
    assert isinstance(clock, FakeClock)
    clock.advance(60)
    new = await _lesson(team, [], "Do not ask for the file name before you write.")
    assert await _order(team) == [new, old]
    clock.advance(60)
    await _found(team, [], "Ask for the file name before you write.", ["run_2"])
    assert await _order(team) == [old, new]


async def test_what_learning_costs_is_in_the_ledger_under_its_mission(team: Squad) -> None:
    mission = await team.mission()
    account, root = await team.store.read(ledger.account, f"learn:{mission}"), await team.task(mission)
    assert account is not None
    assert account.limit_microusd == root.budget_microusd // 10
    for run in await team.looks(mission):
        lines = await team.store.read(ledger.lines, run.id)
        assert lines
        assert all(line.mission_id == mission and account.id in line.accounts for line in lines)


async def test_learner_has_no_tools_and_is_shown_rows_with_ids(team: Squad) -> None:
    mission = await team.mission(deny=REASON)
    (run,) = [run for run in await team.looks(mission) if run.payload["scope"] == "mission"]
    system, asked, *_ = [row.content for row in await team.store.read(traces.messages, run.id)]
    assert "You have no tools in this run" in system
    assert REASON in asked
    for task in await team.tasks(mission):
        assert task.id in asked


async def test_sweep_looks_at_what_nobody_has_looked_at(store: Store, tmp_path: Path) -> None:
    team = await squad_with(store, tmp_path, RehearsalModel())
    without = dict(team.runtime.personas.personas)
    whole = team.runtime
    del without["learner"]
    team.runtime = _with_personas(whole, without)
    mission = await team.mission(deny=REASON)
    assert await team.lessons() == []
    team.runtime = whole
    found = await learner.sweep(whole)
    assert found.posted == len(await team.tasks(mission))
    await team.work()
    assert any(REASON in row.rule for row in await team.lessons())
    assert (await learner.sweep(whole)).posted > 0, "the mission itself, once its tasks are looked at"
    await team.work()
    for _ in range(3):
        await learner.sweep(whole)
        await team.work()
    assert (await learner.sweep(whole)).posted == 0


def _with_personas(runtime: Runtime, personas: dict[str, Any]) -> Runtime:
    return replace(runtime, personas=replace(runtime.personas, personas=personas))


async def test_scheduled_look_at_a_project_spends_from_its_day(team: Squad) -> None:
    await team.mission(deny=REASON)
    await team.mission("Compare the vendors in vendors.csv for the shop")
    await learner.sweep(team.runtime)
    await team.work()
    runs = await team.store.read(lambda tx: traces.runs(tx))
    passes = [run for run in runs if run.kind == "learn" and run.mission_id is None]
    assert [run.payload["scope"] for run in passes] == ["project"]
    (line, *_) = await team.store.read(ledger.lines, passes[0].id)
    assert any(account.startswith("project_day:") for account in line.accounts)
    assert not any(account.startswith(("mission:", "learn:")) for account in line.accounts)


async def test_person_vouches_for_strangers_words_before_they_can_become_a_rule(team: Squad) -> None:
    lesson = await _lesson(team, ["untrusted"])
    for number in range(5):
        await _used(team, lesson, f"tsk_{number}", Outcome.HELPED)
    row = await team.lesson(lesson)
    assert (row.status, row.confidence > 0.8) == ("probation", True)
    (shown,) = await desk.lessons(team.runtime)
    assert shown["waits_for_person"]
    assert (await desk.approve(team.runtime, team.ada, lesson))["changed"]
    await _used(team, lesson, "tsk_9", Outcome.HELPED)
    assert (await team.lesson(lesson)).status == "promoted"


async def test_viewer_changes_no_lesson(team: Squad) -> None:
    lesson = await _lesson(team, ["untrusted"])
    viewer = replace(team.ada, role="viewer")
    for attempt in (
        desk.approve(team.runtime, viewer, lesson),
        desk.restore(team.runtime, viewer, lesson, 1),
        desk.learn(team.runtime, viewer),
    ):
        with pytest.raises(Refused, match="Ada is a viewer and may not"):
            await attempt
    assert (await team.lesson(lesson)).version == 1


async def test_rule_that_does_harm_loses_its_place_and_every_write_is_a_version(team: Squad) -> None:
    lesson = await _lesson(team, [])
    for number in range(4):
        await _used(team, lesson, f"tsk_{number}", Outcome.HELPED)
    assert (await team.lesson(lesson)).status == "promoted"
    await _used(team, lesson, "tsk_9", Outcome.HURT)
    whole = await desk.lesson(team.runtime, lesson)
    assert whole["status"] == "active"
    assert [v["version"] for v in whole["versions"]] == list(range(1, whole["version"] + 1))
    assert "hurt in task tsk_9" in [v["reason"] for v in whole["versions"]]
    restored = await desk.restore(team.runtime, team.ada, lesson, 1)
    assert (restored["status"], restored["confidence"]) == ("probation", 0.5)
    assert restored["version"] == whole["version"] + 1
    (note,) = await team.store.read(audit.activities, action="LESSON_RESTORED")
    assert note.actor_id == team.ada.id
    assert (await desk.lesson(team.runtime, lesson))["versions"][-1]["author"] == team.ada.name
    with pytest.raises(NotFound, match=f"has no version 99: `interlock lessons show {lesson}` lists them"):
        await desk.restore(team.runtime, team.ada, lesson, 99)


async def test_lesson_counts_once_for_a_task_however_many_runs_it_took(team: Squad) -> None:
    lesson = await _lesson(team, [])
    for run in ("run_a", "run_b", "run_c"):
        await team.store.write(lesson_book.shown, [lesson], run, "tsk_1", team.runtime.clock.now())
    await _concluded(team, "tsk_1", Outcome.HURT)
    row = await team.lesson(lesson)
    assert (row.applied_count, row.hurt_count, row.confidence) == (3, 1, pytest.approx(1 / 3))
    await _concluded(team, "tsk_1", Outcome.HELPED)
    assert (await team.lesson(lesson)).helped_count == 0


async def test_confidence_counts_as_many_uses_as_the_settings_say(team: Squad) -> None:
    given = team.runtime.settings
    lessons_given = given.lessons.model_copy(update={"window": 1})
    short = replace(team, runtime=replace(team.runtime, settings=given.model_copy(update={"lessons": lessons_given})))
    lesson = await _lesson(team, [])
    for number, outcome in enumerate((Outcome.HURT, Outcome.HELPED)):
        task = f"tsk_{number}"
        await team.store.write(lesson_book.shown, [lesson], f"run_{number}", task, team.runtime.clock.now())
        await _concluded(short, task, outcome)
    assert (await team.lesson(lesson)).confidence == pytest.approx(2 / 3)


async def test_rule_and_its_opposite_name_each_other(team: Squad) -> None:
    old = await _lesson(team, [], "Ask for the file name before you write.")
    new = await _lesson(team, [], "Do not ask for the file name before you write.")
    rows = {row.id: row.contradicts for row in await team.lessons()}
    assert rows == {old: [new], new: [old]}


async def test_lessons_that_nobody_needs_go_and_can_come_back(team: Squad) -> None:
    lesson = await _lesson(team, [], confidence=0.4)
    clock = team.runtime.clock
    assert isinstance(clock, FakeClock)
    clock.advance(61 * 86_400)
    assert await learner.retain(team.runtime) == {"archived": 1}
    assert await desk.lessons(team.runtime) == []
    assert [row["id"] for row in await desk.lessons(team.runtime, every=True)] == [lesson]
    await desk.restore(team.runtime, team.ada, lesson, 1)
    assert len(await desk.lessons(team.runtime)) == 1


async def _lesson(
    team: Squad, labels: list[str], rule: str = "Check the totals twice before handing in.", confidence: float = 0.5,
    *, persona: str = "operations", task_type: str = "ops", evidence: str = "run_1",
) -> str:  # fmt: skip
    now = team.runtime.clock.now()
    await team.store.write(squad.ensure_project, "default", "UTC", now)
    found = lesson_book.Finding(
        kind="fix", rule=rule, task_type=task_type, persona=persona, confidence=confidence, evidence=[evidence]
    )  # fmt: skip
    made = await team.store.write(
        lesson_book.enter, "default", "run_1", labels, found, lesson_book.JUDGE, now
    )  # fmt: skip
    assert isinstance(made, str)
    return made


async def _found(
    team: Squad, labels: list[str], rule: str, evidence: list[str], *, task_type: str = "ops"
) -> None:  # fmt: skip
    """The Learner finds a known lesson again."""
    found = lesson_book.Finding(
        kind="fix", rule=rule, task_type=task_type, persona="operations", confidence=0.5, evidence=evidence
    )  # fmt: skip
    now = team.runtime.clock.now()
    assert await team.store.write(lesson_book.enter, "default", "run_9", labels, found, lesson_book.JUDGE, now) is None


async def _order(team: Squad) -> list[str]:
    """The lessons as a prompt of operations would show them."""
    rows = await team.store.read(lambda tx: tx.rows(lessons.FITTING, OF_OPERATIONS))
    return [row.id for row in best(rows, rehearsal=False, most=5)]


async def _used(team: Squad, lesson: str, task: str, outcome: Outcome) -> None:
    clock = team.runtime.clock
    assert isinstance(clock, FakeClock)
    clock.advance(1)
    await team.store.write(lesson_book.shown, [lesson], f"run_of_{task}", task, clock.now())
    await _concluded(team, task, outcome)


async def _concluded(team: Squad, task: str, outcome: Outcome) -> None:
    limits = lesson_book.thresholds(team.runtime.settings.lessons)
    await team.store.write(lesson_book.conclude, task, outcome, limits, team.runtime.clock.now())
