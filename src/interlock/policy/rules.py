"""A policy: the risks of tools, the rules that raise them, and denials; immutable, indexed by tool.

Policies are parsed in `policy_file`, and applied in `decide`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from interlock.core.values import digest
from interlock.policy.as_code.conditions import Condition
from interlock.policy.builtin import BASE
from interlock.policy.kinds import KINDS
from interlock.policy.risk import Risk

MOST_KEPT = 4_096
"""The most tools whose applicable rules are cached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule that raises the risk of calls, or (with `risk` None) denies them."""

    id: str
    tools: tuple[str, ...] = ()
    """Names, or patterns with `*`; empty: every tool."""
    condition: Condition | None = None
    """None: every call of these tools."""
    risk: Risk | None = None
    reason: str = ""
    people: int = 1
    not_requester: bool = False
    consensus: bool = False
    expires_s: int | None = None
    where: str = field(default="", compare=False)
    """`file:line`; empty for built-in rules."""

    def concerns(self, tool: str) -> bool:
        """Whether it applies to a tool."""
        return not self.tools or any(tool == name or ("*" in name and fnmatchcase(tool, name)) for name in self.tools)

    def to_json(self) -> dict[str, Any]:
        """Everything that affects decisions."""
        return {
            "id": self.id,
            "tools": list(self.tools),
            "when": self.condition.source if self.condition else None,
            "risk": str(self.risk) if self.risk else None,
            "reason": self.reason,
            "people": self.people,
            "not_requester": self.not_requester,
            "consensus": self.consensus,
            "expires_s": self.expires_s,
        }


@dataclass(frozen=True, slots=True)
class Applicable:
    """The rules that concern one tool, in the order of the policy."""

    rules: tuple[Rule, ...]
    denials: tuple[Rule, ...]
    reads: Mapping[str, frozenset[str] | None]
    """The variables that their conditions read, and the fields of each; None for the whole variable."""
    all: tuple[Rule, ...] = ()
    """Rules and denials, the denials last."""
    flat_args: tuple[tuple[str, str], ...] = ()
    """The arguments that their flattened conditions read: variable and argument."""
    flat_fields: tuple[tuple[str, str, str], ...] = ()
    """The other values that these read: variable, mapping and field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A test of the policy file: a call and what must be decided."""

    where: str
    """`file:line`."""
    question: Mapping[str, Any]
    """`call`, `persona`, `trust`, `task`, `project`, as in the file."""
    expect: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Organisation:
    """Internal domains and addresses; none unless the policy file lists them."""

    domains: frozenset[str] = frozenset()
    """In lower case, non-ASCII ones in their `xn--` form."""
    addresses: frozenset[str] = frozenset()
    """Single mailboxes of other domains that count as inside; in lower case."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The thresholds from which on a call counts as large."""

    amount: float = 0.0
    """Money that a call may move, in whatever currency it names; 0: any payment counts."""
    count: int = 25
    """Things that a call may touch at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The policy for all decisions; always includes the built-in rules."""

    base: Mapping[str, Risk] = field(default_factory=dict)
    """The policy's own table; it takes precedence over a tool's declared risk and the built-in table."""
    rules: tuple[Rule, ...] = ()
    denials: tuple[Rule, ...] = ()
    organisation: Organisation = Organisation()
    limits: Limits = Limits()
    production: frozenset[str] = frozenset()
    """Names of further production systems; in lower case."""
    checks: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=dict)
    """By type of task: the acceptance checks before it counts as done. Source: row A20."""
    cases: tuple[Case, ...] = ()
    notes: tuple[str, ...] = ()
    """Remarks by `policy check` that are no faults, each `file:line: note`."""
    version_hash: str = field(init=False)
    """A digest that changes with anything that affects decisions."""
    plain: dict[Any, Any] = field(init=False, repr=False, compare=False, default_factory=dict)
    """Cached decisions on calls to which only the tool's own risk applies; filled by `decide`."""
    _by_tool: dict[str, Applicable] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "version_hash", digest(self._content()))

    @classmethod
    def builtin(cls) -> "Policy":
        """The policy if there is no policy file, or an empty one. Source: row C10."""
        return _builtin()

    def applicable(self, tool: str) -> Applicable:
        """The rules that apply to a tool; cached."""
        if (found := self._by_tool.get(tool)) is None:
            if len(self._by_tool) >= MOST_KEPT:
                self._by_tool.clear()
            found = self._by_tool[tool] = _applicable(self.rules, self.denials, tool)
        return found

    def _content(self) -> dict[str, Any]:
        return {
            "builtin": {name: str(risk) for name, risk in BASE.items()},
            "meaning": sorted([kind.rule, str(kind.risk)] for kind in KINDS),
            "base": {name: str(risk) for name, risk in self.base.items()},
            "rules": [rule.to_json() for rule in self.rules],
            "deny": [rule.to_json() for rule in self.denials],
            "domains": sorted(self.organisation.domains),
            "addresses": sorted(self.organisation.addresses),
            "limits": [self.limits.amount, self.limits.count],
            "production": sorted(self.production),
            "checks": {name: [dict(each) for each in checks] for name, checks in self.checks.items()},
        }


@cache
def _builtin() -> Policy:
    return Policy()


def _applicable(rules: tuple[Rule, ...], denials: tuple[Rule, ...], tool: str) -> Applicable:
    some = tuple(rule for rule in rules if rule.concerns(tool))
    denied = tuple(rule for rule in denials if rule.concerns(tool))
    reads: dict[str, frozenset[str] | None] = {}
    for rule in (*some, *denied):
        for name, fields in rule.condition.reads.items() if rule.condition else ():
            known = reads.get(name, frozenset())
            reads[name] = None if fields is None or known is None else known | fields
    flat = {value for rule in (*some, *denied) if (c := rule.condition) and c.flat for value in c.flat.values}
    return Applicable(
        some, denied, reads, (*some, *denied),
        tuple((variable, name) for variable, owner, name in sorted(flat) if owner == "args"),
        tuple(value for value in sorted(flat) if value[1] != "args"),
    )  # fmt: skip
