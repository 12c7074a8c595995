"""Runs programs under resource limits of the operating system: CPU time, memory, file sizes and open files.

This limits accidental harm. It is no sandbox: such a program can access whatever its user can.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

MIB = 1024 * 1024
_BEFORE = """
import os, resource, sys
for pair in sys.argv[1].split(","):
    name, _, most = pair.partition("=")
    try:
        kind = getattr(resource, "RLIMIT_" + name)
        hard = resource.getrlimit(kind)[1]
        least = int(most) if hard == resource.RLIM_INFINITY else min(int(most), hard)
        resource.setrlimit(kind, (least, least))
    except (AttributeError, OSError, ValueError):
        pass
try:
    os.execvp(sys.argv[2], sys.argv[2:])
except OSError as error:
    sys.stderr.write("cannot start `" + sys.argv[2] + "`: " + (error.strerror or str(error)).lower() + "\\n")
    sys.exit(127)
"""
"""Sets the limits and executes the program; limits that the system does not support are skipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The resource limits of a program."""

    cpu_s: int
    memory_bytes: int = 4096 * MIB
    """Of address space."""
    file_bytes: int = 256 * MIB
    """Of any file that it writes."""
    open_files: int = 1024


def bounded(argv: Sequence[str], most: Bounds) -> list[str]:
    """The command line of a program that executes `argv` under these limits; exit code 127 if `argv` cannot be started.

    It replaces itself by exec, so that signals and the exit code are the program's own.
    """
    limits = {
        "CPU": most.cpu_s, "AS": most.memory_bytes, "FSIZE": most.file_bytes, "NOFILE": most.open_files, "CORE": 0,
    }  # fmt: skip
    limits_text = ",".join(f"{name}={value}" for name, value in limits.items())
    return [sys.executable, "-I", "-c", _BEFORE, limits_text, *argv]
