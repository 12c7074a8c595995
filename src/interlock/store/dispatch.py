"""Taking messages out of the outbox: which are next, attempts on record before they are made, what came of them.

How a message is sent, and how long is waited after a failure, is the delivery's job.
"""

from collections.abc import Container
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.errors import Conflict
from interlock.store import controls
from interlock.store.conversations import CONVERSATIONS
from interlock.store.outbox import OUTBOX
from interlock.store.tx import Tx

_o, _c = OUTBOX.c, CONVERSATIONS.c
_TIME = UTCDateTime()
_NOW = b("now", type_=_TIME)
_PENDING, _SENDING = sa.text("'pending'"), sa.text("'sending'")
CHANNEL = "channel"
"""Holder of a pending message that has its whole channel wait with it."""
UNCERTAIN = "uncertain"
"""Holder of a dead letter that may have arrived all the same."""


def _open(rows: Any) -> sa.TextClause:
    """Said in the words of the index, which SQLite does not use for others."""
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
"""Of each conversation the first that is due; messages that were never posted only in their order.

What it asks of others is asked once and not for each row, so that a long backlog is looked through in one go.

INVARIANT: no letter leaves while the squad is stopped.
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
    """Another process has taken the message over."""

    def __init__(self, ident: int) -> None:
        super().__init__(f"message `{ident}` of the outbox is another process's now")


def has_open(tx: Tx, surface: str) -> bool:
    """Whether anything is still to leave by a surface, now or later."""
    return tx.one(_ANY_OPEN, {"of": surface}) is not None


def has_due(tx: Tx, surface: str, holder: str, now: datetime, underway: Container[int] = ()) -> bool:
    """Whether `take` or `open_attempts` would find something."""
    if tx.one(_NEXT, {"of": surface, "now": now, "most": 1}) is not None:
        return True
    return bool(_left_open(tx, surface, holder, now, underway))


def take(tx: Tx, surface: str, holder: str, now: datetime, most: int) -> list[Any]:
    """Up to `most` messages to be sent now, one of a conversation; an attempt at each is on record as begun.

    Each has `channel`, `address` and `project_id` of its conversation, and `root_ref` where its thread has a root.
    """
    taken = []
    for found in tx.rows(_NEXT, {"of": surface, "now": now, "most": most}):
        if tx.count(_TAKE, {"outgoing": found.id, "who": holder}) == 1:
            taken.append(tx.one(_ONE, {"outgoing": found.id}))
    return taken


def open_attempts(tx: Tx, surface: str, holder: str, now: datetime, underway: Container[int] = ()) -> list[Any]:
    """Attempts of unknown outcome: others began them and are gone, or no answer came; they are the holder's now.

    Also those that the holder took without ever hearing of it (the connection broke at the commit): all of its own
    but the ones `underway`, by id.
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
    """Notes that a message says what `revision` says; not edited again before `rest_until`.

    Raises AttemptLost.
    """
    params = {"outgoing": ident, "who": holder, "sent": revision, "called": ref, "rest": rest_until, "now": now}
    tx.must(_DELIVERED, params, 1, AttemptLost(ident))
    tx.wake = True


def put_off(tx: Tx, ident: int, holder: str, due_at: datetime, error: str, *, holds_channel: bool = False) -> None:
    """Has a message tried again at `due_at`; where its whole channel has to wait too, the attempt does not count.

    Raises AttemptLost.
    """
    params = {"outgoing": ident, "who": holder, "due": due_at, "why": error, "free": int(holds_channel)}
    tx.must(_PUT_OFF, {**params, "keeps": CHANNEL if holds_channel else None}, 1, AttemptLost(ident))


def doubt(tx: Tx, ident: int, holder: str, due_at: datetime, error: str) -> None:
    """Notes that nobody knows whether an attempt arrived: to be found out at `due_at`.

    Raises AttemptLost.
    """
    tx.must(_DOUBT, {"outgoing": ident, "who": holder, "due": due_at, "why": error}, 1, AttemptLost(ident))


def bury(tx: Tx, ident: int, holder: str, error: str, *, uncertain: bool = False) -> None:
    """Gives a message up until a person has it tried again; `uncertain` where it may have arrived.

    Raises AttemptLost.
    """
    mark = UNCERTAIN if uncertain else None
    tx.must(_BURY, {"outgoing": ident, "who": holder, "why": error, "mark": mark}, 1, AttemptLost(ident))
    tx.wake = True
