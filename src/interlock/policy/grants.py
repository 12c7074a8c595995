"""Standing leave that a person gave for calls like one that they approved: what it covers, and which calls are alike.

Where grants are kept, how long they are good for, and who may give one is not known here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interlock.core.values import digest
from interlock.policy.binding import same
from interlock.policy.calls import Call, Caller
from interlock.policy.targets import is_prose_key

_SHAPE, _ALIKE = "interlock-shape-1", "interlock-alike-1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A grant that is in force now. Source: row C7."""

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
    """Whether a grant speaks of exactly this tool, this caller, this task and, where it says so, these targets."""
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


def shape_of(args: Any) -> str:
    """What stays the same where only the words change, in hex: recipients, paths, addresses, options, amounts.

    Left out are arguments for people to read, by their names: `content`, `body`, `subject` and the like.
    """
    kept = {k: v for k, v in args.items() if not is_prose_key(k)} if isinstance(args, Mapping) else args
    return digest([_SHAPE, kept])


def alike(
    *, project: str, persona: str, tool: str, tool_digest: str, risk: str, rules: Sequence[str], people: int, args: Any
) -> str:
    """What questions have in common that may be answered together, in hex.

    The same agent's persona asks for the same tool, at the same risk, held by the same rules, with arguments of the
    same names and types. Their values differ, and are shown one by one.
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
