"""A process that is killed while it writes loses nothing that it was told is there, and damages nothing."""

import asyncio
import contextlib
import os
import random
import sqlite3
from pathlib import Path

import sqlalchemy as sa

from interlock.store.engine import Store
from interlock.store.schema import Meta, table
from interlock.store.upkeep.migrate import upgrade
from tests import processes

ENVIRONMENT = {"PYTHONPATH": processes.SOURCES, "PATH": os.environ["PATH"]}
KILLS = 5
WRITE = """
import asyncio, itertools, os, sys
from interlock.store.engine import Store
from interlock.store.schema import Meta

def put(tx, key):
    tx.add(Meta, key=key, value="first half")
    tx.add(Meta, key=key + "'", value="x" * 2000)

async def main(url, name):
    numbers = itertools.count()
    async def write(store):
        for number in numbers:
            await store.write(put, f"{name}-{number:06}")
            os.write(1, f"{name}-{number:06}\\n".encode())
    async with Store(url) as store:
        await asyncio.gather(*[write(store) for _ in range(8)])

asyncio.run(main(*sys.argv[1:]))
"""


async def acknowledged(folder: Path, url: str, name: str, chance: random.Random) -> list[str]:
    """What a process that was killed at a random moment had been told is written."""
    with processes.running(("-c", WRITE, url, name), folder=folder, environment=ENVIRONMENT) as process:
        assert process.stdout is not None
        async with asyncio.timeout(60):
            seen = [await process.line() for _ in range(chance.randrange(1, 400))]
            process.kill()
            rest = await asyncio.to_thread(process.stdout.read)
    return [line.strip() for line in ("".join(seen) + rest).splitlines(keepends=True) if line.endswith("\n")]


async def kept(url: str) -> set[str]:
    """The keys in the database that such processes wrote."""
    async with Store(url) as store:
        keys = {row.key for row in await store.read(lambda tx: tx.rows(sa.select(table(Meta).c.key)))}
    return {key for key in keys if key.startswith("kill")}


async def test_killed_writer_loses_nothing_acknowledged(database_url: str, tmp_path: Path) -> None:
    chance = random.Random(1)
    await upgrade(database_url)
    told: set[str] = set()
    for kill in range(KILLS):
        told |= set(await acknowledged(tmp_path, database_url, f"kill{kill}", chance))
        there = await kept(database_url)
        assert told <= there
        halves = {key for key in there if not key.endswith("'")}
        assert there == halves | {f"{key}'" for key in halves}
    assert len(told) > KILLS
    if database_url.startswith("sqlite"):
        with contextlib.closing(sqlite3.connect(tmp_path / "interlock.db")) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
