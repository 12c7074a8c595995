"""Parses server-sent events from a stream of bytes, tolerating everything that is not data.

What the events mean is the job of the adapters' assemblies.
"""

from collections.abc import Iterator
from typing import Any

from interlock.llm.reading import parsed

DONE: dict[str, Any] = {"type": "[DONE]"}
"""Stands for the line by which a stream says that it is over."""

_BOM = b"\xef\xbb\xbf"
_IDLE = frozenset({"ping", "heartbeat", "keepalive", "keep-alive"})


class EventReader:
    """Events as JSON objects, in the order in which they came.

    Comments, unknown fields and other lines are ignored. Lines end with LF, CR or CRLF; data may have several lines,
    and no blank line after it. An object on a line of its own, without `data:`, is an event, too. The data of an
    `event: error` is put under `error`. Data that is neither JSON nor the end marker is kept as `fault`; the events
    before it are returned all the same.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._name = ""
        self._begun = False
        self.fault: Exception | None = None

    def feed(self, piece: bytes) -> list[dict[str, Any]]:
        """The events that this piece completes."""
        buffer = self._rest + piece
        if not self._begun:
            if len(buffer) < len(_BOM) and _BOM.startswith(buffer):
                self._rest = buffer
                return []
            self._begun = True
            buffer = buffer.removeprefix(_BOM)
        lines = buffer.splitlines(keepends=True)
        self._rest = b""
        if lines and not lines[-1].endswith(b"\n"):
            # A CR at the end may be half of a CRLF.
            self._rest = lines.pop()
        return self._read(lines)

    def end(self) -> list[dict[str, Any]]:
        """The events that remain at the end of the stream."""
        rest, self._rest = self._rest, b""
        return self._read([rest, b"\n"])

    def _read(self, lines: list[bytes]) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        try:
            for line in lines:
                self._take(line, events)
        except (ValueError, RecursionError) as error:
            self.fault = error
        return events

    def _take(self, line: bytes, events: list[dict[str, Any]]) -> None:
        stripped = line.rstrip(b"\r\n")
        if stripped.startswith(b"data:"):
            self._data.append(stripped[5:])
        elif not stripped:
            if self._data or self._name:
                events += self._dispatched()
        elif stripped.startswith(b"event:"):
            self._name = stripped[6:].strip().decode("utf-8", "replace")
        elif stripped.startswith(b"{"):
            events += self._dispatched()
            self._data.append(stripped)
            events += self._dispatched()

    def _dispatched(self) -> list[dict[str, Any]]:
        data, name = self._data, self._name
        self._data, self._name = [], ""
        if name in _IDLE:
            return []
        try:
            return list(_objects(b"\n".join(data), name))
        except ValueError:
            if len(data) < 2:
                raise
        return [event for line in data for event in _objects(line, name)]


def _objects(data: bytes, name: str) -> Iterator[dict[str, Any]]:
    text = data.decode().strip()
    if not text:
        return
    if text.startswith("[DONE]"):
        yield DONE
        return
    try:
        value = parsed(text)
    except ValueError:
        if name != "error":
            raise
        value = {"message": text}
    if name == "error" and isinstance(value, dict) and not value.get("error"):
        value = {"error": value}
    yield from objects_in(value)


def objects_in(value: Any) -> Iterator[dict[str, Any]]:
    """The objects in a JSON value: itself, or the members of a list.

    Raises ValueError for any other value.
    """
    for each in value if isinstance(value, list) else [value]:
        if not isinstance(each, dict):
            raise ValueError("an event that is not an object")
        yield each
