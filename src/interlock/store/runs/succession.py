"""What passes to the agent that takes a task over: the subagents of the former agent, and reports it has not heard.

Who takes over is decided by the heartbeat, or by a person at the desk.
"""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.values import OPEN_RUNS
from interlock.store.mailboxes import mailbox, queues
from interlock.store.mailboxes.posting import CHILD_END, RUNS, placed
from interlock.store.runs import offspring
from interlock.store.tx import Tx

_run, _sub = RUNS.c, offspring.SUBAGENTS.c
_ADOPT = (
    sa.update(offspring.SUBAGENTS)
    .where(_sub.agent_id == b("child"), _sub.ended_at.is_(None))
    .values(parent_id=b("successor"))
)
_REDIRECT = (
    sa.update(RUNS)
    .where(_run.agent_id == b("child"), _run.report_to == b("former"), _run.status.in_(OPEN_RUNS))
    .values(report_to=b("successor"))
)
_UNHEARD = (
    sa.select(_run.id)
    .where(
        _run.agent_id == b("former"), _run.status == sa.text("'created'"), _run.kind == CHILD_END,
        _run.started_at.is_(None),
    )
    .order_by(_run.order_at, _run.seq)
)  # fmt: skip
_MOVE = (
    sa.update(RUNS)
    .where(_run.id == b("run"), _run.status == sa.text("'created'"))
    .values(agent_id=b("successor"), seq=b("seq_to"), order_at=b("order_to", type_=UTCDateTime()), due_at=None)
)


def pass_on(tx: Tx, former_id: str, successor_id: str, now: datetime) -> None:
    """Makes an agent the parent of another one's live subagents, and moves the reports of ends that wait in the former
    agent's mailbox to the end of its own.

    INVARIANT: each end still reaches one agent, once: the one that continues the work. Source: row A19.
    """
    queues.lock(tx, former_id)
    for child in offspring.of_parent(tx, former_id):
        both = {"child": child.agent_id, "former": former_id, "successor": successor_id}
        tx.run(_REDIRECT, both)
        tx.run(_ADOPT, both)
    for unheard in tx.rows(_UNHEARD, {"former": former_id}):
        place: Any = placed(tx, successor_id, now)
        moved = {"run": unheard.id, "successor": successor_id, "seq_to": place.next_seq, "order_to": place.clock_at}
        tx.run(_MOVE, moved)
        tx.wake = True
    tx.run(mailbox.REFRESH, {"agent": former_id, "now": now})
