"""E-mails that have not left when the work that wrote them, or started the agent that did, is stopped: they are given
up until a person retries them.

Delivering e-mails is in `dispatch`; retrying them in `outbox`.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.store.messages import outbox
from interlock.store.messages.outbox import OUTBOX
from interlock.store.runs import offspring
from interlock.store.schema import Agent, Run, ToolCall, table
from interlock.store.tx import Tx

_o, _call, _r, _ag = OUTBOX.c, table(ToolCall).c, table(Run).c, table(Agent).c
_PENDING = sa.text("'pending'")
_WAITING = sa.select(_o.key, _o.payload).where(
    sa.text("outbox.status IN ('pending', 'sending')"), _o.surface == "email", _o.status == _PENDING,
    _o.kind == sa.text("'letter'"),
)  # fmt: skip

_BY_RUN = (
    sa.select(
        _r.id.label("run"), _r.task_id.label("task"), _r.mission_id.label("mission"), _ag.member_id.label("member"),
        _r.kind, _r.parent_run_id,
    )
    .join_from(table(Run), table(Agent), _ag.id == _r.agent_id)
    .where(_r.id == b("run_"))
)  # fmt: skip
_HOLD = (
    sa.update(OUTBOX)
    .where(_o.key == b("named"), _o.status == _PENDING)
    .values(status="dead", due_at=None, holder=None, error=b("why"))
)


def hold(tx: Tx, kind: str, ident: str, reason: str) -> list[str]:
    """Holds the waiting e-mails of a run, task, mission or member (`kind`); returns their keys.

    INVARIANT: no e-mail leaves for work that was canceled or an agent in quarantine, however long it has waited; one
    that is being handed over is not called back.
    """
    writers = _writers(tx, tx.rows(_WAITING))
    keys = sorted(key for key, run_id in writers.items() if _is_of(tx, run_id, kind, ident))
    why = f"it was held back: {reason}"
    held = [key for key in keys if tx.count(_HOLD, {"named": key, "why": why}) == 1]
    tx.wake = tx.wake or bool(held)
    return held


def _writers(tx: Tx, waiting: Sequence[Any]) -> dict[str, str | None]:
    """The ids of the runs that wrote e-mails, by the keys of these."""
    found = {row.key: row.payload.get(outbox.WRITTEN_BY) for row in waiting}
    unsaid = {key.removeprefix(outbox.letter_key("")): key for key, run_id in found.items() if run_id is None}
    if unsaid:  # queued by a version that did not note the run
        written = sa.select(_call.idempotency_token, _call.run_id).where(_call.idempotency_token.in_(sorted(unsaid)))
        found |= {unsaid[row.idempotency_token]: row.run_id for row in tx.rows(written)}
    return found


def _is_of(tx: Tx, run_id: str | None, kind: str, ident: str) -> bool:
    """Whether a run is work of what was stopped: itself, or as a background agent of a run that is."""
    while run_id is not None and (run := tx.one(_BY_RUN, {"run_": run_id})) is not None:
        if getattr(run, kind) == ident:
            return True
        run_id = run.parent_run_id if run.kind == offspring.KIND else None
    return False
