"""Mailboxes: ending, parking, requeuing and waking runs.

The door `post()` is in `posting` and claiming in `claiming`; what a run does is not known here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.store.errors import LeaseLost
from interlock.store.mailboxes import controls
from interlock.store.mailboxes.claiming import HELD, LET_GO, NEXT_DUE, NEXT_READY
from interlock.store.mailboxes.claiming import REFRESH as REFRESH
from interlock.store.mailboxes.claiming import SUSPECT as SUSPECT
from interlock.store.mailboxes.claiming import Claim as Claim
from interlock.store.mailboxes.claiming import claim as claim
from interlock.store.mailboxes.claiming import has_ready as has_ready
from interlock.store.mailboxes.posting import LANES as LANES
from interlock.store.mailboxes.posting import RUNS as RUNS
from interlock.store.mailboxes.posting import Post as Post
from interlock.store.mailboxes.posting import is_awaited, report
from interlock.store.mailboxes.posting import post as post
from interlock.store.tx import Tx, observe

_TIME = UTCDateTime()
_lane, _run = LANES.c, RUNS.c
_NOW = b("now", type_=_TIME)

_HOLD = sa.select(_lane.agent_id).where(HELD).with_for_update(key_share=True)
_LET_GO_PARKED = (
    sa.update(LANES)
    .where(HELD)
    .values(
        holder=None,
        parked_run_id=sa.case((_lane.exclusive, b("run", type_=sa.String())), else_=None),
        ready_at=sa.case((_lane.exclusive, None), else_=NEXT_READY),
        due_at=sa.case((_lane.exclusive, None), else_=NEXT_DUE),
    )
)
_OWN = (
    sa.update(RUNS)
    .where(_run.id == b("run"), _run.fence == b("lease"), _run.status == sa.text("'running'"))
    .values(step_count=b("steps"))
)
_UNASKED = sa.or_(_run.control.is_(None), _run.control == sa.text("'pause'"))
"""Nobody has cancelled or stopped the run; one that is to pause ends its step first."""
_OWN_FREE = _OWN.where(_UNASKED, controls.MAY_ACT)
_MINE = (
    sa.select(_run.id)
    .where(_run.id == b("run"), _run.fence == b("lease"), _run.status == sa.text("'running'"))
    .with_for_update(key_share=True, of=RUNS)
)
"""Checks the lease without writing a row, and keeps it valid until the commit; SQLite has one writer anyway."""
_MINE_FREE = _MINE.where(_UNASKED, controls.MAY_ACT)
_TOTALS = {
    "token_usage": b("usage", type_=_run.token_usage.type),
    "labels": b("taint", type_=_run.labels.type),
    "cost_microusd": _run.cost_microusd + b("spent", type_=sa.BigInteger()),
}
_FURTHER = {**_TOTALS, "crashes": sa.text("0")}
"""A run that makes progress is not what kills its workers."""
_PROGRESS = _OWN.values(_FURTHER)
_PROGRESS_FREE = _OWN_FREE.values(_FURTHER)
_USE_MODEL = _OWN_FREE.values(model=b("ref"))
_BEGIN = _OWN_FREE.values(
    model=b("ref"), simulated=b("rehearsed", type_=sa.Boolean()), policy_hash=b("policy"),
    deadline_at=b("deadline", type_=_TIME), labels=b("taint", type_=_run.labels.type),
    traceparent=sa.func.coalesce(b("place", type_=sa.String()), _run.traceparent),
)  # fmt: skip
_END = (
    sa.update(RUNS)
    .where(_run.id == b("run"), _run.fence == b("lease"), _run.status == sa.text("'running'"))
    .values(
        status=b("to"),
        stop_reason=b("stop"),
        result=b("answer"),
        error=b("fault"),
        completed_at=b("now", type_=_TIME),
        step_count=sa.func.coalesce(b("steps", type_=sa.Integer()), _run.step_count),
        control=None,
    )
)
_END_WITH = _END.values(_TOTALS)
_END_UNASKED = _END.where(_UNASKED)
_END_UNASKED_WITH = _END_WITH.where(_UNASKED)
_PARK = (
    sa.update(RUNS)
    .where(_run.id == b("run"), _run.fence == b("lease"), _run.status == sa.text("'running'"), _UNASKED)
    .values(status="waiting", worker_id=None, control=None)
)
_AGAIN = (
    sa.update(RUNS)
    .where(_run.id == b("run"), _run.fence == b("lease"), _run.status == sa.text("'running'"))
    .values(status="created", worker_id=None, attempt=_run.attempt + b("tries"), due_at=b("due", type_=_TIME),
            error=b("fault"), stop_reason=b("stop"),
            control=sa.case((_run.control == sa.text("'cancel'"), _run.control), else_=None))
)  # fmt: skip
_LOCK = sa.update(LANES).where(_lane.agent_id == b("agent")).values(fence=_lane.fence)
_WAKE_LANE = (
    sa.update(LANES)
    .where(_lane.agent_id == b("agent"))
    .values(
        parked_run_id=sa.case((_lane.parked_run_id == b("run"), None), else_=_lane.parked_run_id),
        ready_at=_NOW,
        due_at=None,
    )
)
_WAKE_RUN = (
    sa.update(RUNS)
    .where(_run.id == b("run"), _run.status == sa.text("'waiting'"))
    .values(status="created", due_at=None)
)
_ADDRESS = sa.select(_run.agent_id, _run.status, _run.control, _run.error).where(_run.id == b("run"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What a run has used so far, and what it has spent since this was last written."""

    usage: Mapping[str, int]
    labels: Sequence[str]
    spent_microusd: int = 0

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the statements that write it."""
        return {"usage": dict(self.usage), "taint": list(self.labels), "spent": self.spent_microusd}


def own(
    tx: Tx,
    claim: Claim,
    progress: Progress | None = None,
    *,
    steps: int | None = None,
    even_if_controlled: bool = False,
) -> None:
    """Fails the unit with `LeaseLost` unless the run still belongs to this worker (and nobody has stopped it).

    So no effect starts once a stop is recorded, even if the worker has not heard of it yet.

    `steps` is the new number of steps, if it changes; `progress` is written in the same statement.
    """
    lost = LeaseLost(claim.run.id)
    if progress is None and steps is None:
        tx.must_see(_MINE if even_if_controlled else _MINE_FREE, claim.params, lost)
        return
    params = {**claim.params, "steps": claim.steps if steps is None else steps}
    if progress is None:
        statement = _OWN if even_if_controlled else _OWN_FREE
    else:
        statement = _PROGRESS if even_if_controlled else _PROGRESS_FREE
        params.update(progress.params)
    tx.must(statement, params, 1, lost)


def begin(
    tx: Tx,
    claim: Claim,
    *,
    model: str,
    simulated: bool,
    policy_hash: str,
    deadline_at: datetime | None,
    labels: Sequence[str] = (),
) -> None:
    """Records what a run works with, when it starts.

    Raises LeaseLost, as `own` does.
    """
    facts = {
        "ref": model, "rehearsed": simulated, "policy": policy_hash, "deadline": deadline_at, "taint": list(labels),
        "place": tx.place, "steps": claim.steps,
    }  # fmt: skip
    tx.must(_BEGIN, {**claim.params, **facts}, 1, LeaseLost(claim.run.id))


def finish(
    tx: Tx,
    claim: Claim,
    status: str,
    stop_reason: str,
    now: datetime,
    *,
    result: str | None,
    error: str | None,
    steps: int | None = None,
    progress: Progress | None = None,
    unless_asked_back: bool = False,
) -> None:
    """Ends a run (completed, failed or cancelled) with its last usage, and frees its lane for the next run.

    Raises LeaseLost; with `unless_asked_back`, also if somebody has cancelled or stopped it.
    """
    _hold(tx, claim)
    end = {**claim.params, "to": status, "stop": stop_reason, "answer": result, "fault": error, "now": now}
    end["steps"] = steps
    if progress is not None:
        end.update(progress.params)
    plain, whole = (_END_UNASKED, _END_UNASKED_WITH) if unless_asked_back else (_END, _END_WITH)
    tx.must(plain if progress is None else whole, end, 1, LeaseLost(claim.run.id))
    observe(tx, "run_ended", run=claim.run, status=status, stop_reason=stop_reason)
    tx.must(LET_GO, {**claim.params, "now": now}, 1, LeaseLost(claim.run.id))
    if is_awaited(claim.run):
        report(tx, claim.run.id, now)


def park(tx: Tx, claim: Claim, now: datetime) -> None:
    """Parks a run until `wake`. The lane of a task's agent stays closed meanwhile, that of a conversation does not.

    Raises LeaseLost.
    """
    _hold(tx, claim)
    tx.must(_PARK, claim.params, 1, LeaseLost(claim.run.id))
    observe(tx, "run_parked", run=claim.run, status="waiting")
    tx.must(_LET_GO_PARKED, {**claim.params, "now": now}, 1, LeaseLost(claim.run.id))


def use_model(tx: Tx, claim: Claim, model: str) -> None:
    """Makes a run use another model from now on, also after it was parked or taken over by another worker."""
    tx.must(_USE_MODEL, {**claim.params, "steps": claim.steps, "ref": model}, 1, LeaseLost(claim.run.id))


def requeue(
    tx: Tx,
    claim: Claim,
    now: datetime,
    *,
    due_at: datetime | None,
    error: str | None,
    failed: bool = True,
    stop_reason: str | None = None,
) -> None:
    """Puts a run back at the head of its lane, to be claimed at once or not before `due_at`.

    A `stop_reason` says that waiting alone will not help; it is cleared when the run is claimed again.
    """
    _hold(tx, claim)
    again = {**claim.params, "due": due_at, "fault": error, "tries": int(failed), "stop": stop_reason}
    tx.must(_AGAIN, again, 1, LeaseLost(claim.run.id))
    observe(tx, "run_put_back", run=claim.run, status="created", stop_reason=stop_reason, failed=failed)
    tx.must(LET_GO, {**claim.params, "now": now}, 1, LeaseLost(claim.run.id))
    tx.wake = tx.wake or due_at is None


def _hold(tx: Tx, claim: Claim) -> None:
    """Locks the lane of a run that is about to be released, before any other row; SQLite needs no lock."""
    if tx.dialect == "postgresql":
        tx.must_see(_HOLD, claim.params, LeaseLost(claim.run.id))


def lock(tx: Tx, run_id: str) -> Any | None:
    """Locks the lane of a run, before any other row; returns the run's agent, status, control and error."""
    found = tx.one(_ADDRESS, {"run": run_id})
    if found is None:
        return None
    tx.run(_LOCK, {"agent": found.agent_id})
    return tx.one(_ADDRESS, {"run": run_id})


def wake(tx: Tx, run_id: str, now: datetime) -> None:
    """Makes a parked run ready again, at the head of its lane. Call `lock` before you write what wakes it."""
    found = tx.one(_ADDRESS, {"run": run_id})
    if found is None or found.status != "waiting":
        return
    tx.run(_WAKE_RUN, {"run": run_id})
    tx.run(_WAKE_LANE, {"agent": found.agent_id, "run": run_id, "now": now})
    tx.wake = True
