"""Where the audit log is read from to be verified: an open database, or an export; and writing an export.

An export is JSON lines: a beginning, the links with their leaves, the activities, an end that says how many there were.
"""

import base64
import json
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import IO, Any, TypeVar

from interlock.core.errors import UsageError
from interlock.store import chain, seals
from interlock.store.chain import Entry, Link
from interlock.store.tx import Tx

T = TypeVar("T")
FORMAT = "interlock audit export 1"
_DAMAGED = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


class OfDatabase:
    """The log as one snapshot of a database has it."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx

    def links(self) -> Iterator[Link]:
        return seals.links(self._tx)

    def leaves(self, number: int) -> bytes | None:
        return seals.leaves(self._tx, number)

    def entries(self) -> Iterator[Entry]:
        return seals.entries(self._tx)


def export(tx: Tx, file: IO[str], now: datetime) -> tuple[int, int]:
    """Writes the whole log as it is; returns how many links and activities that were.

    Raises OSError.
    """
    links = rows = 0
    _line(file, {"format": FORMAT, "exported_at": chain.moment(now)})
    for link in seals.links(tx):
        leaves = seals.leaves(tx, link.number)
        told = base64.b64encode(leaves).decode("ascii") if leaves is not None else None
        _line(file, {"link": {**link._asdict(), "created_at": _time(link.created_at), "leaves": told}})
        links += 1
    for row in seals.entries(tx):
        _line(file, {"activity": {**row._asdict(), "created_at": _time(row.created_at)}})
        rows += 1
    _line(file, {"end": {"links": links, "activities": rows}})
    return links, rows


def _line(file: IO[str], told: Any) -> None:
    file.write(json.dumps(told, ensure_ascii=False, separators=(",", ":"), default=repr) + "\n")


def _time(value: datetime | None) -> str | None:
    return chain.moment(value) if value is not None else None


class OfExport:
    """The log as an export has it."""

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
            told = json.loads(first)
            if told["format"] != FORMAT:
                raise ValueError("another format")
        except _DAMAGED as error:
            raise UsageError(f"`{path}` is not an export: name what `interlock audit export -o FILE` wrote") from error

    @property
    def is_whole(self) -> bool:
        """Whether all of it was read, to an end that counts what there is, and every line of it says what it should."""
        return self._has_end and self.damaged is None

    def links(self) -> Iterator[Link]:
        return (found for found in self._read("link", self._link))

    def _link(self, told: dict[str, Any]) -> Link:
        link = Link._make([*(told[name] for name in Link._fields[:-1]), chain.time_of(told["created_at"])])
        if type(link.number) is not int or not isinstance(link.ranges, list):
            raise ValueError("links are numbered")
        if told["leaves"] is not None:
            self._leaves[link.number] = base64.b64decode(told["leaves"], validate=True)
        return link

    def leaves(self, number: int) -> bytes | None:
        return self._leaves.get(number)

    def entries(self) -> Iterator[Entry]:
        self._before = -(1 << 62)
        return (found for found in self._read("activity", self._entry))

    def _entry(self, told: dict[str, Any]) -> Entry:
        row = Entry._make([*(told[name] for name in chain.FIELDS), chain.time_of(told["created_at"])])
        if type(row.id) is not int or row.id <= self._before:
            raise ValueError("activities are in the order of their ids")
        self._before = row.id
        return row

    def _read(self, wanted: str, make: Callable[[dict[str, Any]], T]) -> Iterator[T]:
        """What the lines of a kind hold, up to the first that cannot be read."""
        counts = {"link": 0, "activity": 0}
        with self.path.open(encoding="utf-8", errors="surrogateescape") as file:
            file.readline()
            for number, line in enumerate(file, 2):
                try:
                    told = json.loads(line)
                    [kind] = told
                    found = make(told[kind]) if kind == wanted else None
                    if kind == "end":
                        expected = {"links": counts["link"], "activities": counts["activity"]}
                        self._has_end = told[kind] == expected and not file.read(1)
                        return
                    counts[kind] += 1
                except _DAMAGED:
                    self.damaged = self.damaged or number
                    return
                if found is not None:
                    yield found
