"""Begins a new epoch after a restore: earlier holders can no longer write, and nothing is done twice.

INVARIANT: whatever was in progress when the backup was made may have been completed since, and is reported as
uncertain. Copying the rows is in `exchange`.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.values import OPEN_RUNS, Actor
from interlock.store.auditing import audit, seals
from interlock.store.auditing.chain import RESTORE, Key
from interlock.store.messages.dispatch import UNCERTAIN
from interlock.store.money import ledger
from interlock.store.schema import (
    Agent,
    Approval,
    Control,
    Conversation,
    Firing,
    Incoming,
    Lane,
    Leader,
    LedgerEntry,
    Meta,
    Outgoing,
    Run,
    Schedule,
    ToolCall,
    Worker,
    table,
)
from interlock.store.signoff import grants
from interlock.store.tx import Tx
from interlock.store.upkeep.undone import Undone

FENCE_STEP = 1 << 20
"""More than the number of claims of any lane between two backups; a fencing token has 31 bits."""
_TIME = UTCDateTime()
_NOW, _WHY = b("now", type_=_TIME), b("why", type_=sa.String())
META, LANES, RUNS, CALLS, LEADERS = table(Meta), table(Lane), table(Run), table(ToolCall), table(Leader)
OUTBOX, INBOX, APPROVALS, LEDGER = table(Outgoing), table(Incoming), table(Approval), table(LedgerEntry)
CONVERSATIONS, CONTROLS = table(Conversation), table(Control)
_settled = LEDGER.alias("settled")

_LANE_FENCE = sa.select(sa.func.coalesce(sa.func.max(LANES.c.fence), 0).label("n"))
_LEADER_FENCE = sa.select(sa.func.coalesce(sa.func.max(LEADERS.c.fence), 0).label("n"))
_EPOCH = sa.select(META.c.value).where(META.c.key == "epoch")
_FORGET = sa.delete(META).where(META.c.key.in_(("epoch", "restored_at", "restored_from")))
_FENCE = sa.update(LANES).values(
    fence=b("base", type_=sa.Integer()),
    ready_at=sa.case((LANES.c.holder.is_not(None), b("now", type_=_TIME)), else_=LANES.c.ready_at),
    due_at=sa.case((LANES.c.holder.is_not(None), None), else_=LANES.c.due_at),
    holder=None,
)
_LEAD = sa.update(LEADERS).values(fence=b("base", type_=sa.Integer()), holder=None, beat=LEADERS.c.beat + 1)
_WORKERS = sa.update(table(Worker)).where(table(Worker).c.state == "running").values(state="gone")
_AGENTS = (
    sa.update(table(Agent)).where(table(Agent).c.runtime_status.in_(("running", "stuck"))).values(runtime_status="idle")
)
_OPEN_MONEY = (
    sa.select(LEDGER.c.run_id)
    .where(
        LEDGER.c.kind == "reserve",
        LEDGER.c.run_id.is_not(None),
        ~sa.exists().where(
            _settled.c.run_id == LEDGER.c.run_id,
            _settled.c.reservation_id == LEDGER.c.reservation_id,
            _settled.c.kind == "settle",
        ),
    )
    .distinct()
    .order_by(LEDGER.c.run_id)
)
_BACK = (
    sa.update(RUNS)
    .where(RUNS.c.status == "running")
    .values(
        status="created", worker_id=None, due_at=None,
        control=sa.case((RUNS.c.control == "cancel", RUNS.c.control), else_=None),
    )
)  # fmt: skip
_OF_OPEN_RUNS = CALLS.c.run_id.in_(sa.select(RUNS.c.id).where(RUNS.c.status.in_(OPEN_RUNS)))
_LET_THROUGH = sa.and_(
    CALLS.c.status.in_(("held", "unknown")),
    CALLS.c.approval_id.in_(
        sa.select(APPROVALS.c.id).where(APPROVALS.c.status == "approved", APPROVALS.c.kind != "QUESTION")
    ),
)
_UNFINISHED = sa.and_(_OF_OPEN_RUNS, sa.or_(CALLS.c.status.in_(("ready", "started")), _LET_THROUGH))
_CALLS = (
    sa.select(CALLS.c.id, CALLS.c.tool, CALLS.c.run_id, CALLS.c.task_id, CALLS.c.approval_id)
    .where(_UNFINISHED)
    .order_by(CALLS.c.id)
)
_SPENT = (
    sa.update(APPROVALS)
    .where(APPROVALS.c.id == b("approval"), APPROVALS.c.status == "approved")
    .values(status="void", note=_WHY)
)
_UNKNOWN = sa.update(CALLS).where(_UNFINISHED).values(status="unknown", approval_id=None, result=_WHY)
_LETTERS = (
    sa.select(OUTBOX.c.id, OUTBOX.c.surface, OUTBOX.c.kind, OUTBOX.c.subject, CONVERSATIONS.c.channel)
    .join_from(OUTBOX, CONVERSATIONS, OUTBOX.c.conversation_id == CONVERSATIONS.c.id)
    .where(OUTBOX.c.status.in_(("pending", "sending")))
    .order_by(OUTBOX.c.id)
)
_HOLD = (
    sa.update(OUTBOX)
    .where(OUTBOX.c.status.in_(("pending", "sending")))
    .values(status="dead", holder=UNCERTAIN, due_at=None, error=_WHY)
)
_SAID = sa.select(INBOX.c.key, INBOX.c.surface, INBOX.c.identity).where(INBOX.c.status == "new").order_by(INBOX.c.key)
_HEARD = sa.update(INBOX).where(INBOX.c.status == "new").values(status="done", done_at=_NOW)
_QUESTIONS = sa.select(APPROVALS.c.id, APPROVALS.c.kind).where(APPROVALS.c.status == "pending").order_by(APPROVALS.c.id)
_RUNS = (
    sa.select(RUNS.c.id, RUNS.c.kind, RUNS.c.status, RUNS.c.mission_id)
    .where(RUNS.c.status.in_(OPEN_RUNS))
    .order_by(RUNS.c.id)
)
_FIRINGS = (
    sa.update(table(Firing))
    .where(table(Firing).c.status == "started")
    .values(status="failed", outcome=_WHY, ended_at=_NOW)
)
_SCHEDULES = sa.update(table(Schedule)).where(table(Schedule).c.state == "active").values(next_at=None)
_CONTROL = sa.delete(CONTROLS).where(CONTROLS.c.scope == "squad")
_CONTROLLED = sa.select(CONTROLS.c.version).where(CONTROLS.c.scope == "squad")

MOST_GRANTS = 1_000_000
"""More than there ever are: reads all of them."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """The parameters of a new epoch."""

    now: datetime
    taken_at: datetime
    """When the backup was made."""
    actor: Actor
    project_id: str
    paused: bool
    """Whether nothing starts until a person says `interlock resume`."""
    key: Key | None = None
    """The key that seals the restore in the audit log."""


@dataclass(frozen=True, slots=True)
class Uncertain:
    """What was in progress when the backup was made, and may have been completed since. Rows in order, as tuples."""

    epoch: int
    runs: list[Any]
    """id, kind, status, mission_id: they continue from where they were."""
    calls: list[Any]
    """id, tool, run_id, task_id: calls that are not idempotent wait for a person."""
    messages: list[Any]
    """id, surface, kind, subject, channel: not sent until a person retries them."""
    said: list[Any]
    """key, surface, identity: unprocessed requests of people; they are dropped."""
    questions: list[Any]
    """id, kind: asked again, even if they were answered after the backup."""
    charged_microusd: int
    """Reserved for model calls with no recorded outcome; booked in full, marked as estimated."""
    undone: list[Undone] = field(default_factory=list)
    """What was stopped since the backup and is so no more."""


def standing(tx: Tx) -> tuple[int, int]:
    """The highest fencing token ever issued, and the epoch."""
    fence = max(tx.rows(_LANE_FENCE)[0].n, tx.rows(_LEADER_FENCE)[0].n)
    row = tx.one(_EPOCH)
    return int(fence), int(row.value) if row else 0


def begin(tx: Tx, start: Beginning, replaced: tuple[int, int]) -> Uncertain:
    """Begins a new epoch over restored rows; `replaced` is the `standing` of the database that is replaced.

    Source: row L5.
    """
    why = f"restored from the backup of {start.taken_at:%Y-%m-%d %H:%M} UTC: it may have been done since"
    now = {"now": start.now, "why": why}
    fence, epoch = (max(pair) for pair in zip(standing(tx), replaced, strict=True))
    for statement in (_WORKERS, _AGENTS, _SCHEDULES):
        tx.run(statement)
    for statement in (_FENCE, _LEAD):
        tx.run(statement, {"base": fence + FENCE_STEP, "now": start.now})
    tx.run(_FIRINGS, now)
    calls, messages, said = tx.rows(_CALLS), tx.rows(_LETTERS), tx.rows(_SAID)
    tx.run(_UNKNOWN, now)
    for call in calls:
        if call.approval_id is not None:
            tx.run(_SPENT, {"approval": call.approval_id, "why": why})
    tx.run(_HOLD, now)
    tx.run(_HEARD, now)
    runs, questions = tx.rows(_RUNS), tx.rows(_QUESTIONS)
    charged = sum(ledger.charge_open(tx, row.run_id, start.now) for row in tx.rows(_OPEN_MONEY))
    tx.run(_BACK)
    for row in grants.listing(tx, start.now, most=MOST_GRANTS):
        grants.revoke(tx, row.id, start.actor, start.now, reason=why)
    found = Uncertain(epoch + 1, runs, calls, messages, said, questions, charged)
    _note(tx, start, found)
    return found


def _note(tx: Tx, start: Beginning, found: Uncertain) -> None:
    tx.run(_FORGET)
    facts = {"epoch": found.epoch, "restored_at": start.now.isoformat(), "restored_from": start.taken_at.isoformat()}
    tx.add_many(Meta, [{"key": key, "value": str(value)} for key, value in facts.items()])
    if start.paused:
        _pause(tx, start)
    audit.note(
        tx, "RESTORED", start.actor, start.now, project_id=start.project_id, epoch=found.epoch,
        taken_at=start.taken_at.isoformat(), charged_microusd=found.charged_microusd, runs=len(found.runs),
        calls=len(found.calls), messages=len(found.messages),
    )  # fmt: skip
    if start.key is not None:
        seals.mark(tx, start.key, RESTORE, start.now, found.epoch)
        seals.seal_all(tx, start.key, start.now)
    uncertain = len(found.calls) + len(found.messages) + len(found.said)
    audit.alert(
        tx, start.now, project_id=start.project_id, severity="warning", kind="RESTORED",
        text=f"the database was restored from the backup of {start.taken_at:%Y-%m-%d %H:%M} UTC; "
        f"{uncertain or 'no'} effects are uncertain, and what was done after it is not on record",
        key=f"restored:{found.epoch}",
    )  # fmt: skip


def _pause(tx: Tx, start: Beginning) -> None:
    row = tx.one(_CONTROLLED)
    tx.run(_CONTROL)
    tx.add(
        Control, scope="squad", mode="paused", version=(row.version if row else 0) + 1, reason="restored from a backup",
        set_by=start.actor.id, set_at=start.now,
    )  # fmt: skip
