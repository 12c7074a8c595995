"""Databases of every released revision come to this version with all their rows, and their missions go on."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from interlock.app.box import Interlock
from interlock.desk.reading.progress import Standing
from interlock.desk.signoff import signing
from interlock.store.mailboxes import processes
from interlock.store.runs import traces
from interlock.store.schema import Run, Task, table
from interlock.store.tx import Tx
from interlock.store.upkeep import migrate
from interlock.testing import FakeClock
from tests.contract.store.furniture import unsettled
from tests.contract.store.test_migrate import execute
from tests.migration.released import FOLDER, RELEASED, RELEASES, archive_of, build, rows_of

VERSIONS = Path(migrate.__file__).parents[1] / "migrations" / "versions"


def test_released_revisions_are_as_they_were_released() -> None:
    found = {path.stem[1:5]: hashlib.sha256(path.read_bytes()).hexdigest() for path in VERSIONS.glob("r0*.py")}
    assert tuple(sorted(found)) == migrate.KNOWN
    assert {revision: found[revision] for revision in RELEASED} == RELEASED
    assert {path.stem for path in FOLDER.glob("*.rows")} == set(RELEASES)


@pytest.mark.parametrize("revision", RELEASES)
async def test_every_row_of_a_released_revision_is_kept(database_url: str, revision: str) -> None:
    build(database_url, revision)
    assert await migrate.upgrade(database_url) == revision
    with archive_of(revision) as archive:
        for part in archive.manifest.parts:
            before = sorted(repr(row) for row in archive.rows(part))
            after = rows_of(database_url, part.table, dict(part.columns))
            if part.table == "meta":
                assert set(before) <= set(after)
            else:
                assert after == before, part.table


_TASKS, _RUNS = table(Task), table(Run)
_ROOTS = sa.select(_TASKS.c.id, _TASKS.c.status).where(_TASKS.c.parent_id.is_(None)).order_by(_TASKS.c.id)
_COST = sa.select(_RUNS.c.cost_microusd).where(_RUNS.c.id == sa.bindparam("run"))


def _missions(tx: Tx) -> list[Any]:
    return tx.rows(_ROOTS)


@asynccontextmanager
async def box_over(url: str, home: Path, revision: str) -> AsyncIterator[Interlock]:
    """Today's code over it, a minute after its rows were written."""
    with archive_of(revision) as archive:
        clock = FakeClock(archive.manifest.taken_at + timedelta(minutes=1))
    async with Interlock.open(
        cwd=home, env={}, home=home, database_url=url, model="rehearsal/offline", clock=clock
    ) as box:  # fmt: skip
        yield box


async def signed_to_the_end(box: Interlock, mission_id: str) -> str:
    """Approves whatever is asked until the mission has ended; returns how."""
    async for found in box.follow(mission_id):
        if found.standing is not Standing.MOVING and found.standing is not Standing.WAITING:
            return found.status
        for ident in found.approvals:
            await signing.approve(box.runtime, box.person, ident)
    raise AssertionError("following ends only when one leaves")


@pytest.mark.parametrize("revision", RELEASES)
async def test_missions_of_a_released_revision_go_on(database_url: str, tmp_path: Path, revision: str) -> None:
    build(database_url, revision)
    execute(database_url, f"UPDATE workers SET host = '{processes.host()}', pid = 4000000 WHERE state = 'running'")
    async with box_over(database_url, tmp_path, revision) as box:
        store = box.runtime.store
        of_the_dead = await store.read(traces.runs, status="running")
        unfinished = [row.id for row in await store.read(_missions) if row.status not in ("DONE", "CANCELED")]
        assert len(unfinished) == 3
        (of_dead,) = [row for row in of_the_dead if row.mission_id in unfinished]
        assert len(await store.read(unsettled, of_dead.id)) == 1
        assert await box.start()
        for mission_id in unfinished:
            assert await signed_to_the_end(box, mission_id) == "DONE"
            assert (await box.result(await box.settled(mission_id))).deliverable
        assert await store.read(unsettled, of_dead.id) == []
        assert (await store.read(lambda tx: tx.one(_COST, {"run": of_dead.id}))) == (70_000,)
        said = await box.chat("research", "And which of them is the fastest?")
        assert said.response
