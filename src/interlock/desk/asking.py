"""The card of an approval: who asks, what exactly, why it was held, what it has cost; afterwards, who answered.

Source: row C5. What the agent proposes is spelled out in `proposal`.
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from interlock.core.errors import Conflict
from interlock.desk import proposal
from interlock.desk.cards import Action, Card, Fact, Passage, Tone
from interlock.desk.details import handed
from interlock.desk.finding import find
from interlock.desk.office import Office
from interlock.desk.proposal import Before
from interlock.desk.replies import headline, tone_of
from interlock.desk.signing import card_of
from interlock.desk.views import View
from interlock.desk.wording import dollars, line, moment, words
from interlock.store import asked, blobs, signatures
from interlock.store.tx import Tx

TITLES = {
    "pending": "To sign off",
    "approved": "Approved",
    "used": "Approved",
    "denied": "Denied",
    "expired": "Expired",
    "void": "No longer asked",
}
ANSWERED = {"approve": "approved", "deny": "denied"}


@dataclass(frozen=True, slots=True)
class Asked:
    """Everything that a card says of an approval."""

    card: View
    answers: list[Any]
    before: Before | None
    """Of the file that a call would write."""
    deliverable: str | None
    """Its text; None where there is none, or it is no text."""


async def approval_card(office: Office, ident: str, *, taps: bool = True) -> Card:
    """An approval as it stands now; with `taps` it can be answered where it is shown.

    Raises Unknown.
    """
    found = await office.store.read(_asked, ident, office.clock.now())
    passages = await asyncio.to_thread(_passages, found)
    card = found.card
    where = f"`interlock approvals` shows it, `interlock approve {card['id']}` answers"
    shown, is_whole = proposal.fitted(passages, where)
    return Card(
        title=f"{TITLES.get(card['status'], card['status'])}: {headline(card)}",
        facts=tuple(Fact(label, line(value, 600)) for label, value in _facts(found) if value),
        passages=tuple(shown),
        actions=_actions(card, is_whole) if taps else (),
        footer=card["id"],
        tone=Tone(card["risk"].lower()) if card["status"] == "pending" else tone_of(card["status"]),
    )


def _asked(tx: Tx, ident: str, now: datetime) -> Asked:
    row = asked.one(tx, find(tx, "approval", ident))
    assert row is not None
    card = card_of(row)
    return Asked(card, signatures.signatures(tx, row.id), _before(tx, card, now), _deliverable(tx, card))


def _before(tx: Tx, card: View, now: datetime) -> Before | None:
    path = _args(card).get("path") if card["tool"] == "file_write" else None
    if not isinstance(path, str):
        return None
    found = blobs.as_of(tx, card["project_id"], path, card["answered_at"] or now)
    data = blobs.get(tx, found.blob) if found is not None and found.blob is not None else None
    if found is None or data is None:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\x00"
    return Before(None if "\x00" in text else text, found.version)


def _deliverable(tx: Tx, card: View) -> str | None:
    ident = card["request"].get("deliverable")
    if ident is None:
        return None
    try:
        return handed(tx, ident).content.decode()
    except (UnicodeDecodeError, Conflict):
        return None


def _facts(found: Asked) -> list[tuple[str, str | None]]:
    card = found.card
    return [
        ("Risk", card["risk"]),
        ("Who asks", card["asked_by"]),
        ("For", card["task_title"]),
        ("Goal", card["goal"]),
        ("Tool", card["tool"]),
        ("Held by", ", ".join(card["rules"]) or ("the trust matrix" if card["kind"] == "TOOL_CALL" else None)),
        ("Because", "; ".join(card["reasons"])),
        ("Cost so far", f"{dollars(card['run_cost_usd'])} this run, {dollars(card['mission_cost_usd'])} the mission"),
        ("Rehearsal", _rehearsed(card)),
        ("People", f"{card['people']} must approve" if card["people"] > 1 else None),
        ("Not by", "the person who started the mission" if card["not_requester"] else None),
        ("Expires", moment(card["expires_at"]) if card["expires_at"] and card["status"] == "pending" else None),
        *((ANSWERED[a.verdict].capitalize(), _signature(a)) for a in found.answers),
        ("Edited", "yes: what runs is below" if card["edited"] else None),
        ("Note", None if found.answers else card["note"]),
    ]


def _rehearsed(card: View) -> str | None:
    if not card["simulated"]:
        return None
    return "yes: it is simulated even after approval" if card["kind"] == "TOOL_CALL" else "yes"


def _signature(answer: Any) -> str:
    note = f": {answer.note}" if answer.note else ""
    return f"by {answer.name} on {answer.surface}, {moment(answer.created_at)}{note}"


def _passages(found: Asked) -> list[Passage]:
    card = found.card
    if card["tool"] is not None:
        return proposal.arguments(card["tool"], _args(card), found.before)
    passages = proposal.other(card["request"])
    ident = card["request"].get("deliverable")
    if found.deliverable is not None:
        passages.append(Passage(words(found.deliverable), "Deliverable", verbatim=True))
    elif ident is not None:
        passages.append(Passage(f"read it with `interlock deliverable {ident}`", "Deliverable"))
    return passages


def _args(card: View) -> dict[str, Any]:
    """The arguments that run, or would."""
    args = card["edited_args"] if card["edited"] else card["args"]
    return args if isinstance(args, dict) else {}


def _actions(card: View, is_whole: bool) -> tuple[Action, ...]:
    """INVARIANT: nobody approves with a tap what the card does not show."""
    if card["status"] != "pending":
        return ()
    asks = card["kind"] == "QUESTION"
    is_call = card["kind"] == "TOOL_CALL"
    approve = Action("approve", "Answer" if asks else "Approve", card["id"], asks, has_arguments=is_call)
    deny = Action("deny", "Deny", card["id"], needs_reason=True)
    return (approve, deny) if is_whole else (deny,)
