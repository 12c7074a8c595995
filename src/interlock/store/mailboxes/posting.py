"""Posting: the door through which all work starts, and the one way in which the end of a run is reported.

How runs are claimed and ended is in `claiming` and `mailbox`; what a run does is not known here.
"""

import contextlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.ids import new_id
from interlock.store.messages import outbox
from interlock.store.runs import offspring
from interlock.store.schema import Lane, Run, table
from interlock.store.tx import Tx, observe

LANES = table(Lane)
RUNS = table(Run)
REPLY = "reply"
"""The subject of an agent's answer in a connector is `reply:RUN`."""
CHILD_END = "child_end"
"""The kind of a run that tells an agent that another run has ended."""
SAYINGS = frozenset({"message", "comment", "agent"})
"""Kinds of causes that are messages: an agent is not woken by its own."""
_TIME = UTCDateTime()
_lane, _run = LANES.c, RUNS.c

_KEY = sa.select(_run.id).where(_run.idempotency_key == b("key"))
_QUEUED = sa.select(_run.id).where(
    _run.agent_id == b("agent"), _run.kind == b("kind"), _run.status == sa.text("'created'")
)
_NOW, _DUE = b("now", type_=_TIME), b("due", type_=_TIME)
_FROM = sa.func.coalesce(_DUE, _NOW)
_PLACE = (
    sa.update(LANES)
    .where(_lane.agent_id == b("agent"))
    .values(
        next_seq=_lane.next_seq + 1,
        clock_at=sa.case((_lane.clock_at > _NOW, _lane.clock_at), else_=_NOW),
        ready_at=sa.case(
            (_lane.parked_run_id.is_not(None), _lane.ready_at),
            (sa.and_(_lane.ready_at.is_not(None), _lane.ready_at <= _FROM), _lane.ready_at),
            else_=_FROM,
        ),
        due_at=sa.case(
            (_lane.parked_run_id.is_not(None), _lane.due_at),
            (sa.and_(_lane.ready_at.is_not(None), sa.or_(_lane.due_at.is_(None), _lane.due_at <= _DUE)), _lane.due_at),
            else_=_DUE,
        ),
    )
)
_PLACED = sa.select(_lane.next_seq, _lane.clock_at).where(_lane.agent_id == b("agent"))
"""Read after the update has locked the lane; on SQLite, a RETURNING clause would cost five times as much."""
_PLACE_BACK = _PLACE.returning(_lane.next_seq, _lane.clock_at)
_CHILD = sa.select(
    _run.id, _run.project_id, _run.agent_id, _run.kind, _run.status, _run.stop_reason, _run.result, _run.error,
    _run.fence, _run.report_to, _run.mission_id, _run.simulated, _run.model, _run.labels, _run.dm_conversation_id,
    _run.channel_id,
).where(_run.id == b("run"))  # fmt: skip


_SPEAKER = sa.select(_run.labels, _run.simulated, _run.model).where(_run.id == b("run"))
_LAST_PLACE = (
    sa.select(_run.dm_conversation_id)
    .where(_run.agent_id == b("agent"), _run.dm_conversation_id.is_not(None), _run.channel_id.is_(None))
    .order_by(_run.seq.desc())
    .limit(1)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """A message for a mailbox. The same `idempotency_key` never makes two runs."""

    project_id: str
    agent_id: str
    kind: str
    payload: dict[str, Any]
    idempotency_key: str
    cause_kind: str
    """goal, event, task, answer, message, comment, schedule, run."""
    cause_id: str | None = None
    parent_run_id: str | None = None
    by_agent: str | None = None
    """The agent that wrote the message, if an agent did."""
    report_to: str | None = None
    """The agent that is told when this run ends, however it ends."""
    mission_id: str | None = None
    task_id: str | None = None
    due_at: datetime | None = None
    model: str | None = None
    simulated: bool = False
    labels: tuple[str, ...] = ()
    channel_id: str | None = None
    """The channel of the workspace chat that it comes from."""
    dm_conversation_id: str | None = None
    """The direct conversation that it comes from, in the workspace chat or in a connector; the answer goes there."""
    trigger_message_id: str | None = None
    """The id of the message, if it is one of the workspace chat."""
    coalesce: bool = False
    """Whether a queued run of this kind serves for this message too."""
    run_id: str = field(default_factory=lambda: new_id("run"))


class Spoken(NamedTuple):
    """What goes with words into the runs that they begin."""

    labels: tuple[str, ...] = ()
    simulated: bool = False
    model: str | None = None
    """Of a rehearsal."""


def spoken_by(tx: Tx, run_id: str | None) -> Spoken:
    """What goes with what a run says; nothing with a person's words.

    INVARIANT: what is said in a rehearsal is heard in one, and begins nothing real.
    """
    row = tx.one(_SPEAKER, {"run": run_id}) if run_id is not None else None
    if row is None:
        return Spoken()
    return Spoken(tuple(row.labels), row.simulated, row.model if row.simulated else None)


def post(tx: Tx, message: Post, now: datetime) -> tuple[str, bool]:
    """Writes a run at the end of its mailbox; returns its id and whether it is new.

    An agent is not woken by its own message: then there is no run, and the id is empty. Source: rows E2, A19.

    Raises LookupError if the agent has no lane.
    """
    if message.by_agent == message.agent_id and message.cause_kind in SAYINGS:
        return "", False
    if found := tx.one(_KEY, {"key": message.idempotency_key}):
        return str(found.id), False
    due_at = message.due_at if message.due_at is not None and message.due_at > now else None
    place = placed(tx, message.agent_id, now, due_at)
    if place is None:
        raise LookupError(f"agent {message.agent_id} has no lane")
    if message.coalesce and (found := tx.one(_QUEUED, {"agent": message.agent_id, "kind": message.kind})):
        return str(found.id), False
    tx.add(
        Run,
        id=message.run_id,
        project_id=message.project_id,
        agent_id=message.agent_id,
        kind=message.kind,
        order_at=place.clock_at if due_at is None else place.clock_at + (due_at - now),
        seq=place.next_seq,
        due_at=due_at,
        payload=message.payload,
        idempotency_key=message.idempotency_key,
        cause_kind=message.cause_kind,
        cause_id=message.cause_id,
        parent_run_id=message.parent_run_id,
        report_to=message.report_to,
        mission_id=message.mission_id,
        task_id=message.task_id,
        trigger_message_id=message.trigger_message_id,
        channel_id=message.channel_id,
        dm_conversation_id=message.dm_conversation_id or _place_of(tx, message),
        model=message.model,
        simulated=message.simulated,
        labels=list(message.labels),
        traceparent=tx.place,
        created_at=now,
    )
    tx.wake = True
    observe(tx, "run_posted", run=message, cause=message.cause_kind)
    return message.run_id, True


def placed(tx: Tx, agent_id: str, now: datetime, due_at: datetime | None = None) -> Any | None:
    """Allocates the place at the end of a lane, and makes the lane ready for it; None if there is no such lane."""
    wanted = {"agent": agent_id, "now": now, "due": due_at}
    if tx.dialect == "postgresql":
        return tx.one(_PLACE_BACK, wanted)
    tx.run(_PLACE, wanted)
    return tx.one(_PLACED, wanted)


def _place_of(tx: Tx, message: Post) -> str | None:
    """The conversation to answer in, if an agent is woken by another agent or by the end of a run: where it last talked
    with a person in a connector."""
    if message.by_agent is None and message.kind != CHILD_END:
        return None
    row = tx.one(_LAST_PLACE, {"agent": message.agent_id})
    return None if row is None else str(row.dm_conversation_id)


def is_awaited(run: Any) -> bool:
    """Whether the end of a run is reported, to an agent or to the person who talks with its agent."""
    return run.report_to is not None or (run.dm_conversation_id is not None and run.channel_id is None)


def report(tx: Tx, run_id: str, now: datetime) -> None:
    """Reports the end of a run, in the transaction that ends it, to the agent that it reports to and to the person who
    talks with its agent in a connector, as far as there are such. Empty answers are not sent to people.

    INVARIANT: each end is reported once, whoever ends the run and however often that is tried. A run that a person has
    retried ends under another fencing token, so that end is reported too. Source: row A19.
    """
    child = tx.one(_CHILD, {"run": run_id})
    if child is None:
        return
    says = child.status != "completed" or (child.result or "").strip()
    if says and child.dm_conversation_id is not None and child.channel_id is None:
        outbox.notify_conversation(tx, "text", f"{REPLY}:{child.id}", child.dm_conversation_id, now)
    if child.report_to is None:
        return
    ending = offspring.run_ended(tx, child, now) if child.kind == offspring.KIND else {}
    if ending is None:
        return
    channel_id, place = offspring.place(tx, child.agent_id) if ending else (None, {})
    payload = {
        "run": child.id, "agent": child.agent_id, "status": child.status, "stop_reason": child.stop_reason,
        "result": child.result, "error": child.error, **ending,
        **place,
    }  # fmt: skip
    message = Post(
        project_id=child.project_id,
        agent_id=child.report_to,
        kind=CHILD_END,
        payload=payload,
        idempotency_key=f"end:{child.id}:{child.fence}",
        cause_kind="run",
        cause_id=child.id,
        parent_run_id=child.id,
        mission_id=child.mission_id,
        simulated=child.simulated,
        model=child.model if child.simulated else None,
        labels=tuple(child.labels),
        channel_id=channel_id,
    )
    with contextlib.suppress(LookupError):
        post(tx, message, now)
