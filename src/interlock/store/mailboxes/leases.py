"""Workers and what is left of the dead ones: registration, beats, taking back their runs, cancelling.

Whether a worker is dead is judged in the worker layer.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.values import ENDED_RUNS
from interlock.store.errors import LeaseLost
from interlock.store.mailboxes import capabilities, dead_letters, mailbox
from interlock.store.mailboxes.posting import LANES, RUNS, report
from interlock.store.messages import rounds
from interlock.store.money import ledger
from interlock.store.runs import offspring, traces
from interlock.store.schema import Agent, Worker, table
from interlock.store.signoff import approvals
from interlock.store.tx import Tx, relaxed

WORKERS = table(Worker)
_TIME = UTCDateTime()
_w, _lane, _run = WORKERS.c, LANES.c, RUNS.c

_BEAT = (
    sa.update(WORKERS)
    .where(_w.id == b("worker"), _w.state == "running")
    .values(beat=_w.beat + 1, beat_at=b("now", type_=_TIME))
)
_LIVE = (
    sa.select(
        _w.id, _w.host, _w.pid, _w.process_started, _w.beat, _w.beat_at, _w.capabilities, _w.concurrency, _w.version,
        _w.started_at,
    )
    .where(_w.state == "running")
    .order_by(_w.started_at, _w.id)
)  # fmt: skip
_GONE = sa.update(WORKERS).where(_w.id == b("worker"), _w.state == "running").values(state="gone")
_HELD = sa.select(_lane.agent_id).where(_lane.holder == b("worker")).order_by(_lane.agent_id)
_FREE = (
    sa.update(LANES)
    .where(_lane.holder == b("worker"))
    .values(holder=None, fence=_lane.fence + 1, ready_at=b("now", type_=_TIME), due_at=None)
)
_FREE_ONE = _FREE.where(_lane.agent_id == b("agent"), _lane.fence == b("lease"))
_MINE = sa.select(_run.id, _run.agent_id, _run.fence).where(
    _run.worker_id == b("worker"), _run.status == sa.text("'running'")
)
_LEFT = sa.select(RUNS).where(_run.worker_id == b("worker"), _run.status == sa.text("'running'"))
"""In no order: to have one, SQLite would go through all runs there ever were by their ids."""
_BACK = (
    sa.update(RUNS)
    .where(_run.id == b("run"), _run.status == sa.text("'running'"))
    .values(
        status="created", worker_id=None, due_at=None, crashes=_run.crashes + b("crashed", type_=sa.Integer()),
        control=sa.case((_run.control == sa.text("'cancel'"), _run.control), else_=None),
    )
)  # fmt: skip
_FAULT = sa.update(RUNS).where(_run.id == b("run")).values(crashes=_run.crashes + 1)
_RUNNING = sa.select(_run.id).where(_run.status == sa.text("'running'"))
_PUT_OFF = sa.select(_run.id, _run.agent_id).where(
    _run.status == sa.text("'created'"), _run.error.is_not(None), _run.due_at > b("now", type_=_TIME)
)
_READY_NOW = (
    sa.update(LANES)
    .where(_lane.agent_id == b("agent"), _lane.parked_run_id.is_(None))
    .values(ready_at=b("now", type_=_TIME), due_at=None)
)
"""A lane that is closed until a person has answered stays so."""
_DUE_NOW = sa.update(RUNS).where(_run.id == b("run"), _run.status == sa.text("'created'")).values(due_at=None)
_CONTROLLED = sa.select(_run.id, _run.control).where(
    _run.worker_id == b("worker"), _run.status == sa.text("'running'"), _run.control.is_not(None)
)
_ASK = (
    sa.update(RUNS)
    .where(_run.id == b("run"), _run.status == sa.text("'running'"))
    .values(control="cancel", error=b("why"))
)
_ASK_BACK = (
    sa.update(RUNS)
    .where(
        _run.id == b("run"), _run.status == sa.text("'running'"),
        sa.or_(_run.control.is_(None), _run.control == sa.text("'pause'")),
    )
    .values(control=b("verb"))
)  # fmt: skip
_AT_WORK = sa.select(
    _run.id, _run.agent_id, _run.kind, _run.mission_id, _run.task_id, _run.started_at, _run.step_count
).where(_run.status == sa.text("'running'"))
_BY_MEMBER = _AT_WORK.where(
    _run.agent_id.in_(sa.select(table(Agent).c.id).where(table(Agent).c.member_id == b("member")))
)
_DROP = (
    sa.update(RUNS)
    .where(_run.id == b("run"), _run.status.in_(("created", "waiting")))
    .values(status="cancelled", stop_reason=b("stop"), error=b("why"), completed_at=b("now", type_=_TIME), control=None)
)
_UNPARK = (
    sa.update(LANES)
    .where(_lane.agent_id == b("agent"))
    .values(parked_run_id=sa.case((_lane.parked_run_id == b("run"), None), else_=_lane.parked_run_id))
)


def register(
    tx: Tx,
    worker_id: str,
    host: str,
    pid: int,
    process_started: str,
    now: datetime,
    *,
    able: Collection[str] = (),
    concurrency: int = 0,
    version: str | None = None,
) -> int:
    """Enters a worker process with what it can do; returns what it lacks, for its claims."""
    tx.add(
        Worker, id=worker_id, host=host, pid=pid, process_started=process_started, started_at=now, beat_at=now,
        capabilities=sorted(able), concurrency=concurrency, version=version,
    )  # fmt: skip
    return capabilities.lacking(tx, able)


class LiveWorker(Protocol):
    """What is known of a worker that has neither left nor been declared dead."""

    id: str
    host: str
    pid: int
    process_started: str
    beat: int
    capabilities: list[str]


@relaxed
def beat(tx: Tx, worker_id: str, now: datetime) -> bool:
    """The worker is alive; False if it was declared dead in the meantime."""
    return tx.count(_BEAT, {"worker": worker_id, "now": now}) == 1


def leave(tx: Tx, worker_id: str, now: datetime) -> None:
    """A worker ends in good order; what it could not hand back is put back."""
    take_back(tx, worker_id, now)


def live(tx: Tx) -> list[LiveWorker]:
    """The workers that have neither left nor been declared dead."""
    return list(tx.rows(_LIVE))


def unmet(tx: Tx, needs: int) -> list[str]:
    """The names of capabilities that are needed together and that no live worker has together; none where one has."""
    given = capabilities.known(tx) if needs else {}
    able = [capabilities.bits(tx, [n for n in row.capabilities if n in given]) for row in live(tx)] if needs else []
    return [] if any(needs & ~each == 0 for each in able) else capabilities.names_of(given, needs)


def can(tx: Tx, names: Collection[str]) -> bool:
    """Whether a live worker has all of these capabilities."""
    return any(set(names) <= set(row.capabilities) for row in live(tx))


def running_runs(tx: Tx) -> list[str]:
    """Ids of the runs that some worker holds."""
    return [row.id for row in tx.rows(_RUNNING)]


def retry_now(tx: Tx, now: datetime) -> None:
    """Lets runs that wait because something failed (a provider, a key) try again at once."""
    for row in tx.rows(_PUT_OFF, {"now": now}):
        tx.run(_READY_NOW, {"agent": row.agent_id, "now": now})
        tx.run(_DUE_NOW, {"run": row.id})
        tx.wake = True


def controlled(tx: Tx, worker_id: str) -> list[Any]:
    """This worker's running runs that somebody wants stopped: id and control."""
    return tx.rows(_CONTROLLED, {"worker": worker_id})


def at_work(tx: Tx, *, member_id: str | None = None) -> list[Any]:
    """The runs that some worker has in hand, a coordinator's own steps left out: whose, of what, since when."""
    rows = tx.rows(_AT_WORK) if member_id is None else tx.rows(_BY_MEMBER, {"member": member_id})
    return sorted((row for row in rows if row.kind != "mission"), key=lambda row: (row.started_at, row.id))


def ask_back(tx: Tx, run_id: str, *, at_once: bool) -> None:
    """Asks the worker of a run to hand it back: at once, its calls cut off, or after its current step.

    One that is to be cancelled stays so.
    """
    tx.run(_ASK_BACK, {"run": run_id, "verb": "stop" if at_once else "pause"})
    tx.wake = True


def take_back(tx: Tx, worker_id: str, now: datetime, *, crash_limit: int | None = None) -> list[str]:
    """Frees the lanes of a worker that is gone and puts its runs back at their heads; returns their ids.

    Their open reservations are charged in full and marked estimated. With a `crash_limit` the worker died: each run
    counts that, and one with which more workers died in a row than that is set aside as a dead letter. Source: row D6.
    """
    tx.run(_GONE, {"worker": worker_id})
    tx.run(_FREE, {"worker": worker_id, "now": now})
    runs = left(tx, worker_id)
    for run in runs:
        if crash_limit is not None and run.crashes >= crash_limit and run.control != "cancel":
            died = run.crashes + 1
            why = f"{died} workers in a row died with it in hand and it got no further: it may be what kills them"
            dead_letters.bury(tx, run, why, now, crashes=died)
        else:
            tx.run(_BACK, {"run": run.id, "crashed": int(crash_limit is not None)})
            ledger.charge_open(tx, run.id, now)
    tx.wake = True
    return [run.id for run in runs]


def held(tx: Tx, worker_id: str) -> list[Any]:
    """The runs that are running for a worker, as the database has it: id, agent and fence."""
    return tx.rows(_MINE, {"worker": worker_id})


def left(tx: Tx, worker_id: str) -> list[Any]:
    """The rows of the runs that are running for a worker, by their ids."""
    return sorted(tx.rows(_LEFT, {"worker": worker_id}), key=lambda row: row.id)


def put_back(tx: Tx, worker_id: str, run: Any, now: datetime) -> bool:
    """Puts one run (as `held` gives it) of a worker that does not have it in hand back to its place.

    False if it has changed hands since. Its open reservations are charged in full and marked estimated.
    """
    params = {"agent": run.agent_id, "worker": worker_id, "lease": run.fence, "now": now}
    if tx.count(_FREE_ONE, params) != 1:
        return False
    tx.run(_BACK, {"run": run.id, "crashed": 0})
    ledger.charge_open(tx, run.id, now)
    tx.wake = True
    return True


def set_aside(tx: Tx, claim: mailbox.Claim, why: str, now: datetime) -> None:
    """Ends a run that its own worker gets nowhere with as a dead letter; its lane goes on.

    Raises LeaseLost if it has changed hands.
    """
    params = {"agent": claim.run.agent_id, "worker": claim.worker_id, "lease": claim.lease, "now": now}
    tx.must(_FREE_ONE, params, 1, LeaseLost(claim.run.id))
    dead_letters.bury(tx, claim.run, why, now, crashes=claim.run.crashes + 1)


def count_fault(tx: Tx, run_id: str) -> None:
    """Counts that a run got nowhere, as the death of a worker that had it in hand is counted."""
    tx.run(_FAULT, {"run": run_id})


def fates(tx: Tx, run_ids: Collection[str]) -> list[Any]:
    """What has become of runs: id, agent, kind, status."""
    return tx.rows(sa.select(_run.id, _run.agent_id, _run.kind, _run.status).where(_run.id.in_(sorted(run_ids))))


def cancel(tx: Tx, run_id: str, now: datetime, reason: str, stop_reason: str = "cancelled") -> str:
    """Cancels a run: at once if nobody works on it, else it is asked to stop. Returns its status afterwards.

    The agents that it has started go with it, and nobody is told of their ends.
    """
    found = mailbox.lock(tx, run_id)
    if found is None or found.status in ENDED_RUNS:
        return found.status if found else "unknown"
    _cancel_agents(tx, offspring.of_run(tx, run_id), now, reason)
    if found.status == "running":
        tx.run(_ASK, {"run": run_id, "why": reason})
        tx.wake = True
        return "running"
    tx.run(_UNPARK, {"agent": found.agent_id, "run": run_id})
    tx.run(_DROP, {"run": run_id, "stop": stop_reason, "why": reason, "now": now})
    traces.close_calls(tx, run_id, now, reason)
    tx.run(mailbox.REFRESH, {"agent": found.agent_id, "now": now})
    tx.wake = True
    approvals.void_of_run(tx, run_id, now, reason)
    rounds.ended_by_id(tx, run_id, now)
    report(tx, run_id, now)
    return "cancelled"


def cancel_started_by(tx: Tx, agent_id: str, now: datetime, reason: str) -> None:
    """Cancels the live subagents of an agent, whichever of its runs has started them; nobody is told of their ends."""
    _cancel_agents(tx, offspring.of_parent(tx, agent_id), now, reason)


def _cancel_agents(tx: Tx, subagents: Sequence[Any], now: datetime, reason: str) -> None:
    for child in subagents:
        offspring.end(tx, child.agent_id, "cancelled", now)
        offspring.suppress_reports(tx, child.agent_id)
        for its_run in offspring.open_runs(tx, child.agent_id):
            cancel(tx, its_run, now, reason)
