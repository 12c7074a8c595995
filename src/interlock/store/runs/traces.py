"""The record of runs: steps, messages and tool calls (the effect journal).

Who writes them when is the runner's and `tools.execute`'s job.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.ids import new_id
from interlock.core.values import ENDED_RUNS, OPEN_RUNS
from interlock.store.schema import Run, RunMessage, RunStep, ToolCall, table
from interlock.store.tx import Tx, observe

RUNS, STEPS, MESSAGES, CALLS = table(Run), table(RunStep), table(RunMessage), table(ToolCall)
_r, _s, _m, _c = RUNS.c, STEPS.c, MESSAGES.c, CALLS.c
_TIME = UTCDateTime()

_RUN = sa.select(RUNS).where(_r.id == b("run_"))
_BY_KEY = sa.select(_r.id, _r.status).where(_r.idempotency_key == b("key"))
STEPS_OF = sa.select(STEPS).where(_s.run_id == b("run_")).order_by(_s.step_number)
MESSAGES_OF = sa.select(MESSAGES).where(_m.run_id == b("run_")).order_by(_m.position, _m.id)
CALLS_OF = sa.select(CALLS).where(_c.run_id == b("run_")).order_by(_c.step_number, _c.position)
_OPEN_RUNS = sa.select(RUNS).where(_r.status.in_(OPEN_RUNS)).order_by(_r.agent_id, _r.seq)
_OPEN_OF_MISSION = _OPEN_RUNS.where(_r.mission_id == b("mission"))
_OPEN_OF_TASK = _OPEN_RUNS.where(_r.task_id == b("task"))
_CALL = sa.select(CALLS).where(_c.id == b("call"))
_EXECUTED = (
    sa.select(_c.risk)
    .where(_c.task_id == b("task"), _c.status.in_(("ready", "started", "done", "failed", "unknown")))
    .distinct()
)
_STARTED = (
    sa.update(CALLS)
    .where(_c.id == b("call"), _c.status.in_(("ready", "held", "unknown")))
    .values(status="started", started_at=b("now", type_=_TIME), args=b("given", type_=_c.args.type), subject=b("bound"))
)
_OUTCOME = (
    sa.update(CALLS)
    .where(_c.id == b("call"))
    .values(
        status=b("to"), result=b("answer"), is_error=b("failed", type_=sa.Boolean()), ended_at=b("now", type_=_TIME),
        simulated=b("rehearsed", type_=sa.Boolean()),
        started_at=sa.func.coalesce(_c.started_at, b("begun", type_=_TIME)),
    )
)  # fmt: skip
_CUT = (
    sa.update(CALLS)
    .where(_c.run_id == b("run_"), _c.status == "started")
    .values(status="unknown", result=b("answer"), is_error=True, ended_at=b("now", type_=_TIME))
)
_DROPPED = (
    sa.update(CALLS)
    .where(_c.run_id == b("run_"), _c.status.in_(("ready", "held")))
    .values(status="skipped", result=b("answer"), is_error=True, ended_at=b("now", type_=_TIME))
)
_HELD = sa.update(CALLS).where(_c.id == b("call")).values(status=b("to"), approval_id=b("approval"), subject=b("bound"))
_HELD_EDITED = _HELD.values(args=b("given", type_=_c.args.type))
_SINCE = _r.seq >= b("since")
_JOINED = sa.or_(_SINCE, _r.completed_at > b("summed_up_at", type_=_TIME))
"""Runs from a place on, and those before it that had not ended when the rest was summed up."""
_THEN = _r.completed_at <= b("until", type_=_TIME)


def _turns(counts: sa.ColumnElement[bool]) -> sa.Select[Any]:
    return (
        sa.select(_r.id, _r.seq, _r.labels, _r.cause_kind)
        .where(
            _r.agent_id == b("agent"),
            counts,
            _r.seq < b("before"),
            _r.status.in_(ENDED_RUNS),
        )
        .order_by(_r.seq.desc())
        .limit(b("turns"))
    )


def _said_in(turns: Any) -> sa.Select[Any]:
    """The messages of these runs, blocks and labels as JSON text: most readers have seen nearly all of them before."""
    last = turns.subquery("turns")
    blocks, labels = (sa.cast(column, sa.Text).label(column.name) for column in (_m.blocks, last.c.labels))
    return (
        sa.select(_m.run_id, _m.position, _m.message_type, blocks, last.c.seq, labels, last.c.cause_kind)
        .join_from(last, MESSAGES, _m.run_id == last.c.id)
        .where(_m.message_type != sa.text("'system_message'"))
        .order_by(last.c.seq.desc(), _m.position.desc())
        .limit(b("most"))
    )


HISTORY, HISTORY_JOINED = _said_in(_turns(_SINCE)), _said_in(_turns(_JOINED))
HISTORY_THEN, HISTORY_THEN_JOINED = _said_in(_turns(_SINCE).where(_THEN)), _said_in(_turns(_JOINED).where(_THEN))
_WAITING = (
    sa.select(_r.id, _r.seq, _r.payload)
    .where(_r.agent_id == b("agent"), _r.seq < b("before"), _r.status == sa.text("'waiting'"))
    .order_by(_r.seq)
)


def run(tx: Tx, run_id: str) -> Any | None:
    """One run."""
    return tx.one(_RUN, {"run_": run_id})


def run_by_key(tx: Tx, key: str) -> str | None:
    """The run that was posted under an idempotency key."""
    found = tx.one(_BY_KEY, {"key": key})
    return None if found is None else str(found.id)


def runs_by_key(tx: Tx, keys: Sequence[str]) -> list[Any | None]:
    """The runs that were posted under idempotency keys: id and status, or None, for each."""
    return tx.ones(_BY_KEY, [{"key": key} for key in keys])


def steps(tx: Tx, run_id: str) -> list[Any]:
    """The steps of a run in order."""
    return tx.rows(STEPS_OF, {"run_": run_id})


def messages(tx: Tx, run_id: str) -> list[Any]:
    """The messages of a run in order."""
    return tx.rows(MESSAGES_OF, {"run_": run_id})


def calls(tx: Tx, run_id: str) -> list[Any]:
    """The tool calls of a run in order."""
    return tx.rows(CALLS_OF, {"run_": run_id})


def call(tx: Tx, call_id: str) -> Any | None:
    """One tool call by our id."""
    return tx.one(_CALL, {"call": call_id})


def executed_risks(tx: Tx, task_id: str) -> list[str]:
    """The risks of the calls that were let through for a task, each once."""
    return [row.risk for row in tx.rows(_EXECUTED, {"task": task_id})]


def add_step(tx: Tx, **values: Any) -> None:
    """Inserts a step."""
    tx.add(RunStep, **values)


def add_message(
    tx: Tx,
    run_id: str,
    position: int,
    message_type: str,
    content: str,
    now: datetime,
    *,
    step_id: str | None = None,
    blocks: Sequence[Any] | None = None,
    tool_name: str | None = None,
    tool_input: Any = None,
) -> None:
    """Appends a message to a run's conversation."""
    tx.add(
        RunMessage,
        id=new_id("msg"),
        run_id=run_id,
        step_id=step_id,
        position=position,
        message_type=message_type,
        content=content,
        blocks=None if blocks is None else list(blocks),
        tool_name=tool_name,
        tool_input=tool_input,
        created_at=now,
    )


def add_call(tx: Tx, **values: Any) -> None:
    """Inserts a tool call as it was decided."""
    tx.add(ToolCall, **values)
    known = values["tool"] if values["tool_digest"] else None
    decided = {name: values[name] for name in ("risk", "effect", "status")}
    observe(tx, "call_decided", tool=known, rules=values.get("rules", []), **decided)


def hold(tx: Tx, call_id: str, status: str, approval_id: str, subject: str, args: Any = None) -> None:
    """Binds a call to the approval it waits for; with `args`, to those arguments."""
    params = {"call": call_id, "to": status, "approval": approval_id, "bound": subject}
    if args is None:
        tx.run(_HELD, params)
    else:
        tx.run(_HELD_EDITED, {**params, "given": args})


def started(tx: Tx, call_id: str, args: Any, subject: str | None, now: datetime) -> int:
    """Marks a call as about to have its effect; returns 0 where it was started or ended before."""
    return tx.count(_STARTED, {"call": call_id, "given": args, "bound": subject, "now": now})


def outcome(
    tx: Tx, call_id: str, status: str, result: str, *, is_error: bool, simulated: bool, begun: datetime, now: datetime
) -> None:
    """Writes how a call ended: done, failed, denied, refused, skipped or unknown."""
    tx.run(
        _OUTCOME,
        {
            "call": call_id, "to": status, "answer": result, "failed": is_error, "rehearsed": simulated,
            "begun": begun, "now": now,
        },
    )  # fmt: skip


def close_calls(tx: Tx, run_id: str, now: datetime, reason: str) -> None:
    """Of a run that ends: what had started is uncertain, what had not is skipped."""
    tx.run(_CUT, {"run_": run_id, "answer": f"cut off while it ran ({reason}); its effect is uncertain", "now": now})
    tx.run(_DROPPED, {"run_": run_id, "answer": f"not executed: {reason}", "now": now})


def waiting(tx: Tx, agent_id: str, before_seq: int) -> list[Any]:
    """An agent's earlier runs that wait for a person: id, seq, payload."""
    return tx.rows(_WAITING, {"agent": agent_id, "before": before_seq})


def open_runs(tx: Tx, *, mission_id: str | None = None, task_id: str | None = None) -> list[Any]:
    """All runs of a mission or a task that have not ended, in the order in which their lanes are locked."""
    if mission_id is not None:
        return tx.rows(_OPEN_OF_MISSION, {"mission": mission_id})
    return tx.rows(_OPEN_OF_TASK, {"task": task_id})


INDEXED = (*OPEN_RUNS, "failed", "cancelled")
"""States with partial indexes, which are used where a statement says the state in its words."""
FEW = 10_000
"""Runs that are quickly sorted by time."""


def _in_state(status: str) -> sa.ColumnElement[bool]:
    return _r.status == (sa.text(f"'{status}'") if status in INDEXED else status)


_MANY: dict[str, sa.Select[Any]] = {
    status: sa.select(sa.literal_column("1")).select_from(RUNS).where(_in_state(status)).offset(FEW).limit(1)
    for status in OPEN_RUNS
}


def runs(
    tx: Tx,
    *,
    mission_id: str | None = None,
    task_id: str | None = None,
    project_id: str | None = None,
    status: str | None = None,
    most: int = 200,
) -> list[Any]:
    """Runs, newest first. The few that have not ended are found by their state, not by going back through all."""
    newest: sa.ColumnElement[Any] = _r.created_at
    if status in _MANY and tx.one(_MANY[status]) is None:
        newest = sa.func.coalesce(_r.created_at, _r.created_at)
    query = sa.select(RUNS).order_by(newest.desc(), _r.id.desc()).limit(most)
    if mission_id is not None:
        query = query.where(_r.mission_id == mission_id)
    if task_id is not None:
        query = query.where(_r.task_id == task_id)
    if project_id is not None:
        query = query.where(_r.project_id == project_id)
    if status is not None:
        query = query.where(_in_state(status))
    return tx.rows(query)
