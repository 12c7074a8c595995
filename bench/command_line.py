"""The time until the command line shows its help, as a whole process."""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.processes import interlock

NAME = "interlock --help, whole process"
GOAL_S = 0.3


def run(quick: bool) -> dict[str, Any]:
    """Seconds of wall time, and those of a bare interpreter for comparison."""
    rounds = 5 if quick else 15
    ours, bare = [], []
    with tempfile.TemporaryDirectory() as folder:
        interlock(Path(folder) / "home", "--help")
        for _ in range(rounds):
            begun = time.perf_counter()
            interlock(Path(folder) / "home", "--help").check_returncode()
            ours.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            subprocess.run([sys.executable, "-c", "pass"], check=True)
            bare.append(time.perf_counter() - begun)
    return {
        "help_s_median": round(statistics.median(ours), 3),
        "help_s_range": [round(min(ours), 3), round(max(ours), 3)],
        "bare_interpreter_s_median": round(statistics.median(bare), 3),
        "goal_s": GOAL_S,
    }
