"""The choice of a Python for a fresh clone, with stand-ins for the interpreters; no environment is really built."""

import os
import subprocess
from pathlib import Path

import pytest

from scripts.check_sources import ROOT

SUITABLE = '#!/bin/sh\n[ "$1" = -m ] && echo "${0##*/} $*"\nexit 0\n'
SHIM = '#!/bin/sh\necho "shim: not installed" >&2\nexit 127\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An empty folder that is the whole PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    return folder


def install(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(script, encoding="utf-8")
    (folder / name).chmod(0o755)


def make_venv(path: Path, python: str = "") -> subprocess.CompletedProcess[str]:
    """What the script does for a folder `env` that does not exist."""
    return subprocess.run(
        ["/bin/sh", str(ROOT / "scripts" / "venv.sh"), str(path.parent / "env")],
        env={"PATH": str(path), "PYTHON": python},
        capture_output=True,
        text=True,
        check=False,
    )


def test_first_python_that_runs_is_taken(path: Path) -> None:
    install(path, "python3.13", SHIM)
    install(path, "python3.12", SUITABLE)
    install(path, "python3", SUITABLE)
    done = make_venv(path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"python3.12 -m venv --clear {path.parent / 'env'}\n"


def test_named_python_is_the_only_one_tried(path: Path) -> None:
    install(path, "python3", SUITABLE)
    install(path, "mine", SHIM)
    done = make_venv(path, python="mine")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "`mine` is not a Python 3.11 or newer" in done.stderr


def test_no_python_at_all_is_one_clear_line(path: Path) -> None:
    install(path, "python3", SHIM)
    done = make_venv(path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "install one" in done.stderr


def test_environment_that_works_is_kept(path: Path) -> None:
    env = path.parent / "env" / "bin"
    env.mkdir(parents=True)
    install(env, "python", SUITABLE)
    install(path, "python3", SUITABLE)
    done = make_venv(path)
    assert (done.returncode, done.stdout) == (0, "")
    assert os.access(env / "python", os.X_OK)
