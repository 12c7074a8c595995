"""Undelivered messages for people: listing the outbox, and retrying dead messages."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from interlock.core.errors import Conflict, NotFound
from interlock.desk.context import DeskContext, Person, require_operator
from interlock.desk.reading.finding import as_id
from interlock.desk.reading.views import View, view
from interlock.store.auditing import audit
from interlock.store.messages import conversations, dispatch, outbox
from interlock.store.tx import Tx

MOST = 200
"""The most that one list has."""
WORDS = {"pending": "waits", "sending": "being sent", "dead": "dead"}


async def outgoing(context: DeskContext, *, dead_only: bool = False) -> list[View]:
    """Undelivered messages, oldest first; with `dead_only`, only those that are no longer tried.

    `state` is waits, being sent, dead, or uncertain (dead, but possibly delivered).
    """
    return [_view(row) for row in await context.store.read(outbox.listing, dead_only=dead_only, most=MOST)]


def _view(row: Any) -> View:
    state = "uncertain" if row.holder == dispatch.UNCERTAIN else WORDS[row.status]
    if row.surface == "email":
        to, what = ", ".join([*row.payload["to"], *row.payload["cc"]]), f"e-mail: {row.payload['subject']}"
    else:
        to, what = row.channel, row.subject or "reply"
    return view(
        row, "id", "surface", "kind", "attempts", "due_at", "error", "mission_id", "created_at", state=state, to=to,
        what=what,
    )  # fmt: skip


async def retry(context: DeskContext, person: Person, ident: str) -> View:
    """Retries a dead message, even an uncertain one: {id, surface, state}.

    Raises NotFound, Conflict for a message that is not dead, Refused.
    """
    require_operator(person, "have messages tried again")
    text = as_id(ident)
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise NotFound("message", ident, "outbox")
    return await context.store.write(_retry, person, int(text), context.clock.now())


async def retry_all(context: DeskContext, person: Person) -> list[View]:
    """Retries, in order, every dead chat message that certainly did not arrive; returns them.

    E-mails are not retried: the sender was told of the failure, and may have found another way.

    Raises Refused.
    """
    require_operator(person, "have messages tried again")
    revived, after = list[View](), 0
    while page := await context.store.read(outbox.dead, after, MOST):
        after = page[-1].id
        lost = [row.id for row in page if row.kind != "letter" and row.holder != dispatch.UNCERTAIN]
        revived += await context.store.write(_retry_some, person, lost, context.clock.now()) if lost else []
    return revived


def _retry_some(tx: Tx, person: Person, idents: Sequence[int], now: datetime) -> list[View]:
    """Revives those that are still dead: somebody else may have had them tried again in the meantime."""
    rows = [outbox.row(tx, each) for each in idents]
    return [_retry(tx, person, row.id, now) for row in rows if row is not None and row.status == "dead"]


def _retry(tx: Tx, person: Person, ident: int, now: datetime) -> View:
    row = outbox.row(tx, ident)
    if row is None:
        raise NotFound("message", str(ident), "outbox")
    if not outbox.revive(tx, ident):
        state = "delivered already" if row.status == "delivered" else "tried already"
        raise Conflict(f"message `{ident}` is {state}: only a dead one can be retried")
    place = conversations.conversation(tx, row.conversation_id)
    assert place is not None
    audit.note(
        tx, "MESSAGE_RETRIED", person.actor, now, project_id=place.project_id, mission_id=place.mission_id,
        subject=row.key, surface=person.surface, was=row.error,
    )  # fmt: skip
    return {"id": ident, "surface": row.surface, "state": WORDS["pending"]}
