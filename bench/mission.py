"""A complete mission with the offline model, from the command to the compiled deliverable, as a whole process."""

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.processes import interlock

NAME = "interlock demo, whole process"
GOAL_S = 10.0


def run(quick: bool) -> dict[str, Any]:
    """Seconds of wall time."""
    taken = []
    for _ in range(2 if quick else 5):
        with tempfile.TemporaryDirectory() as folder:
            begun = time.perf_counter()
            interlock(Path(folder) / "home", "demo").check_returncode()
            taken.append(time.perf_counter() - begun)
    return {
        "demo_s_median": round(statistics.median(taken), 2),
        "demo_s_range": [round(min(taken), 2), round(max(taken), 2)],
        "goal_s": GOAL_S,
    }
