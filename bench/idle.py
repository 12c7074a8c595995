"""What `interlock up` costs while nothing happens: memory and processor, after a mission has warmed it up."""

import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from bench.processes import interlock, started

NAME = "idle interlock up"
READY_S = 30.0


def run(quick: bool) -> dict[str, Any]:
    """Resident megabytes and the share of one core, of a process that has run a mission and waits for the next."""
    seconds = 5.0 if quick else 20.0
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        up = started(home, "up")
        try:
            _wait_until_executing(home)
            interlock(home, "run", "Compare two note-taking apps", "--approve", "queue")
            process = psutil.Process(up.pid)
            before, begun = process.cpu_times(), time.perf_counter()
            time.sleep(seconds)
            after, elapsed = process.cpu_times(), time.perf_counter() - begun
            used = after.user + after.system - before.user - before.system
            return {
                "resident_mb": round(process.memory_info().rss / 2**20, 1),
                "core_percent": round(100 * used / elapsed, 2),
                "seconds": round(elapsed, 1),
                "goal_resident_mb": 250,
                "goal_core_percent": 1,
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
