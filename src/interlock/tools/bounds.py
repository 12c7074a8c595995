"""Programs under the limits of the operating system: processor time, memory, sizes and numbers of files.

This bounds harm by accident. It is no sandbox: such a program reads and reaches what its user may.
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
"""Sets the limits and becomes the program; a limit that this system does not have is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The most that a program may use."""

    cpu_s: int
    memory_bytes: int = 4096 * MIB
    """Of address space."""
    file_bytes: int = 256 * MIB
    """Of any file that it writes."""
    open_files: int = 1024


def bounded(argv: Sequence[str], most: Bounds) -> list[str]:
    """The words of a program that becomes `argv` under these limits; it ends with 127 where `argv` cannot be started.

    It replaces itself, so that signals and the exit code are the program's own.
    """
    limits = {
        "CPU": most.cpu_s, "AS": most.memory_bytes, "FSIZE": most.file_bytes, "NOFILE": most.open_files, "CORE": 0,
    }  # fmt: skip
    told = ",".join(f"{name}={value}" for name, value in limits.items())
    return [sys.executable, "-I", "-c", _BEFORE, told, *argv]
