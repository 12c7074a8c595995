"""Commands about lessons, in this process: vouching for one, and going back to an earlier version."""

import asyncio
from pathlib import Path

import pytest

from interlock import Interlock
from interlock.cli.main import run
from interlock.core.values import SYSTEM
from interlock.store.knowledge import lessons
from interlock.store.tx import Tx


async def _home() -> None:
    async with Interlock.open(model="rehearsal/offline") as box:
        now = box.runtime.clock.now()

        def learn(tx: Tx) -> None:
            lesson = {
                "id": "les_first", "project_id": None, "kind": "HEURISTIC", "rule": "Ask Ana", "rule_digest": "1",
                "task_type": None, "persona": None, "confidence": 0.5, "status": "probation", "evidence": [],
                "labels": ["untrusted"], "run_id": "run_1", "contradicts": None,
            }  # fmt: skip
            lessons.add(tx, lesson, SYSTEM, "she knew", now)

        await box.runtime.store.write(learn)


def test_lesson_is_vouched_for_and_brought_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INTERLOCK_HOME", str(tmp_path / "home"))
    asyncio.run(_home())
    for args, code, said in (
        (("list",), 0, "waits for you"),
        (("approve", "les_first"), 0, "les_first approved: Ask Ana\n"),
        (("approve", "les_first"), 0, "les_first needs nobody's word: Ask Ana\n"),
        (("restore", "les_first", "1"), 0, "les_first is as in version 1 again, now version 3\n"),
        (("restore", "les_first", "99"), 1, "99"),
        (("restore", "les_first", "-1"), 1, "-1"),
        (("show", "les_first"), 0, "she knew"),
    ):
        assert run(["lessons", *args]) == code, args
        told = capsys.readouterr()
        assert said in told.out + told.err, (args, told)
