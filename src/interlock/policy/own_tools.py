"""Judges the arguments of our own tools, each by its own rules: fetch, browser, database, files, git.

Foreign tools of the same name are judged too; rules for every tool are in `meaning`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from interlock.policy import argument_names, kinds
from interlock.policy.argument_names import Content
from interlock.policy.calls import Raised
from interlock.policy.command_lines import git
from interlock.policy.definitions.verbs import asks_for_act, asks_for_deed
from interlock.policy.queries import sql
from interlock.policy.values import paths, urls
from interlock.policy.values.embedded_requests import PRESSES
from interlock.policy.values.folding import fold

_READ_METHODS = frozenset("GET HEAD OPTIONS QUERY".split())
_PRESSED = re.compile(r"\s*(?:left_|double_|dbl)?(?:click|tap|press)\W(?P<what>.*)", re.IGNORECASE | re.DOTALL)
_BROWSER_READS = frozenset(
    "open goto navigate visit get read snapshot screenshot scroll back forward reload refresh wait extract "
    "text html content find search hover close title url links view list tabs newtab switchtab zoom "
    "console print pdf status observe".split()
)
_BROWSER_TOUCHES = frozenset(
    "click type fill select focus tap check uncheck clear dblclick doubleclick choose press input key keypress".split()
)


_LOOK = re.compile(
    r"(?P<name>goto|go_back|go_forward|noop|scroll|hover|new_tab|tab_focus)\("
    r"(?:\s*(?:'[^'\n\\]*'|\"[^\"\n\\]*\"|-?\d+(?:\.\d+)?)\s*(?:,|(?=\))))*\)\s*;?(?:\s*#.*)?"
)
"""A step of a browser's script that only looks: `goto("https://…")`, `scroll(0, 200)`."""
_QUOTED = re.compile(r"'([^'\n\\]*)'|\"([^\"\n\\]*)\"")


def lists(value: Sequence[Any]) -> Iterator[list[str]]:
    """The texts of a list, and those of every list inside it."""
    rest: list[Sequence[Any]] = [value]
    while rest:
        each = rest.pop()
        rest += [inner for inner in each if isinstance(inner, (list, tuple))]
        yield [inner for inner in each if isinstance(inner, str)]


def texts(value: Any) -> tuple[str, ...]:
    """The strings in a list."""
    return tuple(each for each in value[:1000] if isinstance(each, str)) if isinstance(value, (list, tuple)) else ()


def presses(text: str) -> bool:
    """Whether a textual browser step clicks something that acts: `click the button "Pay now"`."""
    found = _PRESSED.match(text[:2_000])
    return found is not None and PRESSES.search(found["what"]) is not None


def orders(text: str) -> bool:
    """Whether the value of an operation argument is an act, a change, or a click: `create`, `click "Pay now"`."""
    return asks_for_act(text) or asks_for_deed(text) or presses(text)


def overrides(value: Any) -> bool:
    """Whether headers override the method of a request."""
    return "override" in str(list(value) if isinstance(value, dict) else value).lower()[:2000]


def _fetch(args: Mapping[str, Any], is_builtin: bool) -> Iterable[Raised]:
    found: list[Raised] = []
    for key, value in args.items():
        what = argument_names.content_of(key)
        if (
            (what & Content.METHOD and (not isinstance(value, str) or fold(value).strip().upper() not in _READ_METHODS))
            or what & Content.BODY
            or key in ("body", "data", "json")
            or (what & Content.HEADERS and overrides(value))
        ):
            found.append(kinds.HTTP_WRITE)
        elif what & Content.URL:
            for each in (value,) if isinstance(value, str) else texts(value):
                found += urls.judge(each, ours=True)
    return found


def _browser(args: Mapping[str, Any], is_builtin: bool) -> Iterable[Raised]:
    found: list[Raised] = []
    for key, value in args.items():
        if argument_names.content_of(key) & Content.URL and isinstance(value, str):
            found += urls.judge(value, ours=True)
    action = next((args[key] for key in ("action", "command", "operation", "op") if key in args), None)
    if isinstance(action, str):
        name = re.sub(r"[\s_-]", "", fold(action).lower())
        text = " ".join(
            fold(value)[:300]
            for key, value in args.items()
            if isinstance(value, str) and not argument_names.content_of(key) & Content.URL
        )
        pressed = bool(PRESSES.search(re.sub(r"[_#.\[\]=\"'-]", " ", text)))
        sends = args.get("submit") is True or "enter" in text.lower() or "\n" in str(args.get("text", ""))
        if name in _BROWSER_TOUCHES:
            if pressed or sends:
                found.append(kinds.BROWSER_ACTS)
        elif name not in _BROWSER_READS:
            found.append(kinds.BROWSER_ACTS)
    elif action is not None:
        found.append(kinds.BROWSER_ACTS)
    else:
        for key, value in args.items():
            if key.lower() in ("script", "javascript", "code", "expression", "function"):
                found += _page_script(value)
    return found


def _page_script(script: Any) -> Iterable[Raised]:
    """Findings for a browser's script: none for steps that go to public pages and look, otherwise that it acts."""
    steps = [line.strip() for line in script.splitlines()] if isinstance(script, str) and len(script) < 2_000 else [""]
    if not any(steps) or not all(not step or step.startswith("#") or _LOOK.fullmatch(step) for step in steps):
        return (kinds.BROWSER_ACTS,)
    goes = [step for step in steps if step.startswith("goto")]
    return [found for step in goes for one, two in _QUOTED.findall(step) for found in urls.judge(one or two, ours=True)]


def _database(args: Mapping[str, Any], is_builtin: bool) -> Iterable[Raised]:
    found: list[Raised] = []
    statements = [
        each for key, value in args.items()
        if argument_names.content_of(key) & (Content.SQL | Content.MAYBE_SQL | Content.COMMAND)
        for each in ((value,) if isinstance(value, str) else texts(value))
    ]  # fmt: skip
    for text in statements:
        found += sql.judge(text)
    if len(statements) > 1:
        found.append(kinds.DATABASE_WRITE)
    action = args.get("action") if isinstance(args.get("action"), str) else ""
    name = fold(str(action)).strip().lower()
    if re.search(r"create|alter|drop|truncate|migrat|grant|revoke|rename|vacuum|attach", name):
        found.append(kinds.DATABASE_SCHEMA)
    if re.search(r"delete|remove|purge|erase|wipe|clear", name):
        found.append(kinds.DATABASE_DELETE)
    reading = name in ("read", "select", "query", "get", "list", "count", "describe", "tables", "schema", "explain")
    if not reading and (name or not statements):
        found.append(kinds.DATABASE_WRITE)
    return found


def _file(args: Mapping[str, Any], is_builtin: bool, *, writes: bool) -> Iterable[Raised]:
    found: list[Raised] = []
    for key, value in args.items():
        if argument_names.content_of(key) & Content.PATH:
            for each in (value,) if isinstance(value, str) else texts(value):
                found += paths.judge(each, writes=writes, closed=is_builtin)
    return found


def _read(args: Mapping[str, Any], is_builtin: bool) -> Iterable[Raised]:
    return _file(args, is_builtin, writes=False)


def _write(args: Mapping[str, Any], is_builtin: bool) -> Iterable[Raised]:
    return _file(args, is_builtin, writes=True)


def _git(args: Mapping[str, Any], is_builtin: bool) -> Iterable[Raised]:
    return git.judge_action(args)


OWN: Mapping[str, Callable[[Mapping[str, Any], bool], Iterable[Raised]]] = {
    "fetch": _fetch, "browser": _browser, "database": _database, "file_read": _read, "file_list": _read,
    "file_write": _write, "file_edit": _write, "git_ops": _git,
}  # fmt: skip
"""The built-in tools with rules for their arguments; they apply to foreign tools of the same name too."""
SETTLED = frozenset(("file_read", "file_list", "file_write", "file_edit", "git_ops", "database", "fetch"))
"""Those of them to which no other rules apply."""
