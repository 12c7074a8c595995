"""Tools as projects have met them; one whose definition changed is not used before a person has said so.

What a tool's digest covers is the tools' own matter.
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
    """A tool as its author defines it now."""

    name: str
    digest: str
    shown: Mapping[str, Any]
    """Its description and input_schema."""


def of_project(tx: Tx, project_id: str) -> dict[str, dict[str, Any]]:
    """What a project knows of tools: rows by digest, by name."""
    found: dict[str, dict[str, Any]] = {}
    for row in tx.rows(_OF_PROJECT, {"project": project_id}):
        found.setdefault(row.tool, {})[row.digest] = row
    return found


def unknown(known: Mapping[str, Mapping[str, Any]], defined: Collection[Definition]) -> list[Definition]:
    """Those that a project has not met as they are now."""
    return [each for each in defined if each.digest not in known.get(each.name, {})]


def lock(tx: Tx, project_id: str) -> None:
    """Keeps other processes from writing down the same tools before the end of this transaction."""
    tx.one(_LOCK, {"project": project_id})


def add(
    tx: Tx, project_id: str, tool: Definition, status: str, now: datetime, approval_id: str | None = None
) -> None:  # fmt: skip
    """Writes down how a tool was met: as known, or as changed with the question about it."""
    tx.add(
        KnownTool, project_id=project_id, tool=tool.name, digest=tool.digest, status=status,
        definition=dict(tool.shown), approval_id=approval_id, created_at=now,
    )  # fmt: skip


@small
def barred(tx: Tx, project_id: str) -> dict[str, Any]:
    """The rows of tools that may not be used as they are, by digest."""
    rows = tx.rows(_OF_PROJECT, {"project": project_id})
    return {row.digest: row for row in rows if row.status != "known"}


def judged(tx: Tx, approval_id: str, *, is_accepted: bool) -> None:
    """Lets a changed tool in, or keeps it out for good, as a person has answered."""
    tx.run(_JUDGED, {"approval": approval_id, "to": "known" if is_accepted else "refused"})
