"""Errors of the database itself, each with a message that says what to do."""

import sqlite3

from interlock.core.errors import Conflict, InterlockError


class StoreError(InterlockError):
    """A database operation failed."""


class StoreUnavailable(StoreError):
    """The database cannot be used at present: locked, full, read-only, unreachable."""

    is_final = False
    """Whether retrying is useless."""
    is_cut_off = False
    """Whether the server cannot be reached for a while, so that nothing is wrong with what was tried."""


class StoreClosed(StoreUnavailable):
    """This process has closed the database."""

    is_final = True

    def __init__(self) -> None:
        super().__init__("the store is closed")


class StoreGone(StoreError):
    """The database's file or its log was deleted or replaced while it was open; further writes would be lost."""

    def __init__(self, path: str) -> None:
        super().__init__(f"the database file `{path}` was deleted or replaced while it was in use: start again")


class StoreTooNew(StoreError):
    """A newer version of Interlock has migrated this database."""

    def __init__(self, found: str, known: str) -> None:
        self.found, self.known = found, known
        super().__init__(
            f"the database is at revision `{found}`, this version of interlock knows up to `{known}`: "
            "install the newer version, or restore a backup"
        )


class LeaseLost(Conflict):
    """The run was given to another worker, or has ended: the holder of this lease must stop writing."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        super().__init__(f"run `{run_id}` is no longer this worker's")


def locked(path: str) -> str:
    """The error for a database that another process has locked for too long."""
    return f"the database `{path}` is locked by another process: try again when it is done"


def of_sqlite(error: sqlite3.Error, path: str) -> StoreError | None:
    """Translates an operational SQLite error; None if it is a programming error."""
    text = str(error).lower()
    if "locked" in text or "busy" in text:
        return StoreUnavailable(locked(path))
    if "full" in text or getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_IOERR_SHMSIZE:
        return StoreUnavailable(f"no space left for the database `{path}`: free some and start again, nothing is lost")
    if "readonly" in text or "read-only" in text:
        return StoreUnavailable(f"the database `{path}` is read-only: make it writable for this user, and its folder")
    if "unable to open" in text:
        return StoreUnavailable(f"cannot open the database `{path}`: check the path and its permissions")
    if "disk i/o" in text:
        return StoreUnavailable(f"the disk failed under the database `{path}`: check it and start again")
    if "not a database" in text or "malformed" in text:
        return StoreUnavailable(f"`{path}` is not an interlock database, or is damaged: restore a backup")
    return None
