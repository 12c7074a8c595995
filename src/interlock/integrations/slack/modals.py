"""Forms for input: reasons and answers, and edited arguments of a call.

They are opened in `forms`, and submissions are handled in `surface`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from interlock.core.errors import UsageError
from interlock.desk.chats.requests import Place
from interlock.desk.signoff import typed_arguments
from interlock.integrations.slack.intake import Payload
from interlock.integrations.slack.text import escape, size

WORDS, ARGUMENTS = "interlock:words", "interlock:arguments"
"""What the forms are called when they come back."""
MOST_INPUT = 3_000
_INPUT = "said"
_TITLES = {"approve": "Approve", "deny": "Deny"}


class Unfit(ValueError):
    """Invalid input; the form shows the reason beneath the field."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A submitted form: its command, its input, and the place of its button."""

    command: str
    fields: Mapping[str, Any]
    place: Place


def words_form(verb: str, target: str, place: Place) -> dict[str, Any]:
    """A form for the reason of a denial, or for an answer."""
    denies = verb == "deny"
    hint = "The agent is told this, word for word." if denies else "The agent goes on with this."
    return _form(WORDS, verb, target, place, label="Reason" if denies else "Answer", hint=hint, initial=None)


def arguments_form(target: str, tool: str, args: Mapping[str, Any], place: Place) -> dict[str, Any] | None:
    """A form for editing a call's arguments; None if they are too long."""
    text = json.dumps(args, indent=2, ensure_ascii=False)
    if size(text) > MOST_INPUT:
        return None
    hint = "A JSON object. The call is made with exactly these arguments, once, and you have signed for them."
    return _form(ARGUMENTS, "approve", target, place, label=f"Arguments of {tool}"[:150], hint=hint, initial=text)


def _form(
    callback: str, verb: str, target: str, place: Place, *, label: str, hint: str, initial: str | None
) -> dict[str, Any]:
    element: dict[str, Any] = {
        "type": "plain_text_input", "action_id": _INPUT, "multiline": True, "max_length": MOST_INPUT,
        "focus_on_load": True,
    }  # fmt: skip
    if initial is not None:
        element["initial_value"] = initial
    title = _TITLES.get(verb, "Interlock")
    return {
        "type": "modal",
        "callback_id": callback,
        "private_metadata": json.dumps(_kept(verb, target, place)),
        "title": _plain(title),
        "submit": _plain(title),
        "close": _plain("Back"),
        "blocks": [
            {"type": "context", "elements": [{"type": "mrkdwn", "text": f"`{escape(target)}`"}]},
            {"type": "input", "block_id": _INPUT, "label": _plain(label), "hint": _plain(hint), "element": element},
        ],
    }


def _kept(verb: str, target: str, place: Place) -> dict[str, Any]:
    where = {"channel": place.channel, "thread": place.thread, "reply": dict(place.reply)}
    return {"verb": verb, "target": target, "place": where}


def filled(body: Payload) -> Filled:
    """Parses a submitted form.

    Raises Unfit if it is empty or has invalid arguments.
    """
    view = body["view"]
    kept = json.loads(view["private_metadata"])
    said = view["state"]["values"][_INPUT][_INPUT].get("value") or ""
    where = kept["place"]
    place = Place("slack", where["channel"], where["thread"], body["user"]["id"], where["reply"])
    fields: dict[str, Any] = {"id": kept["target"]}
    if view["callback_id"] == ARGUMENTS:
        fields["args"] = _arguments(said)
    elif not said.strip():
        raise Unfit("Say why: the agent can act on it.")
    else:
        fields["reason" if kept["verb"] == "deny" else "note"] = said.strip()
    return Filled(kept["verb"], fields, place)


def unfit(error: Unfit) -> dict[str, Any]:
    """The response that keeps a form open and shows its fault."""
    return {"response_action": "errors", "errors": {_INPUT: str(error)}}


def _arguments(text: str) -> dict[str, Any]:
    try:
        return typed_arguments.parsed(text)
    except UsageError as error:
        raise Unfit(f"{str(error)[:1].upper()}{str(error)[1:]}.") from error


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}
