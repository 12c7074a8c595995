"""Parses a policy file into a policy; every fault is reported as `file:line: problem`.

Rules are evaluated in `decide`; the caller reads the file from disk.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from interlock.core.errors import ConfigError
from interlock.core.strict_yaml import Path, parse
from interlock.policy.as_code.case_file import CaseReader
from interlock.policy.as_code.conditions import BadCondition, Condition, compile_condition
from interlock.policy.budgets import TASK
from interlock.policy.builtin import BASE
from interlock.policy.checks import MISSION, MOST, problems_of
from interlock.policy.checks import read as read_checks
from interlock.policy.risk import Risk
from interlock.policy.rules import Limits, Organisation, Policy, Rule

MOST_RULES = 1_000
MOST_TOOLS = 500
"""Names and patterns of one rule."""
LONGEST_EXPIRY_S = 30 * 86_400
MOST_PEOPLE = 10
_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_DURATION = re.compile(r"([1-9][0-9]{0,6})(s|m|h|d)")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
TOP = ("version", "organisation", "limits", "production", "base", "rules", "deny", "checks", "tests")
_ORGANISATION = ("domains", "addresses")
_LIMITS = ("amount", "count")
_LABEL = r"(?!-)[a-z0-9-]{1,63}(?<!-)"
_DOMAIN = re.compile(rf"(?:{_LABEL}\.)+{_LABEL}")
_MAILBOX = re.compile(rf"[^\s@<>,;:\"\\]{{1,64}}@(?:{_LABEL}\.)+{_LABEL}")
_SYSTEM = re.compile(r"\S{2,128}")
_LARGEST = 1_000_000_000
DENY_KEYS = ("id", "tools", "when", "reason")
RULE_KEYS = (*DENY_KEYS, "risk", "people", "not_requester", "consensus", "expires")


def policy_from(
    text: str | bytes | None,
    source: str,
    *,
    known_tools: Collection[str] | None = None,
    known_personas: Collection[str] | None = None,
) -> Policy:
    """The policy of a file; the built-in policy if there is none, or an empty one. Source: row C10.

    With `known_tools` and `known_personas`, other names are faults.

    Raises ConfigError with all faults of the file, each `file:line: problem`.
    """
    document = None if text is None else parse(text, source=source)
    if document is None or document.data is None:
        return Policy.builtin()
    reader = _Reader(document, known_tools, known_personas)
    policy = reader.policy()
    if reader.faults:
        raise ConfigError(reader.faults)
    return policy


@dataclass(slots=True)
class _Reader(CaseReader):
    ids: dict[str, Path] = field(default_factory=dict)

    def policy(self) -> Policy:
        top = self.mapping((), self.document.data, TOP, "a policy is a mapping that starts with `version: 1`")
        version = top.get("version")
        if top and (type(version) is not int or version != 1):
            found = f"is `{version}`" if "version" in top else "is missing"
            self.fault(("version",), f"`version` {found}: write `version: 1`")
        return Policy(
            base=self.base(top.get("base")),
            rules=tuple(self.some("rules", top.get("rules"), self.rule)),
            denials=tuple(self.some("deny", top.get("deny"), self.denial)),
            organisation=self.organisation(top.get("organisation")),
            limits=self.limits(top.get("limits")),
            checks=self.checks(top.get("checks")),
            production=self.names(("production",), top.get("production"), _SYSTEM, "system name"),
            cases=tuple(self.cases(top.get("tests"))),
            notes=tuple(self.notes),
        )

    def organisation(self, data: Any) -> Organisation:
        if data is None:
            return Organisation()
        path = ("organisation",)
        fields = self.mapping(path, data, _ORGANISATION, "`organisation` is a mapping with `domains` and `addresses`")
        return Organisation(
            self.names((*path, "domains"), fields.get("domains"), _DOMAIN, "domain such as `example.com`"),
            self.names((*path, "addresses"), fields.get("addresses"), _MAILBOX, "address such as `ann@example.com`"),
        )

    def limits(self, data: Any) -> Limits:
        if data is None:
            return Limits()
        fields = self.mapping(("limits",), data, _LIMITS, "`limits` is a mapping with `amount` and `count`")
        amount, count = fields.get("amount", Limits().amount), fields.get("count", Limits().count)
        if type(amount) not in (int, float) or not math.isfinite(amount) or not 0 <= amount <= _LARGEST:
            self.fault(("limits", "amount"), f"`amount` is a number from 0 to {_LARGEST:,}")
            return Limits()
        if type(count) is not int or not 0 <= count <= _LARGEST:
            self.fault(("limits", "count"), f"`count` is a whole number from 0 to {_LARGEST:,}")
            return Limits()
        return Limits(float(amount), count)

    def names(self, path: Path, data: Any, shape: re.Pattern[str], what: str) -> frozenset[str]:
        """A list of names in lower case."""
        if data is None:
            return frozenset()
        if not isinstance(data, list):
            self.fault(path, f"`{path[-1]}` is a list")
            return frozenset()
        for number, name in enumerate(data):
            if not isinstance(name, str) or not shape.fullmatch(name.lower()):
                self.fault((*path, number), f"`{name}` is not a valid {what}")
        return frozenset(name.lower() for name in data if isinstance(name, str))

    def checks(self, data: Any) -> dict[str, tuple[dict[str, Any], ...]]:
        """The acceptance checks of tasks, by their type; `mission` is the mission's own deliverable."""
        if data is None:
            return {}
        known = (*TASK, MISSION)
        fields = self.mapping(("checks",), data, known, "`checks` maps types of tasks to lists of checks")
        out = {}
        for name, items in fields.items():
            path = ("checks", name)
            if not isinstance(items, list):
                self.fault(path, f"`{name}` is a list of checks")
                continue
            problems = [(number, problem) for number, each in enumerate(items) for problem in problems_of(each)]
            for number, problem in problems:
                self.fault((*path, number), problem)
            if len(items) > MOST:
                self.fault(path, f"{len(items)} checks: {MOST} are the most for one task")
            elif name == MISSION and any(isinstance(each, dict) and each.get("kind") == "verdict" for each in items):
                self.fault(path, "nobody reviews a mission's own deliverable: ask for a `verdict` of single tasks")
            elif not problems and name in known:
                out[name] = tuple(read_checks(items))
        return out

    def base(self, data: Any) -> dict[str, Risk]:
        if data is None:
            return {}
        if not isinstance(data, dict):
            self.fault(("base",), "`base` maps tools to GREEN, YELLOW or RED")
            return {}
        out = {}
        for tool, value in data.items():
            path = ("base", tool)
            if "*" in tool:
                self.fault(path, f"`{tool}`: base names single tools, patterns are for rules")
            self.tool(path, tool)
            if (risk := self.choice(path, value, Risk, "risk")) is not None:
                out[tool] = risk
                if tool in BASE and risk < BASE[tool]:
                    self.notes.append(
                        self.document.fault(path, f"`{tool}` is {BASE[tool]} in the built-in table, {risk} here")
                    )
        return out

    def rule(self, path: Path, data: Any) -> Rule | None:
        fields = self.mapping(path, data, RULE_KEYS, "a rule is a mapping with `id`, `tools`, `when`, `risk`, `reason`")
        if not fields:
            return None
        if "risk" not in fields:
            self.fault(path, "`risk` is missing: what does the rule raise calls to?")
        common = self.common(path, fields)
        people = fields.get("people", 1)
        if type(people) is not int or not 1 <= people <= MOST_PEOPLE:
            self.fault((*path, "people"), f"`people` is a number from 1 to {MOST_PEOPLE}")
            people = 1
        return Rule(
            **common,
            risk=self.choice((*path, "risk"), fields.get("risk", "RED"), Risk, "risk"),
            people=people,
            not_requester=self.truth(path, fields, "not_requester"),
            consensus=self.truth(path, fields, "consensus"),
            expires_s=self.duration((*path, "expires"), fields.get("expires")),
        )

    def denial(self, path: Path, data: Any) -> Rule | None:
        shape = "an entry of `deny` is a mapping with `id`, `tools`, `when`, `reason`"
        fields = self.mapping(path, data, DENY_KEYS, shape)
        if not fields:
            return None
        if "tools" not in fields and "when" not in fields:
            self.notes.append(self.document.fault(path, "denies every call: it has neither `tools` nor `when`"))
        return Rule(**self.common(path, fields))

    def common(self, path: Path, fields: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "id": self.ident(path, fields),
            "where": self.document.at(path),
            "tools": self.tool_list((*path, "tools"), fields.get("tools", [])),
            "condition": self.condition((*path, "when"), fields.get("when")),
            "reason": self.text((*path, "reason"), fields.get("reason", "")),
        }

    def some(self, name: str, data: Any, read: Callable[[Path, Any], Any]) -> Iterable[Any]:
        """The items of a list that is short enough to be parsed item by item."""
        if isinstance(data, list) and len(data) > MOST_RULES:
            self.fault((name, MOST_RULES), f"`{name}` has {len(data):,} entries: {MOST_RULES:,} at most")
            return []
        return self.each(name, data, read)

    def ident(self, path: Path, fields: Mapping[str, Any]) -> str:
        ident = fields.get("id")
        if not isinstance(ident, str) or not _ID.fullmatch(ident):
            problem = "`id` is missing" if ident is None else f"`{ident}` is not an id"
            self.fault((*path, "id"), f"{problem}: use lower-case letters, digits, `.`, `_` and `-`")
            return ""
        if (first := self.ids.get(ident)) is not None:
            self.fault(
                (*path, "id"), f"id `{ident}` is already used on line {self.document.line(first)}: ids are unique"
            )
        else:
            self.ids[ident] = (*path, "id")
        return ident

    def tool_list(self, path: Path, data: Any) -> tuple[str, ...]:
        if isinstance(data, str):
            self.fault(path, f"`tools` is a list: write `[{data}]`")
            return ()
        if not isinstance(data, list) or not all(isinstance(name, str) for name in data):
            self.fault(path, "`tools` is a list of tool names")
            return ()
        if path in self.document.lines and not data:
            self.fault(path, "`tools` is empty: leave it out for every tool")
        if len(data) > MOST_TOOLS:
            self.fault(path, f'`tools` has {len(data):,} names: {MOST_TOOLS} at most, or a pattern such as `"crm.*"`')
            return ()
        seen: set[str] = set()
        for number, name in enumerate(data):
            self.tool((*path, number), name, noted=False)
            if name in seen:
                self.notes.append(self.document.fault((*path, number), f"`{name}` is in the list twice"))
            seen.add(name)
        return tuple(data)

    def condition(self, path: Path, data: Any) -> Condition | None:
        if data is None and path not in self.document.lines:
            return None
        if not isinstance(data, str):
            self.fault(path, "`when` is a CEL condition: put it in quotes")
            return None
        try:
            return compile_condition(data)
        except BadCondition as error:
            self.fault(path, str(error))
            return None

    def duration(self, path: Path, data: Any) -> int | None:
        if data is None and path not in self.document.lines:
            return None
        found = _DURATION.fullmatch(data) if isinstance(data, str) else None
        seconds = int(found[1]) * _UNITS[found[2]] if found else 0
        if not 0 < seconds <= LONGEST_EXPIRY_S:
            self.fault(path, f"`{data}` is not a time: write `30m`, `24h` or `7d` (30d at most)")
            return None
        return seconds
