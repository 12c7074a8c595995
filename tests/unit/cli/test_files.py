"""Files that commands write are there whole, or not at all; what was there before is not lost to a full disk."""

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from interlock.cli.files import write_over, write_private
from interlock.core.errors import InterlockError, UsageError

LONG = "words " * 1000


@contextmanager
def no_room() -> Iterator[None]:
    """Nobody can write more than a kilobyte to a file."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


def test_file_that_cannot_be_replaced_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "out.md"
    path.write_text("what was there")
    with no_room(), pytest.raises(InterlockError, match=r"cannot write `.*out\.md`: file too large"):
        write_over(path, LONG.encode())
    assert path.read_text() == "what was there"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("to_link", [False, True])
def test_file_is_replaced_with_its_rights_and_where_a_link_points(tmp_path: Path, to_link: bool) -> None:
    path = tmp_path / "out.md"
    path.write_text("what was there, and longer than that")
    path.chmod(0o640)
    if to_link:
        (tmp_path / "link").symlink_to(path)
    write_over(tmp_path / "link" if to_link else path, b"short")
    assert (path.read_text(), path.stat().st_mode & 0o777, path.is_symlink()) == ("short", 0o640, False)


def test_what_is_no_file_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    write_over(Path("/dev/null"), b"nothing")
    assert Path("/dev/null").is_char_device()


def test_private_file_that_cannot_be_written_leaves_nothing_so_that_it_can_be_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with no_room(), pytest.raises(UsageError, match="file too large"):
        write_private(path, LONG)
    assert list(tmp_path.iterdir()) == []
    write_private(path, LONG)
    with pytest.raises(UsageError, match="exists already"):
        write_private(path, "again")
    assert path.read_text() == LONG
