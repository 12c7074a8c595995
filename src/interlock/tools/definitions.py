"""A tool's definition as it is kept with a question, and calls made from it: decided where the tool itself is not.

What is decided is the policy's job.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from interlock.policy import taint
from interlock.policy.calls import Call
from interlock.store.known_tools import Definition
from interlock.tools.contract import Tool

NOTHING: frozenset[str] = frozenset()


def call_of(tool: Tool, args: Any, may_use: frozenset[str] = NOTHING) -> Call:
    """A call as the policy is asked about it; `may_use` are the secrets that it may be given."""
    return Call(
        tool=tool.name,
        args=args,
        description=tool.description,
        input_schema=tool.input_schema,
        declared_risk=tool.risk,
        digest=tool.digest,
        is_builtin=tool.builtin,
        labels=tool.labels,
        may_use=may_use,
    )


@lru_cache(maxsize=1024)
def brought(tool: Tool) -> frozenset[str]:
    """The taint that a run takes on with what a call of it brings in, as far as the tool tells."""
    return taint.brings(call_of(tool, {}))


def definition_of(tool: Tool) -> dict[str, Any]:
    """All of a tool that a decision over its calls depends on, as JSON."""
    return {
        "description": tool.description,
        "input_schema": dict(tool.input_schema),
        "declared_risk": tool.risk,
        "builtin": tool.builtin,
        "labels": sorted(tool.labels),
    }


def call_again(name: str, digest: str, definition: Mapping[str, Any], args: Any) -> Call:
    """The call of a tool that `definition_of` described, with these arguments."""
    return Call(
        tool=name,
        args=args,
        description=definition["description"],
        input_schema=definition["input_schema"],
        declared_risk=definition["declared_risk"],
        digest=digest,
        is_builtin=definition["builtin"],
        labels=frozenset(definition["labels"]),
    )


def known_as(tool: Tool) -> Definition:
    """A tool as projects remember it."""
    shown = {"description": tool.description, "input_schema": dict(tool.input_schema)}
    return Definition(name=tool.name, digest=tool.digest, shown=shown)
