"""Backups: one consistent snapshot of every row in one file, portable between SQLite and PostgreSQL.

Restoring is in `restore`. Blobs are rows, so the archive is the whole state; the files that people write (settings,
personas, policy) are not included.
"""

import base64
import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from interlock.core.errors import InterlockError, UsageError
from interlock.store.upkeep import snapshots
from interlock.store.upkeep.snapshots import Columns, Snapshot

FORMAT = 1
LEVEL = 3
MANIFEST = "manifest.json"
UNFINISHED = ".unfinished-backup"
"""How the names of files end that are not backups yet."""
LARGEST_MANIFEST = 4 * 1024 * 1024
LONGEST_LINE = 1024 * 1024 * 1024
_DAMAGE = (
    AttributeError, EOFError, KeyError, NotImplementedError, OSError, RecursionError, RuntimeError, TypeError,
    ValueError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What reading a corrupted or truncated archive can raise."""


class BadArchive(InterlockError):
    """The file is not a backup, or is damaged."""

    exit_code = 1

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"`{path}` {problem}: nothing was changed, use another backup")


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of one table, one JSON array a line."""

    table: str
    columns: Columns
    count: int
    sha256: str
    """SHA-256 of the part before compression, in hex."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of an archive."""

    version: str
    """The version of Interlock that wrote it."""
    revision: str
    epoch: int
    taken_at: datetime
    source: str
    """sqlite or postgresql."""
    parts: tuple[Part, ...]

    @property
    def rows(self) -> int:
        """The total number of rows."""
        return sum(part.count for part in self.parts)

    def to_json(self) -> dict[str, Any]:
        """The manifest as JSON."""
        return {
            "format": FORMAT,
            "version": self.version,
            "revision": self.revision,
            "epoch": self.epoch,
            "taken_at": self.taken_at.isoformat(),
            "source": self.source,
            "secrets": "none: keys and tokens are never in the database; what people and agents wrote is",
            "parts": [
                {"table": p.table, "columns": p.columns, "count": p.count, "sha256": p.sha256} for p in self.parts
            ],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Manifest":
        """Parses a manifest.

        Raises ValueError, KeyError, TypeError for anything else.
        """
        if data["format"] != FORMAT:
            raise ValueError("its format is unknown")
        parts = tuple(
            Part(str(p["table"]), {str(n): str(k) for n, k in p["columns"].items()}, int(p["count"]), str(p["sha256"]))
            for p in data["parts"]
        )
        taken_at = datetime.fromisoformat(data["taken_at"]).astimezone(UTC)
        return cls(
            str(data["version"]), str(data["revision"]), int(data["epoch"]), taken_at, str(data["source"]), parts
        )  # fmt: skip


def back_up(url: str, path: Path, version: str, now: datetime, *, pooled: bool = False) -> Manifest:
    """Writes a snapshot of a live database to a file of mode 0600, atomically.

    Blocking; migrates nothing. Raises UsageError for a path that cannot be written, StoreError, and InterlockError
    if the disk is full.
    """
    if path.is_dir():
        raise UsageError(f"`{path}` is a folder: name the file that the backup is to be")
    try:
        _clear_away(path.parent)
        with _made(path) as (file, unfinished):
            with snapshots.of(url, pooled=pooled) as snapshot:
                manifest = _written(file, snapshot, version, now)
            file.flush()
            os.fsync(file.fileno())
            unfinished.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise InterlockError(
            f"cannot write the backup `{path}`: {problem}: nothing was left there, choose another place"
        ) from error
    return manifest


@contextlib.contextmanager
def _made(path: Path) -> Iterator[tuple[IO[bytes], Path]]:
    """A file beside the backup for what is not finished, locked by who writes it, and gone in the end."""
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}{UNFINISHED}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        try:
            with contextlib.suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield file, unfinished
        finally:
            with contextlib.suppress(OSError):
                unfinished.unlink(missing_ok=True)


def _clear_away(folder: Path) -> None:
    """Removes what backups into a folder have left whose processes were killed."""
    for left in folder.glob(f".*{UNFINISHED}"):
        with contextlib.suppress(OSError), left.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left.unlink()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Sink:
    """A file that raises only on its first error: what a failing archive writes while closing is discarded."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._failed = file, False

    def write(self, data: bytes) -> int:
        """Raises OSError, the first time."""
        if self._failed:
            return len(data)
        try:
            return self._file.write(data)
        except OSError:
            self._failed = True
            raise

    def flush(self) -> None:
        if not self._failed:
            self._file.flush()

    def seekable(self) -> bool:
        return False


def _written(file: IO[bytes], snapshot: Snapshot, version: str, now: datetime) -> Manifest:
    sink: Any = Sink(file)
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as archive:
        parts = []
        for table, columns in snapshot.tables().items():
            with archive.open(_name(table), "w", force_zip64=True) as member:
                count, digest = 0, hashlib.sha256()
                for row in snapshot.rows(table, columns):
                    line = json.dumps(row, ensure_ascii=False, separators=(",", ":"), default=_coded).encode() + b"\n"
                    digest.update(line)
                    member.write(line)
                    count += 1
            parts.append(Part(table, columns, count, digest.hexdigest()))
        manifest = Manifest(version, snapshot.revision, snapshot.epoch, now, snapshot.dialect, tuple(parts))
        archive.writestr(MANIFEST, json.dumps(manifest.to_json(), indent=1))
    return manifest


def _name(table: str) -> str:
    return f"tables/{table}.jsonl"


def _coded(value: object) -> str:
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(value).decode("ascii")
    raise TypeError(f"a value of type {type(value).__name__}")


class Archive:
    """Reads an archive; a context manager."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.exists() and not path.is_file():
            raise BadArchive(path, "is not a file")
        try:
            self._zip = zipfile.ZipFile(path)
        except FileNotFoundError as error:
            raise UsageError(f"there is no `{path}`: name a file that `interlock db backup` wrote") from error
        except (zipfile.BadZipFile, OSError, NotImplementedError) as error:
            raise BadArchive(path, "is not a backup of interlock, or is damaged") from error
        try:
            self.manifest = self._manifest()
        except BaseException:
            self._zip.close()
            raise

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def _manifest(self) -> Manifest:
        try:
            with self._zip.open(MANIFEST) as member:
                text = member.read(LARGEST_MANIFEST + 1)
            if len(text) > LARGEST_MANIFEST:
                raise ValueError("too large")
            return Manifest.from_json(json.loads(text))
        except _DAMAGE as error:
            raise BadArchive(self.path, "is not a backup of interlock, or is damaged") from error

    def rows(self, part: Part) -> Iterator[list[Any]]:
        """The rows of a part; its digest is verified when they are exhausted.

        Raises BadArchive.
        """
        damaged = BadArchive(self.path, f"is damaged: its part `{part.table}` is not what was written")
        convert: list[Convert | None] = [_bytes if kind == "bytes" else None for kind in part.columns.values()]
        digest, count = hashlib.sha256(), 0
        try:
            with self._zip.open(_name(part.table)) as member:
                while line := member.readline(LONGEST_LINE):
                    digest.update(line)
                    count += 1
                    yield _decoded(json.loads(line), convert)
        except _DAMAGE as error:
            raise damaged from error
        if count != part.count or digest.hexdigest() != part.sha256:
            raise damaged


Convert = Callable[[Any], Any]


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _decoded(row: Any, convert: list[Convert | None]) -> list[Any]:
    if not isinstance(row, list) or len(row) != len(convert):
        raise ValueError("a row has other columns")
    return [value if do is None or value is None else do(value) for value, do in zip(row, convert, strict=True)]
