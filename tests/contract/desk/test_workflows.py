"""Starting missions by a workflow: the shipped ones to their end, a user's own as it was when the mission began."""

import re
from pathlib import Path
from typing import Any

import pytest

from interlock import Interlock
from interlock.core.errors import NotFound, UsageError
from interlock.desk.reading.progress import Standing
from interlock.store.schema import Run, table
from interlock.store.work import missions, tasks

RUNS = table(Run)
MINE = """\
schema_version: 1
name: mine
title: My own
inputs:
  tone: {}
steps:
  - name: text
    persona: storyteller
    task: "Write {{goal}}, {{inputs.tone}}"
    expected: a text
    timeout: 2m
    checks: [{kind: contains, regex: "."}]
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    folder = tmp_path / "workflows"
    folder.mkdir()
    (folder / "mine.yaml").write_text(MINE, encoding="utf-8")
    return folder


async def steps_of(box: Interlock, mission_id: str) -> dict[str, Any]:
    """The tasks of a mission by their key, without its root."""
    rows = await box.runtime.store.read(tasks.of_mission, mission_id)
    return {row.key: row for row in rows if row.parent_id is not None}


async def test_each_shipped_workflow_is_rehearsed_to_a_compiled_deliverable(box: Interlock) -> None:
    goals = {
        "feature": "Add dark mode to the page",
        "research-report": "Which of the three vendors should we take?",
        "incident": "Payments fail since nine, using workflow incident",
    }
    started = {
        name: await box.submit(goal, workflow=None if "workflow" in goal else name) for name, goal in goals.items()
    }
    await box.start()
    for name, mission_id in started.items():
        found = await box.settled(mission_id)
        result = await box.result(found)
        assert (found.standing, name in started) == (Standing.DONE, True), (name, result.reason)
        assert result.deliverable
        assert {row.status for row in (await steps_of(box, mission_id)).values()} == {"DONE"}
    query = RUNS.select().where(RUNS.c.mission_id == started["incident"], RUNS.c.kind.in_(("task", "think")))
    runs = await box.runtime.store.read(lambda tx: tx.rows(query))
    assert [run.payload["purpose"] for run in runs if run.kind == "think"] == ["compile"]
    timed = next(run for run in runs if run.payload.get("timeout_s") == 900)
    assert (timed.deadline_at - timed.started_at).total_seconds() == pytest.approx(900, abs=30)


async def test_an_edit_of_the_file_never_changes_a_mission_that_has_begun(
    tmp_path: Path, database_url: str, mine: Path
) -> None:
    opened = Interlock.open(
        cwd=tmp_path, env={}, database_url=database_url, model="rehearsal/offline", workflows=[str(mine)]
    )
    async with opened as box:
        mission_id = await box.submit("the cellar", workflow="mine", inputs={"tone": "dry"})
        (mine / "mine.yaml").write_text(MINE.replace("Write {{goal}}", "Sing {{goal}}"), encoding="utf-8")
        row = await box.runtime.store.read(missions.mission, mission_id)
        assert row is not None
        assert (row.workflow["name"], row.workflow["inputs"]) == ("mine", {"tone": "dry"})
        (mine / "mine.yaml").unlink()
        await box.start()
        assert (await box.settled(mission_id)).standing is Standing.DONE
        (text,) = (await steps_of(box, mission_id)).values()
        assert text.description == "Write the cellar, dry"
        assert text.checks == [{"kind": "contains", "regex": ".", "by": "workflow:mine"}]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"workflow": "featur"}, "no workflow `featur`: did you mean `feature`?"),
        ({"workflow": "../../etc/passwd"}, "no workflow `../../etc/passwd`: there are feature"),
        ({"inputs": {"tone": "x"}}, "inputs are for a workflow, and none is named"),
        ({"workflow": "feature", "inputs": {"tone": "x"}}, "no input `tone` in the workflow `feature`"),
    ],
)
async def test_a_workflow_that_cannot_be_is_refused_before_anything_is_written(
    tmp_path: Path, sqlite_url: str, options: dict[str, Any], says: str
) -> None:
    async with Interlock.open(cwd=tmp_path, env={}, database_url=sqlite_url, model="rehearsal/offline") as box:
        with pytest.raises((NotFound, UsageError), match=re.escape(says)):
            await box.submit("the cellar", **options)


async def test_a_workflow_with_faults_says_where_and_one_in_a_workspace_is_none(
    tmp_path: Path, sqlite_url: str, mine: Path
) -> None:
    opened = Interlock.open(
        cwd=tmp_path, env={}, database_url=sqlite_url, model="rehearsal/offline", workflows=[str(mine)]
    )
    async with opened as box:
        with pytest.raises(UsageError, match=r"needs --input tone=…"):
            await box.submit("the cellar, using workflow mine")
        (mine / "mine.yaml").write_text(MINE.replace("storyteller", "storyteler"), encoding="utf-8")
        with pytest.raises(UsageError, match=r"`mine` has faults: .*mine.yaml:8: .*did you mean `storyteller`"):
            await box.submit("the cellar", workflow="mine")
        written = box.runtime.settings.home / "workspaces" / "default" / "mine.yaml"
        written.parent.mkdir(parents=True)
        written.write_text(MINE, encoding="utf-8")
        (mine / "mine.yaml").unlink()
        (mine / "mine.yaml").symlink_to(written)
        with pytest.raises(UsageError, match="is in a workspace, where agents write"):
            await box.submit("the cellar", workflow="mine", inputs={"tone": "x"})
