"""Attachments of messages: stored in the workspace by content, and referred to in the message.

INVARIANT: a message contains names and digests, never content; sending the same file again stores nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from interlock.core.errors import UsageError
from interlock.core.values import digest
from interlock.settings.reading import read_bounded
from interlock.store import blobs
from interlock.store.tx import Tx

FOLDER = "attachments"
MOST_BYTES = 10 * 2**20
MOST_FILES = 10
_ODD = re.compile(r"[^\w.() -]+")


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file with the name given by its sender."""

    name: str
    data: bytes


def read(paths: Sequence[Path]) -> tuple[Attachment, ...]:
    """Reads files from paths on this machine.

    Raises UsageError for a file that is unreadable or too large, and for too many files.
    """
    if len(paths) > MOST_FILES:
        raise UsageError(f"{len(paths)} files are attached: {MOST_FILES} are the most")
    found = []
    for path in paths:
        try:
            data = read_bounded(path, MOST_BYTES)
            if len(data) > MOST_BYTES:
                raise UsageError(f"`{path}` is larger than {MOST_BYTES // 2**20} MiB: attach a part of it")
            found.append(Attachment(path.name, data))
        except OSError as error:
            raise UsageError(f"cannot attach `{path}`: {(error.strerror or str(error)).lower()}") from error
    return tuple(found)


def keep(tx: Tx, project_id: str, files: Sequence[Attachment], now: datetime) -> list[dict[str, Any]]:
    """Stores files in a project's workspace; returns their descriptions for the message: path, digest, size."""
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
