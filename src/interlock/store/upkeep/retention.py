"""Deletes messages and steps of old runs, and old activities, in small batches, each consistent by itself.

The jobs, and the retention periods from the settings, are in `oversight.retention`; operational records in `pruning`.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.values import ENDED_RUNS, SYSTEM
from interlock.state_machine.table import TERMINAL
from interlock.store.auditing import audit, chain, seals
from interlock.store.auditing.audit import ACTIVITIES
from interlock.store.auditing.chain import Keyring
from interlock.store.schema import Approval, LedgerEntry, Run, RunMessage, RunStep, Task, ToolCall, Vote, table
from interlock.store.tx import Tx
from interlock.store.upkeep import partitions

RUNS, STEPS, MESSAGES, CALLS = table(Run), table(RunStep), table(RunMessage), table(ToolCall)
APPROVALS, LEDGER, TASKS, VOTES = table(Approval), table(LedgerEntry), table(Task), table(Vote)
_r, _s, _m, _c, _ap, _l, _t, _a = (
    RUNS.c, STEPS.c, MESSAGES.c, CALLS.c, APPROVALS.c, LEDGER.c, TASKS.c, ACTIVITIES.c,
)  # fmt: skip
_TIME = UTCDateTime()
MARK = "forgotten"
"""The key in a run's payload for the time at which its steps, messages and calls were deleted."""
WORDS = ("text", "prompt", "context", "from")
"""Other keys of a run's payload that are deleted."""
FORGOTTEN = "ACTIVITIES_FORGOTTEN"
TAMPERED = "AUDIT_TAMPERED"
OVER = [str(state) for state in sorted(TERMINAL)]
_BEFORE = b("before", type_=_TIME)
_settled, _others, _of_mission = LEDGER.alias("settled"), RUNS.alias("others"), RUNS.alias("of_mission")


def mission_is_over(mission: Any, moment: Any) -> sa.ColumnElement[bool]:
    """Condition: a column refers to no mission, or to one that ended before a time."""
    over = sa.exists().where(_t.id == mission, _t.status.in_(OVER), _t.ended_at < moment)
    return sa.or_(mission.is_(None), over)


_PAGE = (
    sa.select(_m.run_id).where(_m.run_id > b("after")).group_by(_m.run_id).order_by(_m.run_id).limit(b("most"))
)  # fmt: skip
_MAY_GO = sa.select(_r.id, _r.kind, _r.payload).where(
    _r.id == b("run_"),
    _r.status.in_(ENDED_RUNS),
    _r.completed_at < sa.case((_r.kind == "chat", b("before_chat", type_=_TIME)), else_=_BEFORE),
    sa.or_(_r.stop_reason.is_(None), _r.stop_reason != "dead_letter"),
    mission_is_over(_r.mission_id, _BEFORE),
    ~sa.exists().where(_ap.run_id == _r.id, _ap.status == "pending"),
    ~sa.exists().where(_c.run_id == _r.id, _c.status.in_(("held", "ready", "started", "unknown"))),
    ~sa.exists().where(
        _l.run_id == _r.id,
        _l.kind == "reserve",
        ~sa.exists().where(
            _settled.c.run_id == _l.run_id, _settled.c.reservation_id == _l.reservation_id, _settled.c.kind == "settle"
        ),
    ),
    ~sa.exists().where(_others.c.agent_id == _r.agent_id, _others.c.status.in_(("running", "waiting"))),
    ~sa.exists().where(_of_mission.c.mission_id == _r.mission_id, _of_mission.c.status.not_in(ENDED_RUNS)),
)
"""INVARIANT: nothing is deleted that belongs to an open mission or question, an open reservation, an uncertain effect,
a dead letter, or the history of a chat with an active run.
"""
_STRIP = (
    sa.update(CALLS)
    .where(
        _c.id.in_(
            sa.select(_c.id)
            .where(
                _c.run_id == b("run_"),
                sa.or_(_c.args.is_not(None), _c.raw_args.is_not(None), _c.result.is_not(None)),
            )
            .limit(b("most"))
            .correlate(None)
        )
    )
    .values(args=sa.null(), raw_args=None, result=None)
)
_VOTE = sa.update(VOTES).where(VOTES.c.run_id == b("run_"), VOTES.c.reason != "").values(reason="")
_MARKED = sa.select(_r.payload).where(_r.id == b("run_"))
_SET = (
    sa.update(RUNS)
    .where(_r.id == b("run_"))
    .values(payload=b("what", type_=_r.payload.type), result=sa.case((_r.kind == "chat", sa.null()), else_=_r.result))
)
_STEPS_OF = sa.select(_s.step_number).where(_s.run_id == b("run_")).limit(b("most"))
_DROP_STEPS = sa.delete(STEPS).where(_s.run_id == b("run_"), _s.step_number.in_(_STEPS_OF.correlate(None)))
_LAST_MESSAGES = sa.select(_m.id).where(_m.run_id == b("run_")).order_by(_m.position.desc()).limit(b("most"))
_DROP_MESSAGES = sa.delete(MESSAGES).where(_m.run_id == b("run_"), _m.id.in_(_LAST_MESSAGES.correlate(None)))
_MAY_GO_TOO = sa.and_(_a.created_at < _BEFORE, mission_is_over(_a.mission_id, _BEFORE))
_OLDEST = sa.select(_a.id).where(_a.id > b("after"), _MAY_GO_TOO).order_by(_a.id).limit(b("most"))
_THESE = sa.select(ACTIVITIES).where(_a.id.between(b("first"), b("last")), _MAY_GO_TOO).order_by(_a.id)
_DROP_ACTIVITIES = sa.delete(ACTIVITIES).where(_a.id.between(b("first"), b("last")), _MAY_GO_TOO)


@dataclass(frozen=True, slots=True)
class Cut:
    """The times before which ended runs may be deleted: those of missions, and those of chats with agents."""

    before: datetime
    before_chat: datetime


def candidates(tx: Tx, after: str, most: int) -> list[str]:
    """Ids of runs that have messages, in order, after an id."""
    return [row.run_id for row in tx.rows(_PAGE, {"after": after, "most": most})]


def may_go(tx: Tx, run_ids: Sequence[str], cut: Cut) -> list[str]:
    """Those of the runs that are due for deletion and not yet marked."""
    return [ident for ident in run_ids if (row := _eligible(tx, ident, cut)) is not None and MARK not in row.payload]


def is_marked(tx: Tx, run_ids: Sequence[str]) -> list[str]:
    """Those of the runs that have been marked as deleted."""
    rows = [(ident, tx.one(_MARKED, {"run_": ident})) for ident in run_ids]
    return [ident for ident, row in rows if row is not None and MARK in row.payload]


def _eligible(tx: Tx, run_id: str, cut: Cut) -> Any | None:
    return tx.one(_MAY_GO, {"run_": run_id, "before": cut.before, "before_chat": cut.before_chat})


def mark(tx: Tx, run_id: str, cut: Cut, most: int, now: datetime) -> bool:
    """Deletes the bodies of up to `most` calls of a run; returns whether all are gone. Then the run is marked and its
    texts are deleted: the row stays with its totals and result, but without the reply of a chat or the reason of a
    vote.
    """
    row = _eligible(tx, run_id, cut)
    return row is None or MARK in row.payload or let_go(tx, row, most, now)


def let_go(tx: Tx, row: Any, most: int, now: datetime) -> bool:
    """The same for a closed run of any age."""
    if tx.count(_STRIP, {"run_": row.id, "most": most}) == most:
        return False
    kept = {name: value for name, value in row.payload.items() if name not in WORDS}
    tx.run(_VOTE, {"run_": row.id})
    tx.run(_SET, {"run_": row.id, "what": {**kept, MARK: now.astimezone(UTC).isoformat()}})
    return True


def empty(tx: Tx, run_id: str, most: int) -> int:
    """Deletes up to `most` steps and messages of a run, last ones first; returns how many."""
    gone = tx.count(_DROP_STEPS, {"run_": run_id, "most": most})
    if gone < most:
        gone += tx.count(_DROP_MESSAGES, {"run_": run_id, "most": most - gone})
    return gone


def old_activities(tx: Tx, after: int, before: datetime, most: int) -> list[int]:
    """Ids of activities from before a time, in order, after an id; without those of open missions."""
    return [row.id for row in tx.rows(_OLDEST, {"after": after, "before": before, "most": most})]


def forget_activities(
    tx: Tx, first: int, last: int, before: datetime, project_id: str, now: datetime, keys: Keyring | None = None
) -> int:
    """Deletes the activities of a range that are from before a time, and records in another activity their ids, number
    and digest; returns how many were deleted. Activities of open missions stay.

    If the audit log is sealed, only intact activities are deleted, and only with a key to seal the deletion: activities
    that were tampered with stay as evidence, and an alert is raised.
    """
    rows = tx.rows(_THESE, {"first": first, "last": last, "before": before})
    newest = seals.last(tx)
    if newest is not None:
        rows = _as_sealed(tx, rows, keys, project_id, now)
    if not rows:
        return 0
    _tell_forgotten(tx, rows, project_id, now)
    ids = [row.id for row in rows]
    for start, stop in chain.ranges_of(ids):
        tx.run(_DROP_ACTIVITIES, {"first": start, "last": stop, "before": before})
    if newest is not None and keys is not None and keys.current is not None:
        seals.seal_deletion(tx, keys.current, ids, now)
    return len(rows)


def _as_sealed(tx: Tx, rows: list[Any], keys: Keyring | None, project_id: str, now: datetime) -> list[Any]:
    """Those of the activities that are intact according to the chain; none without a key."""
    if keys is None or keys.current is None:
        return []
    leaves = seals.vouched(tx, [row.id for row in rows], keys)
    other = [row.id for row in rows if leaves.get(row.id, chain.leaf(row)) != chain.leaf(row)]
    if other:
        audit.alert(
            tx, now, project_id=project_id, severity="critical", kind=TAMPERED,
            text=f"activity {other[0]} of the audit log is not as it was sealed: look with `interlock audit verify`",
            key=f"audit-tampered:{other[0]}",
        )  # fmt: skip
    return [row for row in rows if row.id in leaves and row.id not in other]


def _tell_forgotten(tx: Tx, rows: Sequence[Any], project_id: str, now: datetime) -> None:
    """Records the deletion before it is done, so that the newest id is never reused."""
    earlier = [row.data for row in rows if row.action == FORGOTTEN]
    audit.note(
        tx, FORGOTTEN, SYSTEM, now, project_id=project_id,
        first=min([rows[0].id, *(each["first"] for each in earlier)]), last=rows[-1].id,
        since=_moment(rows[0].created_at), until=_moment(rows[-1].created_at),
        count=len(rows), total=len(rows) - len(earlier) + sum(each["total"] for each in earlier),
        sha256=digest_of(rows),
    )  # fmt: skip


def digest_of(rows: Sequence[Any]) -> str:
    """SHA-256 over activities in id order, each as a line of JSON with sorted keys and times in UTC."""
    found = hashlib.sha256()
    for row in rows:
        found.update(canonical(row).encode())
        found.update(b"\n")
    return found.hexdigest()


def canonical(row: Any) -> str:
    """The canonical line of an activity that is digested; the same on both databases."""
    fields = {name: _moment(value) if isinstance(value, datetime) else value for name, value in row._asdict().items()}
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _moment(value: datetime) -> str:
    return value.astimezone(UTC).isoformat(timespec="microseconds")


def drop_month(tx: Tx, before: datetime) -> str | None:
    """Drops one monthly partition that holds only rows of runs marked as deleted; returns its name, or None.

    PostgreSQL only. One at a time, since the table cannot be read from then until the commit. If somebody is reading
    the partition, raises the database's error; it stays until the next time.
    """
    for name in partitions.TABLES if tx.dialect == "postgresql" else ():
        for part in partitions.partitions(tx, name):
            kept = _IS_KEPT if name in partitions.OF_RUNS else _HAS_ROWS
            if part.stop <= before and not tx.rows(sa.text(kept.format(part=part.name)).columns(n=sa.Integer())):
                tx.run(partitions.SHORT_WAIT)
                tx.run(sa.text(f"DROP TABLE {part.name}"))
                return part.name
    return None


_HAS_ROWS = "SELECT 1 AS n FROM {part} LIMIT 1"
_IS_KEPT = (
    "SELECT 1 AS n FROM {part} p LEFT JOIN runs r ON r.id = p.run_id"
    f" WHERE r.payload IS NULL OR r.payload ->> '{MARK}' IS NULL LIMIT 1"
)
