"""The cost of a run after a thousand earlier messages, compared with one: our conversation and a langchain thread.

Our conversation shows its model a window of the last messages, and stores each message once; a langchain thread
contains everything said so far, and is read and written as a whole. Both keep everything.
"""

import contextlib
import statistics
import sys
from collections.abc import Mapping
from typing import Any

from bench.databases import Databases, databases
from bench.peers.environment import PeerFailed, Process, python_of, versions, work_folder

NAME = "cost of a run after 1,000 earlier messages, against after one"
SIDES = {"interlock": "bench.history_job", "langchain": "bench.peers.langchain.job"}
WAYS = ("after_one", "after_many")
START_S = 180.0


def run(quick: bool) -> dict[str, Any]:
    """Milliseconds per run, and the ratio within rounds."""
    rounds, seconds = (2, 0.5) if quick else (5, 2.0)
    found: dict[tuple[str, str], list[float]] = {(side, way): [] for side in SIDES for way in WAYS}
    left_out: dict[str, str] = {}
    with work_folder() as folder, databases(folder) as made, contextlib.ExitStack() as stack:
        processes: dict[tuple[str, str], Process] = {}
        for side in SIDES:
            try:
                processes.update({(side, way): _started(side, way, made, stack) for way in WAYS})
            except PeerFailed as error:
                if side == "interlock":
                    raise
                left_out[side] = str(error)
        for number in range(-1, rounds):
            for key in sorted(processes, reverse=number % 2 == 0):
                told = processes[key].measure(seconds if number >= 0 else 0.3, 1)
                if number >= 0:
                    found[key].append(told["seconds"] / told["runs"] * 1000)
    return {
        "earlier_messages": 1000,
        "ms_a_run": {f"{side} {way}": _spread(took) for (side, way), took in found.items() if took},
        "ratios": {side: _ratio(found[side, "after_many"], found[side, "after_one"])
                   for side in SIDES if side not in left_out},
        "promised_at_most": 1.5,
        "left_out": left_out,
        "peers": {"langchain": versions("langchain")},
    }  # fmt: skip


def _started(side: str, way: str, made: Databases, stack: contextlib.ExitStack) -> Process:
    python = sys.executable if side == "interlock" else python_of(side)
    process = Process([python, "-m", SIDES[side], "--serve", "--way", way, "--database", made.url("sqlite")])
    stack.callback(process.kill)
    process.told(START_S)
    return process


def _spread(took: list[float]) -> dict[str, Any]:
    return {
        "median": round(statistics.median(took), 2), "range": [round(min(took), 2), round(max(took), 2)],
        "raw": [round(each, 2) for each in took],
    }  # fmt: skip


def _ratio(many: list[float], one: list[float]) -> dict[str, Any]:
    ratios = sorted(a / b for a, b in zip(many, one, strict=True))
    return {"median": round(statistics.median(ratios), 2), "range": [round(ratios[0], 2), round(ratios[-1], 2)]}


def table(figures: Mapping[str, Any]) -> str:
    """Both sides in one table."""
    lines = [f"  {'':12}{'after one':>12}{'after 1,000':>14}{'ratio':>8}  range"]
    for side, ratio in figures["ratios"].items():
        one, many = (figures["ms_a_run"][f"{side} {way}"]["median"] for way in WAYS)
        low, high = ratio["range"]
        lines.append(f"  {side:12}{one:>9.1f} ms{many:>11.1f} ms{ratio['median']:>8g}  {low:g}-{high:g}")
    return "\n".join([*lines, *(f"  {side}: left out: {why}" for side, why in figures["left_out"].items())])
