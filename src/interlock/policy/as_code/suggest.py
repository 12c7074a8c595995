"""Drafts rules for the tools of an MCP server from their definitions, for a person to edit and accept.

INVARIANT: a draft has rules only, and rules only raise; it can lower nothing.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interlock.core.errors import UsageError
from interlock.policy.calls import Call
from interlock.policy.decide import base_risk
from interlock.policy.risk import Risk
from interlock.policy.rules import Policy

LONGEST_ID = 64
_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,128}")
_AS_MCP = 'give what `tools/list` returns: `{"tools": [{"name": …, "description": …, "inputSchema": …}]}`'


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A rule for one tool."""

    tool: str
    risk: Risk
    reason: str
    remark: str = ""
    """Remarks for the person."""


def tools_of(document: Any) -> list[Mapping[str, Any]]:
    """The tools of a `tools/list` document: its result, the whole answer, or the bare list.

    Raises UsageError for anything else.
    """
    for key in ("result", "tools"):
        if isinstance(document, Mapping) and key in document:
            document = document[key]
    if not isinstance(document, list) or not all(isinstance(tool, Mapping) for tool in document):
        raise UsageError(f"this is not a list of tools: {_AS_MCP}")
    for number, tool in enumerate(document, start=1):
        if not isinstance(tool.get("name"), str) or not tool["name"]:
            raise UsageError(f"tool {number} of the list has no name: {_AS_MCP}")
    return document


def suggestions(tools: Sequence[Mapping[str, Any]], prefix: str = "") -> tuple[list[Suggestion], list[str]]:
    """A rule for each tool, and the reasons why some tools have none.

    Of two tools with the same name, which is irregular, the higher risk counts. Source: rows C1, C6.
    """
    found: dict[str, Suggestion] = {}
    faults = []
    for tool in tools:
        name = f"{prefix}{tool['name']}"
        if not _NAME.fullmatch(name):
            faults.append(f"`{name[:80]}` is not a valid name for a rule: letters, digits and `_.:/-`, at most 128")
            continue
        here = _suggestion(name, tool)
        if (before := found.get(name)) is not None:
            faults.append(f"there are two tools `{name}`: the higher risk is taken")
            here = max(before, here, key=lambda each: each.risk.level)
        found[name] = here
    return list(found.values()), faults


def draft(found: Sequence[Suggestion]) -> str:
    """The rules as the text of a policy file."""
    lines = [
        "# A draft: read it, change it, and take it into your policy file.",
        "# It can only raise. A rule keeps its tool's risk also when the server describes the tool otherwise one day.",
        "version: 1",
        "rules:",
    ]
    for ident, each in zip(_ids(found), found, strict=True):
        if each.remark:
            lines.append(f"  # {each.remark}")
        lines += [
            f"  - id: {json.dumps(ident)}",
            f"    tools: [{json.dumps(each.tool)}]",
            f"    risk: {each.risk}",
            f"    reason: {json.dumps(each.reason)}",
        ]
    return "\n".join(lines) + "\n"


def _suggestion(name: str, tool: Mapping[str, Any]) -> Suggestion:
    hints = tool.get("annotations")
    hints = hints if isinstance(hints, Mapping) else {}
    call = Call(
        tool=name, description=str(tool.get("description") or ""), input_schema=tool.get("inputSchema"), hints=hints
    )
    try:
        risk, why = base_risk(call, Policy.builtin())
    except Exception as error:  # noqa: BLE001 - what cannot be judged counts as the worst
        risk, why = Risk.RED, f"what it says of itself cannot be judged ({type(error).__name__})"
    if hints.get("destructiveHint") is True and risk is not Risk.RED:
        risk, why = Risk.RED, "the server says that it may destroy something"
    risk = max(risk, Risk.YELLOW, key=lambda each: each.level)
    reason = why.removeprefix(f"`{name}` has no rule").lstrip(",: ").removeprefix("and ")
    remark = ""
    if risk is Risk.YELLOW:
        reason = "nothing that it says of itself sends, pays, publishes, shares, books, deletes or changes access"
        if hints.get("readOnlyHint") is True:
            remark = "the server says that it only reads: where you trust that, `base` can make it GREEN"
    return Suggestion(name, risk, reason, remark)


def _ids(found: Sequence[Suggestion]) -> Iterator[str]:
    """A unique id for each, whatever the tools are called."""
    used: set[str] = set()
    for number, each in enumerate(found):
        plain = re.sub(r"[^a-z0-9._-]+", "-", each.tool.lower()).strip("._-")[: LONGEST_ID - 8]
        ident = plain or "tool"
        while ident in used:
            ident = f"{ident}-{number}"
        used.add(ident)
        yield ident
