"""An embedded database's log is made long ahead of what is committed, as long as the disk has room; readers see none of
it."""

import os
import shutil
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from interlock.store.drivers import sqlite
from interlock.store.engine import Store
from interlock.store.mailboxes import mailbox
from interlock.store.tx import Tx
from tests.contract.store.furniture import T0, agents, message

POSTS = sqlite.UNITS_A_LOOK + 8
"""After which the log has been looked at, and written to once more."""


@pytest.fixture
def path(migrated_sqlite_url: str) -> Path:
    return Path(migrated_sqlite_url.removeprefix("sqlite:///"))


@pytest.fixture
async def store(migrated_sqlite_url: str) -> AsyncIterator[Store]:
    async with Store(migrated_sqlite_url) as opened:
        yield opened


def post(tx: Tx, agent_id: str, key: str) -> None:
    mailbox.post(tx, message(agent_id, key), T0)


async def posted(store: Store) -> None:
    """So many commits, one after the other."""
    (agent,) = await store.write(agents, 1)
    for number in range(POSTS):
        await store.write(post, agent, str(number))


def log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


async def test_what_is_committed_in_a_log_that_was_made_longer_is_there_after_a_crash(
    store: Store, path: Path, tmp_path: Path
) -> None:
    await posted(store)
    assert log_of(path).stat().st_size >= sqlite.ROOM_AT_ONCE
    left = tmp_path / "left" / path.name
    left.parent.mkdir()
    for each in (path, log_of(path)):
        shutil.copy(each, left.with_name(each.name))
    with sqlite3.connect(left) as found:
        assert found.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert found.execute("SELECT count(*) FROM runs").fetchone() == (POSTS,)


async def test_a_log_stays_as_it_is_where_the_disk_has_little_room(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "SPARE_BYTES", 1 << 62)
    await posted(store)
    assert 0 < log_of(path).stat().st_size < sqlite.ROOM_AT_ONCE


async def test_a_log_that_cannot_be_made_longer_costs_no_commit(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    await posted(store)
    assert 0 < log_of(path).stat().st_size < sqlite.ROOM_AT_ONCE
    with sqlite3.connect(path) as found:
        assert found.execute("SELECT count(*) FROM runs").fetchone() == (POSTS,)
