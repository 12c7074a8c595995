"""The same mission killed at every single point in turn, one mission for each: `make chaos`, or in parts.

`make test` runs the sample in `test_kills`.
"""

import asyncio
import sys
import traceback
from collections import Counter
from pathlib import Path

import pytest

from tests.chaos.conftest import Databases
from tests.chaos.siege import Siege

AT_ONCE = 3
PARTS = 6
"""So that a part can be run by itself: `make chaos ARGS="-k 'every_point and 3of6'"`."""
WHEN = ("before", "after")


@pytest.mark.parametrize("part", range(PARTS), ids=lambda part: f"{part + 1}of{PARTS}")
async def test_mission_survives_the_death_of_its_process_at_every_point(
    databases: Databases, tmp_path: Path, part: int
) -> None:
    calm = await Siege(tmp_path / "calm", databases()).endure()
    sieges = [
        Siege(tmp_path / f"commit-{number}-{when}", databases(), [{"when": when, "number": number}])
        for number in range(1, calm.unit_count + 1)
        for when in WHEN
    ]
    sieges += [
        Siege(tmp_path / f"{server}-{number}-{when}", databases(), [], [(server, number, when)])
        for server, count in calm.request_counts.items()
        for number in range(1, count + 1)
        for when in WHEN
    ]
    points = len(sieges)
    sieges = sieges[part::PARTS]
    room = asyncio.Semaphore(AT_ONCE)

    failed: list[str] = []

    async def endure(siege: Siege) -> None:
        """One after the other fails for itself, so that all that do are told."""
        async with room:
            try:
                await siege.endure()
            except Exception as error:  # noqa: BLE001 (told below)
                failed.append(f"{siege.folder.name} {siege.hits}: {''.join(traceback.format_exception(error))}")
            sys.stdout.write(f"{siege.folder.name}: {siege.hits}\n")
            sys.stdout.flush()

    async with asyncio.TaskGroup() as group:
        for siege in sieges:
            group.create_task(endure(siege))
    hits = Counter((kind, when) for siege in sieges for kind, when, _ in siege.hits)
    sys.stdout.write(f"\n{calm.unit_count} transactions, {calm.request_counts} requests; killed: {dict(hits)}\n")
    assert failed == []
    assert points == len(WHEN) * (calm.unit_count + sum(calm.request_counts.values()))
    assert [siege for siege in sieges if siege.deaths != 1 or len(siege.hits) != 1] == []
    assert hits.total() == len(sieges)
