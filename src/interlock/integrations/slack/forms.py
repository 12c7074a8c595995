"""Opens the forms of buttons that need input; submissions are parsed in `modals`."""

import logging
from collections.abc import Mapping
from typing import Any

from interlock.core.errors import InterlockError
from interlock.desk.chats.reception import Reception
from interlock.desk.chats.requests import Place
from interlock.desk.signoff import signing
from interlock.integrations.slack import intake, modals
from interlock.integrations.slack.api import Api, Failure, response_of
from interlock.integrations.slack.blocks import EDIT
from interlock.integrations.slack.text import escape
from interlock.policy.secrets import scrub_value

_TWICE = frozenset({"exchanged_trigger_id", "trigger_exchanged"})
"""The same tap has opened its form already."""
_SLOW = frozenset({"expired_trigger_id", "trigger_expired"})
_log = logging.getLogger(__name__)


class NoForm(InterlockError):
    """There is no form for this button, or not here."""


async def offer(api: Api, reception: Reception, body: intake.Payload, action: intake.Payload) -> None:
    """Opens the form of a button for the person who pressed it, or tells them in private why not.

    If that person may not act, the request goes to the reception, which refuses it; no form is shown.
    """
    tap, place = intake.of_tap(body, action), intake.place_of_tap(body)
    if not await reception.may_act(tap.identity):
        await reception.accept(tap)
        return
    try:
        form = await _form(reception, action, place)
        await response_of(api.client.views_open(trigger_id=body["trigger_id"], view=form))
    except Failure as error:
        if error.code not in _TWICE:
            await _tell(api, place, "that took too long" if error.code in _SLOW else str(error))
    except NoForm as error:
        await _tell(api, place, str(error), again=False)
    except InterlockError as error:
        await _tell(api, place, str(error))


async def _form(reception: Reception, action: intake.Payload, place: Place) -> dict[str, Any]:
    target = str(action["value"])
    if not str(action["action_id"]).startswith(f"{EDIT}:"):
        return modals.words_form(intake.verb(action), target, place)
    target = target.partition(":")[0]
    card = await signing.approval(reception.runtime, target)
    args = card["edited_args"] if card["edited"] else card["args"]
    if card["status"] != "pending":
        raise NoForm(f"this is {card['status']} already")
    if not isinstance(args, Mapping):
        raise NoForm("this has no arguments to edit")
    elsewhere = f"edit it with `interlock approve {target} --args JSON`"
    if scrub_value(args) != args:
        raise NoForm(f"the arguments hold what looks like a secret, which no chat shows: {elsewhere}")
    form = modals.arguments_form(target, card["tool"], args, place)
    if form is None:
        raise NoForm(f"the arguments are too long for a form: {elsewhere}")
    return form


async def _tell(api: Api, place: Place, what: str, *, again: bool = True) -> None:
    """Tells the person who pressed the button; errors are ignored."""
    hook = api.webhook(place.reply.get("response_url"))
    if hook is None:
        return
    text = f"No form: {escape(what)}." + (" Tap the button again." if again else "")
    try:
        said = {"text": text, "response_type": "ephemeral", "replace_original": False, "thread_ts": place.thread}
        await response_of(hook.send_dict(said))
    except InterlockError as error:
        _log.warning("could not tell why no form was opened: %s", error)
