"""Trust on first use of tools: one whose definition has changed is barred until a person accepts the change.

What a tool's digest covers is defined in `tools`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.store.schema import KnownTool, Project, table
from interlock.store.tx import Tx, small

TOOLS = table(KnownTool)
_t = TOOLS.c
_OF_PROJECT = sa.select(_t.tool, _t.digest, _t.status, _t.definition, _t.approval_id).where(
    _t.project_id == b("project")
)
_LOCK = sa.select(table(Project).c.id).where(table(Project).c.id == b("project")).with_for_update()
_JUDGED = sa.update(TOOLS).where(_t.approval_id == b("approval"), _t.status == "changed").values(status=b("to"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """The current definition of a tool."""

    name: str
    digest: str
    shown: Mapping[str, Any]
    """Its description and input_schema."""


def of_project(tx: Tx, project_id: str) -> dict[str, dict[str, Any]]:
    """The tools that a project knows: rows by digest, by name."""
    found: dict[str, dict[str, Any]] = {}
    for row in tx.rows(_OF_PROJECT, {"project": project_id}):
        found.setdefault(row.tool, {})[row.digest] = row
    return found


def unknown(known: Mapping[str, Mapping[str, Any]], defined: Collection[Definition]) -> list[Definition]:
    """The definitions that a project does not know yet."""
    return [each for each in defined if each.digest not in known.get(each.name, {})]


def lock(tx: Tx, project_id: str) -> None:
    """Prevents other processes from recording tools until the end of this transaction."""
    tx.one(_LOCK, {"project": project_id})


def add(
    tx: Tx, project_id: str, tool: Definition, status: str, now: datetime, approval_id: str | None = None
) -> None:  # fmt: skip
    """Records a tool as known, or as changed, with the question about the change."""
    tx.add(
        KnownTool, project_id=project_id, tool=tool.name, digest=tool.digest, status=status,
        definition=dict(tool.shown), approval_id=approval_id, created_at=now,
    )  # fmt: skip


@small
def barred(tx: Tx, project_id: str) -> dict[str, Any]:
    """The rows of tool definitions that may not be used, by digest."""
    rows = tx.rows(_OF_PROJECT, {"project": project_id})
    return {row.digest: row for row in rows if row.status != "known"}


def judged(tx: Tx, approval_id: str, *, is_accepted: bool) -> None:
    """Accepts or permanently bars a changed tool, as a person has answered."""
    tx.run(_JUDGED, {"approval": approval_id, "to": "known" if is_accepted else "refused"})
