"""The command line as a process of its own, in a folder of its own; no test of it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import interlock

SOURCES = str(Path(interlock.__file__).parents[1])
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

    def environment(self, variables: dict[str, str]) -> dict[str, str]:
        """What a command sees."""
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        return {**kept, "PYTHONPATH": SOURCES, "PYTHONWARNINGS": "error", **variables}

    def __call__(self, *args: str, stdin: str = "", **variables: str) -> Ended:
        """Runs a command to its end; no command may ever show a traceback."""
        done = subprocess.run(
            [sys.executable, "-m", "interlock.cli", *args], cwd=self.folder, env=self.environment(variables),
            input=stdin, capture_output=True, text=True, timeout=WAIT_S, check=False,
        )  # fmt: skip
        assert "Traceback" not in done.stderr + done.stdout, done.stderr
        return Ended(done.returncode, done.stdout, done.stderr)

    @contextmanager
    def running(self, *args: str, **variables: str) -> Iterator["subprocess.Popen[str]"]:
        """A command that goes on beside the test; killed at the end if it still does."""
        process = subprocess.Popen(
            [sys.executable, "-m", "interlock.cli", *args], cwd=self.folder, env=self.environment(variables),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate(timeout=WAIT_S)


def line_with(process: "subprocess.Popen[str]", words: str) -> str:
    """The first line of a running command's output that has these words in it."""
    assert process.stdout is not None
    for line in process.stdout:
        if words in line:
            return line
    raise AssertionError(f"`{words}` was never said")


def ended(process: "subprocess.Popen[str]", with_signal: signal.Signals | None = None) -> tuple[int, float]:
    """The exit code of a command, and how many seconds it took to end after the signal."""
    began = monotonic()
    if with_signal is not None:
        process.send_signal(with_signal)
    process.communicate(timeout=WAIT_S)
    return process.returncode, monotonic() - began


def until(found: Callable[[], Any]) -> Any:
    """What `found` gives as soon as it is something."""
    deadline = monotonic() + WAIT_S
    while monotonic() < deadline:
        if value := found():
            return value
    raise AssertionError("it never happened")
