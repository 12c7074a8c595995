"""What the arguments of a call mean: commands, statements, addresses, recipients, amounts.

What follows for the call is `decide`'s; what a tool's own words say is judged by `words`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from interlock.policy import amounts, commands, git, holds, kinds, paths, python_code, recipients, sql, urls, verbs
from interlock.policy.builtin import BASE
from interlock.policy.calls import Call, Raised
from interlock.policy.folding import fold, is_odd, nested, readings
from interlock.policy.holds import Holds, Kind
from interlock.policy.rules import Policy

MOST_SCRIPTS = 50
_SHELL_NAMES = frozenset("bash sh shell zsh console terminal shellscript fish ksh dash cmd powershell batch".split())
_PYTHON_NAMES = frozenset("python py python3 ipython jupyter".split())
_OTHER_NAMES = frozenset("javascript js node nodejs typescript ts ruby perl php lua r go rust java".split())
_WORD = re.compile(r"\s*[A-Za-z_]+\s*")
_SCHEME = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.-]{1,20}:(?:[/\\]|\S+$)")
_FILE_NAME = re.compile(r"[\w./\\-]+\.(?:py|sh|js|ts|rb|pl|sql|ps1|bat|md|txt|csv|json|ya?ml)")
_WRITE_METHODS = frozenset("POST PUT PATCH DELETE CONNECT TRACE MKCOL MOVE COPY PROPPATCH LOCK PURGE".split())
_READ_METHODS = frozenset("GET HEAD OPTIONS QUERY".split())
_PRESSES = re.compile(
    r"\b(?:buy|pay|order|checkout|check out|purchase|send|submit|post|publish|delete|remove|confirm|accept|agree|subscribe|"
    r"sign up|register|book|reserve|transfer|donate|share|invite|save|apply|unsubscribe|cancel|approve|place|download|install|"
    r"grant|allow|authori[sz]e|log ?in|sign ?in|log ?out)\b",
    re.IGNORECASE,
)
_BROWSER_READS = frozenset(
    "open goto navigate visit get read snapshot screenshot scroll back forward reload refresh wait extract text html content find "
    "search hover close title url links view list tabs newtab switchtab zoom console print pdf status observe".split()
)
_BROWSER_TOUCHES = frozenset("click type fill select focus tap check uncheck clear dblclick doubleclick choose press input key keypress".split())
_INSIDE = frozenset(
    "ask_operator do_nothing get_event get_goal get_task list_events list_goals list_tasks memory_get memory_search "
    "post_progress react_to_message recall_memories search_memories store_memory submit_deliverable update_memory web_search".split()
)
"""Built-in tools that reach nobody and nothing by their arguments."""


def findings(call: Call, policy: Policy) -> Iterable[Raised]:
    """What raises the risk of a call by its meaning: each rule once, never anything of the arguments' values.

    Source: row C1.
    """
    args = call.args
    if (not args and call.tool not in _OWN) or (call.is_builtin and call.tool in _INSIDE and not policy.production):
        return ()
    found: dict[str, Raised] = {}
    if (own := _OWN.get(call.tool)) is not None:
        for each in own(args, call.is_builtin):
            found.setdefault(each.rule, each)
    if not (call.is_builtin and call.tool in _SETTLED) or policy.production:
        _Look(call, policy, found).at(args)
    return tuple(found.values()) if found else ()


class _Look:
    """One look at all arguments of a call."""

    __slots__ = ("builtin", "found", "kind", "policy", "reads", "scripts", "settled")

    def __init__(self, call: Call, policy: Policy, found: dict[str, Raised]) -> None:
        self.policy = policy
        self.found = found
        self.kind = holds.kind_of(call.tool)
        self.builtin = call.is_builtin and call.tool in BASE
        self.settled = call.tool in _OWN
        self.reads = bool(self.kind & Kind.READS)
        self.scripts = 0

    def add(self, found: Iterable[Raised]) -> None:
        for each in found:
            self.found.setdefault(each.rule, each)

    def at(self, args: Mapping[str, Any]) -> None:
        """Looks at every level, without recursion."""
        rest: list[tuple[Any, str]] = [(args, "")]
        while rest:
            value, key = rest.pop()
            if isinstance(value, dict):
                self._object(value)
                rest.extend((item, name) for name, item in value.items() if isinstance(item, (dict, list, tuple)))
            else:
                rest.extend((item, key) for item in value if isinstance(item, (dict, list, tuple)))
            if isinstance(value, dict):
                for name, item in value.items():
                    if isinstance(item, str) and (inner := self._inner(name, item)) is not None:
                        rest.append((inner, name))

    def _inner(self, key: str, text: str) -> Any:
        """What a text holds as JSON, where it is no document for people."""
        if text[:1] not in "{[\" \t\n\ufeff" or not text or holds.of(key) & Holds.PROSE:
            return None
        value = nested(text)
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return {key: value} if value != [text] else None
        return value

    def _object(self, args: Mapping[str, Any]) -> None:
        everything = Holds.NOTHING
        for key, value in args.items():
            what = holds.of(key)
            everything |= what
            if what or type(value) is str:
                self._argument(key, value, what, args)
        if everything & Holds.SUMS and not self.reads and not self.builtin:
            self.add(amounts.judge(args, self.policy.limits))
        if everything & (Holds.METHOD | Holds.BODY | Holds.HEADERS) and not self.settled:
            self._http(args, everything)

    def _argument(self, key: str, value: Any, what: Holds, args: Mapping[str, Any]) -> None:
        if what & Holds.PEOPLE and not self.reads:
            if recipients.are_outside(value, key, self.policy.organisation, surely=not self.builtin):
                self.add((kinds.RECIPIENT,))
            if recipients.count(value) > self.policy.limits.count:
                self.add((kinds.BULK,))
        texts = (value,) if isinstance(value, str) else _texts(value)
        if what & Holds.COMMAND and isinstance(value, (list, tuple)) and not isinstance(value, str):
            self._words(key, [each for each in value if isinstance(each, str)])
            texts = ()
        for text in texts:
            self._text(key, text, what, args)

    def _text(self, key: str, text: str, what: Holds, args: Mapping[str, Any]) -> None:
        if not text:
            return
        if self.policy.production:
            self._production(text)
        if self.builtin and self.settled:
            return
        if not self.settled:
            self._commands(text, what, args)
        if what & Holds.URL or (not what & Holds.PROSE and _SCHEME.match(text)):
            self._address(key, text, what)
        if not what & Holds.PROSE and (what & Holds.PATH or text[:1] in "/~.\\" or text[1:2] == ":"):
            if len(text) < 1024 and "\n" not in text:
                writes = bool(self.kind & Kind.WRITES_FILES) and not self.reads
                self.add(paths.judge(text, writes=writes and bool(what & Holds.PATH), closed=False))
        if what & Holds.ACT and verbs.asks_for_act(text) and not self.builtin:
            self.add((kinds.ACTS,))

    def _commands(self, text: str, what: Holds, args: Mapping[str, Any]) -> None:
        if what & Holds.COMMAND:
            self._command(text)
        elif what & Holds.CODE and not self.kind & Kind.DATABASE:
            self._code(text, args)
        elif what & (Holds.SQL | Holds.MAYBE_SQL):
            self._maybe_sql(text, what)
        if not what & (Holds.COMMAND | Holds.CODE) and self.kind & (Kind.SHELL | Kind.PYTHON) and not self.reads:
            if what & (Holds.MAYBE_SQL | Holds.BODY) or what & Holds.PATH and " " in text or len(args) == 1:
                self._code(text, args) if self.kind & Kind.PYTHON else self._command(text)

    def _command(self, text: str) -> None:
        self.scripts += 1
        if self.scripts > MOST_SCRIPTS:
            self.add((kinds.UNREADABLE,))
            return
        found = commands.judge(text)
        if not self.kind & Kind.SHELL and _WORD.fullmatch(fold(text)):
            kept = (kinds.DESTROYS.rule, kinds.READS_SECRETS.rule)
            found = tuple(each for each in found if each.rule in kept and fold(text).strip() != "format")
        self.add(found)

    def _words(self, key: str, texts: list[str]) -> None:
        if not texts:
            return
        if any(" " in text.strip() for text in texts[:1]) or key.lower().endswith("s"):
            for text in texts:
                self._command(text)
        else:
            self.add(commands.judge_words(texts))

    def _code(self, text: str, args: Mapping[str, Any]) -> None:
        if _FILE_NAME.fullmatch(text):
            return
        self.scripts += 1
        if self.scripts > MOST_SCRIPTS:
            self.add((kinds.UNREADABLE,))
            return
        self.add(code(text, _language(args), python=bool(self.kind & Kind.PYTHON)))

    def _maybe_sql(self, text: str, what: Holds) -> None:
        sure = bool(what & Holds.SQL) and (bool(self.kind & Kind.DATABASE) or sql.looks_like(text) or " " in text.strip())
        if sure or (self.kind & Kind.DATABASE or not self.reads) and not self.builtin and sql.looks_like(text):
            found = sql.judge(text)
            self.add(found if sure or self.kind & Kind.DATABASE else [f for f in found if f is not kinds.DATABASE_UNREADABLE])

    def _address(self, key: str, text: str, what: Holds) -> None:
        if " " in text.strip() and not _SCHEME.match(text):
            return
        self.add(urls.judge(text, ours=False))
        if what & Holds.HOOK and not self.reads:
            self.add((kinds.RECIPIENT,))

    def _http(self, args: Mapping[str, Any], everything: Holds) -> None:
        called = bool(everything & (Holds.URL | Holds.HOOK)) or bool(self.kind & Kind.HTTP)
        if not called:
            return
        for key, value in args.items():
            what = holds.of(key)
            if what & Holds.METHOD and isinstance(value, str) and fold(value).strip().upper() in _WRITE_METHODS:
                self.add((kinds.HTTP_WRITE,))
            if what & Holds.BODY and self.kind & Kind.HTTP and everything & Holds.URL and value not in (None, "", {}, []):
                self.add((kinds.HTTP_WRITE,))
            if what & Holds.HEADERS and _overrides(value):
                self.add((kinds.HTTP_WRITE,))

    def _production(self, text: str) -> None:
        low = fold(text).lower()
        for reading in (low, *(each.lower() for each in readings(text))) if is_odd(text) else (low,):
            for name in self.policy.production:
                at = reading.find(name)
                while at >= 0:
                    before, after = reading[at - 1 : at] if at else "", reading[at + len(name) : at + len(name) + 1]
                    if not (before.isalnum() or after.isalnum()):
                        self.add((kinds.PRODUCTION,))
                        return
                    at = reading.find(name, at + 1)


def code(text: str, language: str, *, python: bool) -> tuple[Raised, ...]:
    """What raises a piece of code in a language, or in one that nobody names."""
    if language in _SHELL_NAMES:
        return commands.judge(text)
    if language in _PYTHON_NAMES:
        return python_code.judge(text)
    if language == "sql":
        return sql.judge(text)
    if language in _OTHER_NAMES:
        return commands.judge_other(text)
    if python_code.parsed(text) is None:
        return commands.judge(text) if not python else (*python_code.judge(text), *commands.judge(text))
    found = python_code.judge(text)
    if "(" not in text and "=" not in text and "import" not in text:
        found += tuple(each for each in commands.judge(text) if each is not kinds.UNKNOWN_PROGRAM)
    return found


def _language(args: Mapping[str, Any]) -> str:
    for key in ("language", "lang", "runtime", "interpreter", "type", "kind"):
        value = args.get(key)
        if isinstance(value, str):
            return fold(value).strip().lower()
    return ""


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(each for each in value[:1000] if isinstance(each, str)) if isinstance(value, (list, tuple)) else ()


def _overrides(value: Any) -> bool:
    return "override" in str(list(value) if isinstance(value, dict) else value).lower()[:2000]


def _fetch(args: Mapping[str, Any], is_builtin: bool) -> Iterable[Raised]:
    found: list[Raised] = []
    for key, value in args.items():
        what = holds.of(key)
        if what & Holds.METHOD and (not isinstance(value, str) or fold(value).strip().upper() not in _READ_METHODS):
            found.append(kinds.HTTP_WRITE)
        elif what & Holds.BODY or key in ("body", "data", "json"):
            found.append(kinds.HTTP_WRITE)
        elif what & Holds.HEADERS and _overrides(value):
            found.append(kinds.HTTP_WRITE)
        elif what & Holds.URL:
            for each in (value,) if isinstance(value, str) else _texts(value):
                found += urls.judge(each, ours=True)
    return found


def _browser(args: Mapping[str, Any], is_builtin: bool) -> Iterable[Raised]:
    found: list[Raised] = []
    for key, value in args.items():
        if holds.of(key) & Holds.URL and isinstance(value, str):
            found += urls.judge(value, ours=True)
    action = next((args[key] for key in ("action", "command", "operation", "op") if key in args), None)
    if isinstance(action, str):
        name = re.sub(r"[\s_-]", "", fold(action).lower())
        told = " ".join(fold(value)[:300] for key, value in args.items() if isinstance(value, str) and not holds.of(key) & Holds.URL)
        pressed = bool(_PRESSES.search(re.sub(r"[_#.\[\]=\"'-]", " ", told)))
        sends = args.get("submit") is True or "enter" in told.lower() or "\n" in str(args.get("text", ""))
        if name in _BROWSER_TOUCHES:
            if pressed or sends:
                found.append(kinds.BROWSER_ACTS)
        elif name not in _BROWSER_READS:
            found.append(kinds.BROWSER_ACTS)
    elif action is not None or {"script", "javascript", "code", "expression", "function"} & {key.lower() for key in args}:
        found.append(kinds.BROWSER_ACTS)
    return found


def _database(args: Mapping[str, Any], is_builtin: bool) -> Iterable[Raised]:
    found: list[Raised] = []
    texts = [
        each for key, value in args.items() if holds.of(key) & (Holds.SQL | Holds.MAYBE_SQL | Holds.COMMAND)
        for each in ((value,) if isinstance(value, str) else _texts(value))
    ]  # fmt: skip
    for text in texts:
        found += sql.judge(text)
    if len(texts) > 1:
        found.append(kinds.DATABASE_WRITE)
    action = args.get("action") if isinstance(args.get("action"), str) else ""
    name = fold(str(action)).strip().lower()
    if re.search(r"create|alter|drop|truncate|migrat|grant|revoke|rename|vacuum|attach", name):
        found.append(kinds.DATABASE_SCHEMA)
    if re.search(r"delete|remove|purge|erase|wipe|clear", name):
        found.append(kinds.DATABASE_DELETE)
    reading = name in ("read", "select", "query", "get", "list", "count", "describe", "tables", "schema", "explain")
    if not reading and (name or not texts):
        found.append(kinds.DATABASE_WRITE)
    return found


def _file(args: Mapping[str, Any], is_builtin: bool, *, writes: bool) -> Iterable[Raised]:
    found: list[Raised] = []
    for key, value in args.items():
        if holds.of(key) & Holds.PATH:
            for each in (value,) if isinstance(value, str) else _texts(value):
                found += paths.judge(each, writes=writes, closed=is_builtin)
    return found


def _read(args: Mapping[str, Any], is_builtin: bool) -> Iterable[Raised]:
    return _file(args, is_builtin, writes=False)


def _write(args: Mapping[str, Any], is_builtin: bool) -> Iterable[Raised]:
    return _file(args, is_builtin, writes=True)


def _git(args: Mapping[str, Any], is_builtin: bool) -> Iterable[Raised]:
    return git.judge_action(args)


_OWN: Mapping[str, Callable[[Mapping[str, Any], bool], Iterable[Raised]]] = {
    "fetch": _fetch, "browser": _browser, "database": _database, "file_read": _read, "file_list": _read, "file_write": _write,
    "file_edit": _write, "git_ops": _git,
}  # fmt: skip
"""The built-in tools whose arguments have a meaning of their own; namesakes of others are judged by it too."""
_SETTLED = frozenset(("file_read", "file_list", "file_write", "file_edit", "git_ops", "database", "fetch"))
"""Those of them of whose arguments nothing more is to be said."""
