"""Acceptance checks as data: what must pass before a task is done, as defined by a person or a policy.

INVARIANT: no agent defines one. They are executed in `oversight.checking`; results are stored by `store.work.evidence`.
Source: row A20.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interlock.core.errors import UsageError
from interlock.core.values import canonical_json

KINDS = ("file_exists", "command", "json_schema", "contains", "verdict")
MOST = 20
"""The most checks of one task."""
LONGEST_COMMAND_S = 600
LONGEST_TEXT, LONGEST_REGEX, LARGEST_SCHEMA = 2_000, 500, 50_000
MOST_WORDS, LONGEST_WORD = 50, 1_000
_KEYS: Mapping[str, tuple[str, ...]] = {
    "file_exists": ("path",),
    "command": ("argv", "timeout_s"),
    "json_schema": ("schema", "path"),
    "contains": ("text", "regex", "path"),
    "verdict": (),
}
MISSION = "mission"
"""The key for the mission's own deliverable in a policy's table of checks by type of task."""
WAIVER = "waived"
"""The key under which a person's waiver of a check is stored: who, why, when."""
_SHOWN = 80


class BadCheck(UsageError):
    """An invalid check; `faults` are the reasons, one line each."""

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = list(faults)
        super().__init__("; ".join(faults))


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check. `path` is a workspace file; without one, the deliverable itself is checked."""

    kind: str
    path: str | None = None
    argv: tuple[str, ...] = ()
    timeout_s: int | None = None
    """How long a command may take, and how much CPU time it may use; without it, as long as the sandbox lets it."""
    schema: Any = None
    text: str | None = None
    regex: str | None = None
    waived: bool = False

    @property
    def name(self) -> str:
        """A one-line description, derived from the check alone, which identifies its results."""
        where = f" in `{self.path}`" if self.path else ""
        match self.kind:
            case "file_exists":
                return f"file `{self.path}` exists"
            case "command":
                return f"command `{_short(' '.join(self.argv))}` succeeds"
            case "json_schema":
                return f"JSON{where} matches the schema {_short(canonical_json(self.schema))}"
            case "contains":
                what = f"“{_short(self.text)}”" if self.text is not None else f"/{_short(self.regex or '')}/"
                return f"contains {what}{where}"
        return "a reviewer's verdict is pass"

    @property
    def is_run(self) -> bool:
        """Whether the runtime executes it; a reviewer's verdict is looked up instead."""
        return self.kind != "verdict"


def read(data: Any) -> list[dict[str, Any]]:
    """Parses a list of checks (or one) from a person or a policy file.

    Raises BadCheck with every fault.
    """
    items = data if isinstance(data, list) else [data]
    if len(items) > MOST:
        raise BadCheck([f"{len(items)} checks: {MOST} are the most for one task"])
    faults: list[str] = []
    found = []
    for number, item in enumerate(items, start=1):
        problems = problems_of(item)
        faults += [f"check {number}: {problem}" for problem in problems]
        found.append(item)
    if faults:
        raise BadCheck(faults)
    return [{"kind": item["kind"], **{key: item[key] for key in _KEYS[item["kind"]] if key in item}} for item in found]


def stored(rows: Iterable[Mapping[str, Any]] | None) -> tuple[Check, ...]:
    """Parses the checks in a task's row. Raises BadCheck for anything that `read` would reject."""
    found = []
    for row in rows or ():
        body = {key: value for key, value in row.items() if key in ("kind", *_KEYS.get(row.get("kind", ""), ()))}
        if problems := problems_of(body):
            raise BadCheck(problems)
        given = {**body, "argv": tuple(body.get("argv", ()))}
        found.append(Check(**given, waived=WAIVER in row))
    return tuple(found)


def problems_of(item: Any) -> list[str]:
    """The faults of one item."""
    if not isinstance(item, Mapping):
        return ["it is a mapping with `kind`, such as `{kind: file_exists, path: report.csv}`"]
    kind = item.get("kind")
    if kind not in KINDS:
        said = "`kind` is missing" if kind is None else f"there is no kind `{kind}`"
        return [f"{said}: use one of {', '.join(KINDS)}"]
    unknown = [str(key) for key in item if key not in ("kind", *_KEYS[kind])]
    faults = [f"unknown key `{key}`: a {kind} check has {', '.join(_KEYS[kind]) or 'none'}" for key in unknown]
    if "path" in item and kind != "command":
        faults += _path(item["path"])
    match kind:
        case "file_exists" if "path" not in item:
            faults.append("`path` is missing: which file of the workspace?")
        case "command":
            faults += _command(item)
        case "json_schema":
            faults += _schema(item.get("schema"))
        case "contains":
            faults += _contains(item)
    return faults


def _path(value: Any) -> list[str]:
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_WORD or "\x00" in value:
        return ["`path` is the path of a file in the workspace"]
    if value.startswith(("/", "~")) or ".." in value.split("/"):
        return [f"`{value}` leads out of the workspace: write a path within it"]
    return []


def _command(item: Mapping[str, Any]) -> list[str]:
    faults = []
    argv = item.get("argv")
    if isinstance(argv, str):
        faults.append("`argv` is a list of words, no shell reads it: write [pytest, -q]")
    elif not isinstance(argv, list) or not 1 <= len(argv) <= MOST_WORDS:
        faults.append(f"`argv` is a list of 1 to {MOST_WORDS} words, the program first")
    elif not all(isinstance(word, str) and len(word) <= LONGEST_WORD and "\x00" not in word for word in argv):
        faults.append(f"`argv` holds words of at most {LONGEST_WORD:,} characters: put numbers in quotes")
    elif not argv[0]:
        faults.append("`argv` begins with the program")
    seconds = item.get("timeout_s", LONGEST_COMMAND_S)
    if type(seconds) is not int or not 1 <= seconds <= LONGEST_COMMAND_S:
        faults.append(f"`timeout_s` is a whole number of seconds from 1 to {LONGEST_COMMAND_S}")
    return faults


def _schema(schema: Any) -> list[str]:
    if not isinstance(schema, Mapping):
        return ["`schema` is a JSON Schema, an object"]
    try:
        length = len(canonical_json(schema))
    except (TypeError, ValueError, RecursionError):
        return ["`schema` is not JSON"]
    return [f"`schema` has {length:,} characters: {LARGEST_SCHEMA:,} are the most"] if length > LARGEST_SCHEMA else []


def _contains(item: Mapping[str, Any]) -> list[str]:
    text, regex = item.get("text"), item.get("regex")
    if (text is None) == (regex is None):
        return ["give either `text` or `regex`"]
    if text is not None and (not isinstance(text, str) or not text or len(text) > LONGEST_TEXT):
        return [f"`text` is text of at most {LONGEST_TEXT:,} characters"]
    if regex is None:
        return []
    if not isinstance(regex, str) or not regex or len(regex) > LONGEST_REGEX:
        return [f"`regex` is a regular expression of at most {LONGEST_REGEX} characters"]
    try:
        re.compile(regex)
    except (re.error, RecursionError, OverflowError) as error:
        return [f"`{regex}` is not a regular expression: {error}"]
    return []


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
