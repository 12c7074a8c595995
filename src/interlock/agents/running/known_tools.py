"""Tools as a project first met them; people are asked about one that has changed since. Source: kind TOOL_CHANGE.

What a changed tool may do meanwhile is `tools.execute`'s to say: nothing.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from interlock.agents.runtime import Runtime
from interlock.core.ids import new_id
from interlock.core.values import canonical_json
from interlock.store.signoff import approvals, known_tools
from interlock.store.signoff.known_tools import Definition
from interlock.store.tx import Tx
from interlock.tools.definitions import stored_form

ASKED_BY = "system:tools"


async def barred(runtime: Runtime, project_id: str) -> Mapping[str, str]:
    """The digests of this process's tools that the project has not admitted, each with the id of the question about it.

    The tools that come with Interlock are known by their release; others are met at the first run of a project in
    this process. Once nothing is barred, asking again costs nothing.
    """
    toolbox = runtime.toolbox
    if not (own := toolbox.foreign) or toolbox.met.get(project_id) is False:
        return {}
    if project_id not in toolbox.met:
        defined = [stored_form(tool) for tool in own]
        known = await runtime.store.read(known_tools.of_project, project_id)
        if known_tools.unknown(known, defined):
            await runtime.store.write(meet, project_id, defined, runtime.clock.now())
    rows = await runtime.store.read(known_tools.barred, project_id)
    found = {tool.digest: str(rows[tool.digest].approval_id) for tool in own if tool.digest in rows}
    toolbox.met[project_id] = bool(found)
    return found


def meet(tx: Tx, project_id: str, defined: Sequence[Definition], now: datetime) -> None:
    """Records the tools that a project has not seen yet; asks a person if it knows a different one of that name."""
    known_tools.lock(tx, project_id)
    known = known_tools.of_project(tx, project_id)
    for tool in known_tools.unknown(known, defined):
        before = [row for row in known.get(tool.name, {}).values() if row.status == "known"]
        if not known.get(tool.name):
            known_tools.add(tx, project_id, tool, "known", now)
            continue
        approval_id = new_id("apr")
        known_tools.add(tx, project_id, tool, "changed", now, approval_id)
        summary = f"`{tool.name}` is not the tool that this project knows: its definition has changed"
        approvals.ask(
            tx,
            id=approval_id,
            kind="TOOL_CHANGE",
            project_id=project_id,
            subject=tool.digest,
            request={
                "summary": summary,
                "changed_tool": tool.name,
                "before": canonical_json(before[-1].definition) if before else None,
                "after": canonical_json(dict(tool.shown)),
                "approve": "agents may use it as it is now",
                "deny": "no agent uses it as it is now",
            },
            risk="RED",
            rules=["builtin:tool-changed"],
            reasons=["what a tool says of itself steers agents, and approvals of its calls were given for the old one"],
            asked_by=ASKED_BY,
            created_at=now,
        )
