"""Checks whether a text has its declared format: JSON, JSON lines, CSV, TOML, Markdown that is not truncated.

Contents are not judged here.
"""

import csv
import io
import json
import re
import tomllib
from typing import Any

JSON, JSON_LINES, CSV, TOML, MARKDOWN = "JSON", "JSON lines", "CSV", "TOML", "Markdown"
_BY_SUFFIX = {
    ".json": JSON, ".ipynb": JSON, ".geojson": JSON, ".jsonl": JSON_LINES, ".ndjson": JSON_LINES, ".csv": CSV,
    ".toml": TOML, ".md": MARKDOWN, ".markdown": MARKDOWN,
}  # fmt: skip
_WORDS_BEFORE, _WORDS_READ = 4, 12
_ABOUT = frozenset("on about of for from how comparing between which whether with without why what".split())
"""Words before a format's name that make it the topic, not the format."""
_THINGS = frozenset(
    "parser parsers parsing library libraries schema schemas handling support api apis tool tools format formats "
    "reader readers writer export import web-token token tokens patch path pointer rpc ld".split()
)
"""Words after a format's name that make it part of another name."""
_FENCE = re.compile(r"^ {0,3}(?P<mark>`{3,}|~{3,})(?P<rest>.*)$")


def of_file(path: str) -> str | None:
    """The format that a file name's suffix declares; None if it declares none known here."""
    name = path.rpartition("/")[2].lower()
    return _BY_SUFFIX.get("." + name.rpartition(".")[2]) if "." in name else None


def declared(spec: str) -> str | None:
    """The format that a task's text declares for its result (`a JSON object with …`, `the prices as CSV`), or None.

    A mere mention of a format (`a report on JSON parsers`) declares none.
    """
    words = re.findall(r"[\w-]+", spec)[:_WORDS_READ]
    low = [word.lower() for word in words]
    for at, word in enumerate(low):
        if word not in ("json", "csv"):
            continue
        is_told = at > 0 and low[at - 1] in ("as", "in")
        is_it = at <= _WORDS_BEFORE and not _ABOUT.intersection(low[:at])
        is_other = at + 1 < len(low) and low[at + 1] in _THINGS
        return word.upper() if (is_told or is_it) and not is_other else None
    return None


def problem(form: str, text: str) -> str | None:
    """Why a text does not have a format, as a message for its author; None if it has."""
    try:
        match form:
            case "JSON":
                loads(text)
            case "JSON lines":
                return _lines(text)
            case "CSV":
                return _table(text)
            case "TOML":
                tomllib.loads(text)
            case "Markdown":
                return _cut(text)
    except json.JSONDecodeError as error:
        return f"it is not JSON: {error.msg.lower()} at line {error.lineno}, column {error.colno}"
    except (ValueError, RecursionError, csv.Error) as error:
        return f"it is not {form}: {str(error).lower()[:200] or 'nested too deeply'}"
    return None


def loads(text: str) -> Any:
    """Strict JSON: no NaN, no duplicate keys.

    Raises ValueError, RecursionError.
    """
    return json.loads(text.removeprefix("\ufeff"), parse_constant=_refuse, object_pairs_hook=_once)


def _refuse(name: str) -> Any:
    raise ValueError(f"`{name}` is not a JSON number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands in an object twice")
    return found


def _lines(text: str) -> str | None:
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
        if line.strip():
            try:
                loads(line)
            except (ValueError, RecursionError) as error:
                why = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
                return f"line {number} is not JSON: {why.lower()[:200]}"
    return None


def _table(text: str) -> str | None:
    """A CSV table has one width: a row that is shorter or longer than the first is a fault."""
    text = text.removeprefix("\ufeff")
    head = text.partition("\n")[0]
    sign = max(",;\t|", key=head.count) if any(each in head for each in ",;\t|") else ","
    width = 0
    for number, row in enumerate(csv.reader(io.StringIO(text, newline=""), delimiter=sign, strict=True), start=1):
        if not row:
            continue
        width = width or len(row)
        if len(row) != width:
            return f"it is not CSV: row {number} has {len(row)} columns, the first has {width}"
    return None


def _cut(text: str) -> str | None:
    """Markdown that ends within a fenced block was truncated."""
    opened: tuple[str, int] | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        found = _FENCE.match(line)
        if found is None:
            continue
        mark, rest = found["mark"], found["rest"]
        if opened is None:
            if mark[0] == "~" or "`" not in rest:
                opened = (mark, number)
        elif mark[0] == opened[0][0] and len(mark) >= len(opened[0]) and not rest.strip():
            opened = None
    if opened is None:
        return None
    return f"it ends within the block that line {opened[1]} opens with {opened[0]}: it was cut off, or lacks its end"
