"""A project's files as used by one run: written from the store to disk, and collected back into the store.

The directory on disk is disposable; the versions in the store are authoritative. No file in it configures Interlock:
settings, policies and personas are never loaded from a workspace.
"""

import asyncio
import contextlib
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from interlock.core.values import Actor, digest
from interlock.store import blobs
from interlock.store.auditing import audit
from interlock.store.engine import Store
from interlock.store.tx import Tx
from interlock.tools.contract import PRIVATE, Write, write
from interlock.tools.errors import ToolError
from interlock.tools.folder import Folder, Found, Missing, Stamp, delete_tree
from interlock.tools.paths import parse

MIB = 1024 * 1024
BATCH_FILES, BATCH_BYTES = 64, 4 * MIB
"""How many files, and bytes of them, are laid down in one step, if each is not larger by itself."""
ABSENT = "absent"
UNREADABLE = "unreadable"
_FOLDER_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


@dataclass(frozen=True, slots=True)
class Limits:
    """The size limits of a workspace."""

    file_bytes: int = 10 * MIB
    total_bytes: int = 256 * MIB
    file_count: int = 5_000


@dataclass(frozen=True, slots=True)
class Held:
    """A file as this run last read or wrote it. `version` is the version laid down, 0 for a new file."""

    version: int
    sha256: str
    stamp: Stamp
    labels: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A change of a file to be stored; `data` is None if the file was removed."""

    project_id: str
    path: str
    data: bytes | None
    laid_version: int
    run_id: str
    labels: tuple[str, ...]
    actor: Actor
    mission_id: str | None
    task_id: str | None


def add_version(tx: Tx, change: Version, now: datetime) -> None:
    """A unit: adds a version of a file; if another run wrote it meanwhile, both are kept, and this is recorded."""
    newest = blobs.latest(tx, change.project_id, change.path)
    is_own = newest is not None and newest.run_id == change.run_id
    base = newest.version if newest is not None and is_own else change.laid_version
    version, clash = blobs.write_file(
        tx, change.project_id, change.path, change.data, now,
        base_version=base, run_id=change.run_id, labels=change.labels,
    )  # fmt: skip
    if clash:
        audit.note(
            tx, "WORKSPACE_CONFLICT", change.actor, now, project_id=change.project_id, mission_id=change.mission_id,
            task_id=change.task_id, run_id=change.run_id, subject=change.path,
            version=version, base_version=base, other_run_id=None if newest is None else newest.run_id,
        )  # fmt: skip


Scrub = Callable[[bytes], bytes]
"""Masks the values of secrets in a file, before it is read or stored."""


class Workspace:
    """The files of a project for one run. Nothing is on disk before the first call that needs it.

    Paths are checked by `paths.parse`. All methods but `labels` raise ToolError on failure.
    """

    def __init__(
        self, root: Path, store: Store, project_id: str, run_id: str, limits: Limits, scrub: Scrub = bytes
    ) -> None:
        self._scrub = scrub
        self.root, self.project_id, self.run_id = root, project_id, run_id
        self._store, self._limits = store, limits
        self._folder: Folder | None = None
        self._held: dict[str, Held] = {}
        self._taken: frozenset[str] = frozenset()
        self._laying = asyncio.Lock()
        self._guard = threading.Lock()

    async def lay_down(self) -> None:
        """Writes the latest version of every file to disk, once."""
        async with self._laying:
            if self._folder is not None:
                return
            await asyncio.to_thread(delete_tree, self.root)
            folder = await asyncio.to_thread(Folder, self.root)
            try:
                held: dict[str, Held] = {}
                for rows in _batches(await self._store.read(blobs.manifest, self.project_id)):
                    contents = await self._store.read(blobs.contents, [row.blob for row in rows])
                    held |= await asyncio.to_thread(_laid, folder, rows, contents)
            except BaseException:
                await asyncio.to_thread(folder.close)
                await asyncio.to_thread(delete_tree, self.root)
                raise
            self._held, self._folder = held, folder

    async def read(self, path: str) -> bytes:
        """The bytes of a file."""
        parse(path)
        folder = await self._ready()
        self.take(path)
        return self._scrub(await asyncio.to_thread(folder.read, path, self._limits.file_bytes))

    async def write(self, path: str, data: bytes, *, append: bool = False) -> int:
        """Writes or appends to a file; returns its size in bytes. `collect` stores it."""
        parse(path)
        if self._masked(path) != path:
            raise ToolError("the name of the file holds a secret: give it another")
        folder = await self._ready()
        return await asyncio.to_thread(self._write, folder, path, data, append)

    async def files(self, under: str = "") -> list[tuple[str, int]]:
        """Paths and sizes in bytes, sorted; all files, or those below one directory."""
        prefix = "/".join(parse(under)) + "/" if under else ""
        folder = await self._ready()
        found = await asyncio.to_thread(folder.files, self._limits.file_count)
        return [(each.path, each.size) for each in found if each.path.startswith(prefix)]

    async def digest(self, path: str) -> str:
        """SHA-256 of a file's bytes; `absent` or `unreadable` if there is none. Never raises ToolError."""
        try:
            return digest(await self.read(path))
        except Missing:
            return ABSENT
        except ToolError:
            return UNREADABLE

    def labels(self, path: str) -> frozenset[str]:
        """The taint of a file when it was laid down or last collected. Source: row C11."""
        held = self._held.get(path)
        return frozenset() if held is None else held.labels

    def take(self, *paths: str) -> None:
        """Records that files are read, so that the reader acquires their taint; without paths, all of them."""
        held = map(self.labels, paths) if paths else (each.labels for each in self._held.values())
        self._taken = self._taken.union({PRIVATE}, *held)

    @property
    def taken(self) -> frozenset[str]:
        """The taint of all files read in this run so far. Source: row C11."""
        return self._taken

    async def collect(
        self,
        actor: Actor,
        now: datetime,
        *,
        mission_id: str | None = None,
        task_id: str | None = None,
        labels: frozenset[str] = frozenset(),
    ) -> tuple[Write, ...]:
        """The changes since files were laid down or last collected, for the transaction of the outcome.

        A file keeps its taint, and that of the run in `labels` is added.
        """
        if self._folder is None:
            return ()
        changes = await asyncio.to_thread(self._changes, self._folder, labels)
        return tuple(
            write(
                add_version,
                Version(
                    project_id=self.project_id, path=path, data=data, laid_version=held.version, run_id=self.run_id,
                    labels=tuple(sorted(held.labels)), actor=actor, mission_id=mission_id, task_id=task_id,
                ),
                now,
            )
            for path, data, held in changes
        )  # fmt: skip

    async def dispose(self) -> None:
        """Removes the directory; uncollected changes are lost."""
        async with self._laying:
            if self._folder is not None:
                await asyncio.to_thread(self._folder.close)
                self._folder, self._held = None, {}
                await asyncio.to_thread(delete_tree, self.root)

    async def _ready(self) -> Folder:
        if self._folder is None:
            await self.lay_down()
        assert self._folder is not None
        return self._folder

    def _write(self, folder: Folder, path: str, data: bytes, append: bool) -> int:
        with self._guard:
            if append:
                with contextlib.suppress(Missing):
                    data = folder.read(path, self._limits.file_bytes) + data
            if len(data) > self._limits.file_bytes:
                most = self._limits.file_bytes
                raise ToolError(f"`{path}` would be {len(data):,} bytes: a file has at most {most:,}")
            sizes = {each.path: each.size for each in folder.files(self._limits.file_count)}
            if path not in sizes and len(sizes) >= self._limits.file_count:
                raise ToolError(f"the workspace holds {len(sizes):,} files, which is the most: remove some")
            if sum({**sizes, path: len(data)}.values()) > self._limits.total_bytes:
                raise ToolError(f"`{path}` would make the workspace larger than {self._limits.total_bytes:,} bytes")
            folder.write(path, data)
            return len(data)

    def _files(self, folder: Folder) -> list[Found]:
        """Its files, after renaming those whose names contain the value of a secret."""
        found = folder.files(self._limits.file_count)
        telling = [(each.path, name) for each in found if (name := self._masked(each.path)) != each.path]
        for path, name in telling:
            folder.rename(path, name)
        return folder.files(self._limits.file_count) if telling else found

    def _masked(self, path: str) -> str:
        return self._scrub(path.encode()).decode()

    def _changes(self, folder: Folder, labels: frozenset[str]) -> list[tuple[str, bytes | None, Held]]:
        """INVARIANT: neither the content nor the name of a stored file contains the value of a secret."""
        with self._guard:
            out: list[tuple[str, bytes | None, Held]] = []
            found = {each.path: each for each in self._files(folder)}
            held = dict(self._held)
            for path, file in found.items():
                old = held.get(path)
                if old is not None and old.stamp == file.stamp:
                    continue
                found_there = folder.read(path, self._limits.file_bytes)
                data = self._scrub(found_there)
                stamp = file.stamp if data == found_there else folder.write(path, data)
                sha256 = digest(data)
                if old is not None and old.sha256 == sha256:
                    held[path] = replace(old, stamp=stamp)
                    continue
                new = Held(0, sha256, stamp, labels)
                held[path] = new if old is None else replace(new, version=old.version, labels=old.labels | labels)
                out.append((path, data, held[path]))
            for path in self._held.keys() - found.keys():
                out.append((path, None, held.pop(path)))
            self._held = held
            return sorted(out, key=lambda change: change[0])


class Workspaces:
    """The workspaces of one process, in `<home>/workspaces/<project>/<run>`."""

    def __init__(self, home: Path, store: Store, limits: Limits | None = None, *, scrub: Scrub = bytes) -> None:
        self._scrub = scrub
        self._base, self._store, self._limits = home / "workspaces", store, limits or Limits()
        self._open: dict[tuple[str, str], Workspace] = {}

    def of(self, project_id: str, run_id: str) -> Workspace:
        """The workspace of a run, the same object until it is disposed of; no I/O."""
        key = (project_id, run_id)
        if key not in self._open:
            root = self._base / folder_name(project_id) / folder_name(run_id)
            self._open[key] = Workspace(root, self._store, project_id, run_id, self._limits, self._scrub)
        return self._open[key]

    async def materialise(self, project_id: str, run_id: str) -> Workspace:
        """The workspace of a run with its files on disk.

        Raises ToolError if they cannot be written.
        """
        workspace = self.of(project_id, run_id)
        await workspace.lay_down()
        return workspace

    async def dispose(self, project_id: str, run_id: str) -> None:
        """Removes a run's directory, if any; called whenever the run stops here: ended, parked or lost."""
        workspace = self._open.pop((project_id, run_id), None)
        if workspace is not None:
            await workspace.dispose()

    async def sweep(self, live_run_ids: Iterable[str]) -> list[Path]:
        """Removes the directories of all other runs, which crashed; returns these directories."""
        return await asyncio.to_thread(self._sweep, {folder_name(run_id) for run_id in live_run_ids})

    def _sweep(self, live: set[str]) -> list[Path]:
        gone = []
        for project in _folders(self._base):
            for run in _folders(project):
                if run.name not in live:
                    delete_tree(run)
                    gone.append(run)
        return gone


def folder_name(ident: str) -> str:
    """An id as a directory name: itself if it is safe, else its digest."""
    return ident if _FOLDER_NAME.fullmatch(ident) else f"x-{digest(ident)[:32]}"


def _folders(base: Path) -> list[Path]:
    if not base.is_dir():
        return []
    return sorted(each for each in base.iterdir() if each.is_dir() and not each.is_symlink())


def _batches(rows: Sequence[Any]) -> Iterator[list[Any]]:
    """Files that are laid down together, in order: a project may have thousands of small ones."""
    batch: list[Any] = []
    for row in rows:
        if batch and (len(batch) == BATCH_FILES or sum(each.size for each in batch) + row.size > BATCH_BYTES):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def _laid(folder: Folder, rows: Sequence[Any], contents: Mapping[str, bytes]) -> dict[str, Held]:
    """Writes files with their contents by digest; returns the files by path."""
    held = {}
    for row in rows:
        if (data := contents.get(row.blob)) is None:
            raise ToolError(f"the content of `{row.path}` is missing in the database: restore a backup")
        held[row.path] = Held(row.version, row.blob, folder.write(row.path, data), frozenset(row.labels))
    return held
