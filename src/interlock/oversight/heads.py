"""Published heads of the audit log: an append-only file, kept where the owner of the database cannot write.

Whether they are in the chain is checked in `verification`.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock.core.errors import UsageError
from interlock.store.auditing.chain import moment

TAIL = 8_192
"""How many bytes at the end of the file certainly contain its last line."""


@dataclass(frozen=True, slots=True)
class Head:
    """A published head."""

    number: int
    epoch: int
    head: str


def line_of(link: Any) -> str:
    """A link's head, as a line of the file."""
    fields = {
        "number": link.number, "epoch": link.epoch, "head": link.head, "key_id": link.key_id,
        "sealed_at": moment(link.created_at),
    }  # fmt: skip
    return json.dumps(fields, separators=(",", ":"))


def append(path: Path, link: Any) -> None:
    """Appends a line and flushes it to disk; starts on a new line if the last one was cut off. Blocking I/O.

    Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        is_cut = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        data = (("\n" if is_cut else "") + line_of(link) + "\n").encode()
        while data:
            data = data[os.write(descriptor, data) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def newest(path: Path) -> Head | None:
    """The head in the last complete line of the file; None if there is none. Blocking I/O.

    Raises OSError.
    """
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return None
    return next((head for line in reversed(lines) if (head := _head(line)) is not None), None)


def read(path: Path) -> tuple[list[Head], int]:
    """All heads of a file, and the number of invalid lines. Blocking I/O.

    Raises UsageError if it cannot be read.
    """
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise UsageError(f"the published heads `{path}` cannot be read: {problem}: see `--heads`") from error
    heads = list(_heads(lines))
    return heads, sum(1 for line in lines if line.strip()) - len(heads)


def _heads(lines: list[str]) -> Iterator[Head]:
    for line in lines:
        if (head := _head(line)) is not None:
            yield head


def _head(line: str) -> Head | None:
    try:
        fields = json.loads(line)
        return Head(int(fields["number"]), int(fields["epoch"]), str(fields["head"]))
    except (ValueError, KeyError, TypeError):
        return None
