"""A thousand agents waiting for a slow model at once in one process: completion, memory, delays of the event loop.

The model takes five to ten seconds per answer, is a process of its own and speaks real HTTP.
"""

import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from bench.databases import databases
from bench.peers.environment import ROOT, Process, clean_environment, work_folder
from interlock.testing.messages_script import Answer

NAME = "1,000 agents waiting for a slow model at once in one process"
AGENTS, LIMITS = 1000, {"resident_mb": 400, "loop_late_ms_p99": 50}
SHORTEST_S, LONGEST_S = 5.0, 10.0
ENGINES = ("sqlite", "postgresql")
WHOLE_S = 150.0


def slow(body: Mapping[str, Any], number: int) -> Answer:
    """An answer that takes five to ten seconds from its first event to its last: a tool call, then a text."""
    calls = not any(message["role"] == "assistant" for message in body["messages"])
    block: dict[str, Any] = {"type": "text", "text": "all shipped"}
    if calls:
        block = {"type": "tool_use", "id": f"call_{number}", "name": "lookup_order", "input": {"order_id": "1"}}
    whole_s = SHORTEST_S + (number * 7 % 100) / 100 * (LONGEST_S - SHORTEST_S)
    answer = Answer(blocks=[block], usage={"input_tokens": 500, "output_tokens": 50})
    return Answer(blocks=[block], usage=answer.usage, pause_s=whole_s / len(list(answer.events(body, number))))


def run(quick: bool) -> dict[str, Any]:
    """Figures for both databases, in a process each."""
    agents = 100 if quick else AGENTS
    _allow_files(4 * AGENTS)
    figures: dict[str, Any] = {}
    with work_folder() as folder, databases(folder) as made:
        for engine in ENGINES:
            with _model() as url:
                command = [sys.executable, "-m", "bench.waiting_job", "--model-url", url, "--agents", str(agents)]
                process = Process([*command, "--database", made.url(engine)])
                try:
                    figures[engine] = process.told(WHOLE_S)
                    process.end()
                finally:
                    process.kill()
    return {**figures, "limits": LIMITS, "model_s": [SHORTEST_S, LONGEST_S]}


@contextmanager
def _model() -> Iterator[str]:
    command = [sys.executable, "-m", "interlock.testing.messages_api", "--script", "bench.waiting:slow"]
    server = subprocess.Popen(command, cwd=ROOT, env=clean_environment(), stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip().removeprefix("listening on ")
    finally:
        server.kill()
        server.wait()


def _allow_files(count: int) -> None:
    """Each connection is a file, at both ends."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def table(figures: Mapping[str, Any]) -> str:
    """Both databases in one table."""
    keys = list(figures[ENGINES[0]])
    lines = [f"  {'':24}{ENGINES[0]:>24}{ENGINES[1]:>24}"]
    lines += [f"  {key:24}" + "".join(f"{figures[engine][key]!s:>24}" for engine in ENGINES) for key in keys]
    return "\n".join([*lines, f"  at most: {figures['limits']}"])
