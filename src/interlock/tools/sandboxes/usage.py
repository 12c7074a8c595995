"""What all processes of a sandbox use together, which the limits of single processes do not bound.

It is looked at several times a second, from outside. `sandbox` says what follows.
"""

import asyncio
import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from interlock.tools.bounds import MIB
from interlock.tools.subreaper import below

LOOK_S, COST = 0.05, 10
"""How long a pause between looks is at least, and how many times as long as a look."""
PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Most:
    """The limits of a whole sandbox."""

    memory_bytes: int
    cpu_s: float
    written_bytes: int


class Usage:
    """What the processes below one use, and by how much a folder has grown since this was made. Blocking I/O."""

    def __init__(self, folder: Path, most: Most) -> None:
        self._folder, self._most = folder, most
        self._before = _size(folder)

    async def passed(self, pid: int) -> str:
        """Returns as soon as a limit is passed: which one, as a past tense with what was used."""
        while True:
            began = monotonic()
            if found := await asyncio.to_thread(self._look, pid):
                return found
            await asyncio.sleep(max(LOOK_S, COST * (monotonic() - began)))

    def _look(self, pid: int) -> str | None:
        most, pids = self._most, below([pid])
        if _size(self._folder) - self._before > most.written_bytes:
            return f"wrote more than {most.written_bytes // MIB:,} MiB"
        if _cpu_s(pids) > most.cpu_s:
            return f"used more than {most.cpu_s:g} s of CPU time"
        if _resident(pids) > most.memory_bytes and _shared_out(pids) > most.memory_bytes:
            return f"used more than {most.memory_bytes // MIB:,} MiB of memory"
        return None


def _cpu_s(pids: Iterable[int]) -> float:
    """CPU seconds of processes, and of those that they have waited for."""
    ticks = 0
    for pid in pids:
        with contextlib.suppress(OSError, ValueError):
            ticks += sum(
                map(int, Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()[11:15])
            )
    return ticks / TICKS


def _resident(pids: Iterable[int]) -> int:
    """Bytes of memory of processes; what they share counts for each."""
    pages = 0
    for pid in pids:
        with contextlib.suppress(OSError, ValueError, IndexError):
            pages += int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    return pages * PAGE


def _shared_out(pids: Iterable[int]) -> int:
    """Bytes of memory of processes; what several share counts once. A process that hides this counts as a whole."""
    found = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii", "replace").splitlines()
            found += next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
        except (OSError, StopIteration, ValueError):
            found += _resident([pid])
    return found


def _size(folder: Path) -> int:
    """Bytes on disk in a folder; links are not followed."""
    total = 0
    for _, _, names, here in os.fwalk(folder, follow_symlinks=False, onerror=None):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.stat(name, dir_fd=here, follow_symlinks=False).st_blocks * 512
    return total
