"""The parts of docs/policy.md that are made from how policy files are read; no document is written here."""

from collections.abc import Iterable, Mapping

from interlock.policy.conditions import FIELDS
from interlock.policy.lint import KINDS
from interlock.policy.policy_file import RULE_KEYS, TOP

FILE: Mapping[str, str] = {
    "version": "`1`",
    "organisation": "`domains` and `addresses` that are inside; without them nobody is, and every recipient is outside",
    "limits": "`amount` of money (0: any payment counts) and `count` of things (25) from which on a call is large",
    "production": "names of systems that are production whatever they are called",
    "base": "tools and their own risk, before the built-in table",
    "rules": "what raises calls",
    "deny": "what never runs, and nobody is asked; entries have `id`, `tools`, `when` and `reason`",
    "checks": "what tasks of a type must show before they count as done",
    "tests": "calls, and what must be decided on them",
}
RULES: Mapping[str, str] = {
    "id": "a name of its own, in lower case",
    "tools": 'names, or patterns such as `"github.*"`; left out: every tool',
    "when": "a condition in CEL; left out: every call of these tools",
    "reason": "a clause for people and models",
    "risk": "what it raises calls to; needed",
    "people": "how many must approve, 1 to 10",
    "not_requester": "`true`: somebody other than the person in whose name the call is made must approve",
    "consensus": "`true`: two of three models must agree before a person is asked",
    "expires": "how long the question stands: `30m`, `24h`, `7d`",
}


def file_keys() -> str:
    """What a policy file may say."""
    return _table("key", "what it says", ((f"`{key}`", FILE[key]) for key in _same(TOP, FILE)))


def rule_keys() -> str:
    """What a rule may say."""
    return _table("of a rule", "what it says", ((f"`{key}`", RULES[key]) for key in _same(RULE_KEYS, RULES)))


def seen_by_conditions() -> str:
    """What conditions are evaluated over."""
    shown = {"args": "the arguments", "tool": "the tool's name", "project": "the project's name"}
    rows = (
        (f"`{name}`", shown[name] if fields is None else ", ".join(f"`{name}.{field}`" for field in sorted(fields)))
        for name, fields in FIELDS.items()
    )
    return _table("variable", "what it is", rows)


def remarks() -> str:
    """What `policy check` finds in rules."""
    return _table("kind", "the rule", ((f"`{kind}`", text) for kind, text in KINDS.items()))


def _same(known: Iterable[str], told: Mapping[str, str]) -> Iterable[str]:
    names = tuple(known)
    if set(names) != set(told):
        raise LookupError(f"told and read differ: {sorted(set(names) ^ set(told))}")
    return told


def _table(one: str, other: str, rows: Iterable[tuple[str, str]]) -> str:
    lines = [(one, other), ("---", "---"), *rows]
    return "\n".join(f"| {left} | {right} |" for left, right in lines)
