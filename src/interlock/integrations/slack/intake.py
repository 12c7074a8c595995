"""Converts Slack's verified payloads to the desk's requests.

Source: https://docs.slack.dev/interactivity and https://docs.slack.dev/apis/events-api for the payloads.
"""

import re
from collections.abc import Mapping
from typing import Any

from interlock.desk.chats.requests import Place, Request
from interlock.integrations.slack.text import plain

Payload = Mapping[str, Any]

SURFACE = "slack"
HELP = "help"
_MENTION = re.compile(r"^\s*<@[UW][A-Z0-9]+(?:\|[^<>]*)?>[\s,:]*")
_USER = re.compile(r"[UW][A-Z0-9]{1,30}")
_ADDRESSED = frozenset({("app_mention", False), ("app_mention", True), ("message", True)})
"""Kinds of event, and whether in a conversation with the app alone, by which somebody speaks to it."""
_SLACKBOT = "USLACKBOT"
_SPOKEN = frozenset({None, "file_share", "thread_broadcast"})
"""Subtypes of messages that a person has just written."""


def of_command(body: Payload) -> Request:
    """A slash command: its first word is the command; without any, help."""
    command, words = _command(body.get("text") or "")
    return Request(
        key=_key(body["trigger_id"]),
        identity=_identity(body["user_id"]),
        name=body.get("user_name") or body["user_id"],
        place=Place(SURFACE, body["channel_id"], None, body["user_id"], _reply(body)),
        command=command,
        words=words,
    )


def of_tap(body: Payload, action: Payload) -> Request:
    """A button that sends its command at once. Its value contains the target, but no authorisation."""
    user = body["user"]
    return Request(
        key=_key(f"{action['action_ts']}:{action['action_id']}:{user['id']}"),
        identity=_identity(user["id"]),
        name=_name(user),
        place=place_of_tap(body),
        command=verb(action),
        fields={"id": action["value"]},
    )


def verb(action: Payload) -> str:
    """The command of a button."""
    return str(action["action_id"]).split(":")[1]


def place_of_tap(body: Payload) -> Place:
    """The place of the message with the button."""
    message, container = body.get("message") or {}, body.get("container") or {}
    channel = (body.get("channel") or {}).get("id") or container.get("channel_id") or body["user"]["id"]
    thread = message.get("thread_ts") or container.get("thread_ts")
    return Place(SURFACE, channel, thread, body["user"]["id"], _reply(body))


def of_form(body: Payload, command: str, fields: Mapping[str, Any], place: Place) -> Request:
    """A submitted form, with its parsed fields."""
    user, view = body["user"], body["view"]
    return Request(
        key=_key(f"{view['id']}:{view['hash']}"),
        identity=_identity(user["id"]),
        name=_name(user),
        place=place,
        command=command,
        fields=dict(fields),
    )


def of_event(body: Payload) -> Request | None:
    """A person's message to the app, by mention in a channel or in a direct message; None for all other events.

    INVARIANT: messages of bots (this app's, others' or Slack's own) are never requests.
    """
    event: Payload = body.get("event") or {}
    if (event.get("type"), event.get("channel_type") == "im") not in _ADDRESSED:
        return None
    if event.get("subtype") not in _SPOKEN or event.get("bot_id") or event.get("bot_profile"):
        return None
    if event.get("user") in (None, "", _SLACKBOT) or not event.get("channel") or event.get("edited"):
        return None
    command, words = _command(_MENTION.sub("", event.get("text") or "", count=1))
    return Request(
        key=_key(body["event_id"]),
        identity=_identity(event["user"]),
        name=event["user"],
        place=Place(SURFACE, event["channel"], event.get("thread_ts"), event["user"], _beneath(event)),
        command=command,
        words=words,
        said_at=float(body["event_time"]) if isinstance(body.get("event_time"), int) else None,
    )


def at_home(body: Payload) -> str | None:
    """The user who has opened the app's Home tab; None for other events."""
    event: Payload = body.get("event") or {}
    if event.get("type") != "app_home_opened" or event.get("tab") != "home":
        return None
    user = event.get("user")
    return user if isinstance(user, str) and _USER.fullmatch(user) else None


def _beneath(event: Payload) -> dict[str, Any]:
    """Messages in a channel are answered in a thread."""
    ts = event.get("ts")
    return {"beneath": str(ts)} if ts and event.get("channel_type") != "im" else {}


def _command(text: str) -> tuple[str, str]:
    command, *words = plain(text).split(maxsplit=1) or [HELP]
    return command, words[0].strip() if words else ""


def _key(given: str) -> str:
    return f"{SURFACE}:{given}"


def _identity(user: str) -> str:
    return f"{SURFACE}:{user}"


def _name(user: Payload) -> str:
    return str(user.get("username") or user.get("name") or user["id"])


def _reply(body: Payload) -> dict[str, Any]:
    url = body.get("response_url")
    return {"response_url": url} if url else {}
