"""Judges the meaning of a call's arguments: commands, statements, URLs, recipients, amounts.

Consequences are drawn in `decide`; definitions of tools are judged in `tool_definitions`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from interlock.policy import argument_names, kinds
from interlock.policy.argument_names import Content, ToolKind
from interlock.policy.builtin import BASE
from interlock.policy.calls import Call, Raised
from interlock.policy.code import languages, other_code
from interlock.policy.command_lines import argv, commands
from interlock.policy.definitions import verbs
from interlock.policy.own_tools import OWN, SETTLED, lists, orders, overrides, presses, texts
from interlock.policy.queries import sql
from interlock.policy.rules import Policy
from interlock.policy.values import amounts, embedded_requests, injections, paths, recipients, side_effects, urls
from interlock.policy.values.folding import fold, is_odd, nested, readings

MOST_SCRIPTS = 50
MOST_VALUES = 500
"""The most values of a call, of those that resemble commands, that are judged."""
_WORD = re.compile(r"\s*(?:[A-Za-z_]+|[\w-]*\d[\w-]*)\s*")
_SCHEME = re.compile(
    r"\s*(?:[A-Za-z][A-Za-z0-9+.-]{1,20}:[/\\]|(?:localhost|[\w-]+(?:\.[\w-]+)+):\d{2,5}(?:[/?]\S*)?$|"
    r"(?:javascript|vbscript|data|file|mailto|blob|jar|ldaps?|gopher|dict|smb|s?ftp|tel|sms|sip|view-source|about|chrome|"
    r"https?|wss?|ssh|git|netdoc|phar|expect|intent|magnet|bitcoin|ethereum|jdbc):\S+$)",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"[\w,.'’:]+(?:[ -][\w,.'’:]+)*")
_FILE_NAME = re.compile(r"[\w./\\-]+\.(?:py|sh|js|ts|rb|pl|sql|ps1|bat|md|txt|csv|json|ya?ml)")
_RELATIVE = re.compile(r"[\w-]+(?:/[\w-]+)*/[\w.-]+\.\w{1,5}")
"""A relative path in the place of a URL."""
_OPENINGS = frozenset('{[" \t\n\ufeff/~.\\')
_SCALARS = frozenset((int, float, bool))
_SPOKEN = Content.PROSE | Content.COMMAND | Content.CODE | Content.SQL | Content.MAYBE_SQL | Content.BODY
"""Arguments whose text is judged by its own rules; any other text is a plain value."""
_QUERIED = ToolKind.DATABASE | ToolKind.REPORTS
_PLAINLY = (Content.NOTHING, Content.SOUGHT)
_ORDERS = Content.PROSE | Content.COMMAND | Content.CODE | Content.SQL | Content.RUN
_WRITE_METHODS = frozenset("POST PUT PATCH DELETE CONNECT TRACE MKCOL MOVE COPY PROPPATCH LOCK PURGE".split())
_INSIDE = frozenset(
    "ask_operator do_nothing get_event get_goal get_task list_events list_goals list_tasks memory_get "
    "memory_search post_progress react_to_message recall_memories search_memories store_memory "
    "submit_deliverable update_memory web_search".split()
)
"""Built-in tools whose arguments reach nothing outside."""


def findings(call: Call, policy: Policy, hidden: Sequence[tuple[str, str]] = ()) -> Iterable[Raised]:
    """Findings for a call by the meaning of its arguments, each rule once, without their values.

    `hidden` are the decoded texts from `arguments.inspect`, with the names of their arguments. Source: row C1.
    """
    args, tool = call.args, call.tool
    own = OWN.get(tool)
    if own is None and (not args or (call.is_builtin and tool in _INSIDE)) and not policy.production:
        return ()
    found: dict[str, Raised] = {}
    if own is not None:
        for each in own(args, call.is_builtin):
            found.setdefault(each.rule, each)
    settled = call.is_builtin and tool in SETTLED
    if policy.production or not (settled or _is_harmless(args, argument_names.kind_of(tool))):
        _Judgement(call, policy, found).at(args)
    if hidden and not settled:
        _Judgement(call, policy, found).behind(hidden)
    return tuple(found.values()) if found else ()


def _is_harmless(args: Mapping[str, Any], kind: int) -> bool:
    """Fast path: True only if no argument concerns any topic judged here."""
    if kind & (ToolKind.SHELL | ToolKind.PYTHON | ToolKind.PROGRAM):
        return False
    for key, value in args.items():
        what = argument_names.content_of(key)
        if type(value) is str:
            if value[:1] in _OPENINGS or not _is_harmless_text(what, value):
                return False
        elif (what and what != Content.PROSE) or (value is not None and type(value) not in _SCALARS):
            return False
    return True


def _is_harmless_text(what: int, text: str) -> bool:
    if what == Content.PROSE:
        return not (injections.may_be_active_content(text) or embedded_requests.may_hold(text))
    if urls.has_colon(text) or injections.may_inject(text) or (" " in text and injections.may_run(text)):
        return False
    if what == Content.PATH:
        return not paths.judge(text, writes=True, closed=False)
    if what == Content.MAYBE_ACT:
        return not verbs.is_grave_act(text)
    return what in _PLAINLY or (what == Content.ACT and not (orders(text) or other_code.is_function(text)))


class _Judgement:
    """One pass over all arguments of a call."""

    __slots__ = (
        "builtin", "description", "found", "kind", "opens", "policy", "program", "reads",
        "scripts", "settled", "tool", "values",
    )  # fmt: skip

    def __init__(self, call: Call, policy: Policy, found: dict[str, Raised]) -> None:
        self.policy = policy
        self.found = found
        self.tool, self.description = call.tool, call.description
        self.kind = argument_names.kind_of(call.tool)
        self.builtin = call.is_builtin and call.tool in BASE
        self.settled = call.tool in OWN
        self.program = argument_names.program_of(call.tool) if self.kind & ToolKind.PROGRAM else ""
        self.reads = bool(self.kind & ToolKind.READS)
        self.opens = not (self.builtin or self.kind & (ToolKind.READS | ToolKind.WRITES_FILES))
        """Whether a document may contain instructions to the tool: it neither reads nor stores its input."""
        self.scripts = 0
        self.values = 0

    def add(self, found: Iterable[Raised]) -> None:
        for each in found:
            self.found.setdefault(each.rule, each)

    def at(self, args: Mapping[str, Any]) -> None:
        """Judges arguments at every level, without recursion."""
        rest: list[Any] = [args]
        while rest:
            value = rest.pop()
            if isinstance(value, dict):
                self._object(value, rest)
            else:
                for item in value:
                    inner = _inner("", item, Content.NOTHING) if isinstance(item, str) else item
                    if isinstance(inner, (dict, list, tuple)):
                        rest.append(inner)

    def behind(self, hidden: Sequence[tuple[str, str]]) -> None:
        """Judges decoded texts, both as plain values and as scripts."""
        for key, text in hidden:
            what = argument_names.content_of(key)
            if (inner := nested(text)) is not None:
                self.at(inner if isinstance(inner, dict) else {key: inner})
            elif not (what & Content.PROSE and "\n" in text):
                self.add(injections.findings_in_script(text))
                if sql.looks_like(text):
                    self.add(sql.judge(text))
                if not what & (Content.PROSE | Content.URL | Content.COMMAND | Content.CODE):
                    self._argument(key, text, what, {})

    def _object(self, args: Mapping[str, Any], rest: list[Any]) -> None:
        everything = Content.NOTHING
        for key, value in args.items():
            what = argument_names.content_of(key)
            everything |= what
            if key in injections.STAGES:
                self.add((injections.STAGES[key],))
            if isinstance(value, str):
                self._argument(key, value, what, args)
                if (inner := _inner(key, value, what & ~Content.PROSE if self.opens else what)) is not None:
                    rest.append(inner)
            elif what or isinstance(value, (dict, list, tuple)):
                self._argument(key, value, what, args)
                if isinstance(value, (dict, list, tuple)):
                    rest.append(value)
        if everything & Content.SUMS and not self.reads and not self.builtin:
            shown = args.get("all") is True and self._tells()
            self.add(
                amounts.judge({k: v for k, v in args.items() if k != "all"} if shown else args, self.policy.limits)
            )
        if everything & Content.ASIDE and not self.builtin:
            self.add(side_effects.judge(self.tool, args, reads=self.reads))
        if (everything & Content.COMMAND or self.program) and not self.settled:
            self.add(argv.findings_in_program(args, self.program, of_shell=bool(self.kind & ToolKind.SHELL)))
        if everything & (Content.METHOD | Content.BODY | Content.HEADERS) and not self.settled:
            self._http(args, everything)
        if not (self.builtin or embedded_requests.ASKING.isdisjoint(args)):
            self.add(embedded_requests.findings_in_object(args, reads=self.reads))

    def _tells(self) -> bool:
        return argument_names.only_reports(self.tool, self.description)

    def _argument(self, key: str, value: Any, what: int, args: Mapping[str, Any]) -> None:
        if what & Content.PEOPLE and not (self.reads or argument_names.looks_up(self.tool, self.description, key)):
            if recipients.are_outside(value, key, self.policy.organisation, surely=not self.builtin):
                self.add((kinds.RECIPIENT,))
            if recipients.count(value) > self.policy.limits.count:
                self.add((kinds.BULK,))
        found = (value,) if isinstance(value, str) else texts(value)
        if what & Content.COMMAND and isinstance(value, (list, tuple)) and not isinstance(value, str):
            for words in lists(value):
                self._words(key, words)
            return
        if not (isinstance(value, str) or self.builtin or self.settled) and isinstance(value, (list, tuple)):
            for words in filter(argv.may_run, lists(value)) if key not in argv.NAMED else lists(value):
                self.add(argv.findings_in_list(key, words))
        for text in found:
            self._text(key, text, what, args)
            if text is not value and not (self.reads or self.builtin) and presses(text):
                self.add((kinds.BROWSER_ACTS,))

    def _text(self, key: str, text: str, what: int, args: Mapping[str, Any]) -> None:
        if not text:
            return
        if self.policy.production:
            self._production(text)
        if self.builtin and self.settled:
            return
        if not self.settled:
            self._commands(text, what, args)
            self._request(text, what, args)
        if injections.may_be_active_content(text):
            self.add(injections.findings_in_cell(text))
        address = text if text.isascii() or what & Content.PROSE else urls.undisguised(text)
        if what & Content.URL or (not what & Content.PROSE and ":" in address and _SCHEME.match(address)):
            self._address(key, address, what)
        if (what & Content.RUN or not what & _SPOKEN) and not (self.builtin or self.settled):
            if what & Content.RUN or injections.may_inject(text):
                self._value(text, what)
        elif what & (Content.SQL | Content.MAYBE_SQL) and not (self.builtin or what & Content.COMMAND):
            self._query(key, text)
        edited = bool(what & Content.URL) and not argument_names.EDITS.isdisjoint(args)
        if not what & Content.PROSE and (what & Content.PATH or edited or text[:1] in "/~.\\" or text[1:2] == ":"):
            self._path(text, what, args)
        sought = self.reads and what & Content.SOUGHT
        if not (what & _ORDERS or sought or self.builtin) and " " in text and injections.may_run(text):
            self.add(injections.findings_in_script(text, states=not (self.reads or what & Content.MAYBE_SQL)))
        if what & Content.MAYBE_ACT and not (self.reads or self.builtin) and verbs.is_grave_act(text):
            self.add((kinds.ACTS,))
        if what & (Content.ACT | Content.METHOD) and not self.builtin and self._asks(key, text, what):
            self.add((kinds.ACTS,))

    def _request(self, text: str, what: int, args: Mapping[str, Any]) -> None:
        if self.builtin or not embedded_requests.may_hold(text):
            return
        posted = bool(self.kind & ToolKind.HTTP) or any(argument_names.content_of(key) & Content.URL for key in args)
        prose = bool(what & Content.PROSE) and not what & (Content.MAYBE_SQL | Content.BODY)
        found = embedded_requests.findings_in_text(text, self.tool, prose=prose, posted=posted)
        self.add(each for each in found if not self.reads or "mutation" in text)

    def _value(self, text: str, what: int) -> None:
        """Judges a text where neither prose nor commands are expected."""
        self.add(injections.findings_in_value(text, reads=self.reads))
        if self.reads and what & Content.SOUGHT and injections.only_alternates(text):
            return
        for script in injections.scripts_in_recipe(text) if what & Content.RUN else injections.scripts(text):
            self.values += 1
            self.add(injections.findings_in_script(script) if self.values <= MOST_VALUES else (kinds.UNREADABLE,))

    def _asks(self, key: str, text: str, what: int) -> bool:
        """Whether an argument that selects an operation requests an act."""
        if what & Content.COMMAND and self.kind & ToolKind.SHELL:
            return False
        if not what & Content.ACT:
            return text.strip().upper() in _WRITE_METHODS if self.reads else verbs.is_method_that_acts(text)
        if self.reads and (verbs.is_weak_act_key(key) or self.kind & ToolKind.LISTS_EVENTS):
            return False
        return verbs.asks_for_act(text) or (not what & Content.COMMAND and orders(text))

    def _path(self, text: str, what: int, args: Mapping[str, Any]) -> None:
        text = text.strip()
        if len(text) > paths.LONGEST or "\n" in text:
            return
        writes = (
            bool(self.kind & ToolKind.WRITES_FILES) or not argument_names.EDITS.isdisjoint(args)
        ) and not self.reads
        self.add(paths.judge(text, writes=writes and bool(what & (Content.PATH | Content.URL)), closed=False))

    def _commands(self, text: str, what: int, args: Mapping[str, Any]) -> None:
        if what & Content.SCRIPT_OF_PAGE or (
            what & Content.ACT and not what & Content.COMMAND and other_code.is_function(text)
        ):
            self.add(other_code.judge(text))
        if what & Content.CODE and what & Content.PATH and _PLAIN.fullmatch(text):
            what &= ~Content.CODE
        if what & Content.COMMAND:
            self._command(text)
        elif what & Content.CODE and not self.kind & ToolKind.DATABASE:
            self._code(text, args)
        elif what & (Content.SQL | Content.MAYBE_SQL):
            if self.program in argument_names.STORES:
                self._command(text)
            else:
                self._maybe_sql(text, what)
        if what & (Content.COMMAND | Content.CODE) or self.reads or not self.kind & (ToolKind.SHELL | ToolKind.PYTHON):
            return
        if _WORD.fullmatch(text) and self._tells():
            return
        if what & (Content.MAYBE_SQL | Content.BODY) or (what & Content.PATH and " " in text) or len(args) == 1:
            self._code(text, args) if self.kind & ToolKind.PYTHON else self._command(text)

    def _command(self, text: str) -> None:
        self.scripts += 1
        if self.scripts > MOST_SCRIPTS:
            self.add((kinds.UNREADABLE,))
            return
        if self.program and text.split(maxsplit=1)[:1] != [self.program]:
            text = f"{self.program} {text}"
        found = commands.judge(text)
        if not self.kind & (ToolKind.SHELL | ToolKind.PYTHON) and _WORD.fullmatch(fold(text)):
            kept = (kinds.DESTROYS.rule, kinds.READS_SECRETS.rule, kinds.PAYS.rule)
            found = tuple(each for each in found if each.rule in kept and fold(text).strip() != "format")
        self.add(found)

    def _words(self, key: str, texts: list[str]) -> None:
        if not texts:
            return
        if any(" " in text.strip() for text in texts[:1]) or key.lower().endswith("s"):
            for text in texts:
                self._command(text)
        else:
            self.add(commands.judge_words(texts if self.program in ("", texts[0]) else [self.program, *texts]))

    def _code(self, text: str, args: Mapping[str, Any]) -> None:
        if _FILE_NAME.fullmatch(text) and not languages.language_of(args):
            return
        self.scripts += 1
        if self.scripts > MOST_SCRIPTS:
            self.add((kinds.UNREADABLE,))
            return
        self.add(languages.code(text, languages.language_of(args), python=bool(self.kind & ToolKind.PYTHON)))

    def _maybe_sql(self, text: str, what: int) -> None:
        asked = bool(self.kind & ToolKind.DATABASE)
        states = (sql.is_statement if asked and not self.builtin else sql.looks_like)(text)
        sure = bool(what & Content.SQL) and (asked or states or " " in text.strip() or sql.is_order(text))
        open_to_it = not self.builtin and (asked or not self.reads or bool(self.kind & ToolKind.REPORTS))
        if sure or (open_to_it and states):
            found = sql.judge(text)
            self.add(found if sure or asked else [f for f in found if f is not kinds.DATABASE_UNREADABLE])
            self.add((kinds.ACTS,) if not self.builtin and kinds.DATABASE_WRITE in found and sql.changes(text) else ())

    def _query(self, key: str, text: str) -> None:
        """Judges a query that may be in any language, or a question in words."""
        is_meant = bool(self.kind & _QUERIED) or (argument_names.holds_query(key) and not self.reads)
        found = tuple(injections.findings_in_query(text, is_meant=is_meant))
        self.add((*found, kinds.ACTS) if is_meant and kinds.DATABASE_WRITE in found else found)

    def _address(self, key: str, text: str, what: int) -> None:
        if (" " in text.strip() or _RELATIVE.fullmatch(text)) and not _SCHEME.match(text):
            return
        if not self.reads and text[:1] == "/" and verbs.asks_for_act(text.rstrip("/").rpartition("/")[2]):
            self.add((kinds.ACTS,))
        if (self.reads and urls.has_private_scheme(text)) or urls.is_a_name(key, text):
            return
        self.add(urls.judge(text, ours=False))
        if not self.reads and (what & Content.HOOK or text.strip().lower().startswith(("mailto:", "tel:", "sms:"))):
            self.add((kinds.RECIPIENT,))

    def _http(self, args: Mapping[str, Any], everything: int) -> None:
        if not (everything & (Content.URL | Content.HOOK) or self.kind & ToolKind.HTTP):
            return
        for key, value in args.items():
            what = argument_names.content_of(key)
            if what & Content.METHOD and isinstance(value, str) and fold(value).strip().upper() in _WRITE_METHODS:
                self.add((kinds.HTTP_WRITE,))
            if (
                what & Content.BODY
                and self.kind & ToolKind.HTTP
                and everything & Content.URL
                and value not in (None, "", {}, [])
            ):
                self.add((kinds.HTTP_WRITE,))
            if what & Content.HEADERS and overrides(value):
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


def _inner(key: str, text: str, what: int) -> Any:
    """The JSON value in a text, unless it is a document for people."""
    if text[:1] not in _OPENINGS or what & Content.PROSE:
        return None
    value = nested(text)
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return {key: value}
    return value
