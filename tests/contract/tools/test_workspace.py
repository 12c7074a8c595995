"""Workspaces: laid down from the store, collected into it, and nothing of them lost or left behind."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from interlock.core.values import Actor, ActorKind, digest
from interlock.store import blobs, squad
from interlock.store.auditing import audit
from interlock.store.engine import Store
from interlock.tools.errors import ToolError
from interlock.tools.workspace import Limits, Workspace, Workspaces
from tests.tool_calls import NOW, PROJECT, keep

ACTOR = Actor(ActorKind.AGENT, "agt", "coder")


async def save(store: Store, workspace: Workspace, labels: frozenset[str] = frozenset()) -> int:
    writes = await workspace.collect(ACTOR, NOW, labels=labels)
    await keep(store, writes)
    return len(writes)


async def versions(store: Store) -> dict[str, int]:
    return {row.path: row.version for row in await store.read(blobs.manifest, PROJECT)}


async def conflicts(store: Store) -> list[tuple[str, int, int]]:
    found = await store.read(audit.activities, action="WORKSPACE_CONFLICT")
    return [(row.subject, row.data["base_version"], row.data["version"]) for row in found]


async def given(store: Store, workspaces: Workspaces, **files: bytes) -> None:
    seed = workspaces.of(PROJECT, "seed")
    for path, data in files.items():
        await seed.write(path, data)
    await save(store, seed)
    await workspaces.dispose(PROJECT, "seed")


async def test_nothing_is_on_disk_before_it_is_needed(workspaces: Workspaces) -> None:
    workspace = workspaces.of(PROJECT, "r")
    assert not workspace.root.exists()
    assert await workspace.collect(ACTOR, NOW) == ()
    await workspace.files()
    assert workspace.root.is_dir()


async def test_files_of_the_project_are_laid_down(store: Store, workspaces: Workspaces) -> None:
    await given(store, workspaces, **{"a/b.txt": b"one", "c": bytes(range(256))})
    workspace = await workspaces.materialise(PROJECT, "r")
    assert (workspace.root / "a/b.txt").read_bytes() == b"one"
    assert await workspace.files() == [("a/b.txt", 3), ("c", 256)]
    assert await workspace.files("a") == [("a/b.txt", 3)]
    assert await save(store, workspace) == 0


async def test_sizes_are_of_the_current_files_alone(store: Store, workspaces: Workspaces) -> None:
    await given(store, workspaces, a=b"one", b=b"two", c=b"three")
    workspace = await workspaces.materialise(PROJECT, "r")
    await workspace.write("a", b"longer")
    (workspace.root / "c").unlink()
    await save(store, workspace)
    assert [tuple(row) for row in await store.read(blobs.sizes)] == [(PROJECT, 2, 9)]


class CountedStore(Store):
    """Counts how often it is read."""

    reads = 0

    async def read(self, *args: Any, **kwargs: Any) -> Any:
        self.reads += 1
        return await super().read(*args, **kwargs)


async def test_many_files_are_laid_down_in_a_few_steps(migrated_url: str, tmp_path: Path) -> None:
    files = {f"notes/{number:03}.md": b"%d" % number for number in range(150)}
    store = CountedStore(migrated_url)
    async with store:
        await store.write(squad.ensure_project, PROJECT, "UTC", NOW)
        workspaces = Workspaces(tmp_path, store)
        await given(store, workspaces, **files)
        store.reads = 0
        workspace = await workspaces.materialise(PROJECT, "r")
        assert store.reads < len(files) / 10
        assert {path: await workspace.read(path) for path in files} == files
        assert await save(store, workspace) == 0


async def test_added_changed_and_removed_files_become_versions(store: Store, workspaces: Workspaces) -> None:
    await given(store, workspaces, kept=b"k", changed=b"old", removed=b"r")
    workspace = await workspaces.materialise(PROJECT, "r")
    (workspace.root / "changed").write_bytes(b"new")
    (workspace.root / "removed").unlink()
    (workspace.root / "deep").mkdir()
    (workspace.root / "deep/added").write_bytes(b"a")
    assert await save(store, workspace) == 3
    assert await versions(store) == {"kept": 1, "changed": 2, "deep/added": 1}
    gone: Any = await store.read(blobs.latest, PROJECT, "removed")
    assert (gone.version, gone.blob) == (2, None)
    assert await save(store, workspace) == 0
    assert await conflicts(store) == []


async def test_same_bytes_again_are_no_change(store: Store, workspaces: Workspaces) -> None:
    await given(store, workspaces, a=b"same")
    workspace = workspaces.of(PROJECT, "r")
    await workspace.write("a", b"same")
    assert await save(store, workspace) == 0


async def test_one_run_may_write_a_file_many_times_without_a_conflict(store: Store, workspaces: Workspaces) -> None:
    await given(store, workspaces, a=b"0")
    workspace = workspaces.of(PROJECT, "r")
    for number in range(1, 4):
        await workspace.write("a", b"%d" % number)
        await save(store, workspace)
    assert await versions(store) == {"a": 4}
    assert await conflicts(store) == []


async def test_two_runs_that_write_one_file_keep_both_versions_and_it_is_on_record(
    store: Store, workspaces: Workspaces
) -> None:
    await given(store, workspaces, a=b"base")
    one, two = workspaces.of(PROJECT, "one"), workspaces.of(PROJECT, "two")
    await asyncio.gather(one.write("a", b"from one"), two.write("a", b"from two"))
    await save(store, one)
    await save(store, two)
    assert await versions(store) == {"a": 3}
    assert await conflicts(store) == [("a", 1, 3)]
    assert await store.read(blobs.get, digest(b"from one")) == b"from one"
    (row,) = await store.read(blobs.manifest, PROJECT)
    assert row.blob == digest(b"from two")


async def test_new_file_of_two_runs_is_a_conflict_too(store: Store, workspaces: Workspaces) -> None:
    one, two = workspaces.of(PROJECT, "one"), workspaces.of(PROJECT, "two")
    await one.write("a", b"1")
    await two.write("a", b"2")
    await save(store, one)
    await save(store, two)
    assert await conflicts(store) == [("a", 0, 2)]


async def test_processes_that_write_one_file_at_once_all_get_a_version(
    store: Store, database_url: str, tmp_path: Path
) -> None:
    async with Store(database_url) as second:
        stores = [store, second] * 6
        spaces = [Workspaces(tmp_path / str(n), each).of(PROJECT, f"r{n}") for n, each in enumerate(stores)]
        for workspace in spaces:
            await workspace.write("a", b"same for all")
            await workspace.write("b", workspace.run_id.encode())
        await asyncio.gather(*(save(each, space) for each, space in zip(stores, spaces, strict=True)))
    assert await versions(store) == {"a": 12, "b": 12}
    assert len(await conflicts(store)) == 22


async def test_taint_of_a_file_stays_with_it(store: Store, workspaces: Workspaces) -> None:
    first = workspaces.of(PROJECT, "first")
    await first.write("a", b"from the web")
    await save(store, first, frozenset({"untrusted"}))
    assert first.labels("a") == {"untrusted"}
    second = workspaces.of(PROJECT, "second")
    await second.write("a", b" and more", append=True)
    await save(store, second, frozenset({"private"}))
    third = await workspaces.materialise(PROJECT, "third")
    assert await third.read("a") == b"from the web and more"
    assert third.labels("a") == {"untrusted", "private"}
    assert third.labels("nowhere") == frozenset()


async def test_changes_are_not_seen_by_others_before_they_are_kept(store: Store, workspaces: Workspaces) -> None:
    one = workspaces.of(PROJECT, "one")
    await one.write("a", b"1")
    two = await workspaces.materialise(PROJECT, "two")
    assert await two.files() == []


async def test_links_and_devices_are_not_collected(store: Store, workspaces: Workspaces, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    workspace = await workspaces.materialise(PROJECT, "r")
    (workspace.root / "link").symlink_to(tmp_path / "secret")
    (workspace.root / "way").symlink_to(tmp_path)
    assert await save(store, workspace) == 0


async def test_file_replaced_by_a_link_counts_as_removed(store: Store, workspaces: Workspaces, tmp_path: Path) -> None:
    await given(store, workspaces, a=b"mine")
    (tmp_path / "secret").write_text("secret")
    workspace = await workspaces.materialise(PROJECT, "r")
    (workspace.root / "a").unlink()
    (workspace.root / "a").symlink_to(tmp_path / "secret")
    assert await workspace.digest("a") == "unreadable"
    assert await save(store, workspace) == 1
    assert await versions(store) == {}


async def test_digest_names_content_absence_and_refusal(workspaces: Workspaces) -> None:
    workspace = workspaces.of(PROJECT, "r")
    await workspace.write("a", b"x")
    assert await workspace.digest("a") == digest(b"x")
    assert await workspace.digest("b") == "absent"
    assert await workspace.digest("../a") == "unreadable"


async def test_limits_hold_for_files_and_for_all_together(store: Store, tmp_path: Path) -> None:
    limits = Limits(file_bytes=10, total_bytes=15, file_count=3)
    workspace = Workspaces(tmp_path, store, limits).of(PROJECT, "r")
    with pytest.raises(ToolError, match="would be 11 bytes: a file has at most 10"):
        await workspace.write("a", b"x" * 11)
    await workspace.write("a", b"x" * 10)
    with pytest.raises(ToolError, match="would be 11 bytes"):
        await workspace.write("a", b"x", append=True)
    with pytest.raises(ToolError, match="larger than 15 bytes"):
        await workspace.write("b", b"x" * 6)
    await workspace.write("a", b"x" * 9)
    await workspace.write("b", b"x" * 6)
    await workspace.write("c", b"")
    with pytest.raises(ToolError, match="holds 3 files, which is the most"):
        await workspace.write("d", b"")
    assert await workspace.files() == [("a", 9), ("b", 6), ("c", 0)]


async def test_concurrent_appends_lose_nothing(workspaces: Workspaces) -> None:
    workspace = workspaces.of(PROJECT, "r")
    await asyncio.gather(*(workspace.write("log", b"x", append=True) for _ in range(20)))
    assert await workspace.read("log") == b"x" * 20


async def test_one_run_has_one_workspace_until_it_is_disposed_of(store: Store, workspaces: Workspaces) -> None:
    workspace = workspaces.of(PROJECT, "r")
    assert workspaces.of(PROJECT, "r") is workspace
    await workspace.write("a", b"not kept")
    await workspaces.dispose(PROJECT, "r")
    assert not workspace.root.exists()
    assert await workspaces.of(PROJECT, "r").files() == []


async def test_leftovers_of_the_same_run_are_not_taken_over(store: Store, workspaces: Workspaces) -> None:
    root = workspaces.of(PROJECT, "r").root
    root.mkdir(parents=True)
    (root / "half").write_text("written before the crash")
    assert await workspaces.of(PROJECT, "r").files() == []


async def test_sweep_removes_the_folders_of_crashed_runs_alone(store: Store, workspaces: Workspaces) -> None:
    for run in ("live", "dead", "strange/../id"):
        await workspaces.of(PROJECT, run).write("f/g", b"x")
    locked = workspaces.of(PROJECT, "dead").root / "f"
    locked.chmod(0o500)
    gone = await workspaces.sweep(["live"])
    assert {path.exists() for path in gone} == {False}
    assert len(gone) == 2
    assert (workspaces.of(PROJECT, "live").root / "f/g").read_bytes() == b"x"


def _deep(folder: Path, levels: int) -> None:
    """Folders within folders, deeper than a path can say."""
    fd = os.open(folder, os.O_RDONLY)
    for level in range(levels):
        os.mkdir("d", dir_fd=fd)
        inner = os.open("d", os.O_RDONLY, dir_fd=fd)
        if level % 100 == 0:
            os.chmod("d", 0o500, dir_fd=fd)
        os.close(fd)
        fd = inner
    os.close(fd)


async def test_no_depth_of_folders_keeps_a_workspace_from_being_read_or_removed(
    store: Store, workspaces: Workspaces
) -> None:
    left, used = await workspaces.materialise(PROJECT, "crashed"), await workspaces.materialise(PROJECT, "used")
    await used.write("note.txt", b"here")
    for each in (left, used):
        _deep(each.root, 2_000)
    assert await used.files() == [("note.txt", 4)]
    await workspaces.dispose(PROJECT, "used")
    assert await workspaces.sweep([]) == [left.root]
    assert not left.root.exists()
    assert not used.root.exists()


async def test_sweep_does_not_follow_links(store: Store, workspaces: Workspaces, tmp_path: Path) -> None:
    (tmp_path / "elsewhere/run").mkdir(parents=True)
    (tmp_path / "elsewhere/run/file").write_text("x")
    await workspaces.of(PROJECT, "dead").files()
    (tmp_path / "workspaces/linked").symlink_to(tmp_path / "elsewhere")
    (workspaces.of(PROJECT, "dead").root / "way").symlink_to(tmp_path / "elsewhere")
    await workspaces.sweep([])
    assert (tmp_path / "elsewhere/run/file").read_text() == "x"


async def test_projects_do_not_see_each_others_files(store: Store, workspaces: Workspaces) -> None:
    await given(store, workspaces, a=b"x")
    other = await workspaces.materialise("other", "r")
    assert await other.files() == []
