"""The release before and this version work on one PostgreSQL database at once, and the older one goes on alone."""

import asyncio
import os
import sys
import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import sqlalchemy as sa

from interlock.app.box import Interlock
from interlock.core.errors import InterlockError
from interlock.core.ids import new_id
from interlock.desk.signoff import signing
from interlock.store.engine import Store
from interlock.store.runs import traces
from interlock.store.schema import Approval, Run, Worker, table
from interlock.store.signoff import approvals, votes
from interlock.store.tx import Tx
from interlock.store.upkeep import migrate
from tests.migration import release_before
from tests.migration.released import RELEASES, SOURCES

_WORKERS = sa.select(table(Worker).c.id, table(Worker).c.version)
_BY = sa.select(table(Run).c.worker_id).where(
    table(Run).c.mission_id == sa.bindparam("mission"), table(Run).c.status == "completed"
)
_SET = (
    sa.update(table(Approval))
    .where(table(Approval).c.id == sa.bindparam("approval"))
    .values(status=sa.bindparam("status_"))
)
LOOK_S = 0.05


class Before:
    """A process of the release before."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def __call__(self, *words: str) -> str:
        """Tells it something; returns what it says."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{' '.join(words)}\n".encode())
        return await self.said()

    async def said(self) -> str:
        """The next line of it."""
        assert self._process.stdout is not None
        return (await self._process.stdout.readline()).decode().strip()


@asynccontextmanager
async def release(url: str, folder: Path) -> AsyncIterator[Before]:
    """The release before, at work."""
    with tarfile.open(SOURCES) as sources:
        sources.extractall(folder, filter="data")
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        sys.executable, release_before.__file__, url, str(folder),
        env={**kept, "PYTHONPATH": str(folder / "src")}, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        before = Before(process)
        assert await before.said() == f"ready {folder / 'src' / 'interlock'}"
        yield before
        process.stdin.close()  # type: ignore[union-attr]
        assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def workers_of(tx: Tx, *missions: str) -> set[str]:
    """Who executed the runs of missions."""
    return {row.worker_id for mission in missions for row in tx.rows(_BY, {"mission": mission})}


async def test_release_before_works_beside_this_version_while_it_migrates_and_after(
    postgres_url: str, tmp_path: Path
) -> None:
    async with release(postgres_url, tmp_path / "before") as before:
        assert migrate.revision(postgres_url) == RELEASES[-1]
        first = await before("submit")
        assert await migrate.upgrade(postgres_url) == RELEASES[-1]
        assert migrate.revision(postgres_url) == migrate.HEAD
        async with Interlock.open(
            cwd=tmp_path, env={}, home=tmp_path, database_url=postgres_url, model="rehearsal/offline"
        ) as box:
            await box.start()
            second = await box.submit(release_before.GOAL)
            assert await before("end", first) == "DONE"
            assert await release_before.end(box, second, signing.approve) == "DONE"
            versions = {row.id: row.version for row in await box.runtime.store.read(lambda tx: tx.rows(_WORKERS))}
            assert len(versions) == 2
            missions = [first, second]
            while await box.runtime.store.read(workers_of, *missions) != set(versions):
                missions += [await before("submit"), await box.submit(release_before.GOAL)]
                assert [await before("end", each) for each in missions[-2:]] == ["DONE", "DONE"]
        third = await before("submit")
        assert await before("end", third) == "DONE"
        await consult(before, postgres_url)


async def consult(before: Before, url: str) -> None:
    """A question about which models are asked first is no question for the release before, until it is for people."""
    mission = await before("submit")
    async with Store(url) as store:
        changed = store.listener()
        while not (asked := await store.read(asked_and_set_aside, mission)):
            await changed.wait(LOOK_S)
        (ident,) = asked
        await store.write(consult_again, ident, datetime.now(UTC))
        assert ident not in await before("asked")
        assert (await before("sign", ident)).startswith("refused: ")
        assert await store.read(approvals.approvals, status="consulting")
        await store.write(set_status, ident, "pending")
        assert await before("asked") == ident
    assert await before("end", mission) == "DONE"


def asked_and_set_aside(tx: Tx, mission: str) -> list[str]:
    """Questions of a mission whose runs wait for nothing but the answer."""
    found = approvals.approvals(tx, mission_id=mission)
    return [each.id for each in found if (run := traces.run(tx, each.run_id)) and run.status == "waiting"]


def consult_again(tx: Tx, ident: str, now: datetime) -> None:
    """Has models asked about a question anew; one has said yes: a question without votes goes to people at once."""
    about = votes.of_approval(ident)
    votes.ask(tx, about, 1, "rehearsal/offline", new_id("run"), now)
    (vote,) = votes.about(tx, about)
    votes.give(tx, vote.id, "yes", "a look-up", 0, now)
    set_status(tx, ident, "consulting")


def set_status(tx: Tx, ident: str, status: str) -> None:
    """Of a question, whatever it was."""
    tx.must(_SET, {"approval": ident, "status_": status}, 1, InterlockError(f"no question `{ident}`"))
