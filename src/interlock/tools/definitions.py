"""Tool definitions stored with questions, and calls rebuilt from them, to decide a call without the tool installed.

Decisions are made by the policy.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from interlock.policy import taint
from interlock.policy.calls import Call
from interlock.store.signoff.known_tools import Definition
from interlock.tools.contract import Tool

NOTHING: frozenset[str] = frozenset()


def call_of(tool: Tool, args: Any, may_use: frozenset[str] = NOTHING) -> Call:
    """A call in the form that the policy judges; `may_use` are the secrets that it may be given."""
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
def labels_of_results(tool: Tool) -> frozenset[str]:
    """The labels that a run acquires with the results of a tool, as far as the tool declares them."""
    return taint.brings(call_of(tool, {}))


def definition_of(tool: Tool) -> dict[str, Any]:
    """All properties of a tool that affect decisions on its calls, as JSON."""
    return {
        "description": tool.description,
        "input_schema": dict(tool.input_schema),
        "declared_risk": tool.risk,
        "builtin": tool.builtin,
        "labels": sorted(tool.labels),
    }


def rebuilt_call(
    name: str, digest: str, definition: Mapping[str, Any], args: Any, may_use: frozenset[str] = NOTHING
) -> Call:  # fmt: skip
    """The call of a tool described by `definition_of`, with these arguments; `may_use` as in `call_of`."""
    return Call(
        tool=name,
        args=args,
        description=definition["description"],
        input_schema=definition["input_schema"],
        declared_risk=definition["declared_risk"],
        digest=digest,
        is_builtin=definition["builtin"],
        labels=frozenset(definition["labels"]),
        may_use=may_use,
    )


def stored_form(tool: Tool) -> Definition:
    """A tool in the form that a project stores."""
    shown = {"description": tool.description, "input_schema": dict(tool.input_schema)}
    return Definition(name=tool.name, digest=tool.digest, shown=shown)
