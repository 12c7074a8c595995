"""Grants: which calls a standing approval covers, and which calls are alike.

Storage, expiry and authorisation are elsewhere.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interlock.core.values import digest
from interlock.policy.binding import same
from interlock.policy.calls import Call, Caller
from interlock.policy.risk import Risk, Trust
from interlock.policy.values.production import is_prose_key

REWRITTEN = 0.1
"""The fraction of a persona's words that may change before it counts as a different one."""
_TEXTS = ("role", "soul", "prompt")
_SHAPE, _ALIKE = "interlock-shape-1", "interlock-alike-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A grant in force. Source: row C7."""

    id: str
    project: str
    persona: str
    tool: str
    tool_digest: str
    """Of the tool as it was when it was granted; another description or schema is another tool."""
    task_id: str | None = None
    """None: whatever its agent works on."""
    shape: str | None = None
    """`shape_of` the arguments that calls must have; None: any arguments."""


def covers(grant: Grant, call: Call, who: Caller) -> bool:
    """Whether a grant matches the tool, the caller, the task and (if it is narrow) the targets of a call."""
    return (
        grant.tool == call.tool
        and same(grant.tool_digest, call.digest)
        and grant.project == who.project
        and grant.persona == who.persona
        and (grant.task_id is None or grant.task_id == who.task_id)
        and (grant.shape is None or same(grant.shape, shape_of(call.args)))
    )


def covering(grants: Iterable[Grant], call: Call, who: Caller) -> Grant | None:
    """The first grant that covers a call."""
    return next((grant for grant in grants if covers(grant, call, who)), None)


def outgrown(before: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """Why a persona has changed too much for a grant given to its earlier version; None if it has not.

    Reasons are more tools or capabilities, riskier work, less trust, or a change of more than a tenth of its words.
    Fewer tools, more trust and corrected typos are not.
    """
    for key, told in (("tools", "has more tools"), ("capabilities", "has more capabilities")):
        if more := sorted({*now.get(key, ())} - {*before.get(key, ())}):
            return f"{told}: {', '.join(more)}"
    risk, trust = now.get("risk_profile"), now.get("trust")
    if _rank(Risk, risk) > _rank(Risk, before.get("risk_profile")):
        return f"is there for riskier work: {risk}"
    if _rank(Trust, trust) < _rank(Trust, before.get("trust")):
        return f"is trusted less: {trust}"
    one, other = _words(before), _words(now)
    changed = (one - other).total() + (other - one).total()
    return "was rewritten" if changed > REWRITTEN * (one.total() + other.total()) else None


def _rank(words: type[Risk] | type[Trust], value: Any) -> int:
    known = [str(each) for each in words]
    return known.index(value) if value in known else -1


def _words(persona: Mapping[str, Any]) -> Counter[str]:
    return Counter(word for key in _TEXTS for word in str(persona.get(key) or "").lower().split())


def shape_of(args: Any) -> str:
    """A digest of a call's targets (recipients, paths, addresses, options, amounts), in hex.

    Prose arguments are ignored, by their names: `content`, `body`, `subject` and the like.
    """
    kept = {k: v for k, v in args.items() if not is_prose_key(k)} if isinstance(args, Mapping) else args
    return digest([_SHAPE, kept])


def alike(
    *, project: str, persona: str, tool: str, tool_digest: str, risk: str, rules: Sequence[str], people: int, args: Any
) -> str:
    """A digest that is equal for questions that may be answered together, in hex.

    That is: the same persona, tool, risk and rules, and arguments with the same names and types. Their values may
    differ, and are shown individually.
    """
    return digest([_ALIKE, project, persona, tool, tool_digest, risk, sorted(rules), people, _outline(args)])


def _outline(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _outline(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return sorted({digest(_outline(each)) for each in value})
    if isinstance(value, bool) or value is None:
        return type(value).__name__
    return "number" if isinstance(value, int | float) else "text"
