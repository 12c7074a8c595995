"""Parses YAML strictly: plain data with the line of every value; everything ambiguous is refused.

What a file has to contain is its reader's job; here is only what any file may be made of.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from interlock.core.errors import ConfigError

Path = tuple[str | int, ...]
"""Where a value stands in a document: keys and indexes from the root, `()`."""

LARGEST_BYTES = 1024 * 1024
DEEPEST = 40
MOST_VALUES = 100_000
MOST_FAULTS = 50
_LONGEST_NUMBER = 40
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_DIRECTIVE = re.compile(r"(?:[ \t]*+(?:#[^\n]*+)?\r?\n)*+%")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Document:
    """Plain data (dict, list, str, int, float, bool, None) that knows where each part of it was written."""

    data: Any
    source: str
    lines: Mapping[Path, int]
    """The line, from 1, of every key and item."""

    def line(self, path: Sequence[str | int] = ()) -> int:
        """The line of `path`, or of the nearest part above it that exists."""
        known = tuple(path)
        while known and known not in self.lines:
            known = known[:-1]
        return self.lines.get(known, 1)

    def at(self, path: Sequence[str | int] = ()) -> str:
        """`file:line` of `path`, or of the nearest part above it that exists."""
        return f"{self.source}:{self.line(path)}"

    def fault(self, path: Sequence[str | int], problem: str) -> str:
        """`file:line: problem`, as a `ConfigError` lists it."""
        return f"{self.at(path)}: {problem}"


def parse(text: str | bytes, *, source: str) -> Document:
    """The one document in `text`; `source` is the file's name for messages. An empty text gives None.

    Plain scalars follow the core schema of YAML 1.2: `on`, `no`, `1:30` and dates are text.

    Raises ConfigError with every fault that can be told, each `file:line: problem`: not UTF-8, larger than
    1 MiB, syntax, duplicate or non-text keys, anchors, aliases, tags, directives, merge keys, nesting deeper
    than 40, a second document, numbers that are not finite.
    """
    clean = _decoded(text, source)
    builder = _Builder(source)
    try:
        for event in yaml.parse(clean, Loader=_LOADER):
            builder.take(event)
    except _GaveUp:
        pass
    except yaml.YAMLError as error:
        builder.faults.append(_syntax(error, clean, source))
    if builder.faults:
        raise ConfigError(builder.faults)
    return Document(builder.root, source, builder.lines)


def _decoded(text: str | bytes, source: str) -> str:
    try:
        raw = text if isinstance(text, bytes) else text.encode("utf-8")
        if len(raw) > LARGEST_BYTES:
            raise ConfigError([f"{source}:1: larger than 1 MiB: split it, or move long texts to files of their own"])
        clean = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError([f"{source}:{line}: not UTF-8: save the file in that encoding"]) from error
    except UnicodeEncodeError as error:
        line = error.object.count("\n", 0, error.start) + 1
        raise ConfigError([f"{source}:{line}: half of a surrogate pair: it cannot be written as UTF-8"]) from error
    clean = clean.removeprefix("\ufeff")
    if found := _UNPRINTABLE.search(clean):
        line = clean.count("\n", 0, found.start()) + 1
        raise ConfigError([f"{source}:{line}: control character U+{ord(found.group()):04X}: remove it"])
    if found := _DIRECTIVE.match(clean):
        line = clean.count("\n", 0, found.end()) + 1
        raise ConfigError([f"{source}:{line}: directives (`%`) are not read: remove the line"])
    return clean


def _syntax(error: yaml.YAMLError, text: str, source: str) -> str:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    lines = text.splitlines() or [""]
    line = min(mark.line + 1 if mark else 1, len(lines))
    problem = " ".join(str(getattr(error, "problem", None) or error).split())
    if re.match(r" *\t", lines[line - 1]):
        problem = "tab in the indentation: use spaces"
    elif context := getattr(error, "context", None):
        problem = f"{problem} {context}"
    return f"{source}:{line}: {problem}"


class _GaveUp(Exception):
    """Nothing that follows could be told apart from what is already wrong."""


_NO_KEY: Any = object()


@dataclass(slots=True)
class _Level:
    value: dict[str, Any] | list[Any]
    path: Path
    key: Any = _NO_KEY
    """In a mapping: the key whose value comes next."""


@dataclass(slots=True)
class _Builder:
    """Makes data of the parser's events without recursion, so that no nesting can exhaust the stack."""

    source: str
    root: Any = None
    lines: dict[Path, int] = field(default_factory=lambda: {(): 1})
    faults: list[str] = field(default_factory=list)
    levels: list[_Level] = field(default_factory=list)
    documents: int = 0

    def take(self, event: yaml.Event) -> None:
        line = event.start_mark.line + 1 if event.start_mark else 1
        match event:
            case yaml.DocumentStartEvent():
                self._document(line)
            case yaml.AliasEvent():
                self._fault(line, f"alias `*{_short(event.anchor)}`: write the value out")
                self._place(None, line)
            case yaml.ScalarEvent():
                self._node(event, line)
                self._place(self._scalar(event, line), line)
            case yaml.MappingStartEvent():
                self._open({}, event, line)
            case yaml.SequenceStartEvent():
                self._open([], event, line)
            case yaml.CollectionEndEvent():
                self.levels.pop()

    def _document(self, line: int) -> None:
        self.documents += 1
        if self.documents > 1:
            self._fault(line, "a second document: one file, one document")
            raise _GaveUp
        self.lines[()] = line

    def _node(self, event: yaml.NodeEvent, line: int) -> None:
        if event.anchor is not None:
            self._fault(line, f"anchor `&{_short(event.anchor)}`: write the value out where it is needed")
        if (tag := getattr(event, "tag", None)) is not None:
            self._fault(line, f"tag `{_short(tag)}`: plain values only")

    def _open(self, value: dict[str, Any] | list[Any], event: yaml.CollectionStartEvent, line: int) -> None:
        self._node(event, line)
        if len(self.levels) >= DEEPEST:
            self._fault(line, f"nested deeper than {DEEPEST} levels")
            raise _GaveUp
        self.levels.append(_Level(value, self._place(value, line)))

    def _place(self, value: Any, line: int) -> Path:
        if not self.levels:
            self.root = value
            return ()
        if len(self.lines) > MOST_VALUES:
            self._fault(line, f"more than {MOST_VALUES:,} values: split the file")
            raise _GaveUp
        level = self.levels[-1]
        if isinstance(level.value, list):
            path = (*level.path, len(level.value))
            level.value.append(value)
        elif level.key is _NO_KEY:
            level.key = self._key(level, value, line)
            return (*level.path, level.key)
        else:
            path = (*level.path, level.key)
            level.value[level.key] = value
            level.key = _NO_KEY
            return path
        self.lines[path] = line
        return path

    def _key(self, level: _Level, key: Any, line: int) -> str:
        if not isinstance(key, str):
            shown = "a list or mapping" if isinstance(key, (dict, list)) else f"`{_spelled(key)}`"
            self._fault(line, f"key {shown} is not text: put it in quotes")
            return f"<key of line {line}>"
        if key == "<<":
            self._fault(line, "merge key `<<`: write the values out")
        if key in level.value:
            self._fault(line, f"key `{_short(key)}` is already on line {self.lines[(*level.path, key)]}: keep one")
        else:
            self.lines[(*level.path, key)] = line
        return key

    def _scalar(self, event: yaml.ScalarEvent, line: int) -> Any:
        text: str = event.value
        if event.style or not event.implicit[0]:
            return text
        if text in _NULL:
            return None
        if text in _BOOLS:
            return _BOOLS[text]
        if _NOT_FINITE.fullmatch(text):
            self._fault(line, f"`{text}` is not a finite number: put it in quotes if text is meant")
        elif _INT.fullmatch(text) or _FLOAT.fullmatch(text):
            return self._number(text, line)
        return text

    def _number(self, text: str, line: int) -> int | float | None:
        whole = _INT.fullmatch(text) is not None
        if len(text) > _LONGEST_NUMBER:
            self._fault(line, f"number of {len(text)} characters: put it in quotes if text is meant")
            return None
        if whole:
            return int(text, 0) if text[:2] in ("0x", "0o") else int(text)
        number = float(text)
        if not math.isfinite(number):
            self._fault(line, f"`{text}` is not a finite number: put it in quotes if text is meant")
        return number

    def _fault(self, line: int, problem: str) -> None:
        self.faults.append(f"{self.source}:{line}: {problem}")
        if len(self.faults) >= MOST_FAULTS:
            raise _GaveUp


def _spelled(key: Any) -> str:
    return "null" if key is None else str(key).lower() if isinstance(key, bool) else str(key)


def _short(text: str | None) -> str:
    key = text or ""
    return key if len(key) <= 60 else f"{key[:57]}…"
