"""Session markers: positions in agents' histories before which everything is omitted or summarised.

When a marker is set, and what the summary says, is up to `agents`.
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
"""The current marker of an agent (`agent`); of two, the one that omits more."""
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
"""The marker that applies to a run (`run_`) of an agent (`agent`) that began at `began`: its own, else the one current
then. A history that starts after the run's `place` in the mailbox does not include the run.
"""
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
    """Adds a marker and advances the start of the agent's history to it, never backwards; returns its id.

    The history consists of the mailbox's runs from `from_seq` on; of the run `run_id`, only the rows from `position`
    on. `made_by` is `person:ID`, or the id of the run that made the marker. Source: rows E13, E14.
    """
    marker_id = new_id("mrk")
    tx.add(
        SessionMarker, id=marker_id, agent_id=agent_id, kind=kind, from_seq=from_seq, run_id=run_id, position=position,
        summary=summary, tokens_before=tokens_before, labels=sorted(labels), made_by=made_by, created_at=now,
    )  # fmt: skip
    tx.run(_MOVE, {"agent": agent_id, "from_seq": from_seq})
    return marker_id


def latest(tx: Tx, agent_id: str) -> Any | None:
    """The current marker of an agent; None if its whole history counts."""
    return tx.one(LATEST, {"agent": agent_id})


def then(tx: Tx, run: Any, began: datetime) -> Any | None:
    """The marker that applies to a run that has begun: the last one of its own, else the one current at its start."""
    return tx.one(THEN, {"agent": run.agent_id, "run_": run.id, "place": run.seq, "began": began})


def forget(tx: Tx, run_id: str) -> None:
    """Deletes the summaries that may contain words of a run: its agent's summaries made since the run was posted."""
    tx.run(_FORGET, {"run_": run_id})
