"""Finds child processes recorded in the home, and ends those of dead workers.

Children are started in `children`.
"""

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import monotonic

from interlock.store.mailboxes import processes
from interlock.tools.subreaper import below

MARK = "INTERLOCK_CHILD"
"""An environment variable inherited by all descendants of a child, also by those that leave its process group."""
FIRST_LOOK_S, LONGEST_LOOK_S = 0.01, 0.1
KILL_S = 3.0
"""The time for killed processes to disappear; one that hangs in the kernel is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A child process and the worker that started it; `pid` is None until it has started."""

    token: str
    host: str
    worker_pid: int
    worker_started: str
    run_id: str
    call_id: str
    program: str
    pid: int | None = None
    started: str | None = None
    is_kept: bool = False
    """Whether `pid` is a subreaper, to which all falls back that the program starts."""

    def started_as(self, pid: int, *, is_kept: bool = False) -> "Record":
        """The record after the start."""
        return replace(self, pid=pid, started=processes.started(pid), is_kept=is_kept)

    def write(self, folder: Path) -> None:
        """Writes the record atomically."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = folder / f".{self.token}"
        draft.write_text(json.dumps(asdict(self)), "utf-8")
        draft.replace(folder / self.token)

    def remove(self, folder: Path) -> None:
        """Removes the record, and a temporary file that a killed worker left."""
        for name in (self.token, f".{self.token}"):
            (folder / name).unlink(missing_ok=True)

    @property
    def is_orphan(self) -> bool:
        """Whether the worker was a process of this machine and is gone."""
        return processes.is_dead(self.host, self.worker_pid, self.worker_started)


def records_of(home: Path) -> Path:
    """The directory of a home's records."""
    return home / "children"


def members(record: Record) -> list[int]:
    """The processes that belong to a child: its group, others with its mark, and the descendants of its subreaper.

    A process id is not reused while it names a group; if another process has it, the group is gone.
    """
    mark = f"{MARK}={record.token}".encode()
    replaced = record.pid is not None and processes.started(record.pid) not in (None, record.started)
    group = None if replaced else record.pid
    found = below([group]) if record.is_kept and group is not None else []
    known = frozenset(found)
    for pid in _pids():
        with contextlib.suppress(OSError, IndexError, ValueError):
            state, _, pgrp = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()[:3]
            if state in ("Z", "X") or pid in known:
                continue
            if int(pgrp) == group or mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                found.append(pid)
    if not found and group is not None and not Path("/proc/self/stat").exists():
        with contextlib.suppress(OSError):
            os.killpg(group, 0)
            found.append(group)
    return found


def _pids() -> Iterator[int]:
    with contextlib.suppress(OSError):
        yield from (int(name) for name in os.listdir("/proc") if name.isdigit())


async def end(record: Record, term_s: float) -> int:
    """Ends all processes of a child: SIGTERM, then SIGKILL after `term_s`; returns how many there were."""
    left = members(record)
    count, wait_s, began = len(left), FIRST_LOOK_S, monotonic()
    _signal(record, left, signal.SIGTERM)
    while left and monotonic() - began < term_s + KILL_S:
        await asyncio.sleep(wait_s)
        wait_s = min(2 * wait_s, LONGEST_LOOK_S)
        left = members(record)
        if monotonic() - began >= term_s:
            _signal(record, left, signal.SIGKILL)
    return count


def _signal(record: Record, pids: list[int], how: signal.Signals) -> None:
    """A subreaper is not signalled while it has descendants, which would be lost without it."""
    others = [pid for pid in pids if pid != record.pid]
    if record.is_kept and others:
        pids = others
    elif pids and record.pid in pids:
        with contextlib.suppress(OSError):
            os.killpg(record.pid, how)
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, how)


async def end_orphans(home: Path, term_s: float = 0.5) -> list[Record]:
    """Ends the children of dead workers of this machine; returns the records of those that were running.

    What a subreaper kept has been ended by it when the worker died.
    """
    folder, ended = records_of(home), []
    for path in sorted(folder.glob("[!.]*")) if folder.is_dir() else ():
        record = _read(path)
        if record is None or _is_of_earlier_start(record.host):
            path.unlink(missing_ok=True)
        elif record.is_orphan:
            if await end(record, term_s) or record.is_kept:
                ended.append(record)
            record.remove(folder)
    return ended


def _read(path: Path) -> Record | None:
    try:
        return Record(**json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _is_of_earlier_start(host: str) -> bool:
    """Whether this machine has been restarted since; then no such process is left."""
    there, here = host.split("/"), processes.host().split("/")
    return there[0] == here[0] and len(there) > 1 and len(here) > 1 and there[1] != here[1]
