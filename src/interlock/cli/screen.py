"""How things look on a terminal and in a pipe: tables, states, times, JSON; what they are comes from the desk.

INVARIANT: text that an agent or a file wrote reaches the terminal through `plain`, so that it cannot steer it.
"""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

PIPE_WIDTH = 4_000
STYLES: Mapping[str, str] = {
    "DONE": "green", "completed": "green", "approved": "green", "used": "green", "GREEN": "green", "ok": "green",
    "IN_PROGRESS": "cyan", "running": "cyan", "ASSIGNED": "blue", "REVIEW": "magenta",
    "NEEDS_APPROVAL": "yellow", "waiting": "yellow", "pending": "yellow", "YELLOW": "yellow", "warning": "yellow",
    "held": "yellow", "BLOCKED": "red", "failed": "red", "denied": "red", "RED": "bold red", "error": "red",
    "critical": "bold red", "unknown": "red", "CANCELED": "dim", "cancelled": "dim", "expired": "dim", "void": "dim",
    "INBOX": "dim", "idle": "dim",
}  # fmt: skip
_STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def console(*, error: bool = False) -> Console:
    """Where to print: coloured on a terminal unless NO_COLOR is set, never wrapped or cut in a pipe."""
    stream = sys.stderr if error else sys.stdout
    width = None if stream.isatty() else PIPE_WIDTH
    return Console(stderr=error, width=width, highlight=False, soft_wrap=not stream.isatty(), emoji=False)


def plain(text: object, *, one_line: bool = False) -> str:
    """A text whose control characters are visible instead of working."""
    shown = _STEERS.sub(lambda found: found[0].encode("unicode_escape").decode(), str(text))
    return " ".join(shown.split()) if one_line else shown


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
    """Prints aligned columns; a column whose name begins with `>` is aligned right, with `~` may be cut.

    Without rows, `empty` is printed instead.
    """
    out = console()
    if not rows:
        out.print(Text(empty, style="dim"))
        return
    grid = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in columns:
        cut = name.startswith("~")
        grid.add_column(
            name.lstrip(">~"), justify="right" if name.startswith(">") else "left", no_wrap=True,
            overflow="ellipsis" if cut else "fold", ratio=1 if cut and out.is_terminal else None,
            min_width=None if cut else len(name),
        )  # fmt: skip
    for row in rows:
        grid.add_row(*(cell if isinstance(cell, Text) else Text(plain(cell, one_line=True)) for cell in row))
    out.print(grid)


def facts(pairs: Sequence[tuple[str, object]]) -> None:
    """Prints `name  value` lines, aligned; pairs without a value are left out."""
    out = console()
    shown = [(name, value) for name, value in pairs if value not in (None, "", [], {})]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        text = value if isinstance(value, Text) else Text(plain(value))
        out.print(Text.assemble((name.ljust(width), "dim"), "  ", text))


def heading(text: str) -> None:
    """Prints a line that what follows belongs to."""
    out = console()
    out.print()
    out.print(Text(text, style="bold"))


def line(text: object = "", *, style: str = "") -> None:
    """Prints one line (or several, as they are)."""
    console().print(Text(plain(text), style=style))


def note(text: object) -> None:
    """Prints a line beside the output proper, to stderr."""
    console(error=True).print(Text(plain(text), style="dim"))


def document(content: bytes) -> None:
    """Prints a document: as it is in a pipe, harmless and decoded on a terminal."""
    if sys.stdout.isatty():
        line(content.decode("utf-8", "replace"))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def data(value: Any) -> None:
    """Prints a value as JSON."""
    sys.stdout.write(json.dumps(value, indent=2, default=_jsonable) + "\n")


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
