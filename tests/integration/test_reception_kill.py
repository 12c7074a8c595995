"""A process that is killed while it takes in and works requests loses none of them and does none twice."""

import asyncio
import os
import random
from pathlib import Path

from interlock import Interlock
from interlock.desk.chats.reception import Reception
from interlock.desk.identities import people
from interlock.desk.reading import listings
from interlock.store.auditing import audit
from interlock.store.messages import inbox
from tests import processes

ENVIRONMENT = {"PYTHONPATH": processes.SOURCES, "PATH": os.environ["PATH"]}
KILLS = 3
WHO = "slack:UANA"
WORK = """
import asyncio, itertools, os, sys
from pathlib import Path
from interlock import Interlock
from interlock.desk.chats.reception import Reception
from interlock.desk.chats.requests import Place, Request

async def main(folder, url, name):
    async with Interlock.open(cwd=Path(folder), env={}, database_url=url, model="rehearsal/offline") as box:
        reception = Reception(box.runtime)
        working = asyncio.create_task(reception.run())
        for number in itertools.count():
            key = f"{name}-{number:06}"
            asked = Request(key=f"slack:{key}", identity="slack:UANA", name="Ana", command="run", words=f"Goal {key}",
                            place=Place("slack", "C1", user="UANA"))
            assert await reception.accept(asked)
            assert not await reception.accept(asked)
            os.write(1, f"Goal {key}\\n".encode())

asyncio.run(main(*sys.argv[1:]))
"""


async def accepted(folder: Path, url: str, name: str, chance: random.Random) -> list[str]:
    """The goals that a process had accepted when it was killed at a random moment."""
    with processes.running(("-c", WORK, str(folder), url, name), folder=folder, environment=ENVIRONMENT) as process:
        assert process.stdout is not None
        async with asyncio.timeout(60):
            seen = [await process.line() for _ in range(chance.randrange(5, 60))]
            process.kill()
            rest = await asyncio.to_thread(process.stdout.read)
    return [line.strip() for line in ("".join(seen) + rest).splitlines(keepends=True) if line.endswith("\n")]


async def test_whatever_was_accepted_is_done_once_whenever_a_process_is_killed(
    tmp_path: Path, database_url: str
) -> None:
    chance, told = random.Random(3), list[str]()
    options = {"cwd": tmp_path, "env": {}, "database_url": database_url, "model": "rehearsal/offline"}
    async with Interlock.open(**options) as box:  # type: ignore[arg-type]
        await people.add(box.runtime, box.person, "Ana")
        await people.link(box.runtime, box.person, "Ana", WHO)
    for kill in range(KILLS):
        told += await accepted(tmp_path, database_url, f"kill{kill}", chance)
    async with Interlock.open(**options) as box:  # type: ignore[arg-type]
        working = asyncio.create_task(Reception(box.runtime).run())
        async with asyncio.timeout(120):
            while await box.runtime.store.read(inbox.head, WHO) is not None:
                await asyncio.sleep(0.01)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        started = [
            a.data["goal"] for a in await box.runtime.store.read(audit.activities, action="MISSION_STARTED", most=9_000)
        ]
        goals = [m["goal"] for m in await listings.missions(box.runtime, most=9_000)]
    assert len(told) > KILLS
    assert set(told) <= set(goals)
    assert sorted(started) == sorted(set(goals)) == sorted(goals)
