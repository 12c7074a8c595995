"""Runs the benchmarks and writes their figures to `bench/results`: `python -m bench [--quick] [NAME …]`."""

import argparse
import importlib
import json
import os
import platform
import sqlite3
import sys
from pathlib import Path
from typing import Any

MODULES = (
    "adapters",
    "approvals",
    "policy_decision",
    "runs",
    "mailbox",
    "claims",
    "mailbox_peers",
    "history",
    "waiting",
    "recovery",
    "command_line",
    "idle",
    "ledger",
    "memory",
    "mission",
    "outbox",
    "prompt",
    "prompt_cache",
    "slack_ack",
    "stop",
    "streaming",
    "tap",
    "telemetry",
)
RESULTS = Path(__file__).parent / "results"


def main() -> int:
    """Runs the selected benchmarks, prints each figure and stores the raw JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*MODULES, []], help="which ones; all where none is named")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, for a first look")
    options = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    for name in options.names or MODULES:
        module: Any = importlib.import_module(f"bench.{name}")
        print(f"{name}: {module.NAME}", flush=True)
        figures: dict[str, Any] = module.run(options.quick)
        if hasattr(module, "table"):
            print(module.table(figures), flush=True)
        else:
            for key, value in figures.items():
                print(f"  {key}: {value}", flush=True)
        record = {"name": module.NAME, "conditions": conditions(), "figures": figures}
        (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=2, sort_keys=True) + "\n", "utf-8")
    return 0


def conditions() -> dict[str, Any]:
    """The machine and versions on which the figures were measured."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
        "sqlite": sqlite3.sqlite_version,
    }


if __name__ == "__main__":
    sys.exit(main())
