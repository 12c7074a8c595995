"""The closed room on disk: links, devices, races and full disks."""

import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.tools.errors import ToolError
from interlock.tools.folder import Folder, Missing, translated_errors


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text("secret")
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "room"


@pytest.fixture
def room(root: Path) -> Iterator[Folder]:
    folder = Folder(root)
    yield folder
    folder.close()


def test_what_was_written_is_read(room: Folder, root: Path) -> None:
    room.write("a/b/c.txt", b"one")
    room.write("a/b/c.txt", b"two")
    assert room.read("a/b/c.txt", 10) == b"two"
    assert [path.name for path in root.rglob("*") if path.is_file()] == ["c.txt"]


def test_missing_file_and_missing_folder_are_told_apart_from_failures(room: Folder) -> None:
    for path in ("none.txt", "no/where.txt"):
        with pytest.raises(Missing, match="there is no file"):
            room.read(path, 10)


def test_more_than_allowed_is_not_read(room: Folder) -> None:
    room.write("big", b"x" * 11)
    with pytest.raises(ToolError, match="larger than 10 bytes"):
        room.read("big", 10)


def test_link_to_a_file_is_neither_read_nor_written(room: Folder, root: Path, outside: Path) -> None:
    (root / "link").symlink_to(outside / "secret.txt")
    with pytest.raises(ToolError, match="is a link"):
        room.read("link", 100)
    with pytest.raises(ToolError, match="is a link"):
        room.write("link", b"changed")
    assert (outside / "secret.txt").read_text() == "secret"


@pytest.mark.parametrize("target", ["outside", "../outside", "."])
def test_link_on_the_way_is_not_followed(room: Folder, root: Path, outside: Path, target: str) -> None:
    (root / "way").symlink_to(outside if target == "outside" else target)
    with pytest.raises(ToolError, match="link"):
        room.read("way/secret.txt", 100)
    with pytest.raises(ToolError, match="link"):
        room.write("way/new.txt", b"x")
    assert os.listdir(outside) == ["secret.txt"]


def test_root_that_is_a_link_is_refused(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "linked").symlink_to(outside)
    with pytest.raises(ToolError, match="link"):
        Folder(tmp_path / "linked")


def test_room_stays_the_same_when_its_name_is_given_to_another_folder(room: Folder, root: Path, outside: Path) -> None:
    room.write("mine.txt", b"mine")
    root.rename(root.with_name("moved"))
    root.symlink_to(outside)
    with pytest.raises(Missing):
        room.read("secret.txt", 100)
    assert room.read("mine.txt", 100) == b"mine"


def test_fifo_is_refused_without_waiting(room: Folder, root: Path) -> None:
    os.mkfifo(root / "pipe")
    with pytest.raises(ToolError, match="not a regular file"):
        room.read("pipe", 10)
    with pytest.raises(ToolError, match="not a regular file"):
        room.write("pipe", b"x")


def test_folder_is_no_file_and_file_is_no_folder(room: Folder) -> None:
    room.write("a/b", b"x")
    with pytest.raises(ToolError, match="is a folder"):
        room.read("a", 10)
    with pytest.raises(ToolError, match="is a folder"):
        room.write("a", b"x")
    with pytest.raises(ToolError, match="through a link or a file"):
        room.write("a/b/c", b"x")


def test_only_regular_files_with_plain_names_are_listed(room: Folder, root: Path, outside: Path) -> None:
    room.write("z.txt", b"1")
    room.write("a/b.txt", b"22")
    (root / "link").symlink_to(outside / "secret.txt")
    (root / "way").symlink_to(outside)
    os.mkfifo(root / "pipe")
    (root / "new\nline").write_text("x")
    (root / ".interlock-tmp-left").write_text("x")
    os.close(os.open(os.fsencode(root) + b"/\xff", os.O_CREAT | os.O_WRONLY))
    assert [(each.path, each.size) for each in room.files(10)] == [("a/b.txt", 2), ("z.txt", 1)]


def test_too_many_files_are_refused(room: Folder) -> None:
    for number in range(4):
        room.write(f"{number}", b"")
    with pytest.raises(ToolError, match="more than 3 files"):
        room.files(3)


def test_failed_write_leaves_the_old_file_and_nothing_half_written(room: Folder, root: Path) -> None:
    room.write("kept.txt", b"old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, before[1]))
    try:
        with pytest.raises(ToolError, match=r"`kept\.txt` cannot be used: file too large"):
            room.write("kept.txt", b"x" * 4096)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert room.read("kept.txt", 10) == b"old"
    assert os.listdir(root) == ["kept.txt"]


def test_disk_full_is_one_clear_line() -> None:
    with (
        pytest.raises(ToolError, match="no space left to write `a`: the operator must free some"),
        translated_errors("a"),
        Path("/dev/full").open("wb", buffering=0) as file,
    ):
        file.write(b"x")


def test_closed_room_refuses_everything(root: Path) -> None:
    room = Folder(root)
    room.close()
    for use in (lambda: room.read("a", 1), lambda: room.write("a", b""), lambda: room.files(1)):
        with pytest.raises(ToolError, match="closed"):
            use()


STEPS = st.lists(
    st.tuples(st.sampled_from(["write", "read"]), st.text(st.sampled_from("ab/.l\x00"), min_size=1, max_size=9)),
    max_size=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(STEPS)
def test_nothing_outside_is_ever_touched(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]]
) -> None:
    base = tmp_path_factory.mktemp("jail")
    secret = base / "a"
    secret.write_text("secret")
    root = base / "room"
    room = Folder(root)
    (root / "l").symlink_to(base)
    try:
        for kind, path in steps:
            try:
                if kind == "write":
                    room.write(path, b"mine")
                else:
                    assert room.read(path, 100) == b"mine"
            except ToolError:
                continue
    finally:
        room.close()
    assert sorted(os.listdir(base)) == ["a", "room"]
    assert secret.read_text() == "secret"
    assert (root / "l").is_symlink()
