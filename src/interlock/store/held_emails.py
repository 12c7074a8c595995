"""E-mails that have not left when the work that wrote them, or started the agent that did, is stopped: they are given
up until a person retries them.

Delivering e-mails is in `dispatch`; retrying them in `outbox`.
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.store import offspring, outbox
from interlock.store.outbox import OUTBOX
from interlock.store.schema import Agent, Run, ToolCall, table
from interlock.store.tx import Tx

_o, _call, _r, _ag = OUTBOX.c, table(ToolCall).c, table(Run).c, table(Agent).c
_PENDING = sa.text("'pending'")
_WAITING = sa.select(_o.key).where(
    sa.text("outbox.status IN ('pending', 'sending')"), _o.surface == "email", _o.status == _PENDING,
    _o.kind == sa.text("'letter'"),
)  # fmt: skip


def _work(*columns: Any) -> sa.Select[Any]:
    """Runs with what they are work of, and other columns."""
    chosen = (
        _r.id.label("run"), _r.task_id.label("task"), _r.mission_id.label("mission"), _ag.member_id.label("member"),
        _r.kind, _r.parent_run_id,
    )  # fmt: skip
    return sa.select(*chosen, *columns).join_from(table(Run), table(Agent), _ag.id == _r.agent_id)


_BY_RUN = _work().where(_r.id == b("run_"))
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
    waiting = {row.key.removeprefix(outbox.letter_key("")): row.key for row in tx.rows(_WAITING)}
    if not waiting:
        return []
    by_letter = _work(_call.idempotency_token).join(table(ToolCall), _call.run_id == _r.id)
    written = tx.rows(by_letter.where(_call.idempotency_token.in_(sorted(waiting))))
    keys = sorted(waiting[row.idempotency_token] for row in written if _is_of(tx, row, kind, ident))
    why = f"it was held back: {reason}"
    held = [key for key in keys if tx.count(_HOLD, {"named": key, "why": why}) == 1]
    tx.wake = tx.wake or bool(held)
    return held


def _is_of(tx: Tx, run: Any, kind: str, ident: str) -> bool:
    """Whether a run is work of what was stopped: itself, or as a background agent of a run that is."""
    while run is not None:
        if getattr(run, kind) == ident:
            return True
        started_by = run.parent_run_id if run.kind == offspring.KIND else None
        run = None if started_by is None else tx.one(_BY_RUN, {"run_": started_by})
    return False
