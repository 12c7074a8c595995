"""Incidents: failures for the Learner to learn from."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.core.ids import new_id
from interlock.store.schema import Incident, table
from interlock.store.tx import Tx

INCIDENTS = table(Incident)
_i = INCIDENTS.c
_OF_TASK = sa.select(INCIDENTS).where(_i.task_id == b("task")).order_by(_i.created_at, _i.id)
_OF_MISSION = sa.select(INCIDENTS).where(_i.mission_id == b("mission")).order_by(_i.created_at, _i.id)


def note(
    tx: Tx,
    kind: str,
    text: str,
    now: datetime,
    *,
    project_id: str,
    mission_id: str | None = None,
    task_id: str | None = None,
    run_id: str | None = None,
    agent_id: str | None = None,
    **data: Any,
) -> str:
    """Records an incident and returns its id; the kinds are listed in `schema.duty.Incident`."""
    ident = new_id("inc")
    tx.add(
        Incident, id=ident, kind=kind, project_id=project_id, mission_id=mission_id, task_id=task_id, run_id=run_id,
        agent_id=agent_id, text=text, data=data, created_at=now,
    )  # fmt: skip
    return ident


def of_task(tx: Tx, task_id: str) -> list[Any]:
    """A task's incidents in order."""
    return tx.rows(_OF_TASK, {"task": task_id})


def of_mission(tx: Tx, mission_id: str) -> list[Any]:
    """A mission's incidents in order."""
    return tx.rows(_OF_MISSION, {"mission": mission_id})
