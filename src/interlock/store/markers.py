"""Places in the histories of agents from which on they count: what was before is left out, or summed up.

What is told in its place, and when one is set, is the agents' matter.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.ids import new_id
from interlock.store.schema import Agent, Run, SessionMarker, table
from interlock.store.tx import Tx

START, RESET, COMPACTION, EMERGENCY, IMPORT = "start", "reset", "compaction", "emergency", "import"
"""Source: rows E13, E14."""

MARKERS, _AGENTS, _RUNS = table(SessionMarker), table(Agent), table(Run)
_k, _a = MARKERS.c, _AGENTS.c
_OF = sa.select(MARKERS).where(_k.agent_id == b("agent"))
LATEST = _OF.order_by(_k.from_seq.desc(), _k.id.desc()).limit(1)
"""The one that holds for an agent (`agent`) now; of two, the one that leaves more out."""
THEN = (
    _OF.where(
        sa.or_(
            _k.made_by == b("run_"),
            sa.and_(_k.from_seq <= b("place"), _k.created_at <= b("began", type_=UTCDateTime())),
        )
    )
    .order_by((_k.made_by == b("run_")).desc(), _k.from_seq.desc(), _k.id.desc())
    .limit(1)
)
"""The one that holds for a run (`run_`) of an agent (`agent`) that began at `began`: its own, else the one of then; a
history that begins after the `place` of the run in its mailbox was begun without it."""
_RUN = sa.select(_RUNS.c.agent_id, _RUNS.c.created_at).where(_RUNS.c.id == b("run_")).subquery()
_FORGET = (
    sa.update(MARKERS)
    .where(
        _k.agent_id == sa.select(_RUN.c.agent_id).scalar_subquery(),
        _k.created_at >= sa.select(_RUN.c.created_at).scalar_subquery(),
        _k.summary.is_not(None),
    )
    .values(summary=sa.null())
)
_ALL = _OF.order_by(_k.id)
_MOVE = (
    sa.update(_AGENTS)
    .where(_a.id == b("agent"), _a.history_from_seq < b("from_seq"))
    .values(history_from_seq=b("from_seq"))
)


def add(
    tx: Tx,
    *,
    agent_id: str,
    kind: str,
    from_seq: int,
    made_by: str,
    now: datetime,
    run_id: str | None = None,
    position: int | None = None,
    summary: str | None = None,
    tokens_before: int | None = None,
    labels: Iterable[str] = (),
) -> str:
    """Sets a marker and moves the beginning of the agent's history to it, never back; returns its id.

    Runs of the mailbox from `from_seq` on are history; of the run `run_id` among them, only the rows from `position`
    on. `made_by` is `person:ID`, or the id of the run that made it. Source: rows E13, E14.
    """
    marker_id = new_id("mrk")
    tx.add(
        SessionMarker, id=marker_id, agent_id=agent_id, kind=kind, from_seq=from_seq, run_id=run_id, position=position,
        summary=summary, tokens_before=tokens_before, labels=sorted(labels), made_by=made_by, created_at=now,
    )  # fmt: skip
    tx.run(_MOVE, {"agent": agent_id, "from_seq": from_seq})
    return marker_id


def latest(tx: Tx, agent_id: str) -> Any | None:
    """The marker from which on an agent's history counts now; None if all of it does."""
    return tx.one(LATEST, {"agent": agent_id})


def then(tx: Tx, run: Any, began: datetime) -> Any | None:
    """The marker that holds for a run that has begun: the last that it made itself, else the one as it began."""
    return tx.one(THEN, {"agent": run.agent_id, "run_": run.id, "place": run.seq, "began": began})


def of_agent(tx: Tx, agent_id: str) -> list[Any]:
    """All markers of an agent in the order of their making."""
    return tx.rows(_ALL, {"agent": agent_id})


def forget(tx: Tx, run_id: str) -> None:
    """Drops the summaries in which the words of a run may be: those of its agent that were made since it was posted."""
    tx.run(_FORGET, {"run_": run_id})
