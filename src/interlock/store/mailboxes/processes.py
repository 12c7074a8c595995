"""Identifies processes on this machine, and checks whether one is still alive."""

import contextlib
import os
import socket
from pathlib import Path


def host() -> str:
    """Identifies this machine and PID namespace: equal if a PID means the same process."""
    parts = [socket.gethostname()]
    for path in ("/proc/sys/kernel/random/boot_id",):
        try:
            parts.append(Path(path).read_text("ascii").strip())
        except OSError:
            continue
    with contextlib.suppress(OSError):
        parts.append(os.readlink("/proc/self/ns/pid"))
    return "/".join(parts)


def started(pid: int) -> str | None:
    """A token that distinguishes a process from a later one with the same PID; None if there is no such process.

    If the system does not report start times, only the process's existence counts.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
        fields = stat.rpartition(")")[2].split()
        return None if fields[0] in ("Z", "X") else fields[19]
    except (FileNotFoundError, ProcessLookupError):
        if Path("/proc/self/stat").exists():
            return None
    except (OSError, IndexError):
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return "alive"


def is_dead(there: str, pid: int, process_started: str) -> bool:
    """Whether a process is known to be dead; never, for one on another machine (`there`)."""
    return there == host() and started(pid) != process_started
