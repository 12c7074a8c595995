"""Puts a backup in the place of a database in children that are killed, each at another step; no test is here.

`killed_restores.py <url> <archive> <folder> <most>` prints a line of JSON for each child: where it was killed, and what
was in the database afterwards.
"""

import json
import os
import shutil
import signal
import sqlite3
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from interlock.core.values import SYSTEM
from interlock.store.drivers.postgres import PostgresDriver
from interlock.store.drivers.sqlite import SqliteDriver
from interlock.store.engine import driver_for
from interlock.store.tx import SqliteTx
from interlock.store.upkeep import epochs, exchange, restore, snapshots
from interlock.store.upkeep.archive import Archive
from interlock.store.upkeep.epochs import Beginning

WATCHED = exchange.__file__


def fingerprint(url: str) -> list[Any]:
    """What tells one state of the database from another: its epoch, and how many rows each table has."""
    with snapshots.of(url) as snapshot:
        counts = [sum(1 for _ in snapshot.rows(name, columns)) for name, columns in snapshot.tables().items()]
        return [snapshot.epoch, *counts]


def child(url: str, prepared: Path, kill_at: int | None) -> int:
    """Exchanges in a child that is killed at the step with this number; returns how many steps there were, or 0."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        steps = 0

        def count(frame: FrameType, event: str, _: Any) -> None:
            nonlocal steps
            caller = frame if event == "c_call" else frame.f_back
            if event in ("call", "c_call") and caller is not None and caller.f_code.co_filename == WATCHED:
                steps += 1
                if steps == kill_at:
                    os.kill(os.getpid(), signal.SIGKILL)

        scratch = Path(shutil.copy(prepared, prepared.with_name("copy.db")))
        connection = sqlite3.connect(scratch, isolation_level=None)
        tx, driver = SqliteTx(connection, SqliteDriver(scratch).statements), driver_for(url)
        beginning = Beginning(datetime(2027, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC), SYSTEM, "p", False)
        begin = partial(epochs.begin, tx, beginning)
        sys.setprofile(count)
        if isinstance(driver, PostgresDriver):
            exchange.into_postgres(driver, connection, begin)
        else:
            exchange.into_sqlite(driver, connection, begin)
        sys.setprofile(None)
        os.write(writer, str(steps).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(pid, 0)
    told = os.read(reader, 20)
    os.close(reader)
    return int(told or 0)


def main(url: str, path: Path, folder: Path, most: int) -> None:
    """Counts the steps of a whole exchange, then kills at `most` of them, the last ones among them."""
    prepared = folder / "prepared.db"
    with Archive(path) as archive:
        restore.prepare(archive, prepared)
    total = child(url, prepared, None)
    spread = {1 + total * number // most for number in range(most)} | set(range(total - 5, total + 1))
    before = fingerprint(url)
    for step in sorted(spread):
        done = child(url, prepared, step)
        after = fingerprint(url)
        print(json.dumps({"step": step, "of": total, "done": done, "before": before, "after": after}), flush=True)
        before = after


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
