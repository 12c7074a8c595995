"""Dequeues messages from the outbox; delivery attempts are recorded before they are made, their outcomes afterwards.

Sending, and backoff after a failure, is up to `integrations.delivery`.
"""

from collections.abc import Container
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.errors import Conflict
from interlock.store.mailboxes import controls
from interlock.store.messages.conversations import CONVERSATIONS
from interlock.store.messages.outbox import OUTBOX
from interlock.store.tx import Tx

_o, _c = OUTBOX.c, CONVERSATIONS.c
_TIME = UTCDateTime()
_NOW = b("now", type_=_TIME)
_PENDING, _SENDING = sa.text("'pending'"), sa.text("'sending'")
CHANNEL = "channel"
"""The holder of a pending message that blocks its whole channel."""
UNCERTAIN = "uncertain"
"""The holder of a dead letter that may have arrived."""


def _open(rows: Any) -> sa.TextClause:
    """Worded exactly as in the partial index, or SQLite would not use it."""
    return sa.text(f"{rows.name}.status IN ('pending', 'sending')")


_busy, _unsent, _held, _held_in = OUTBOX.alias("busy"), OUTBOX.alias("unsent"), OUTBOX.alias("held"), (
    CONVERSATIONS.alias("held_in")
)  # fmt: skip
_ARE_BUSY = sa.select(_busy.c.conversation_id).where(
    _open(_busy), _busy.c.surface == b("of"), _busy.c.status == _SENDING
)  # fmt: skip
_FIRST_UNSENT = (
    sa.select(sa.func.min(_unsent.c.id))
    .where(
        _open(_unsent), _unsent.c.surface == b("of"), _unsent.c.status == _PENDING, _unsent.c.remote_ref.is_(None)
    )
    .group_by(_unsent.c.conversation_id)
)  # fmt: skip
_ARE_HELD = (
    sa.select(_held_in.c.channel)
    .join_from(_held, _held_in, _held.c.conversation_id == _held_in.c.id)
    .where(
        _open(_held),
        _held.c.surface == b("of"),
        _held.c.status == _PENDING,
        _held.c.holder == sa.text(f"'{CHANNEL}'"),
        _held.c.due_at > _NOW,
    )
)
_NEXT = (
    sa.select(sa.func.min(_o.id).label("id"))
    .join_from(OUTBOX, CONVERSATIONS, _o.conversation_id == _c.id)
    .where(
        _open(OUTBOX),
        _o.surface == b("of"),
        _o.status == _PENDING,
        sa.or_(_o.due_at.is_(None), _o.due_at <= _NOW),
        sa.or_(_o.remote_ref.is_not(None), _o.id.in_(_FIRST_UNSENT)),
        sa.or_(_o.kind != sa.text("'letter'"), controls.MAY_ACT),
        _o.conversation_id.not_in(_ARE_BUSY),
        _c.channel.not_in(_ARE_HELD),
    )
    .group_by(_o.conversation_id)
    .order_by(sa.func.min(_o.id))
    .limit(b("most"))
)
"""The first due message of each conversation; messages that were never posted leave in order.

Its subqueries are uncorrelated, so that a long backlog is read in one pass.

INVARIANT: no e-mail leaves while the squad is stopped.
"""
_ANY_OPEN = sa.select(_o.id).where(_open(OUTBOX), _o.surface == b("of")).limit(1)
_TAKE = (
    sa.update(OUTBOX)
    .where(_o.id == b("outgoing"), _o.status == _PENDING)
    .values(status="sending", holder=b("who"), attempts=_o.attempts + 1, due_at=None)
)
_root = OUTBOX.alias("root")
_ATTEMPT = (
    sa.select(OUTBOX, _c.channel, _c.address, _c.project_id, _root.c.remote_ref.label("root_ref"))
    .join_from(OUTBOX, CONVERSATIONS, _o.conversation_id == _c.id)
    .join(
        _root,
        sa.and_(
            _root.c.conversation_id == _o.conversation_id, _root.c.kind == sa.text("'mission'"), _root.c.id != _o.id
        ),
        isouter=True,
    )
)
_ONE = _ATTEMPT.where(_o.id == b("outgoing"))
_OPEN = _ATTEMPT.where(
    _open(OUTBOX),
    _o.surface == b("of"),
    _o.status == _SENDING,
    sa.or_(_o.due_at.is_(None), _o.due_at <= _NOW),
).order_by(_o.id)
_MINE = sa.and_(_o.id == b("outgoing"), _o.status == _SENDING, _o.holder == b("who"))
_ADOPT = (
    sa.update(OUTBOX)
    .where(_o.id == b("outgoing"), _o.status == _SENDING, sa.func.coalesce(_o.holder, "") == b("seen"))
    .values(holder=b("who"), attempts=_o.attempts + 1, due_at=None)
)
_DELIVERED = (
    sa.update(OUTBOX)
    .where(_MINE)
    .values(
        status=sa.case((_o.revision > b("sent"), _PENDING), else_=sa.text("'delivered'")),
        delivered=b("sent"),
        remote_ref=sa.func.coalesce(b("called", type_=sa.String()), _o.remote_ref),
        attempts=0,
        holder=None,
        error=None,
        due_at=b("rest", type_=_TIME),
        delivered_at=_NOW,
    )
)
_PUT_OFF = (
    sa.update(OUTBOX)
    .where(_MINE)
    .values(
        status="pending", holder=b("keeps"), due_at=b("due", type_=_TIME), error=b("why"),
        attempts=_o.attempts - b("free", type_=sa.Integer()),
    )
)  # fmt: skip
_DOUBT = sa.update(OUTBOX).where(_MINE).values(holder=None, due_at=b("due", type_=_TIME), error=b("why"))
_BURY = sa.update(OUTBOX).where(_MINE).values(status="dead", holder=b("mark"), due_at=None, error=b("why"))


class AttemptLost(Conflict):
    """Another process has taken over the message."""

    def __init__(self, ident: int) -> None:
        super().__init__(f"message `{ident}` of the outbox is another process's now")


def has_open(tx: Tx, surface: str) -> bool:
    """Whether any message of a surface is undelivered, due now or later."""
    return tx.one(_ANY_OPEN, {"of": surface}) is not None


def has_due(tx: Tx, surface: str, holder: str, now: datetime, underway: Container[int] = ()) -> bool:
    """Whether `take` or `open_attempts` would find anything."""
    if tx.one(_NEXT, {"of": surface, "now": now, "most": 1}) is not None:
        return True
    return bool(_left_open(tx, surface, holder, now, underway))


def take(tx: Tx, surface: str, holder: str, now: datetime, most: int) -> list[Any]:
    """Claims up to `most` due messages, one per conversation, and records the start of an attempt at each.

    Each has `channel`, `address` and `project_id` of its conversation, and `root_ref` if its thread has a root.
    """
    taken = []
    for found in tx.rows(_NEXT, {"of": surface, "now": now, "most": most}):
        if tx.count(_TAKE, {"outgoing": found.id, "who": holder}) == 1:
            taken.append(tx.one(_ONE, {"outgoing": found.id}))
    return taken


def open_attempts(tx: Tx, surface: str, holder: str, now: datetime, underway: Container[int] = ()) -> list[Any]:
    """Claims attempts of unknown outcome: those of dead processes, and those that got no answer.

    Includes the holder's own, if the connection broke at the commit of the claim: all that are not `underway` (ids).
    """
    found = _left_open(tx, surface, holder, now, underway)
    params = [{"outgoing": each.id, "who": holder, "seen": each.holder or ""} for each in found]
    return [each for each, adopt in zip(found, params, strict=True) if tx.count(_ADOPT, adopt) == 1]


def _left_open(tx: Tx, surface: str, holder: str, now: datetime, underway: Container[int]) -> list[Any]:
    found = tx.rows(_OPEN, {"of": surface, "now": now})
    return [each for each in found if each.holder != holder or each.id not in underway]


def delivered(
    tx: Tx, ident: int, holder: str, revision: int, ref: str | None, now: datetime, *, rest_until: datetime | None
) -> None:
    """Records that `revision` of a message was delivered; it is not edited again before `rest_until`.

    Raises AttemptLost.
    """
    params = {"outgoing": ident, "who": holder, "sent": revision, "called": ref, "rest": rest_until, "now": now}
    tx.must(_DELIVERED, params, 1, AttemptLost(ident))
    tx.wake = True


def put_off(tx: Tx, ident: int, holder: str, due_at: datetime, error: str, *, holds_channel: bool = False) -> None:
    """Retries a message at `due_at`; if its whole channel has to wait, the attempt is not counted.

    Raises AttemptLost.
    """
    params = {"outgoing": ident, "who": holder, "due": due_at, "why": error, "free": int(holds_channel)}
    tx.must(_PUT_OFF, {**params, "keeps": CHANNEL if holds_channel else None}, 1, AttemptLost(ident))


def doubt(tx: Tx, ident: int, holder: str, due_at: datetime, error: str) -> None:
    """Records that the outcome of an attempt is unknown; it is to be checked at `due_at`.

    Raises AttemptLost.
    """
    tx.must(_DOUBT, {"outgoing": ident, "who": holder, "due": due_at, "why": error}, 1, AttemptLost(ident))


def bury(tx: Tx, ident: int, holder: str, error: str, *, uncertain: bool = False) -> None:
    """Gives up on a message until a person retries it; `uncertain` if it may have arrived.

    Raises AttemptLost.
    """
    mark = UNCERTAIN if uncertain else None
    tx.must(_BURY, {"outgoing": ident, "who": holder, "why": error, "mark": mark}, 1, AttemptLost(ident))
    tx.wake = True
