"""The cost of telemetry for a durable run: without a DSN, and with Sentry and a local server that accepts everything.

Without a DSN, each report is a call of an empty method: the reports of a run are recorded once and replayed many times
without a receiver; their time is a share of the processor time of a run. With one, rounds with and without alternate.
"""

import asyncio
import contextlib
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from bench.durable_job import OneModel, agent_for, lookup_order, one_run
from interlock.app.box import Interlock
from interlock.core.telemetry import SILENT, Fact, Silent, Telemetry
from interlock.store.tx import observe

NAME = "telemetry: a durable run of 4 model calls and 3 tool calls, SQLite FULL, one at a time"
SHARE_RUNS = 2_000


class Recorder(Silent):
    """Records reports for replay."""

    listens = True

    def __init__(self) -> None:
        self.said: list[Callable[[Telemetry], object]] = []
        self.facts: list[Fact] = []

    def run(self, row: Any, /) -> Any:
        return self._opened(lambda to: to.run(row))

    def span(self, kind: str, /, **fields: Any) -> Any:
        return self._opened(lambda to: to.span(kind, **fields))

    def count(self, kind: str, /, **fields: Any) -> None:
        self.said.append(lambda to: to.count(kind, **fields))

    def committed(self, facts: Sequence[Fact], seconds: float, /) -> None:
        self.facts += facts
        self.said.append(lambda to: to.listens)

    def tell(self, **fields: Any) -> None:
        self.said.append(lambda to: to.span("step").tell(**fields))  # type: ignore[attr-defined]

    @contextmanager
    def _opened(self, opens: Callable[[Telemetry], AbstractContextManager[Any]]) -> Iterator["Recorder"]:
        def again(to: Telemetry) -> None:
            with opens(to):
                pass

        self.said.append(again)
        yield self


class Nobody:
    """A transaction without a receiver of reports."""

    facts = None


async def work(folder: Path, runs: int, telemetry: Telemetry | None = None, **settings: Any) -> float:
    """Microseconds of processor time per run."""
    async with Interlock.open(
        cwd=folder, env={}, home=folder / "home", model="anthropic/claude-haiku-5-5", tools=[lookup_order],
        project_day_usd=1e6, **settings,
    ) as box:  # fmt: skip
        runtime = replace(box.runtime, models=OneModel())
        agent = await agent_for(runtime, 1)
        for number in range(20):
            await one_run(runtime, agent, f"warm:{number}")
        if telemetry is not None:
            runtime.store.telemetry = telemetry
        begun = time.process_time()
        for number in range(runs):
            await one_run(runtime, agent, f"run:{number}")
        return (time.process_time() - begun) / runs * 1e6


def say_again(recorder: Recorder) -> float:
    """Microseconds to replay the reports of a run without a receiver."""
    nobody: Any = Nobody()
    best = float("inf")
    for _ in range(5):
        begun = time.process_time()
        for _ in range(SHARE_RUNS):
            for say in recorder.said:
                say(SILENT)
            for fact in recorder.facts:
                observe(nobody, fact.kind, **fact.fields)
        best = min(best, (time.process_time() - begun) / SHARE_RUNS * 1e6)
    return best


@contextlib.contextmanager
def receiver() -> Iterator[str]:
    """The DSN of a server that accepts everything and stores nothing; its time counts towards the run."""

    class Handler(BaseHTTPRequestHandler):
        wbufsize = -1

        def do_POST(self) -> None:
            """Takes an envelope."""
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://key@127.0.0.1:{server.server_address[1]}/1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def run(quick: bool) -> dict[str, Any]:
    """Processor time per run without a receiver, the share of telemetry in it, and the same with Sentry."""
    rounds, runs = (2, 100) if quick else (7, 400)
    recorder = Recorder()
    _once(1, telemetry=recorder)
    said_us = say_again(recorder)
    with receiver() as dsn:
        pairs = [(_once(runs), _once(runs, sentry={"dsn": dsn})) for _ in range(rounds)]
    silent_us = statistics.median(silent for silent, _ in pairs)
    return {
        "calls_a_run": len(recorder.said) + len(recorder.facts),
        "said_to_nobody_us_a_run": round(said_us, 1),
        "run_without_dsn_cpu_us": round(silent_us),
        "share_without_dsn_percent": round(said_us / silent_us * 100, 2),
        "run_with_sentry_cpu_us": round(statistics.median(told for _, told in pairs)),
        "ratio_with_sentry": round(statistics.median(told / silent for silent, told in pairs), 2),
    }


def _once(runs: int, **how: Any) -> float:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(work(Path(folder), runs, **how))
