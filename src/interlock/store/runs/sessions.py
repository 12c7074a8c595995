"""Sessions: resetting, reading and importing an agent's history.

The file format is in `agents.history.session_file`; what a model is shown, in `run_context`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.ids import new_id
from interlock.core.values import ENDED_RUNS
from interlock.store import squad
from interlock.store.mailboxes import queues
from interlock.store.mailboxes.posting import LANES, RUNS
from interlock.store.runs import markers, traces
from interlock.store.schema import Run, RunMessage
from interlock.store.tx import Tx

IMPORTED = "import"
"""The `cause_kind` of imported runs."""
_TIME = UTCDateTime()
_r, _lane, _a = RUNS.c, LANES.c, squad.AGENTS.c
_BEGUN = sa.select(sa.func.max(_r.seq).label("last")).where(_r.agent_id == b("agent"), _r.started_at.is_not(None))
_LAST = sa.select(_lane.next_seq).where(_lane.agent_id == b("agent"))
_TAKEN = sa.update(LANES).where(_lane.agent_id == b("agent")).values(next_seq=_lane.next_seq + b("many"))
_COUNTS = sa.or_(
    _r.seq >= b("since"), sa.and_(_r.completed_at > b("joined_after", type_=_TIME), _r.seq < b("since"))
)  # fmt: skip
_RUNS = sa.select(RUNS).where(_r.agent_id == b("agent"), _r.status.in_(ENDED_RUNS), _COUNTS).order_by(_r.seq)
_TALKS = (
    sa.select(_a.id, _a.descriptor)
    .where(_a.project_id == b("project"), _a.persona == b("name"))
    .where(_a.descriptor_key.contains("/user/", autoescape=True))
    .order_by(_a.id)
)


def reset(tx: Tx, agent_id: str, made_by: str, now: datetime) -> str:
    """Resets an agent's session, and returns the marker's id: runs that begin later are not shown earlier ones. Pending
    messages stay in the mailbox, and active runs continue unchanged. Source: row E13.
    """
    queues.lock(tx, agent_id)
    last = tx.rows(_BEGUN, {"agent": agent_id})[0].last
    return markers.add(
        tx, agent_id=agent_id, kind=markers.RESET, from_seq=(last or 0) + 1, made_by=made_by, now=now
    )  # fmt: skip


def talks(tx: Tx, project_id: str, persona: str, person_id: str) -> list[Any]:
    """A person's chat agents of a persona: id and descriptor."""
    found = tx.rows(_TALKS, {"project": project_id, "name": persona})
    return [row for row in found if (row.descriptor.get("kind"), row.descriptor.get("user")) == ("user", person_id)]


@dataclass(frozen=True, slots=True)
class CurrentSession:
    """The current session: the marker at which it starts, and its ended runs in order, each with its rows."""

    marker: Any | None
    runs: Sequence[tuple[Any, Sequence[Any]]]


def current(tx: Tx, agent_id: str) -> CurrentSession:
    """The current session of an agent, without limits on its length."""
    marker = markers.latest(tx, agent_id)
    since = marker.from_seq if marker is not None else 0
    joined_after = marker.created_at if marker is not None and marker.kind == markers.COMPACTION else None
    found = []
    for run in tx.rows(_RUNS, {"agent": agent_id, "since": since, "joined_after": joined_after}):
        rows = [row for row in traces.messages(tx, run.id) if row.message_type != "system_message"]
        if marker is not None and marker.run_id == run.id and marker.position is not None:
            rows = [row for row in rows if row.position >= marker.position]
        found.append((run, rows))
    return CurrentSession(marker, found)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedSession:
    """A session to import: runs as columns, each with its rows, and a summary of what preceded them."""

    runs: Sequence[tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]]
    summary: str | None = None
    tokens_before: int | None = None
    labels: Sequence[str] = ()


def replace_history(tx: Tx, agent: Any, past: ImportedSession, made_by: str, about: str | None, now: datetime) -> str:
    """Replaces the history of an agent by an imported session, and returns the marker's id.

    `about` identifies the author of its messages. The runs have ended: they are never claimed, nor their cost booked.
    """
    queues.lock(tx, agent.id)
    first = int(tx.rows(_LAST, {"agent": agent.id})[0].next_seq) + 1
    tx.run(_TAKEN, {"agent": agent.id, "many": len(past.runs)})
    marker_id = markers.add(
        tx, agent_id=agent.id, kind=markers.IMPORT, from_seq=first, summary=past.summary,
        tokens_before=past.tokens_before, labels=past.labels, made_by=made_by, now=now,
    )  # fmt: skip
    for offset, (columns, rows) in enumerate(past.runs):
        run_id = new_id("run")
        tx.add(
            Run, id=run_id, project_id=agent.project_id, agent_id=agent.id, seq=first + offset, order_at=now,
            idempotency_key=f"{marker_id}:{offset}", cause_kind=IMPORTED, cause_id=about, created_at=now,
            started_at=now, completed_at=now, **columns,
        )  # fmt: skip
        tx.add_many(RunMessage, [{"id": new_id("msg"), "run_id": run_id, "created_at": now, **row} for row in rows])
    return marker_id
