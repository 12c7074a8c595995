"""A home that is open notices its policy file by itself."""

import asyncio
from pathlib import Path

from interlock import Interlock
from interlock.app.policy_watch import BROKEN
from interlock.store.auditing import audit

RED = "version: 1\nrules:\n  - {id: a, tools: [file_read], risk: RED}\n"


async def test_an_open_home_decides_by_a_changed_file_and_keeps_it_when_it_breaks(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("version: 1\n")
    async with Interlock.open(cwd=tmp_path, env={}, model="rehearsal/offline") as box:
        path.write_text(RED)
        async with asyncio.timeout(60):
            while not box.runtime.policy.rules:
                await asyncio.sleep(0.05)
            path.unlink()
            while BROKEN not in [row.kind for row in await box.runtime.store.read(audit.alerts)]:
                await asyncio.sleep(0.05)
        assert box.runtime.policy.rules[0].id == "a"


async def test_a_file_that_appears_later_counts_from_then_on(tmp_path: Path) -> None:
    async with Interlock.open(cwd=tmp_path, env={}, model="rehearsal/offline") as box:
        (tmp_path / "policy.yaml").write_text(RED)
        async with asyncio.timeout(60):
            while not box.runtime.policy.rules:
                await asyncio.sleep(0.05)
        assert box.runtime.policy.rules[0].id == "a"
