"""The lock of a home: one executes; who only looks is in nobody's way."""

import fcntl
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from interlock.worker.home import FILE, HomeLock


def test_one_of_two_executes_and_the_other_is_told_who(tmp_path: Path) -> None:
    with HomeLock(tmp_path) as first:
        assert first.acquire()
        assert not HomeLock(tmp_path).acquire()
        assert HomeLock(tmp_path).holder() is not None
    assert HomeLock(tmp_path).holder() is None


def test_who_only_looks_does_not_keep_a_process_from_executing(tmp_path: Path) -> None:
    (tmp_path / FILE).touch()
    with ThreadPoolExecutor(1) as other, HomeLock(tmp_path) as lock:
        with (tmp_path / FILE).open() as looking:
            fcntl.flock(looking, fcntl.LOCK_SH)
            asked = other.submit(lock.acquire)
            assert not asked.done()
        assert asked.result(timeout=30)


def test_of_two_homes_with_one_database_one_executes(tmp_path: Path) -> None:
    one, other, database = tmp_path / "one", tmp_path / "other", tmp_path / "shared" / "interlock.db"
    database.parent.mkdir()
    (tmp_path / "linked.db").symlink_to(database)
    with HomeLock(one, database) as first:
        assert first.acquire()
        for path in (database, tmp_path / "linked.db"):
            second = HomeLock(other, path)
            assert not second.acquire()
            assert second.holder() is not None
        assert HomeLock(other, other / "interlock.db").holder() is None
    assert HomeLock(other, database).holder() is None
