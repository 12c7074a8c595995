"""The approval queue on the page: questions as cards, and answering them."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import RedirectResponse, Response

from interlock.core.errors import InterlockError, UsageError
from interlock.core.text import visible_json
from interlock.desk.chats import replies
from interlock.desk.chats.cards import Card
from interlock.desk.context import is_outage
from interlock.desk.reading.views import View
from interlock.desk.signoff import grants, signing, typed_arguments
from interlock.desk.signoff.asking import approval_card
from interlock.desk.signoff.targets import Target
from interlock.policy.secrets import scrub_value
from interlock.web.dependencies import require_question
from interlock.web.page.visits import Visit, whole
from interlock.web.problems import status_of

SHOWN = 10
"""How many questions a page has."""
VERBS = ("approve", "deny")
SEE_OTHER = 303


async def listed(visit: Visit) -> Response:
    """The questions that wait for a person, oldest first, each as its card."""
    query = visit.request.query_params
    found = await signing.approvals(
        visit.runtime, mission=query.get("mission"), project=visit.who.project, after=query.get("after"),
        limit=SHOWN + 1, reader=visit.person,
    )  # fmt: skip
    taps = visit.person.is_operator
    cards = [
        await approval_card(visit.runtime, each["id"], taps=taps, alone=True, reader=visit.person)
        for each in found[:SHOWN]
    ]  # fmt: skip
    last = found[SHOWN - 1]["id"] if len(found) > SHOWN else None
    return await whole(
        visit, "approvals", cards=cards, last=last, mission=query.get("mission"), is_later="after" in query
    )


async def shown(visit: Visit) -> Response:
    """One question in full; with the form for other arguments, if there may be any."""
    ident = str(visit.request.path_params["ident"])
    await require_question(visit.here, visit.who, ident)
    return await _page(visit, ident)


async def answered(visit: Visit) -> Response:
    """Takes an answer. Whatever is wrong with it is said above the form, which keeps what was typed."""
    ident, verb = (str(visit.request.path_params[name]) for name in ("ident", "verb"))
    if verb not in VERBS:
        raise UsageError(f"`{verb[:20]}` is not an answer: a question is approved or denied")
    fields = await visit.fields()
    target = Target.of(fields.get("target") or ident)
    if target.ident != ident:
        raise UsageError("the form is for another question: open this one anew")
    await require_question(visit.here, visit.who, ident)
    try:
        if target.batch is not None:
            words = fields.get("reason") or fields.get("note")
            done = await signing.answer_batch(visit.runtime, visit.person, verb, ident, target.batch, words)
            return await whole(visit, "done", card=replies.answered_together_card(done), back="/approvals")
        await _answer(visit, verb, target, fields)
    except InterlockError as error:
        if is_outage(error):
            raise
        if not await _is_repeated(visit, error, verb, target, fields):
            return await _page(visit, ident, error, fields)
    return RedirectResponse(f"/approvals/{ident}", SEE_OTHER)


async def _is_repeated(
    visit: Visit, error: InterlockError, verb: str, target: Target, fields: Mapping[str, str]
) -> bool:
    """Whether just this was answered before by the same person: with the same arguments, and the same grant."""
    if not signing.is_repeated(error, visit.person, verb):
        return False
    card = await signing.approval(visit.runtime, target.ident, reader=visit.person)
    if "args" in fields:
        return bool(card["edited"]) and card["edited_args"] == typed_arguments.parsed(fields["args"])
    if target.grant is None:
        return True
    given = await grants.grants(visit.runtime, every=True)
    return any((each["approval_id"], each["scope"]) == (card["id"], target.grant) for each in given)


async def _answer(visit: Visit, verb: str, target: Target, fields: Mapping[str, str]) -> None:
    if verb == "deny":
        await signing.deny(visit.runtime, visit.person, target.ident, reason=fields.get("reason", ""))
        return
    args = typed_arguments.parsed(fields["args"]) if "args" in fields else None
    await signing.approve(
        visit.runtime, visit.person, target.ident, note=fields.get("note"), args=args, grant=target.grant,
        mark=target.mark,
    )  # fmt: skip


async def _page(
    visit: Visit, ident: str, fault: InterlockError | None = None, typed: Mapping[str, str] | None = None
) -> Response:
    card = await _card(visit, ident)
    args = await _editable(visit, ident, card)
    values = {"card": card, "args": args, "typed": typed or {}, "fault": str(fault) if fault is not None else None}
    return await whole(visit, "approval", status_of(fault) if fault is not None else 200, **values)


async def _card(visit: Visit, ident: str) -> Card:
    taps = visit.person.is_operator
    return await approval_card(visit.runtime, ident, taps=taps, at_length=True, reader=visit.person)


async def _editable(visit: Visit, ident: str, card: Card) -> str | None:
    """The arguments of a held call as JSON for the form; None if a person may not change them there.

    What looks like a secret is shown on no page, so that such arguments are changed by the command line alone.
    """
    if not any(action.has_arguments for action in card.actions):
        return None
    found: View = await signing.approval(visit.runtime, ident, reader=visit.person)
    args: Any = found["edited_args"] if found["edited"] else found["args"]
    return await asyncio.to_thread(_typed, args) if isinstance(args, Mapping) else None


def _typed(args: Mapping[str, Any]) -> str | None:
    return visible_json(json.dumps(args, indent=2, ensure_ascii=False)) if scrub_value(args) == args else None
