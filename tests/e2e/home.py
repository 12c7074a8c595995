"""A home of its own and the command line over it, as real processes that can really be killed.

What the model answers is in `story`.
"""

import asyncio
import contextlib
import itertools
import json
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock.app.local import open_desk
from interlock.desk.context import DeskContext, Person
from interlock.settings import Settings, load_settings
from tests import processes
from tests.processes import Process

LONGEST_S = 60.0
LOOK_S = 0.02


@dataclass(frozen=True)
class Ran:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed."""
        return json.loads(self.out)


class Started:
    """A command that goes on, its output in files."""

    def __init__(self, process: Process, out: Path, err: Path) -> None:
        self.process, self._out, self._err = process, out, err

    @property
    def out(self) -> str:
        """What it has printed so far."""
        return self._out.read_text("utf-8")

    @property
    def err(self) -> str:
        """What it has said on stderr so far."""
        return self._err.read_text("utf-8")

    def signal(self, which: signal.Signals) -> None:
        """Sends a signal, unless it has ended."""
        self.process.send_signal(which)

    async def killed(self) -> None:
        """Kills it for good and waits until it is dead."""
        self.signal(signal.SIGKILL)
        await self.process.ended()

    async def ended(self, within_s: float = LONGEST_S) -> Ran:
        """Waits for its end. No command ever shows a traceback."""
        code = await asyncio.wait_for(self.process.ended(), within_s)
        ran = Ran(code, self.out, self.err)
        assert "Traceback" not in ran.err + ran.out, ran.err
        return ran


class Home:
    """A working directory with a home in it, and the environment of its commands."""

    def __init__(self, folder: Path, **env: str) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        quick = {"INTERLOCK_RETRY__BASE_S": "0.01", "INTERLOCK_RETRY__CAP_S": "0.05"}
        own = {"HOME": str(folder), "INTERLOCK_HOME": str(folder / "home"), "PYTHONPATH": processes.SOURCES}
        self.env = {**kept, **own, **quick, **env}
        self._numbers = itertools.count()
        self._started: list[Started] = []

    def settings(self) -> Settings:
        """What its commands are set to."""
        return load_settings(self.folder, self.env, {})

    async def start(self, *args: str, **env: str) -> Started:
        """Starts a command."""
        number = next(self._numbers)
        out, err = self.folder / f"{number}.out", self.folder / f"{number}.err"
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = await asyncio.to_thread(
                processes.start, ("-m", "interlock.cli", *args), folder=self.folder, environment={**self.env, **env},
                stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
            )  # fmt: skip
        started = Started(process, out, err)
        self._started.append(started)
        return started

    async def run(self, *args: str, **env: str) -> Ran:
        """Runs a command to its end."""
        return await (await self.start(*args, **env)).ended()

    async def up(self, **env: str) -> Started:
        """Starts `interlock up` and waits until it executes."""
        started = await self.start("up", **env)
        await until(lambda: "executing" in started.out or started.process.returncode is not None, "up to execute")
        assert started.process.returncode is None, started.err
        return started

    async def close(self) -> None:
        """Kills what is left."""
        for started in self._started:
            if started.process.returncode is None:
                await started.killed()

    @contextlib.asynccontextmanager
    async def desk(self) -> AsyncIterator[tuple[DeskContext, Person]]:
        """The desk of this home, opened in the process of the test."""
        async with open_desk(self.settings(), surface="cli") as opened:
            yield opened


async def until(happened: Callable[[], Any], what: str, within_s: float = LONGEST_S) -> None:
    """Waits until something is true.

    Raises AssertionError with `what` if it does not become true in time.
    """
    try:
        async with asyncio.timeout(within_s):
            while not happened():
                await asyncio.sleep(LOOK_S)
    except TimeoutError:
        raise AssertionError(f"waited in vain for {what}") from None
