"""Runs the installed command line as whole processes, for benchmarks that measure it."""

import os
import subprocess
import sys
from pathlib import Path

COMMAND = Path(sys.executable).with_name("interlock")


def environment(home: Path) -> dict[str, str]:
    """A process's environment without any keys, with a home of its own."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {**kept, "INTERLOCK_HOME": str(home), "INTERLOCK_MODEL": "rehearsal/offline", "NO_COLOR": "1"}


LONGEST_S = 60.0
"""The timeout of a command."""


def interlock(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A finished command."""
    return subprocess.run(
        [COMMAND, *arguments], env=environment(home), cwd=home.parent, capture_output=True, text=True, check=False,
        timeout=LONGEST_S,
    )  # fmt: skip


def started(home: Path, *arguments: str) -> "subprocess.Popen[str]":
    """A command that runs until it is ended."""
    return subprocess.Popen(
        [COMMAND, *arguments], env=environment(home), cwd=home.parent, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
