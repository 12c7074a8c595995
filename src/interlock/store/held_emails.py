"""E-mails that have not left when the work that wrote them is stopped: they are given up until a person retries them.

Delivering e-mails is in `dispatch`; retrying them in `outbox`.
"""

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.store import outbox
from interlock.store.outbox import OUTBOX
from interlock.store.schema import Agent, Run, ToolCall, table
from interlock.store.tx import Tx

_o, _call, _r, _ag = OUTBOX.c, table(ToolCall).c, table(Run).c, table(Agent).c
_PENDING = sa.text("'pending'")
_WAITING = sa.select(_o.key).where(
    sa.text("outbox.status IN ('pending', 'sending')"), _o.surface == "email", _o.status == _PENDING,
    _o.kind == sa.text("'letter'"),
)  # fmt: skip
_WHOSE = {
    "run": _r.id == b("ident"),
    "task": _r.task_id == b("ident"),
    "mission": _r.mission_id == b("ident"),
    "member": _r.agent_id.in_(sa.select(_ag.id).where(_ag.member_id == b("ident"))),
}
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
    written = (
        sa.select(_call.idempotency_token)
        .join_from(table(ToolCall), table(Run), _call.run_id == _r.id)
        .where(_WHOSE[kind], _call.idempotency_token.in_(sorted(waiting)))
    )
    keys = sorted(waiting[row.idempotency_token] for row in tx.rows(written, {"ident": ident}))
    why = f"it was held back: {reason}"
    held = [key for key in keys if tx.count(_HOLD, {"named": key, "why": why}) == 1]
    tx.wake = tx.wake or bool(held)
    return held
