"""The lock that lets only one process execute the runs of a home and its database; if the process dies, the kernel
releases it.

Needed only for the embedded database: with PostgreSQL, any number of workers may execute runs.
"""

import fcntl
import os
from pathlib import Path
from time import monotonic, sleep
from typing import IO

FILE = "executing.lock"
LOOK_S, PATIENCE_S = 0.005, 1.0
"""How often, and for how long, to retry the lock: a process that only checks for a holder takes a shared lock briefly.
"""


class HomeLock:
    """Held by the process that executes the runs of an embedded database.

    If the `database` file is outside the home, a second lock lies beside it, since several homes may share a database.
    """

    def __init__(self, home: Path, database: Path | None = None) -> None:
        self._locks = [_Lock(home / FILE)]
        if database is not None and database.resolve().parent != home.resolve():
            found = database.resolve()
            self._locks.append(_Lock(found.with_name(f"{found.name}.{FILE}")))

    def acquire(self) -> bool:
        """Takes the lock if it is free; returns whether this process now holds it."""
        if all(lock.acquire() for lock in self._locks):
            return True
        self.release()
        return False

    def holder(self) -> int | None:
        """The pid of the process that holds the lock; None if none does, or if this account may not look."""
        return next((pid for lock in self._locks if (pid := lock.holder()) is not None), None)

    def release(self) -> None:
        """Releases the lock."""
        for lock in self._locks:
            lock.release()

    def __enter__(self) -> "HomeLock":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class _Lock:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[str] | None = None

    def acquire(self) -> bool:
        if self._file is not None:
            return True
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = os.fdopen(os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600), "a+")
        give_up_at = monotonic() + PATIENCE_S
        while not _locked(file, fcntl.LOCK_EX):
            if not _locked(file, fcntl.LOCK_SH) or monotonic() >= give_up_at:
                file.close()
                return False
            fcntl.flock(file, fcntl.LOCK_UN)
            sleep(LOOK_S)
        file.seek(0)
        file.truncate()
        file.write(f"{os.getpid()}\n")
        file.flush()
        self._file = file
        return True

    def holder(self) -> int | None:
        try:
            with self.path.open("r") as file:
                if _locked(file, fcntl.LOCK_SH):
                    return None
                text = file.read().strip()
                return int(text) if text.isdigit() else 0
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return None

    def release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _locked(file: IO[str], how: int) -> bool:
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
