"""The command line as a process of its own, in a folder of its own; no test of it."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from tests import processes
from tests.processes import SOURCES, Process

WAIT_S = 60
KEPT = ("PATH", "HOME", "LANG", "TMPDIR")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """What it printed as JSON."""
        return json.loads(self.out)


@dataclass(frozen=True, slots=True)
class Cli:
    """`interlock` in a folder, with no variables but those given."""

    folder: Path
    anew: bool = False
    """Each command with an interpreter of its own, that has imported nothing yet."""

    def environment(self, variables: dict[str, str]) -> dict[str, str]:
        """What a command sees."""
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        return {**kept, "PYTHONPATH": SOURCES, "PYTHONWARNINGS": "error", **variables}

    def __call__(self, *args: str, stdin: str = "", **variables: str) -> Ended:
        """Runs a command to its end; no command may ever show a traceback."""
        code, out, err = processes.run(
            ("-m", "interlock.cli", *args), folder=self.folder, environment=self.environment(variables), said=stdin,
            timeout_s=WAIT_S, anew=self.anew,
        )  # fmt: skip
        assert "Traceback" not in err + out, err
        return Ended(code, out, err)

    @contextmanager
    def running(self, *args: str, **variables: str) -> Iterator[Process]:
        """A command that goes on beside the test; killed at the end if it still does."""
        with processes.running(
            ("-m", "interlock.cli", *args), folder=self.folder, environment=self.environment(variables), anew=self.anew
        ) as process:
            yield process


def line_with(process: Process, words: str) -> str:
    """The first line of a running command's output that has these words in it."""
    assert process.stdout is not None
    for line in process.stdout:
        if words in line:
            return line
    raise AssertionError(f"`{words}` was never said")


def ended(process: Process, with_signal: signal.Signals | None = None) -> tuple[int, float]:
    """The exit code of a command, and how many seconds it took to end after the signal."""
    began = monotonic()
    if with_signal is not None:
        process.send_signal(with_signal)
    process.communicate(timeout_s=WAIT_S)
    return process.wait(), monotonic() - began


def until(found: Callable[[], Any]) -> Any:
    """What `found` gives as soon as it is something."""
    deadline = monotonic() + WAIT_S
    while monotonic() < deadline:
        if value := found():
            return value
    raise AssertionError("it never happened")
