"""Evidence for DONE: checks are run for exactly what was handed in, and nothing goes around them."""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from interlock.agents.running.interruption import Interrupt, Interruption
from interlock.core.errors import Refused, UsageError
from interlock.core.ids import new_id
from interlock.core.values import SYSTEM, Actor, ActorKind, digest
from interlock.desk.context import Person
from interlock.desk.reading.details import task as details
from interlock.desk.signoff import evidence as desk
from interlock.graph.applying import Waits
from interlock.graph.coordinator import Coordinator
from interlock.oversight import checking
from interlock.oversight.check_evaluation import LONGEST_DETAIL
from interlock.settings import load_settings
from interlock.state_machine.table import TaskState
from interlock.store import blobs
from interlock.store.auditing import audit
from interlock.store.mailboxes import leases, mailbox
from interlock.store.mailboxes.mailbox import Claim
from interlock.store.signoff import approvals
from interlock.store.tx import Tx
from interlock.store.work import evidence, tasks
from interlock.store.work.tasks import TransitionRefused
from interlock.testing import ScriptedModel
from interlock.testing.runtime import runtime_over
from tests.contract.graph.driving import PERSONAS, Driver, driven, plan, step

WORK = plan(step("work", "research", "docs"))
HAS = {"kind": "contains", "text": "Sources"}


class Checked(Driver):
    """A mission whose checks are really run. `policy_checks` are what the policy demands."""

    home: Path
    policy_checks: Mapping[str, Any] = {}
    settings: Mapping[str, Any] = {}
    lacks: int = 0
    """What the worker that claims lacks."""

    async def claim(self) -> list[Claim]:
        """Claims what this worker can do."""
        return await self.store.write(mailbox.claim, "worker", 32, self.clock.now(), self.lacks)

    @property
    def coordinator(self) -> Coordinator:
        """One that knows what the policy demands."""
        return Coordinator(self.store, self.clock, PERSONAS, Waits(checks=self.policy_checks))

    @property
    def context(self) -> Any:
        """The open parts, over this database."""
        given = {"home": self.home / "home", "database_url": self.store.url, **self.settings}
        settings = load_settings(self.home, {}, given)
        return runtime_over(self.store, settings, ScriptedModel(), clock=self.clock)

    @property
    def ada(self) -> Person:
        """Who answers."""
        return Person(self.person, "Ada", "operator", "test")

    async def check(self, interrupt: Interrupt | None = None) -> None:
        """Runs the checks that wait to be run."""
        await checking.handle(self.context, self.held_for("check:"), interrupt or Interrupt())
        await self.settle()

    async def on_disk(self, path: str, data: bytes) -> None:
        """Puts a file into the project's workspace."""
        await self.store.write(blobs.write_file, "default", path, data, self.clock.now(), base_version=0, run_id=None)

    async def demand(self, *checks: dict[str, Any], key: str = "work") -> None:
        """A person sets checks of a task."""
        await desk.require(self.context, self.ada, await self.id_of(key), checks)
        await self.settle()

    async def waive(self, number: int, key: str = "work") -> None:
        """A person waives one."""
        await desk.waive(self.context, self.ada, await self.id_of(key), number, note="known to be broken")
        await self.settle()

    async def shown(self, key: str = "work") -> list[tuple[str, str]]:
        """Number, and state of each check, as people see them."""
        return [(c["name"], c["state"]) for c in (await details(self.context, await self.id_of(key)))["checks"]]


@pytest.fixture
async def mission(database_url: str, tmp_path: Path) -> AsyncIterator[Checked]:
    async with driven(database_url) as plain:
        checked = Checked(plain.store, person=plain.person)
        checked.home = tmp_path
        await checked.begin()
        await checked.think("plan", WORK)
        yield checked


@pytest.fixture
async def small(migrated_sqlite_url: str, tmp_path: Path) -> AsyncIterator[Checked]:
    """The same on one engine, for what does not depend on it."""
    async with driven(migrated_sqlite_url) as plain:
        checked = Checked(plain.store, person=plain.person)
        checked.home = tmp_path
        await checked.begin()
        await checked.think("plan", WORK)
        yield checked


async def force_done(mission: Checked, actor: Actor) -> None:
    """Tries to end the task through the store's door, with an approval record of exactly its deliverable."""
    row = await mission.task("work")
    approval = new_id("apr")
    request = {"deliverable": row.deliverable_id}

    def approved(tx: Tx) -> None:
        approvals.ask(
            tx, id=approval, kind="TASK_REVIEW", project_id="default", mission_id=row.mission_id, task_id=row.id,
            subject="s", request=request, risk="GREEN", asked_by="system:test", created_at=mission.clock.now(),
            status="approved",
        )  # fmt: skip

    await mission.store.write(approved)
    move = tasks.Move(
        task_id=row.id, to=TaskState.DONE, actor=actor, reason="surely", key=new_id("key"), approval_id=approval
    )  # fmt: skip
    await mission.store.write(tasks.advance, move, mission.clock.now())


async def test_task_without_checks_is_done_as_before_and_nothing_is_run(mission: Checked) -> None:
    await mission.deliver("work")
    assert (await mission.task("work")).status == "DONE"
    assert not [run for run in await mission.runs() if run.kind == "check"]


async def test_work_is_done_only_once_its_checks_have_passed_for_it(mission: Checked) -> None:
    await mission.demand(HAS)
    await mission.deliver("work", "text\n\n## Sources\n- a")
    assert (await mission.task("work")).status == "REVIEW"
    assert await mission.shown() == [("contains “Sources”", "not run")]
    await mission.check()
    row = await mission.task("work")
    assert row.status == "DONE"
    (result,) = await mission.store.read(evidence.results, row.id)
    handed: Any = await mission.store.read(tasks.deliverable, row.deliverable_id)
    assert (result.passed, result.sha256, result.deliverable_id) == (True, handed.sha256, handed.id)


@pytest.mark.parametrize("actor", [SYSTEM, Actor(ActorKind.HUMAN, "per_1")], ids=["the policy", "a person"])
async def test_door_refuses_done_without_evidence_whoever_asks(mission: Checked, actor: Actor) -> None:
    await mission.demand(HAS)
    await mission.deliver("work", "nothing of the kind")
    with pytest.raises(TransitionRefused, match="1 of its checks has not passed: contains “Sources”"):
        await force_done(mission, actor)
    await mission.check()
    assert (await mission.task("work")).status == "IN_PROGRESS"


async def test_results_of_another_version_do_not_count(mission: Checked) -> None:
    await mission.demand(HAS, {"kind": "verdict"})
    await mission.deliver("work", "## Sources")
    await mission.check()
    row = await mission.task("work")
    assert row.status == "NEEDS_APPROVAL"
    await mission.waive(2)
    assert (await mission.task("work")).status == "DONE"


async def test_deliverable_that_changed_after_its_checks_ran_is_checked_again(mission: Checked) -> None:
    await mission.demand(HAS)
    await mission.deliver("work", "## Sources")
    row = await mission.task("work")
    other = {
        "id": new_id("dlv"), "task_id": row.id, "run_id": None, "kind": "text", "title": "t", "text": "other",
        "sha256": digest("other"), "risk": "GREEN",
    }  # fmt: skip
    await mission.store.write(tasks.hand_in, other, mission.clock.now())
    await mission.check()
    assert (await mission.task("work")).status == "REVIEW"
    with pytest.raises(TransitionRefused, match="has not passed"):
        await force_done(mission, SYSTEM)
    await mission.check()
    assert (await mission.task("work")).status == "IN_PROGRESS"
    changed = {**other, "id": new_id("dlv"), "text": "## Sources!", "sha256": digest("## Sources!")}
    assert changed["id"] not in {r.deliverable_id for r in await mission.store.read(evidence.results, row.id)}


async def test_what_does_not_pass_goes_back_with_the_reason_and_after_three_cycles_a_person_is_asked(
    mission: Checked,
) -> None:
    await mission.demand(HAS)
    for cycle in range(1, 4):
        await mission.deliver("work", f"version {cycle}")
        await mission.check()
        row = await mission.task("work")
        assert (row.status, row.review_cycles) == ("IN_PROGRESS", cycle)
        assert "contains “Sources”: not passed" in row.feedback
    await mission.deliver("work", "version 4")
    await mission.check()
    assert ((await mission.task("work")).status, await mission.pending()) == ("NEEDS_APPROVAL", ["ESCALATION"])
    await mission.answer("ESCALATION", "approve")
    await mission.check()
    assert (await mission.task("work")).status == "NEEDS_APPROVAL"
    await mission.waive(1)
    assert (await mission.task("work")).status == "DONE"
    assert await mission.pending() == []
    noted = await mission.store.read(audit.activities, mission_id=mission.mission, action="CHECK_WAIVED")
    assert [(row.actor_id, row.data["note"]) for row in noted] == [(mission.person, "known to be broken")]
    assert await mission.shown() == [("contains “Sources”", "waived")]


async def test_no_agent_sets_changes_or_waives_a_check_and_a_waiver_needs_a_reason(small: Checked) -> None:
    task_id, now = await small.id_of("work"), small.clock.now()
    agent = Actor(ActorKind.AGENT, "agt", "coordinator")
    with pytest.raises(Refused, match="an agent cannot set"):
        await small.store.write(evidence.require, task_id, [HAS], agent, now)
    await small.demand(HAS)
    for actor in (agent, SYSTEM):
        with pytest.raises(Refused, match="only a person"):
            await small.store.write(evidence.waive, task_id, 1, "n", actor, now)
    with pytest.raises(UsageError, match="needs a reason"):
        await desk.waive(small.context, small.ada, task_id, 1, note=" ")
    with pytest.raises(UsageError, match="has no check 2"):
        await desk.waive(small.context, small.ada, task_id, 2, note="n")
    viewer = Person("per_v", "Vic", "viewer", "test")
    with pytest.raises(Refused, match="may not waive checks"):
        await desk.waive(small.context, viewer, task_id, 1, note="n")


async def test_checks_of_a_plan_come_from_the_policy_and_never_from_the_model(
    database_url: str, tmp_path: Path
) -> None:
    async with driven(database_url) as plain:
        mission = Checked(plain.store, person=plain.person)
        mission.home, mission.policy_checks = tmp_path, {"docs": [HAS]}
        await mission.begin()
        evil = {"kind": "command", "argv": ["touch", "x"]}
        await mission.think("plan", plan(step("work", "research", "docs", checks=[evil]), step("b", "coder", "ops")))
        assert [c["name"] for c in (await details(mission.context, await mission.id_of("work")))["checks"]] == [
            "contains “Sources”"
        ]
        assert (await mission.task("b")).checks is None


async def test_verdict_must_be_a_reviewers_of_exactly_this_version(database_url: str, tmp_path: Path) -> None:
    async with driven(database_url) as plain:
        mission = Checked(plain.store, person=plain.person)
        mission.home = tmp_path
        await mission.begin()
        await mission.think(
            "plan",
            plan(step("work", "research", "docs"), step("look", "qa", "other", depends_on=["work"], reviews="work")),
        )
        await mission.demand(HAS, {"kind": "verdict"})
        await mission.deliver("work", "## Sources")
        assert (await mission.task("look")).status == "INBOX"
        await mission.check()
        await mission.deliver("look", "a figure is wrong", verdict="changes")
        assert (await mission.task("work")).status == "IN_PROGRESS"
        await mission.deliver("work", "## Sources, mended")
        assert (await mission.task("look")).status == "REVIEW"
        await mission.check()
        await mission.deliver("look", "fine", verdict="pass")
        assert (await mission.statuses())["work"] == "DONE"


COMMANDS: list[tuple[str, list[str], bool, str]] = [
    ("succeeds", [sys.executable, "-c", "open('report.csv').read()"], True, "ended with 0"),
    ("fails", [sys.executable, "-c", "import sys; print('3 tests failed'); sys.exit(2)"], False, "3 tests failed"),
    ("is not there", ["no-such-program-here"], False, "cannot be started"),
    ("reads what was handed in", [sys.executable, "-c", "import sys; assert 'hello' in sys.stdin.read()"], True, ""),
    ("has no shell", ["echo", "$(touch evil)", ";", "false"], True, ""),
    ("writes too much", [sys.executable, "-c", "open('x','wb').truncate(300 * 2**20)"], False, ""),
]  # fmt: skip


async def test_commands_run_in_a_copy_of_the_workspace_within_bounds(small: Checked) -> None:
    await small.on_disk("report.csv", b"a,b\n1,2\n")
    await small.demand(*({"kind": "command", "argv": argv} for _, argv, _, _ in COMMANDS))
    await small.deliver("work", "hello")
    await small.check()
    print([(r.kind, r.status, r.error) for r in await small.runs()])
    rows = await small.store.read(evidence.results, await small.id_of("work"))
    for (name, _, passed, told), row in zip(COMMANDS, rows, strict=True):
        assert (name, row.passed) == (name, passed)
        assert told in row.detail
    files = await small.store.read(blobs.manifest, "default")
    assert [file.path for file in files] == ["report.csv"]
    assert not list((small.home / "home" / "workspaces").rglob("report.csv"))


STEAL = "import pathlib, sys; print(pathlib.Path(sys.argv[1]).read_bytes().hex())"


async def test_command_reads_neither_the_database_nor_what_its_links_lead_to(small: Checked) -> None:
    database = small.store.url.removeprefix("sqlite:///")
    link = f"import os; os.symlink({database!r}, 'link'); print(open('link', 'rb').read())"
    await small.demand(
        {"kind": "command", "argv": [sys.executable, "-c", STEAL, database]},
        {"kind": "command", "argv": [sys.executable, "-c", link]},
    )
    await small.deliver("work", "hello")
    await small.check()
    for row in await small.store.read(evidence.results, await small.id_of("work")):
        assert (row.passed, "No such file or directory" in row.detail) == (False, True)
    assert await asyncio.to_thread(Path(database).is_file)


async def test_delivered_file_is_found_by_its_name(small: Checked) -> None:
    find = "import os, sys; sys.exit(open(os.environ['INTERLOCK_DELIVERABLE']).read() != sys.stdin.read())"
    await small.demand({"kind": "command", "argv": [sys.executable, "-c", find]})
    await small.on_disk("out/report.csv", b"a,b")
    await small.deliver("work", "a,b", path="out/report.csv")
    await small.check()
    (row,) = await small.store.read(evidence.results, await small.id_of("work"))
    assert (row.passed, row.detail) == (True, "it ended with 0")


def without_programs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has no program found, bubblewrap neither."""
    empty = folder / "empty"
    empty.mkdir()
    monkeypatch.setenv("PATH", str(empty))


async def test_without_a_sandbox_no_command_is_run_and_a_person_is_told_what_to_do(
    mission: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_programs(mission.home, monkeypatch)
    spoilt = mission.home / "spoilt"
    await mission.demand({"kind": "command", "argv": [sys.executable, "-c", f"open({str(spoilt)!r}, 'w')"]}, HAS)
    await mission.deliver("work", "## Sources")
    for _ in range(3):
        await mission.check()
    assert not await asyncio.to_thread(spoilt.exists)
    assert await mission.store.read(evidence.results, await mission.id_of("work")) == []
    (asked,) = [each for each in await mission.store.read(approvals.approvals) if each.kind == "ESCALATION"]
    assert asked.request["question"].startswith(
        "its checks could not be run: there is no sandbox on this machine: install bubblewrap (Debian: `apt install "
        "bubblewrap`); or let commands of checks run without one: `sandbox.checks: off`. Are they to be run again?"
    )
    mission.settings = {"sandbox": {"checks": "off"}}
    await mission.answer("ESCALATION", "approve")
    await mission.check()
    assert await asyncio.to_thread(spoilt.exists), "without a sandbox it writes where it likes"
    assert (await mission.task("work")).status == "DONE"


async def test_checks_without_commands_need_no_sandbox(small: Checked, monkeypatch: pytest.MonkeyPatch) -> None:
    without_programs(small.home, monkeypatch)
    await small.demand({"kind": "contains", "regex": "^## "})
    await small.deliver("work", "## Sources")
    await small.check()
    assert (await small.task("work")).status == "DONE"


async def test_commands_go_to_a_worker_with_a_sandbox_while_there_is_one(mission: Checked) -> None:
    now = mission.clock.now()
    mission.lacks = await mission.store.write(leases.register, "plain", "here", 1, "1", now)
    await mission.store.write(leases.register, "able", "here", 2, "2", now, able=["sandbox"])
    await mission.demand(HAS)
    await mission.deliver("work", "nothing")
    await mission.check()
    await mission.demand({"kind": "command", "argv": ["true"]})
    await mission.deliver("work", "## Sources")
    assert not [key for key in mission.held if "check:" in key], "it is left to the other"
    mission.lacks = 0
    await mission.settle()
    await mission.check()
    assert (await mission.task("work")).status == "DONE"


async def test_secret_is_masked_before_the_output_of_a_command_is_shortened(small: Checked) -> None:
    key = "Tr0ub4dor-and-3-horses"
    small.settings = {"providers": {"anthropic": {"api_key": key}}}
    speak = f"import sys; print({key!r} + '.' * ({LONGEST_DETAIL} - 8)); sys.exit(1)"
    await small.demand({"kind": "command", "argv": [sys.executable, "-c", speak]})
    await small.deliver("work", "hello")
    await small.check()
    (row,) = await small.store.read(evidence.results, await small.id_of("work"))
    assert "....." in row.detail
    assert "horses" not in row.detail


async def test_command_gets_no_variables_of_the_worker_and_is_ended_after_its_time(
    small: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "value-of-the-worker")
    look = [sys.executable, "-c", "import os, sys; sys.exit(int('ANTHROPIC_API_KEY' in os.environ))"]
    await small.demand({"kind": "command", "argv": look}, {"kind": "command", "argv": ["sleep", "60"], "timeout_s": 1})
    await small.deliver("work")
    await small.check()
    first, second = await small.store.read(evidence.results, await small.id_of("work"))
    assert (first.passed, second.passed) == (True, False)
    assert "did not end within 1 s" in second.detail


async def test_files_schemas_and_patterns(small: Checked) -> None:
    await small.on_disk("data.json", b'{"price": "12"}')
    await small.on_disk("empty.txt", b"")
    price = {"type": "object", "properties": {"price": {"type": "number"}}, "required": ["price"]}
    wanted: list[tuple[dict[str, Any], bool, str]] = [
        ({"kind": "file_exists", "path": "data.json"}, True, "15 bytes"),
        ({"kind": "file_exists", "path": "empty.txt"}, False, "is empty"),
        ({"kind": "file_exists", "path": "nowhere.txt"}, False, "there is no file"),
        ({"kind": "json_schema", "schema": price}, True, ""),
        ({"kind": "json_schema", "schema": price, "path": "data.json"}, False, "is not of type 'number'"),
        ({"kind": "json_schema", "schema": {"$ref": "http://127.0.0.1:9/x"}}, False, "could not be judged"),
        ({"kind": "json_schema", "schema": {"type": "nonsense"}}, False, "could not be judged"),
        ({"kind": "contains", "regex": r'"price": \d+'}, True, ""),
        ({"kind": "contains", "regex": "^nothing$"}, False, "nothing in it matches"),
        ({"kind": "contains", "text": "12", "path": "data.json"}, True, ""),
    ]
    await small.demand(*(check for check, _, _ in wanted))
    await small.deliver("work", '{"price": 12}')
    await small.check()
    rows = await small.store.read(evidence.results, await small.id_of("work"))
    for (check, passed, told), row in zip(wanted, rows, strict=True):
        assert (check, row.passed, told in row.detail) == (check, passed, True), row.detail


async def test_run_that_is_cut_off_leaves_no_result_and_is_made_again(small: Checked) -> None:
    copies = small.home / "home" / "workspaces"
    slow = [sys.executable, "-c", "open('started', 'w').close(); import time; time.sleep(60)"]
    await small.demand({"kind": "command", "argv": slow, "timeout_s": 600})
    await small.deliver("work")
    interrupt, claim = Interrupt(), small.held_for("check:")
    job = asyncio.create_task(checking.handle(small.context, claim, interrupt))
    while not await asyncio.to_thread(lambda: list(copies.rglob("started"))):
        await asyncio.sleep(0.005)
    interrupt.reason = Interruption.SHUTDOWN
    job.cancel()
    await job
    assert await small.store.read(evidence.results, await small.id_of("work")) == []
    await small.settle()
    again = small.held_for("check:")
    assert again.run.id == claim.run.id


async def test_dead_worker_between_check_and_done_changes_nothing(mission: Checked) -> None:
    await mission.demand(HAS)
    await mission.deliver("work", "## Sources")
    dead = mission.held_for("check:")
    await mission.store.write(leases.take_back, "worker", mission.clock.now())
    await mission.settle()
    await checking.handle(mission.context, dead, Interrupt())
    assert await mission.store.read(evidence.results, await mission.id_of("work")) == []
    await mission.check()
    assert len(await mission.store.read(evidence.results, await mission.id_of("work"))) == 1
    assert (await mission.task("work")).status == "DONE"


async def test_runs_that_come_to_nothing_are_made_again_and_then_a_person_is_asked(mission: Checked) -> None:
    await mission.demand(HAS)
    await mission.deliver("work", "## Sources")
    for _ in range(3):
        claim = mission.held_for("check:")
        await mission.store.write(_broken, claim, mission.clock.now())
        await mission.settle()
    assert await mission.pending() == ["ESCALATION"]
    await mission.answer("ESCALATION", "approve")
    await mission.check()
    assert (await mission.task("work")).status == "DONE"


async def test_check_that_is_added_while_a_person_signs_off_is_run_first(database_url: str, tmp_path: Path) -> None:
    async with driven(database_url) as plain:
        mission = Checked(plain.store, person=plain.person)
        mission.home = tmp_path
        await mission.begin()
        await mission.think("plan", plan(step("work", "compliance", "docs")))
        await mission.deliver("work", "## Sources")
        assert await mission.pending() == ["TASK_REVIEW"]
        await mission.demand(HAS)
        assert (await mission.pending(), (await mission.task("work")).status) == ([], "REVIEW")
        await mission.check()
        (asked,) = await mission.store.read(approvals.approvals)
        assert asked.request["checks"] == "passed: contains “Sources”"
        await mission.answer("TASK_REVIEW", "approve")
        assert (await mission.task("work")).status == "DONE"


async def test_mission_is_held_to_its_own_checks_and_compiled_again(small: Checked) -> None:
    await small.demand(HAS, key="root")
    await small.deliver("work")
    await small.think("compile", "# The whole")
    await small.check()
    root = await small.task("root")
    assert (root.status, root.review_cycles) == ("IN_PROGRESS", 1)
    asked = small.held_for(":compile:")
    assert "contains “Sources”" in asked.run.payload["prompt"]
    small.held[asked.run.idempotency_key] = asked
    await small.think("compile", "# The whole\n\n## Sources\n- a")
    await small.check()
    assert (await small.statuses())["root"] == "DONE"


async def test_compiled_text_that_fails_the_gate_is_not_handed_in(small: Checked) -> None:
    await small.deliver("work", "the facts")
    await small.think("compile", "```\ncut off")
    asked = small.held_for(":compile:")
    assert "it was cut off" in asked.run.payload["prompt"]
    small.held[asked.run.idempotency_key] = asked
    await small.think("compile", "TODO")
    assert (await small.statuses())["root"] == "DONE"
    assert "the facts" in (await small.deliverable()).text


def _broken(tx: Any, claim: Claim, now: Any) -> None:
    from interlock.store.work import missions

    mailbox.finish(tx, claim, "failed", "dead_letter", now, result=None, error="its worker died")
    news = {"run_id": claim.run.id, "kind": "check", "status": "failed"}
    missions.notify(tx, claim.run.mission_id, "run_ended", news, now)
