"""The outbox: outgoing messages to people, written in the transaction of the change that they report.

Writing is cheap: pipelined statements, which insert nothing if no conversation is concerned. Dequeuing is in
`dispatch`; the text is rendered at delivery.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlalchemy.dialects.postgresql import insert
from sqlmodel import UTCDateTime

from interlock.store.messages import conversations
from interlock.store.messages.conversations import CONVERSATIONS
from interlock.store.schema import Approval, Outgoing, Run, table
from interlock.store.tx import Tx

OUTBOX, APPROVALS, RUNS = table(Outgoing), table(Approval), table(Run)
_o, _c, _ap = OUTBOX.c, CONVERSATIONS.c, APPROVALS.c
_TIME = UTCDateTime()
_NAMES = (
    "key", "surface", "conversation_id", "kind", "subject", "payload", "revision", "delivered", "status", "attempts",
    "created_at",
)  # fmt: skip
_CHANGED = {
    "revision": _o.revision + 1,
    "status": sa.case((_o.status == sa.text("'delivered'"), sa.text("'pending'")), else_=_o.status),
}
"""INVARIANT: a dead letter stays dead; a message that is being sent is checked for changes afterwards."""
WRITTEN_BY = "run_id"
"""The key in the payload of an e-mail that holds the id of the run that wrote it."""


def _rows(key: Any, kind: Any, subject: Any, payload: Any) -> sa.Select[Any]:
    """New rows, one for each conversation of the query that continues from here."""
    return sa.select(
        key, _c.surface, _c.id, kind, subject, payload, sa.text("1"), sa.text("0"), sa.text("'pending'"), sa.text("0"),
        b("now", type_=_TIME),
    )  # fmt: skip


_SUBJECT, _KIND = b("about", type_=sa.String()), b("sort", type_=sa.String())
_NOTHING = sa.literal({}, _o.payload.type)
_NEWS = _rows(_SUBJECT + "@" + _c.id, _KIND, _SUBJECT, _NOTHING)


def _tell(listeners: sa.ColumnElement[bool]) -> Any:
    query = _NEWS.where(listeners)
    return (
        insert(OUTBOX)
        .from_select(_NAMES, query, include_defaults=False)
        .on_conflict_do_update(index_elements=[_o.key], set_=_CHANGED)
    )


_TELL_MISSION = _tell(sa.and_(_c.mission_id == b("mission"), _c.role == sa.text("'mission'")))
_TELL_ROOMS = _tell(conversations.is_notified_of(b("project", type_=sa.String())))
_ASKER = sa.select(_c.id).join_from(RUNS, CONVERSATIONS, _c.id == RUNS.c.dm_conversation_id).where(
    RUNS.c.id == b("run")
)  # fmt: skip
_TELL_THERE = _tell(_c.id == b("conversation", type_=sa.String()))
_TOUCH = sa.update(OUTBOX).where(_o.subject == b("about")).values(_CHANGED)
_TOUCH_VOIDED = (
    sa.update(OUTBOX)
    .where(
        _o.subject.in_(
            sa.select(sa.literal("approval:", sa.String()) + _ap.id).where(
                _ap.run_id == b("run"), _ap.status == "void", _ap.answered_at == b("now", type_=_TIME)
            )
        )
    )
    .values(_CHANGED)
)
_SAY = (
    insert(OUTBOX)
    .from_select(
        _NAMES,
        _rows(b("named", type_=sa.String()), _KIND, sa.null(), b("what", type_=_o.payload.type)).where(
            _c.id == b("conversation")
        ),
        include_defaults=False,
    )
    .on_conflict_do_nothing()
)
_mission = sa.literal("mission:", sa.String()) + _c.mission_id
_approval = sa.literal("approval:", sa.String()) + _ap.id
_CATCH_UP_ROOTS = (
    insert(OUTBOX)
    .from_select(
        _NAMES,
        _rows(_mission + "@" + _c.id, sa.text("'mission'"), _mission, _NOTHING).where(
            _c.role == "mission", _c.id == b("room", type_=sa.String()) + "/" + _c.mission_id
        ),
        include_defaults=False,
    )
    .on_conflict_do_nothing()
)
_CATCH_UP_APPROVALS = (
    insert(OUTBOX)
    .from_select(
        _NAMES,
        _rows(_approval + "@" + _c.id, sa.text("'approval'"), _approval, _NOTHING)
        .join_from(
            CONVERSATIONS,
            APPROVALS,
            sa.or_(
                sa.and_(_c.role == "mission", _c.id == b("room", type_=sa.String()) + "/" + _ap.mission_id),
                sa.and_(_c.id == b("room"), _ap.mission_id.is_(None), conversations.is_notified_of(_ap.project_id)),
            ),
        )
        .where(_ap.status == sa.text("'pending'"))
        .order_by(_ap.created_at, _ap.id),
        include_defaults=False,
    )
    .on_conflict_do_nothing()
)
_ROW = sa.select(OUTBOX).where(_o.id == b("outgoing"))
_DEAD = sa.select(OUTBOX).where(_o.id > b("after"), _o.status == "dead").order_by(_o.id).limit(b("most"))
_BY_KEY = sa.select(OUTBOX).where(_o.key == b("named"))
_REVIVE = (
    sa.update(OUTBOX)
    .where(_o.id == b("outgoing"), _o.status == "dead")
    .values(status="pending", attempts=0, due_at=None, holder=None, error=None)
)
_REPEAT = (
    sa.update(OUTBOX)
    .where(_o.key == b("named"), _o.status == "dead")
    .values(
        status="pending", attempts=0, due_at=None, holder=None, error=None, payload=b("what", type_=_o.payload.type)
    )
)


def notify(tx: Tx, kind: str, subject: str, now: datetime, *, project_id: str, mission_id: str | None = None) -> None:
    """Enqueues a message about `subject` to every conversation of a mission; without one, to every room of the project.

    A conversation that has one already gets an edit of it instead.
    """
    params = {"sort": kind, "about": subject, "now": now}
    if mission_id is not None:
        tx.run_and_wake(_TELL_MISSION, {**params, "mission": mission_id})
    else:
        tx.run_and_wake(_TELL_ROOMS, {**params, "project": project_id})


def place_of_asker(tx: Tx, run_id: str) -> str | None:
    """The connector conversation in which a person talks with a run's agent; None if there is none."""
    row = tx.one(_ASKER, {"run": run_id})
    return None if row is None else str(row.id)


def notify_conversation(tx: Tx, kind: str, subject: str, conversation_id: str, now: datetime) -> None:
    """Enqueues a message to one conversation."""
    tx.run_and_wake(_TELL_THERE, {"sort": kind, "about": subject, "conversation": conversation_id, "now": now})


def touch(tx: Tx, subject: str) -> None:
    """Schedules an edit of every message about `subject`."""
    tx.run_and_wake(_TOUCH, {"about": subject})


def touch_voided(tx: Tx, run_id: str, now: datetime) -> None:
    """The same for the approvals of a run that were voided at this time."""
    tx.run_and_wake(_TOUCH_VOIDED, {"run": run_id, "now": now})


def enqueue(
    tx: Tx, conversation_id: str, payload: Mapping[str, Any], key: str, now: datetime, *, kind: str = "text"
) -> None:
    """Enqueues a message with a given content, once for each `key`; `payload` is `{"card": card.to_json(), …}`."""
    params = {"conversation": conversation_id, "named": key, "sort": kind, "what": dict(payload), "now": now}
    tx.run_and_wake(_SAY, params)


def letter(
    tx: Tx, key: str, what: Mapping[str, Any], now: datetime, project_id: str, run_id: str | None = None
) -> None:
    """Enqueues an e-mail, once for each `key`. `run_id` is that of the run that wrote it."""
    conversation = conversations.of_letter(tx, key, project_id, now)
    enqueue(tx, conversation, {**what, WRITTEN_BY: run_id}, letter_key(key), now, kind="letter")


def letter_key(key: str) -> str:
    """The key of an e-mail's row."""
    return f"letter:{key}"


def catch_up(tx: Tx, surface: str, channel: str, now: datetime) -> None:
    """Enqueues, for a new room, the missions that have a thread there and all open questions."""
    params = {"room": f"{surface}:{channel}", "now": now}
    tx.run_and_wake(_CATCH_UP_ROOTS, params)
    tx.run_and_wake(_CATCH_UP_APPROVALS, params)


def row(tx: Tx, ident: int) -> Any | None:
    """One row of the outbox."""
    return tx.one(_ROW, {"outgoing": ident})


def by_key(tx: Tx, key: str) -> Any | None:
    """The row with this key."""
    return tx.one(_BY_KEY, {"named": key})


def listing(tx: Tx, *, dead_only: bool = False, most: int = 200) -> list[Any]:
    """Undelivered messages (or only dead letters), with their channels, oldest first."""
    states = ("dead",) if dead_only else ("pending", "sending", "dead")
    query = (
        sa.select(OUTBOX, _c.channel, _c.mission_id)
        .join_from(OUTBOX, CONVERSATIONS, _o.conversation_id == _c.id)
        .where(_o.status.in_(states))
        .order_by(_o.id)
        .limit(most)
    )
    return tx.rows(query)


def dead(tx: Tx, after: int = 0, most: int = 200) -> list[Any]:
    """A page of the dead letters with ids above `after`, oldest first."""
    return tx.rows(_DEAD, {"after": after, "most": most})


def revive(tx: Tx, ident: int) -> bool:
    """Retries a dead letter; False if there is none with that id."""
    is_revived = tx.count(_REVIVE, {"outgoing": ident}) == 1
    tx.wake = tx.wake or is_revived
    return is_revived


def repeat_letter(tx: Tx, key: str, approval_id: str) -> None:
    """Retries an undeliverable e-mail after a person's approval, once for each approval."""
    found = by_key(tx, letter_key(key))
    if found is not None and found.status == "dead" and found.payload.get("repeated_by") != approval_id:
        what = {**found.payload, "repeated_by": approval_id}
        tx.run_and_wake(_REPEAT, {"named": found.key, "what": what})
