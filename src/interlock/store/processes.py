"""Which process this is, and whether another one of this machine is still alive. Nothing is written down here."""

import contextlib
import os
import socket
from pathlib import Path


def host() -> str:
    """This machine and process namespace; equal where a pid means the same process."""
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
    """What tells a process from a later one with its pid; None if there is no such process.

    Where the system does not say when a process started, only its existence counts.
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
    """Whether a process is known to be gone; of another machine (`there`) nothing is known."""
    return there == host() and started(pid) != process_started
