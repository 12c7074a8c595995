"""The card of an approval: who asks, for what, why it is held, its cost so far; afterwards, who answered.

Source: row C5. The proposed action is rendered in `proposal`.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any

from interlock.core.errors import Conflict
from interlock.core.values import usd
from interlock.desk.chats.cards import Action, Card, Fact, Passage, Tone
from interlock.desk.chats.replies import headline, tone_of
from interlock.desk.chats.wording import dollars, line, moment, words
from interlock.desk.context import DeskContext, Person
from interlock.desk.reading.details import deliverable_of
from interlock.desk.reading.finding import find
from interlock.desk.reading.views import View
from interlock.desk.signoff import proposal
from interlock.desk.signoff.proposal import Before
from interlock.desk.signoff.signing import card_of, mark_of, redacted_for
from interlock.store import blobs
from interlock.store.money import days, ledger
from interlock.store.signoff import approval_queue, signatures
from interlock.store.tx import Tx

TITLES = {
    "pending": "To sign off",
    "approved": "Approved",
    "used": "Approved",
    "denied": "Denied",
    "expired": "Expired",
    "void": "No longer asked",
}
MOST_TOGETHER = 8
"""The maximum number of questions on one card."""
READ = {"untrusted": "what strangers wrote", "private": "what is ours alone"}
GRANTED = {"hour": "Approve, and for 1 hour", "task": "Approve, and for this task", "agent": "Approve, and for 30 days"}
"""The labels of buttons that also grant, by scope."""
ANSWERED = {"approve": "approved", "deny": "denied"}


@dataclass(frozen=True, slots=True)
class ApprovalDetails:
    """The data of an approval's card."""

    card: View
    answers: list[Any]
    before: Before | None
    """The previous state of the file that a call would write."""
    deliverable: str | None
    """The deliverable's text; None if there is none."""
    votes: list[Any]
    """Models' votes on these arguments, if models were asked first; none on those that a person has edited."""
    passed: str | None
    """What an answer means now, if the day in question is over."""
    alike: list[View]
    """Other open questions that may be answered together with it, as many as fit on a card; none if it stands alone."""
    alike_count: int
    """How many those are, also where it stands alone."""


async def approval_card(
    context: DeskContext,
    ident: str,
    *,
    taps: bool = True,
    at_length: bool = False,
    alone: bool = False,
    reader: Person | None = None,
) -> Card:
    """The card of an approval in its current state; with `taps`, it has buttons.

    With `at_length`, nothing is shortened; `alone`, questions that may be answered together are not shown with it.
    For a `reader` who is a viewer, the content of private questions is removed.

    Raises Unknown.
    """
    found = await context.store.read(_asked, ident, context.clock.now(), reader, alone)
    if found.card["withheld"]:
        return _withheld(found)
    passages = await asyncio.to_thread(_passages, found)
    card = found.card
    where = f"`interlock approvals {card['id']}` shows it, `interlock approve {card['id']}` answers"
    fitting, is_whole = (passages, True) if at_length else proposal.fit(passages, where)
    others = list(chain.from_iterable(map(_other, found.alike))) if taps else []
    is_together = is_whole and bool(others) and proposal.fit([*fitting, *others], where)[1]
    if is_together:
        fitting = [*fitting, *others]
    alike = _alike_in_words(found, is_together, alone)
    return Card(
        title=f"{TITLES.get(card['status'], card['status'])}: {headline(card)}",
        facts=tuple(Fact(label, line(value, 600)) for label, value in _facts(found, alike) if value),
        passages=tuple(fitting),
        actions=_actions(found, is_whole, is_together) if taps else (),
        footer=card["id"],
        tone=Tone(card["risk"].lower()) if card["status"] == "pending" else tone_of(card["status"]),
    )


def _asked(tx: Tx, ident: str, now: datetime, reader: Person | None, alone: bool) -> ApprovalDetails:
    row = approval_queue.one(tx, find(tx, "approval", ident))
    assert row is not None
    [card] = redacted_for(tx, reader, [card_of(row)])
    if card["status"] == "pending" and card["expires_at"] is not None and card["expires_at"] <= now:
        card = {**card, "status": "expired"}
    if card["withheld"]:
        return ApprovalDetails(card, [], None, None, [], None, [], 0)
    ids = [each for each in approval_queue.alike(tx, row, MOST_TOGETHER + 1) if each != row.id][: MOST_TOGETHER - 1]
    return ApprovalDetails(
        card, signatures.signatures(tx, row.id), _before(tx, card, now), _deliverable(tx, card),
        [] if row.edited else signatures.votes(tx, row.id), _passed(tx, card, now),
        [card_of(each) for each in approval_queue.some(tx, ids)] if ids and not alone else [], len(ids),
    )  # fmt: skip


def _withheld(found: ApprovalDetails) -> Card:
    """The card of a private question, for a viewer."""
    card = found.card
    return Card(
        title=f"{TITLES.get(card['status'], card['status'])}: {headline(card)}",
        facts=tuple(Fact(label, line(value, 600)) for label, value in _facts(found, None) if value),
        passages=(Passage("It was asked in private: what exactly, operators see"),),
        footer=card["id"],
        tone=Tone(card["risk"].lower()) if card["status"] == "pending" else tone_of(card["status"]),
    )


def _before(tx: Tx, card: View, now: datetime) -> Before | None:
    path = _args(card).get("path") if card["tool"] in ("file_write", "file_edit") else None
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


def _passed(tx: Tx, card: View, now: datetime) -> str | None:
    asked_about = card["request"].get("account") if card["kind"] == "BUDGET" and card["status"] == "pending" else None
    account = ledger.account(tx, asked_about) if asked_about is not None else None
    if account is None or not days.is_over(tx, account, now):
        return None
    return (
        "the day that it asks about is over: approve or deny, and work goes on with today's money; approving also "
        f"raises today's limit by {usd(int(card['request'].get('amount_microusd', 0)))}"
    )


def _deliverable(tx: Tx, card: View) -> str | None:
    ident = card["request"].get("deliverable")
    if ident is None:
        return None
    try:
        return deliverable_of(tx, ident).content.decode()
    except (UnicodeDecodeError, Conflict):
        return None


def _facts(found: ApprovalDetails, alike: str | None) -> list[tuple[str, str | None]]:
    card = found.card
    return [
        ("Risk", card["risk"]),
        ("Who asks", card["asked_by"]),
        ("In whose name", card["on_behalf_of"]),
        ("For", card["task_title"]),
        ("Goal", card["goal"]),
        ("Tool", card["tool"]),
        ("About", card["summary"] if card["does"] and card["summary"] != f"wants to call {card['tool']}" else None),
        ("Held by", ", ".join(card["rules"]) or ("the trust matrix" if card["kind"] == "TOOL_CALL" else None)),
        ("Because", "; ".join(card["reasons"])),
        ("By now", found.passed),
        ("Has read", ", ".join(READ[each] for each in card["labels"] if each in READ) or None),
        *((f"Model {vote.seat}", _vote(vote)) for vote in found.votes),
        ("Cost so far", _cost(card)),
        ("Rehearsal", _rehearsed(card)),
        ("People", f"{card['people']} must approve" if card["people"] > 1 else None),
        ("Not by", "the person in whose name it is asked" if card["not_requester"] else None),
        ("Expires", _expiry(card)),
        ("Alike", alike),
        *((ANSWERED[a.verdict].capitalize(), _signature(a)) for a in found.answers),
        ("Edited", _edited(card)),
        ("Note", None if found.answers else card["note"]),
    ]


def _edited(card: View) -> str | None:
    if not card["edited"]:
        return None
    how = f", and `interlock approve {card['id']}:{card['mark']}` approves it" if card["mark"] else ""
    return f"yes: what runs is below{how}"


def _cost(card: View) -> str | None:
    """Of the run and of the mission, where it has one."""
    of = [("run", "this run"), ("mission", "the mission")]
    return ", ".join(f"{dollars(card[f'{each}_cost_usd'])} {name}" for each, name in of if card[f"{each}_id"]) or None


def _expiry(card: View) -> str | None:
    """When the question expires, and what ends with it."""
    if card["expires_at"] is None or card["status"] != "pending":
        return None
    of_task = " and its task blocked" if card["task_id"] else ""
    lost = f"its run is cancelled{of_task}" if card["run_id"] else "its task is blocked"
    return f"{moment(card['expires_at'])}: without an answer {lost}"


def _alike_in_words(found: ApprovalDetails, is_together: bool, alone: bool) -> str | None:
    if not found.alike_count:
        return None
    more = f"{found.alike_count} more {'waits' if found.alike_count == 1 else 'wait'}"
    if is_together:
        return f"{more}: shown below"
    if alone:
        return f"{more}: open this one to answer them together"
    return f"{more}: `interlock approve {found.card['id']} --alike` shows and answers them"


def _vote(vote: Any) -> str:
    said = {"yes": "for it", "no": "against it", "lost": "could not be asked"}.get(vote.verdict or "", "not heard yet")
    return f"{said} ({vote.model})" + (f": {vote.reason}" if vote.reason else "")


def _rehearsed(card: View) -> str | None:
    if not card["simulated"]:
        return None
    return "yes: it is simulated even after approval" if card["kind"] == "TOOL_CALL" else "yes"


def _signature(answer: Any) -> str:
    note = f": {answer.note}" if answer.note else ""
    return f"by {answer.name} on {answer.surface}, {moment(answer.created_at)}{note}"


def _passages(found: ApprovalDetails) -> list[Passage]:
    card = found.card
    if card["tool"] is not None:
        edits = proposal.edits(card["args"], card["edited_args"]) if card["edited"] else []
        return [*proposal.arguments(card["tool"], _args(card), found.before), *edits, *_votes(card)]
    passages = proposal.other(card["request"])
    ident = card["request"].get("deliverable")
    if found.deliverable is not None:
        passages.append(Passage(words(found.deliverable), "Deliverable", verbatim=True))
    elif ident is not None:
        passages.append(Passage(f"read it with `interlock deliverable {ident}`", "Deliverable"))
    return passages


def _votes(card: View) -> list[Passage]:
    """Models' votes on the question. Source: row C8."""
    said = [f"{each['model']}: {each['verdict'] or 'out'}: {each['reason']}" for each in card["votes"]]
    return [Passage(words("\n".join(said)), "Votes of models", verbatim=True)] if said else []


def _other(card: View) -> list[Passage]:
    """Another question in full, on the card of one with which it may be answered."""
    head = Passage(f"{card['id']}: {headline(card)}", "Alike")
    return [head, *proposal.arguments("", _args(card), None)]


def _args(card: View) -> dict[str, Any]:
    """The effective arguments: edited ones if there are any."""
    args = card["edited_args"] if card["edited"] else card["args"]
    return args if isinstance(args, dict) else {}


def _actions(found: ApprovalDetails, is_whole: bool, is_together: bool) -> tuple[Action, ...]:
    """INVARIANT: nobody can approve with a button what the card does not show."""
    card = found.card
    if card["status"] != "pending":
        return ()
    asks = card["kind"] == "QUESTION"
    is_call = card["kind"] == "TOOL_CALL"
    target = card["id"] if card["mark"] is None else f"{card['id']}:{card['mark']}"
    approve = Action("approve", "Answer" if asks else "Approve", target, asks, has_arguments=is_call)
    deny = Action("deny", "Deny", card["id"], needs_reason=True)
    return (approve, deny, *_grants(card), *_batch(found, is_together)) if is_whole else (deny,)


def _grants(card: View) -> Iterator[Action]:
    for scope in card["scopes"]:
        yield Action("approve", GRANTED[scope], f"{card['id']}:{scope}")


def _batch(found: ApprovalDetails, is_together: bool) -> Iterator[Action]:
    """INVARIANT: the mark identifies exactly the questions on this card."""
    if is_together:
        ids = [found.card["id"], *(each["id"] for each in found.alike)]
        target = f"{ids[0]}:{mark_of(ids)}"
        yield Action("approve", f"Approve these {len(ids)} alike", target)
        yield Action("deny", f"Deny these {len(ids)} alike", target, needs_reason=True)
