"""The scripted job in Interlock, in its peers and by hand, in alternating rounds of one invocation.

Four model calls with immediate answers and three calls of a trivial tool, in whole processes that measure alike.
"""

import contextlib
import os
import statistics
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from bench.databases import Databases, databases
from bench.peers.environment import PeerFailed, Process, python_of, versions, work_folder

NAME = "runs of 4 model calls and 3 tool calls, per second, beside the peers"
WIDTHS = (1, 16, 64)


@dataclass(frozen=True)
class Variant:
    """An implementation of the job."""

    key: str
    label: str
    module: str
    engine: str = "sqlite"
    peer: str | None = None
    """The peer whose environment it runs in; None for ours."""
    way: str | None = None
    widths: tuple[int, ...] = (1, 64)

    def start(self, made: Databases) -> Process:
        """Its process, ready to measure. Raises PeerFailed."""
        python = python_of(self.peer) if self.peer else sys.executable
        command = [python, "-m", self.module, "--serve", "--width", str(max(WIDTHS)), "--database"]
        process = Process([*command, made.url(self.engine), *(("--way", self.way) if self.way else ())])
        try:
            process.told()
        except PeerFailed:
            process.kill()
            raise
        return process


VARIANTS = (
    Variant("interlock_sqlite", "Interlock, SQLite", "bench.durable_job", widths=WIDTHS),
    Variant("langchain_sqlite", "langchain create_agent, SQLite checkpointer, sync", "bench.peers.langchain.job",
            peer="langchain", widths=WIDTHS),
    Variant("interlock_postgresql", "Interlock, PostgreSQL", "bench.durable_job", "postgresql", widths=WIDTHS),
    Variant("langchain_postgresql", "the same, PostgreSQL checkpointer", "bench.peers.langchain.job", "postgresql",
            peer="langchain", widths=WIDTHS),
    Variant("pydantic_ai_dbos_sqlite", "pydantic-ai on DBOS, SQLite", "bench.peers.pydantic_ai.job",
            peer="pydantic_ai"),
    Variant("agno_sqlite", "agno, SQLite", "bench.peers.agno.job", peer="agno"),
    Variant("agent_framework", "agent-framework-core, nothing stored", "bench.peers.agent_framework.job",
            peer="agent_framework"),
    Variant("floor_full", "floor: the rows by hand, SQLite FULL", "bench.peers.floor.job", way="full"),
    Variant("floor_group", "floor: the same with group commit", "bench.peers.floor.job", way="group"),
    Variant("interlock_direct_sqlite", "Interlock, SQLite, each task claims for itself", "bench.durable_job",
            way="direct"),
)  # fmt: skip
RATIOS: Mapping[str, tuple[str, str, int, float]] = {
    "one by one, SQLite, to langchain": ("interlock_sqlite", "langchain_sqlite", 1, 3.5),
    "16 at once, SQLite, to langchain": ("interlock_sqlite", "langchain_sqlite", 16, 0),
    "64 at once, SQLite, to langchain": ("interlock_sqlite", "langchain_sqlite", 64, 8),
    "64 at once, PostgreSQL, to langchain": ("interlock_postgresql", "langchain_postgresql", 64, 4),
    "one by one, PostgreSQL, to langchain": ("interlock_postgresql", "langchain_postgresql", 1, 0),
    "one by one, SQLite, to the floor": ("interlock_sqlite", "floor_full", 1, 0),
    "64 at once, SQLite, to the floor with group commit": ("interlock_sqlite", "floor_group", 64, 0),
}
"""Numerator, denominator, width, and the promised minimum (0: none)."""


def run(quick: bool) -> dict[str, Any]:
    """Runs per second of each variant in each round, and the ratios within rounds."""
    rounds, seconds = (2, 0.5) if quick else (9, 1.5)
    raw: dict[str, dict[int, list[float]]] = {v.key: {w: [] for w in v.widths} for v in VARIANTS}
    left_out: dict[str, str] = {}
    with work_folder() as folder, databases(folder) as made, contextlib.ExitStack() as stack:
        processes = _started(made, left_out, stack)
        for number in range(-1, rounds):
            for width in WIDTHS:
                present = [v for v in VARIANTS if v.key in processes and width in v.widths]
                for variant in present if number % 2 else reversed(present):
                    _measure(variant, processes, raw, left_out, width, seconds if number >= 0 else 0.3, number)
        for variant in VARIANTS:
            if variant.key in processes:
                _closed(variant, processes, left_out)
        conditions = dict(made.conditions)
    return {
        "postgresql": conditions,
        "peers": {v.peer: versions(v.peer) for v in VARIANTS if v.peer},
        "load_before": [round(each, 2) for each in os.getloadavg()],
        "rounds": rounds,
        "seconds_each": seconds,
        "left_out": left_out,
        "runs_per_s": {key: {str(w): _spread(found) for w, found in by.items() if found} for key, by in raw.items()},
        "ratios": _ratios(raw),
    }


def _started(made: Databases, left_out: dict[str, str], stack: contextlib.ExitStack) -> dict[str, Process]:
    """The processes of all variants; started two at a time, because imports take seconds."""
    for peer in sorted({v.peer for v in VARIANTS if v.peer}):
        try:
            python_of(peer)
        except PeerFailed as error:
            left_out.update({v.key: str(error) for v in VARIANTS if v.peer == peer})
    processes: dict[str, Process] = {}

    def start(variant: Variant) -> None:
        try:
            processes[variant.key] = process = variant.start(made)
            stack.callback(process.kill)
        except PeerFailed as error:
            _gone(variant, left_out, error)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(start, (v for v in VARIANTS if v.key not in left_out)))
    return processes


def _measure(
    variant: Variant, processes: dict[str, Process], raw: dict[str, dict[int, list[float]]], left_out: dict[str, str],
    width: int, seconds: float, number: int,
) -> None:  # fmt: skip
    if variant.key not in processes:
        return
    try:
        told = processes[variant.key].measure(seconds, width)
        if number >= 0:
            raw[variant.key][width].append(told["runs"] / told["seconds"])
    except PeerFailed as error:
        processes.pop(variant.key).kill()
        raw[variant.key] = {}
        _gone(variant, left_out, error)


def _closed(variant: Variant, processes: dict[str, Process], left_out: dict[str, str]) -> None:
    try:
        processes[variant.key].end()
    except PeerFailed as error:
        _gone(variant, left_out, error)


def _gone(variant: Variant, left_out: dict[str, str], error: PeerFailed) -> None:
    """A peer that does not run is left out with the reason; ours must run."""
    if variant.peer is None:
        raise error
    left_out[variant.key] = str(error)


def _spread(found: Sequence[float]) -> dict[str, Any]:
    return {
        "median": round(statistics.median(found), 1),
        "range": [round(min(found), 1), round(max(found), 1)],
        "raw": [round(each, 1) for each in found],
    }


def _ratios(raw: Mapping[str, Mapping[int, Sequence[float]]]) -> dict[str, dict[str, Any]]:
    out: dict[str, dict[str, Any]] = {}
    for label, (ours, theirs, width, promised) in RATIOS.items():
        above, below = raw[ours].get(width), raw[theirs].get(width)
        if above and below:
            found = sorted(a / b for a, b in zip(above, below, strict=True))
            out[label] = {
                "median": round(statistics.median(found), 2), "range": [round(found[0], 2), round(found[-1], 2)],
                "promised": promised or None,
            }  # fmt: skip
    return out


def table(figures: Mapping[str, Any]) -> str:
    """The variants in one table, then the ratios."""
    lines = [["", "one by one", "16 at once", "64 at once"]]
    for variant in VARIANTS:
        found = figures["runs_per_s"].get(variant.key, {})
        if not found:
            lines.append([variant.label, figures["left_out"].get(variant.key, ""), "", ""])
            continue
        cells = [f"{f['median']:,.0f} ({f['range'][0]:,.0f}-{f['range'][1]:,.0f})"
                 if (f := found.get(str(width))) else "" for width in WIDTHS]  # fmt: skip
        lines.append([variant.label, *cells])
    lines.append(["ratio within rounds", "median", "range", "promised"])
    for label, ratio in figures["ratios"].items():
        low, high = ratio["range"]
        lines.append([label, f"{ratio['median']:g}", f"{low:g}-{high:g}", f"{ratio['promised'] or '':}"])
    widths = [max(len(line[n]) for line in lines) for n in range(4)]
    return "\n".join("  " + "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) for line in lines)
