"""Files that come with a message: stored once by their content, named in the message, read from the workspace.

INVARIANT: a message carries names and digests, never the content; whoever sends the same file again stores nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from interlock.core.errors import UsageError
from interlock.core.values import digest
from interlock.store import blobs
from interlock.store.tx import Tx

FOLDER = "attachments"
MOST_BYTES = 10 * 2**20
MOST_FILES = 10
_ODD = re.compile(r"[^\w.() -]+")


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file as its sender named it."""

    name: str
    data: bytes


def read(paths: Sequence[Path]) -> tuple[Attachment, ...]:
    """The files at paths of this machine.

    Raises UsageError for one that cannot be read, is too large, or is one too many.
    """
    if len(paths) > MOST_FILES:
        raise UsageError(f"{len(paths)} files are attached: {MOST_FILES} are the most")
    found = []
    for path in paths:
        try:
            if path.stat().st_size > MOST_BYTES:
                raise UsageError(f"`{path}` is larger than {MOST_BYTES // 2**20} MiB: attach a part of it")
            found.append(Attachment(path.name, path.read_bytes()))
        except OSError as error:
            raise UsageError(f"cannot attach `{path}`: {(error.strerror or str(error)).lower()}") from error
    return tuple(found)


def keep(tx: Tx, project_id: str, files: Sequence[Attachment], now: datetime) -> list[dict[str, Any]]:
    """Puts files into a project's workspace; returns what a message says of them: path, digest, size."""
    kept = []
    for file in files:
        path = f"{FOLDER}/{_ODD.sub('_', file.name).strip('. ') or 'file'}"
        newest = blobs.latest(tx, project_id, path)
        name = digest(file.data)
        if newest is None or newest.blob != name:
            base = newest.version if newest is not None else 0
            blobs.write_file(
                tx, project_id, path, file.data, now, base_version=base, run_id=None, labels=("private", "untrusted")
            )  # fmt: skip
        kept.append({"path": path, "blob": name, "size": len(file.data)})
    return kept
