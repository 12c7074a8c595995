"""What the system refuses a command: one line, the exit code 1, and no traceback behind it."""

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from interlock.cli import os_errors
from interlock.cli.main import run


def test_a_full_disk_under_the_output_is_told_and_the_process_still_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert run(["persona", "list", "--json"]) == 1
    assert capsys.readouterr().err == "interlock: cannot write: no space left on device: free some\n"


def test_closed_outputs_are_written_to_nowhere(tmp_path: Path) -> None:
    closed = 'exec "$0" -m interlock.cli persona list <&- >&- 2>&-'
    done = subprocess.run(["/bin/sh", "-c", closed, sys.executable], cwd=tmp_path, check=False)
    assert done.returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_gone_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert run(["missions"]) == 1
    assert "the folder that this was started in is gone" in capsys.readouterr().err


def test_a_file_that_may_not_be_read_is_named_and_a_fault_of_ours_is_none_of_the_systems() -> None:
    refused = PermissionError(errno.EACCES, "Permission denied", "/a/home/interlock.db")
    assert (
        os_errors.explanation(refused)
        == "cannot use `/a/home/interlock.db`: permission denied: see who may read and write it"
    )
    assert os_errors.explanation(FileNotFoundError(errno.ENOENT, "No such file or directory", "/a")) is None
