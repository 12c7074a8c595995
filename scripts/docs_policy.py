"""The parts of docs/policy.md that are made from how policy files are read; no document is written here."""

from collections.abc import Iterable, Mapping

from interlock.policy.as_code.conditions import FIELDS
from interlock.policy.as_code.lint import KINDS
from interlock.policy.as_code.policy_file import RULE_KEYS, TOP

FILE: Mapping[str, str] = {
    "version": "`1`",
    "organisation": "`domains` and `addresses` that are inside; without them nobody is, and every recipient is outside",
    "limits": "the `amount` of money (0: any payment) and the `count` of things (25) above which a call is RED",
    "production": "names of further systems that count as production",
    "base": "tools and their own risk; takes precedence over the built-in table",
    "rules": "rules that raise the risk of calls",
    "deny": "calls that are denied without asking anybody; entries have `id`, `tools`, `when` and `reason`",
    "checks": "the checks that tasks of a type must pass before they count as done",
    "tests": "calls, and the decisions that are expected on them",
}
RULES: Mapping[str, str] = {
    "id": "a unique name, in lower case",
    "tools": 'names, or patterns such as `"github.*"`; left out: every tool',
    "when": "a CEL condition; left out: every call of these tools",
    "reason": "why, shown to people and models; a clause",
    "risk": "the risk to which it raises calls; required",
    "people": "how many people must approve, 1 to 10",
    "not_requester": "`true`: somebody other than the person in whose name the call is made must approve",
    "consensus": "`true`: two of three models must agree before a person is asked",
    "expires": "how long people have to answer: `30m`, `24h`, `7d`",
}


def file_keys() -> str:
    """What a policy file may say."""
    return _table("key", "meaning", ((f"`{key}`", FILE[key]) for key in _same(TOP, FILE)))


def rule_keys() -> str:
    """What a rule may say."""
    return _table("key of a rule", "meaning", ((f"`{key}`", RULES[key]) for key in _same(RULE_KEYS, RULES)))


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
