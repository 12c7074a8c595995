"""Runs programs under resource limits of the operating system: CPU time, memory, file sizes, open files, processes.

This limits accidental harm. It is no sandbox: such a program can access whatever its user can. `sandboxes` has one.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

MIB = 1024 * 1024
_BEFORE = """
import os, resource, sys
user, folder, says, limits = sys.argv[1:5]
os.closerange(3, 65536)
if user != "-":
    os.setgroups([])
    os.setresgid(int(user), int(user), int(user))
    os.setresuid(int(user), int(user), int(user))
os.chdir(folder)
for pair in limits.split(","):
    name, _, most = pair.partition("=")
    try:
        kind = getattr(resource, "RLIMIT_" + name)
        hard = resource.getrlimit(kind)[1]
        least = int(most) if hard == resource.RLIM_INFINITY else min(int(most), hard)
        resource.setrlimit(kind, (least, least))
    except (AttributeError, OSError, ValueError):
        pass
sys.stderr.write(says)
sys.stderr.flush()
try:
    os.execvp(sys.argv[5], sys.argv[5:])
except OSError as error:
    sys.stderr.write("cannot start `" + sys.argv[5] + "`: " + (error.strerror or str(error)).lower() + "\\n")
    sys.exit(127)
"""
"""Sets the limits and executes the program; limits that the system does not support are skipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The resource limits of a program; each applies to each of its processes, but `processes`."""

    cpu_s: int
    memory_bytes: int = 4096 * MIB
    """Of address space."""
    file_bytes: int = 256 * MIB
    """Of any file that it writes."""
    open_files: int = 1024
    processes: int | None = None
    """How many processes and threads its user may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What is done before the program is started, in this order: become a user, go to a folder, write a line."""

    user: int | None = None
    folder: str = "."
    says: str = ""
    """To standard error."""


def bounded(argv: Sequence[str], most: Bounds, *, entering: Entry | None = None) -> list[str]:
    """The command line of a program that executes `argv` under these limits; exit code 127 if `argv` cannot be started.

    It replaces itself by exec, so that signals and the exit code are the program's own.
    """
    limits = {
        "CPU": most.cpu_s, "AS": most.memory_bytes, "FSIZE": most.file_bytes, "NOFILE": most.open_files, "CORE": 0,
    }  # fmt: skip
    if most.processes is not None:
        limits["NPROC"] = most.processes
    limits_text = ",".join(f"{name}={value}" for name, value in limits.items())
    first = entering or Entry()
    user = "-" if first.user is None else str(first.user)
    return [sys.executable, "-I", "-S", "-c", _BEFORE, user, first.folder, first.says, limits_text, *argv]
