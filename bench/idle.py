"""The cost of an idle `interlock up`: memory and processor time, after a mission has warmed it up, and the
processor time over a squad with a long history.
"""

import asyncio
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from bench import aged
from bench.processes import interlock, started
from interlock.store.upkeep.migrate import upgrade

NAME = "idle interlock up"
READY_S = 30.0
SETTLED_S = 120.0
"""By then, hourly and daily jobs have processed a million runs, and their audit log is sealed."""


def run(quick: bool) -> dict[str, Any]:
    """Resident megabytes and the share of one core, of a process that has run a mission and waits for the next; the
    share again over as many finished runs as there are in a year.
    """
    seconds = 5.0 if quick else 20.0
    runs, settled_s = (aged.RUNS // 50, SETTLED_S / 8) if quick else (aged.RUNS, SETTLED_S)
    with tempfile.TemporaryDirectory() as folder:
        fresh, old = Path(folder) / "home", Path(folder) / "old"
        found = _measured(fresh, seconds)
        old.mkdir()
        url = f"sqlite:///{old / 'interlock.db'}"
        asyncio.run(upgrade(url))
        aged.fill(url, runs)
        after = _measured(old, seconds, settled_s)
    return {
        **found,
        "finished_runs": runs,
        "core_percent_after_them": after["core_percent"],
        "goal_resident_mb": 250,
        "goal_core_percent": 1,
    }


def _measured(home: Path, seconds: float, settled_s: float | None = None) -> dict[str, Any]:
    up = started(home, "up")
    try:
        _wait_until_executing(home)
        if settled_s is None:
            interlock(home, "run", "Compare two note-taking apps", "--approve", "queue")
        else:
            time.sleep(settled_s)
        process = psutil.Process(up.pid)
        before, begun = process.cpu_times(), time.perf_counter()
        time.sleep(seconds)
        after, elapsed = process.cpu_times(), time.perf_counter() - begun
        used = after.user + after.system - before.user - before.system
        return {
            "resident_mb": round(process.memory_info().rss / 2**20, 1),
            "core_percent": round(100 * used / elapsed, 2),
            "seconds": round(elapsed, 1),
        }
    finally:
        up.send_signal(signal.SIGTERM)
        up.wait(timeout=10)


def _wait_until_executing(home: Path) -> None:
    deadline = time.perf_counter() + READY_S
    while not (home / "interlock.db").exists():
        if time.perf_counter() > deadline:
            raise TimeoutError("`interlock up` did not make its database")
        time.sleep(0.05)
