"""Sources of the audit log for verification: an open database or an export; writes exports too.

An export is JSON lines: a header, the links with their leaves, the activities, and a trailer with their counts.
"""

import base64
import json
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import IO, Any, TypeVar

from interlock.core.errors import UsageError
from interlock.store.auditing import chain, seals
from interlock.store.auditing.chain import Entry, Link
from interlock.store.tx import Tx

T = TypeVar("T")
FORMAT = "interlock audit export 1"
_DAMAGED = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


class DatabaseSource:
    """The log in one snapshot of a database."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx

    def links(self) -> Iterator[Link]:
        return seals.links(self._tx)

    def leaves(self, number: int) -> bytes | None:
        return seals.leaves(self._tx, number)

    def entries(self) -> Iterator[Entry]:
        return seals.entries(self._tx)


def export(tx: Tx, file: IO[str], now: datetime) -> tuple[int, int]:
    """Writes the whole log; returns the numbers of links and activities.

    Raises OSError.
    """
    links = rows = 0
    _line(file, {"format": FORMAT, "exported_at": chain.moment(now)})
    for link in seals.links(tx):
        leaves = seals.leaves(tx, link.number)
        encoded = base64.b64encode(leaves).decode("ascii") if leaves is not None else None
        _line(file, {"link": {**link._asdict(), "created_at": _time(link.created_at), "leaves": encoded}})
        links += 1
    for row in seals.entries(tx):
        _line(file, {"activity": {**row._asdict(), "created_at": _time(row.created_at)}})
        rows += 1
    _line(file, {"end": {"links": links, "activities": rows}})
    return links, rows


def _line(file: IO[str], value: Any) -> None:
    file.write(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=repr) + "\n")


def _time(value: datetime | None) -> str | None:
    return chain.moment(value) if value is not None else None


class ExportSource:
    """The log in an export file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._has_end = False
        self.damaged: int | None = None
        """The first line that cannot be read."""
        self._leaves: dict[int, bytes] = {}
        self._before = 0
        try:
            with path.open(encoding="utf-8", errors="surrogateescape") as file:
                first = file.readline()
        except OSError as error:
            problem = (error.strerror or str(error)).lower()
            raise UsageError(f"`{path}` cannot be read: {problem}: name what `interlock audit export` wrote") from error
        try:
            fields = json.loads(first)
            if fields["format"] != FORMAT:
                raise ValueError("another format")
        except _DAMAGED as error:
            raise UsageError(f"`{path}` is not an export: name what `interlock audit export -o FILE` wrote") from error

    @property
    def is_whole(self) -> bool:
        """Whether the whole file was read, every line is valid, and the trailer's counts are right."""
        return self._has_end and self.damaged is None

    def links(self) -> Iterator[Link]:
        return (found for found in self._read("link", self._link))

    def _link(self, fields: dict[str, Any]) -> Link:
        link = Link._make([*(fields[name] for name in Link._fields[:-1]), chain.time_of(fields["created_at"])])
        if type(link.number) is not int or not isinstance(link.ranges, list):
            raise ValueError("links are numbered")
        if fields["leaves"] is not None:
            self._leaves[link.number] = base64.b64decode(fields["leaves"], validate=True)
        return link

    def leaves(self, number: int) -> bytes | None:
        return self._leaves.get(number)

    def entries(self) -> Iterator[Entry]:
        self._before = -(1 << 62)
        return (found for found in self._read("activity", self._entry))

    def _entry(self, fields: dict[str, Any]) -> Entry:
        row = Entry._make([*(fields[name] for name in chain.FIELDS), chain.time_of(fields["created_at"])])
        if type(row.id) is not int or row.id <= self._before:
            raise ValueError("activities are in the order of their ids")
        self._before = row.id
        return row

    def _read(self, wanted: str, make: Callable[[dict[str, Any]], T]) -> Iterator[T]:
        """The values in the lines of one kind, up to the first line that cannot be read."""
        counts = {"link": 0, "activity": 0}
        with self.path.open(encoding="utf-8", errors="surrogateescape") as file:
            file.readline()
            for number, line in enumerate(file, 2):
                try:
                    fields = json.loads(line)
                    [kind] = fields
                    found = make(fields[kind]) if kind == wanted else None
                    if kind == "end":
                        expected = {"links": counts["link"], "activities": counts["activity"]}
                        self._has_end = fields[kind] == expected and not file.read(1)
                        return
                    counts[kind] += 1
                except _DAMAGED:
                    self.damaged = self.damaged or number
                    return
                if found is not None:
                    yield found
