"""Output on a terminal and in a pipe: tables, states, times, JSON; the content comes from the desk.

INVARIANT: text that an agent or a file wrote reaches the terminal through `plain`, so that it cannot steer it.
"""

import errno
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

from rich.console import Console
from rich.text import Text

from interlock.core.text import visible

PIPE_WIDTH = 4_000
LEAST_ROOM = 24
"""Columns that a text needs beside others."""
OWN_LINE = "  "
STYLES: Mapping[str, str] = {
    "DONE": "green", "completed": "green", "approved": "green", "used": "green", "GREEN": "green", "ok": "green",
    "IN_PROGRESS": "cyan", "running": "cyan", "ASSIGNED": "blue", "REVIEW": "magenta",
    "NEEDS_APPROVAL": "yellow", "waiting": "yellow", "pending": "yellow", "YELLOW": "yellow", "warning": "yellow",
    "held": "yellow", "passed": "green", "waived": "yellow",
    "BLOCKED": "red", "failed": "red", "denied": "red", "RED": "bold red", "error": "red",
    "critical": "bold red", "unknown": "red", "CANCELED": "dim", "cancelled": "dim", "expired": "dim", "void": "dim",
    "INBOX": "dim", "idle": "dim",
}  # fmt: skip
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def console(*, error: bool = False) -> Console:
    """The console: coloured on a terminal unless NO_COLOR is set, never wrapped or cut in a pipe."""
    stream = sys.stderr if error else sys.stdout
    width = None if stream.isatty() else PIPE_WIDTH
    return Console(stderr=error, width=width, highlight=False, soft_wrap=not stream.isatty(), emoji=False)


def plain(text: object, *, one_line: bool = False) -> str:
    """The text with control characters made visible, so that they have no effect."""
    return visible(text, one_line=one_line)


def state(name: object) -> Text:
    """A state or risk in its colour."""
    return Text(plain(name), style=STYLES.get(str(name), ""))


def ago(moment: datetime | None, now: datetime) -> str:
    """`3 min ago`, `in 2 h`, `now`; a dash where there is no time."""
    if moment is None:
        return "–"
    seconds = (now - moment).total_seconds()
    span = lasting(abs(seconds))
    if span is None:
        return "now"
    return f"in {span}" if seconds < 0 else f"{span} ago"


def lasting(seconds: float) -> str | None:
    """`12 s`, `3 min`, `2 h`, `5 d`; None below a second."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 1 else None


def dollars(amount: float | None) -> str:
    """`$1.20`, `$0.0042`; a dash where there is no amount."""
    if amount is None:
        return "–"
    return f"${amount:,.2f}" if amount == 0 or abs(amount) >= 1 else f"${amount:.4f}"


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, empty: str) -> None:
    """Prints aligned columns; a column whose name begins with `>` is aligned right.

    The last one may be cut on a terminal if its name begins with `~`, and wrapped with `+`; it gets a line of its own
    where the terminal is narrow. No other is ever cut, nor anything in a pipe. Without rows, `empty` is printed.
    """
    out = console()
    if not rows:
        out.print(Text(empty, style="dim"))
        return
    heads = [Text(name.lstrip(">~+"), style="bold") for name in columns]
    grid = [heads, *([_cell(value) for value in row] for row in rows)]
    widths = [max(row[n].cell_len for row in grid) for n in range(len(columns))]
    right = [name.startswith(">") for name in columns]
    last = columns[-1][0] if out.is_terminal and columns[-1][0] in "~+" else ""
    wanted = min(widths[-1], LEAST_ROOM)
    gap = 2 if not out.is_terminal or _span(widths, 2) + wanted <= out.width else 1
    room = out.width - _span(widths, gap)
    for row in grid:
        head = Text()
        for cell, width, is_right in zip(row[:-1], widths, right, strict=False):
            spare = " " * (width - cell.cell_len)
            head.append(spare if is_right else "").append(cell).append(("" if is_right else spare) + " " * gap)
        tail = row[-1]
        if not last:
            tail = Text(" " * (widths[-1] - tail.cell_len) if right[-1] else "").append(tail)
        elif room < wanted:
            _put(out, head)
            head, tail = Text(OWN_LINE), _fitted(out, last, tail, out.width - len(OWN_LINE), len(OWN_LINE))
        else:
            tail = _fitted(out, last, tail, room, out.width - room)
        _put(out, head.append(tail))


def _cell(value: object) -> Text:
    return value if isinstance(value, Text) else Text(plain(value, one_line=True))


def _span(widths: Sequence[int], gap: int) -> int:
    return sum(widths[:-1]) + gap * (len(widths) - 1)


def _fitted(out: Console, how: str, text: Text, room: int, indent: int) -> Text:
    if how == "+":
        return _hanging(out, text, room, indent)
    text.truncate(max(room, 1), overflow="ellipsis")
    return text


def _hanging(out: Console, text: Text, room: int, indent: int) -> Text:
    """A text whose every line but the first is indented; wrapped into `room` on a terminal."""
    wrapped = (
        text.wrap(out, max(room, LEAST_ROOM), overflow="fold") if out.is_terminal else text.split(allow_blank=True)
    )
    return Text("\n" + " " * indent).join(wrapped)


def _put(out: Console, text: Text) -> None:
    text.rstrip()
    out.print(text, soft_wrap=True)


def facts(pairs: Sequence[tuple[str, object]]) -> None:
    """Prints `name  value` lines, aligned; pairs without a value are left out.

    Further lines of a value stay in its column, so that no value can look like another pair.
    """
    out = console()
    shown = [
        (Text(" ".join(plain(name).splitlines())), value) for name, value in pairs if value not in (None, "", [], {})
    ]
    width = max((name.cell_len for name, _ in shown), default=0)
    for name, value in shown:
        text = value if isinstance(value, Text) else Text(plain(value))
        name.stylize("dim")
        name.pad_right(width + 2 - name.cell_len)
        _put(out, name.append(_hanging(out, text, out.width - width - 2, width + 2)))


def heading(text: str) -> None:
    """Prints a heading."""
    out = console()
    out.print()
    out.print(Text(text, style="bold"))


def line(text: object = "", *, style: str = "") -> None:
    """Prints one line (or several, as they are)."""
    console().print(Text(plain(text), style=style))


def news(text: str) -> None:
    """Prints a line of a process that runs on, and does not fail if its log's disk is full."""
    try:
        line(text)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise


def quoted(text: object) -> None:
    """Prints what an agent or a person wrote, indented, so that no line of it looks like one of ours."""
    line("\n".join(f"{OWN_LINE}{each}" for each in plain(text).split("\n")))


def note(text: object) -> None:
    """Prints a line beside the output proper, to stderr."""
    console(error=True).print(Text(plain(text), style="dim"))


def cut(rows: Sequence[object], most: int, which: str = "newest") -> None:
    """Notes that a full list may have been cut; on stderr, so that JSON stays JSON."""
    if len(rows) >= most:
        note(f"these are the {which} {most:,}: there may be more")


def document(content: bytes) -> None:
    """Prints a document: unchanged in a pipe, decoded and through `plain` on a terminal."""
    if sys.stdout.isatty():
        line(content.decode("utf-8", "replace"))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def data(value: Any) -> None:
    """Prints a value as JSON."""
    sys.stdout.write(json_of(value))


def listed(rows: Sequence[object], most: int, which: str = "newest") -> None:
    """Prints a list as JSON, and notes if it may have been cut."""
    data(rows)
    cut(rows, most, which)


def json_of(value: Any) -> str:
    """A value as `data` prints it."""
    return json.dumps(value, indent=2, default=_jsonable) + "\n"


def data_line(value: Any) -> None:
    """Prints a value as one line of JSON."""
    sys.stdout.write(json.dumps(value, default=_jsonable, separators=(", ", ": ")) + "\n")
    sys.stdout.flush()


def _jsonable(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, (set, frozenset, tuple)):
        return sorted(value) if isinstance(value, (set, frozenset)) else list(value)
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    raise TypeError(f"{type(value).__name__} is not JSON")


def flight(done: Mapping[str, Any], fate: str) -> None:
    """Prints what was running when it was stopped, what ended with it, and which effects are uncertain."""
    late = set(done.get("still_running", ()))
    for run in done["runs"]:
        what = "its worker has not answered yet" if run["id"] in late else fate
        line(f"  {run['id']}  {run['persona'] or run['kind']}  {', '.join(run['doing'])}  {what}")
    for child in done.get("children", ()):
        line(f"  child process ended: {child['program']} (process {child['pid']}) of {child['run_id']}")
    for call in done.get("uncertain", ()):
        line(f"  uncertain: {call['risk']} {call['tool']} {call['args']} of {call['run_id']}")
