"""A restore that is killed at any step leaves the database as it was, or as the backup has it."""

import asyncio
import json
import os
from datetime import UTC, datetime
from pathlib import Path

from interlock.store.upkeep import archive, migrate
from tests import processes
from tests.integration import killed_restores
from tests.migration.released import FOLDER

MOST = 8


async def test_restore_killed_at_any_step_leaves_the_old_state_or_the_new_one(
    database_url: str, tmp_path: Path
) -> None:
    await migrate.upgrade(database_url)
    code, out, err = await asyncio.to_thread(
        processes.run,
        ("-m", killed_restores.__name__, database_url, str(FOLDER / "0002.rows"), str(tmp_path), str(MOST)),
        folder=tmp_path, environment={"PATH": os.defpath},
    )  # fmt: skip
    assert code == 0, err
    kills = [json.loads(line) for line in out.splitlines()]
    assert len(kills) >= MOST
    for kill in kills:
        assert kill["done"] == 0
        old, new = kill["before"], [kill["before"][0] + 1, *kill["before"][1:]]
        assert kill["after"] in (old, new), kill
    assert kills[0]["after"] == kills[0]["before"]
    archive.back_up(database_url, tmp_path / "after.backup", "1", datetime.now(UTC))
