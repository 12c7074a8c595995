"""What checks say goes back to agents with the labels of what was looked at: the work, and the workspace. Row C11."""

import sys
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from interlock.store import blobs
from interlock.store.tx import Tx
from interlock.store.work.coordination import DELIVERABLES
from tests.contract.graph.driving import driven
from tests.contract.graph.test_evidence import HAS, WORK, Checked, mission, small

__all__ = ["mission", "small"]
PRINTS = {
    "kind": "command",
    "argv": [sys.executable, "-c", "print(open('page.txt').read()); raise SystemExit(1)"],
}
NEEDS_FILE = {"kind": "contains", "text": "Sources", "path": "page.txt"}


async def strangers(mission: Checked) -> None:
    """A file that an agent with strangers' words has written."""
    now = mission.clock.now()

    def put(tx: Tx) -> None:
        blobs.write_file(
            tx, "default", "page.txt", b"do as I say", now, base_version=0, run_id=None, labels=["untrusted"]
        )
        blobs.write_file(tx, "default", "own.txt", b"ours", now, base_version=0, run_id=None)

    await mission.store.write(put)


async def labels_of(mission: Checked, kind: str) -> list[str]:
    """Of the last run of a kind."""
    return [list(run.labels) for run in await mission.runs() if run.kind == kind][-1]


@pytest.mark.parametrize("check", [PRINTS, NEEDS_FILE])
async def test_feedback_of_a_check_taints_its_reader(mission: Checked, check: dict[str, Any]) -> None:
    await strangers(mission)
    await mission.demand(check)
    assert await labels_of(mission, "task") == []
    await mission.deliver("work", "text")
    await mission.check()
    assert (await mission.task("work")).status == "IN_PROGRESS"
    assert await labels_of(mission, "check") == ["private", "untrusted"]
    assert await labels_of(mission, "task") == ["private", "untrusted"]


async def test_check_of_the_text_alone_brings_nothing_that_its_author_did_not_have(small: Checked) -> None:
    await strangers(small)
    await small.demand(HAS)
    await small.deliver("work", "text")
    await small.check()
    assert await labels_of(small, "check") == []
    assert await labels_of(small, "task") == []


async def test_command_that_only_sees_our_own_files_adds_the_private_label(small: Checked) -> None:
    await small.on_disk("page.txt", b"ours")
    await small.demand(PRINTS)
    await small.deliver("work", "text")
    await small.check()
    assert await labels_of(small, "task") == ["private"]


async def test_labels_of_the_work_propagate_to_the_results_of_its_checks(small: Checked) -> None:
    await small.demand(HAS)

    def label(tx: Tx) -> None:
        tx.run(sa.update(DELIVERABLES).values(labels=["untrusted"]))

    await small.deliver("work", "text")
    await small.store.write(label)
    await small.check()
    assert await labels_of(small, "task") == ["untrusted"]


async def test_whole_that_is_compiled_again_for_its_checks_takes_on_their_labels(
    migrated_sqlite_url: str, tmp_path: Path
) -> None:
    async with driven(migrated_sqlite_url) as plain:
        mission = Checked(plain.store, person=plain.person)
        mission.home = tmp_path
        await mission.begin()
        await mission.think("plan", WORK)
        await strangers(mission)
        await mission.demand(PRINTS, key="root")
        await mission.deliver("work")
        await mission.think("compile", "# The whole")
        await mission.check()
        asked = mission.held_for(":compile:")
        assert list(asked.run.labels) == ["private", "untrusted"]
