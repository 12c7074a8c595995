"""The repository keeps its own promises: locks, traces of machines, sizes, isolation; nothing about the product."""

import os
import re
import socket
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from scripts import check_sources
from tests.conftest import OutsideBlocked

ROOT = check_sources.ROOT
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCKS = ("requirements.lock", "requirements-dev.lock")


def pins(lock: str) -> dict[str, set[Version]]:
    """The versions of every package in a lock file; more than one where they differ by platform."""
    out: dict[str, set[Version]] = {}
    for name, version in re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / lock).read_text(encoding="utf-8"), re.MULTILINE):
        out.setdefault(canonicalize_name(name), set()).add(Version(version))
    return out


def declared(*groups: str) -> list[Requirement]:
    """What pyproject asks for: the dependencies and those of the groups."""
    texts = [*PROJECT["project"]["dependencies"]]
    for group in groups:
        texts += PROJECT["dependency-groups"][group]
    return [Requirement(text) for text in texts]


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_names_no_package_index(lock: str) -> None:
    assert "://" not in (ROOT / lock).read_text(encoding="utf-8")


@pytest.mark.parametrize(("lock", "groups"), [(LOCKS[0], ("build",)), (LOCKS[1], ("build", "dev"))])
def test_lock_satisfies_everything_that_is_declared(lock: str, groups: tuple[str, ...]) -> None:
    locked = pins(lock)
    missing = [
        str(need)
        for need in declared(*groups)
        if not any(need.specifier.contains(v) for v in locked.get(canonicalize_name(need.name), ()))
    ]
    assert not missing, f"run `make lock`: {missing}"


def test_tools_are_locked_beside_the_same_runtime_that_users_get() -> None:
    runtime, tools = (pins(lock) for lock in LOCKS)
    assert runtime.items() <= tools.items()


def test_lock_of_uv_stays_out_of_the_repository() -> None:
    assert "uv.lock" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert ROOT / "uv.lock" not in check_sources.tracked_files(ROOT)


def test_tracked_files_have_no_faults() -> None:
    assert check_sources.repository_faults() == []


LONG_FUNCTION = '"""Doc."""\ndef f():\n' + "    x = 1\n" * 60
BAD = {
    "name.md": ("see " + "/ro" + "ot/secret", "names a path of one machine"),
    "spec.md": (".." + "/shared/spec", "names a path of one machine"),
    "pip.conf": ("extra-index" + "-url = x", "names the address of a package index"),
    "bare.py": ("x = 1", "no docstring"),
    "long.py": ('"""Doc."""\n' + "x = 1\n" * 400, "a module of 401 lines"),
    "function.py": (LONG_FUNCTION, "`f` has 61 lines"),
    "broken.py": ("def", "does not parse"),
    "twice.py": ('"""Doc."""\nLIMIT = 1\nLIMIT = 2\n', "`LIMIT` has a value already"),
}


@pytest.mark.parametrize("name", BAD)
def test_check_of_sources_finds_the_fault(name: str, tmp_path: Path) -> None:
    text, problem = BAD[name]
    (tmp_path / name).write_text(text, encoding="utf-8")
    (fault,) = check_sources.repository_faults(tmp_path)
    assert fault.startswith(f"{name}:")
    assert problem in fault


def test_migration_may_be_as_long_as_its_change(tmp_path: Path) -> None:
    path = tmp_path / "migrations" / "versions" / "0001_first.py"
    path.parent.mkdir(parents=True)
    path.write_text(LONG_FUNCTION, encoding="utf-8")
    assert check_sources.repository_faults(tmp_path) == []


def test_every_layer_is_held_by_the_import_contract() -> None:
    contracts = {contract["id"]: contract for contract in PROJECT["tool"]["importlinter"]["contracts"]}
    layers = {re.sub(r"[()\s]", "", name) for row in contracts["layers"]["layers"] for name in row.split("|")}
    modules = {path.stem for path in (ROOT / "src" / "interlock").iterdir() if path.suffix in ("", ".py")}
    assert modules - {"__init__", "__main__", "__pycache__"} <= layers


def test_ci_script_can_be_run() -> None:
    assert all(os.access(ROOT / ".ci" / name, os.X_OK) for name in ("run", "nightly"))


def test_tests_cannot_reach_the_outside() -> None:
    with pytest.raises(OutsideBlocked, match=r"192\.0\.2\.1"):
        socket.create_connection(("192.0.2.1", 80), timeout=1)
    with pytest.raises(OutsideBlocked, match="example"):
        socket.getaddrinfo("example.org", 443)


def test_states_of_runs_are_named_in_one_place() -> None:
    folder = ROOT / "src" / "interlock"
    named = [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*.py"))
        if re.search(r'"completed", "failed", "cancelled"|"created", "running", "waiting"', path.read_text("utf-8"))
    ]
    of_a_file = "agents/history/session_records.py"
    assert named == [of_a_file, "core/values.py"], "the first says what a file of a session holds"


def test_whole_chaos_suite_is_run_file_by_file() -> None:
    """Of a folder and a file in it, pytest collects the folder alone, which holds only the sample."""
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = re.findall(r"tests/chaos[\w/*.]*", recipe)
    files = {file for name in named for file in ROOT.glob(name)}
    folder = ROOT / "tests" / "chaos"
    with_tests = {
        file for file in folder.glob("*.py") if re.search(r"^(async )?def test_", file.read_text("utf-8"), re.MULTILINE)
    }
    assert folder not in files
    assert files == with_tests
