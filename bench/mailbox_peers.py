"""Empty jobs in other queues: 10,000 of 100 agents, order and overlap within an agent checked.

The same through our mailboxes is measured by `bench.mailbox`.
"""

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.databases import Databases, databases
from bench.peers.environment import ROOT, PeerFailed, Process, clean_environment, python_of, versions, work_folder

NAME = "jobs that do nothing through the queues of others, per second: 100 agents, order and overlap checked"
AGENTS, JOBS, SECONDS = 100, 10_000, 20.0
POST_S = 150.0


@dataclass(frozen=True)
class Queue:
    """A peer, and how to start it."""

    key: str
    label: str
    engine: str
    workers: int
    jobs: int = JOBS


QUEUES = (
    Queue("procrastinate", "procrastinate, PostgreSQL, a lock per agent", "postgresql", 4),
    Queue("pgqueuer", "pgqueuer, PostgreSQL, no order", "postgresql", 4),
    Queue("dbos", "dbos queue, SQLite, partitioned by agent", "sqlite", 1, 2_000),
)


def run(quick: bool) -> dict[str, Any]:
    """Jobs per second of each peer, how many were out of order or overlapped, and ours as stored."""
    seconds = 5.0 if quick else SECONDS
    figures: dict[str, Any] = {}
    with work_folder() as folder, databases(folder) as made:
        for queue in QUEUES:
            try:
                figures[queue.key] = measured(queue, made, folder, seconds, 1_000 if quick else queue.jobs)
            except (PeerFailed, subprocess.SubprocessError) as error:
                figures[queue.key] = {"left_out": str(error)}
        conditions = dict(made.conditions)
    return {
        "queues": figures,
        "ours": ours(quick),
        "postgresql": conditions,
        "peers": {queue.key: versions(queue.key) for queue in QUEUES},
        "load_after": [round(each, 2) for each in os.getloadavg()],
    }


def ours(quick: bool) -> dict[str, Any]:
    """The same through our mailboxes, measured now."""
    if importlib.util.find_spec("bench.mailbox") is None:
        return {}
    found: dict[str, Any] = importlib.import_module("bench.mailbox").run(quick)
    return found


def measured(queue: Queue, made: Databases, folder: Path, seconds: float, jobs: int) -> dict[str, Any]:
    """Figures of one peer. Raises PeerFailed."""
    url, python, module = made.url(queue.engine), python_of(queue.key), f"bench.peers.{queue.key}.job"
    begun = time.perf_counter()
    posted = subprocess.run(
        [python, "-m", module, "--post", "--database", url, "--agents", str(AGENTS), "--jobs", str(jobs)], cwd=ROOT,
        env=clean_environment(), capture_output=True, text=True, timeout=POST_S, check=False,
    )  # fmt: skip
    if posted.returncode:
        raise PeerFailed((posted.stderr.strip().splitlines() or ["posting failed"])[-1])
    posting_s = time.perf_counter() - begun
    logs = [folder / f"{queue.key}-{n}.json" for n in range(queue.workers)]
    workers = [Process([python, "-m", module, "--database", url, "--log", str(log)]) for log in logs]
    try:
        for worker in workers:
            worker.told()
        _work_off(workers, jobs, seconds)
        rows = [tuple(row) for log in logs for row in json.loads(log.read_text("utf-8"))]
    finally:
        for worker in workers:
            worker.kill()
    return {**checked(rows), "posted": jobs, "workers": queue.workers, "posting_s": round(posting_s, 1)}


def _work_off(workers: list[Process], jobs: int, seconds: float) -> None:
    until = time.monotonic() + seconds
    for worker in workers:
        worker.ask("go")
    while sum(worker.ask("count")["count"] for worker in workers) < jobs and time.monotonic() < until:
        time.sleep(0.1)
    for worker in workers:
        worker.ask("stop")


def checked(rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    """The analysis of a log of (agent, number, begun, ended).

    Raises PeerFailed if nothing was done or a job was done twice.
    """
    if not rows:
        raise PeerFailed("no job was worked")
    if len({row[:2] for row in rows}) != len(rows):
        raise PeerFailed("a job was worked twice")
    by_agent: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: int(row[2])):
        by_agent[row[0]].append(row)
    pairs = [pair for found in by_agent.values() for pair in pairwise(found)]
    elapsed = (max(row[3] for row in rows) - min(row[2] for row in rows)) / 1e9
    return {
        "jobs": len(rows),
        "seconds": round(elapsed, 3),
        "per_s": round(len(rows) / elapsed, 1),
        "out_of_order": sum(1 for one, next_one in pairs if next_one[1] < one[1]),
        "overlapping": sum(1 for one, next_one in pairs if next_one[2] < one[3]),
    }


def table(figures: Mapping[str, Any]) -> str:
    """The queues in one table, and ours."""
    lines = [["", "jobs/s", "worked", "out of order", "overlapping"]]
    for queue in QUEUES:
        found = figures["queues"][queue.key]
        if "left_out" in found:
            lines.append([queue.label, "left out:", found["left_out"], "", ""])
        else:
            cells = [f"{found['per_s']:,.0f}", f"{found['jobs']:,}", str(found["out_of_order"])]
            lines.append([f"{queue.label}, {queue.workers} workers", *cells, str(found["overlapping"])])
    widths = [max(len(line[n]) for line in lines) for n in range(5)]
    shown = ["  " + "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) for line in lines]
    return "\n".join([*shown, *(f"  ours: {key}: {value}" for key, value in figures["ours"].items())])


if __name__ == "__main__":
    sys.exit("run `python -m bench mailbox_peers`")
