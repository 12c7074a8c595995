"""Notifications of undelivered messages: an alert for operators, and a message to the person who started the mission.

When to postpone or give up is decided in `attempts`.
"""

from datetime import datetime
from typing import Any

from interlock.desk.chats import replies
from interlock.desk.chats.cards import Tone
from interlock.desk.chats.requests import Place
from interlock.store.auditing import audit
from interlock.store.messages import conversations, inbox, outbox
from interlock.store.tx import Tx
from interlock.store.work import tasks

SHUT = "SURFACE_SHUT"
"""The kind of an alert that nothing gets through to a surface."""


def alert_unavailable(tx: Tx, row: Any, why: str, now: datetime) -> None:
    """Alerts people, once per outage, that nothing can be delivered to a surface until one of them acts."""
    audit.alert(
        tx, now, project_id=row.project_id, severity="critical", kind=SHUT, text=f"{why}; what is to be said there "
        "waits, and nothing of it is lost: `interlock outbox` lists it", key=f"shut:{row.surface}", subject=row.surface,
    )  # fmt: skip


def settle_unavailable(tx: Tx, surface: str, now: datetime) -> None:
    """Settles that alert after a successful delivery."""
    audit.settle(tx, SHUT, surface, now)


def alert_undelivered(tx: Tx, row: Any, why: str, now: datetime) -> None:
    """Alerts people about a message that is no longer tried, unless it is an alert itself."""
    if row.kind == "alert":
        return
    text = f"a message by {row.surface} could not be delivered: {why}: see `interlock outbox --dead`"
    audit.alert(
        tx, now, project_id=row.project_id, severity="warning", kind="DEAD_LETTER", text=text, key=f"dead:{row.id}",
        subject=row.key,
    )  # fmt: skip
    if row.kind == "mission":
        _tell_who_asked(tx, row, why, now)


def _tell_who_asked(tx: Tx, row: Any, why: str, now: datetime) -> None:
    """Also replies where the mission was requested, in case its thread is unreachable."""
    root = tasks.task(tx, row.subject.partition(":")[2])
    request = root.idempotency_key.partition(":chat:")[2] if root is not None else ""
    payload = inbox.payload(tx, request) if request else None
    if payload is None:
        return
    place = Place(**payload["place"])
    if (place.surface, place.channel) != (row.surface, row.channel):
        return
    card = replies.notice(
        "The mission has no thread here", f"{why}. It goes on all the same: its questions are among the approvals. "
        "Once that is put right, `interlock outbox retry --all` writes the thread.", tone=Tone.YELLOW,
    )  # fmt: skip
    where = conversations.reply_place(tx, place.surface, place.channel, place.user, place.thread, row.project_id, now)
    outbox.enqueue(tx, where, {"card": card.to_json(), **place.reply}, f"unwritten:{row.key}", now)
