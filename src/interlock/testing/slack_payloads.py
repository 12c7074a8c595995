"""What Slack sends to an app, in the shapes that it documents, signed as it signs; no server.

Source: https://docs.slack.dev/interactivity and https://docs.slack.dev/apis/events-api for the payloads,
https://docs.slack.dev/authentication/verifying-requests-from-slack for the signature.
"""

import hashlib
import hmac
import itertools
import json
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from interlock.core.clock import SystemClock

TEAM, TEAM_NAME, APP, TOKEN = "T0INTERLOCK", "interlock", "A0INTERLOCK", "a-deprecated-token"
BOT_USER, BOT = "U0BOT", "B0BOT"
_FORM, _JSON = "application/x-www-form-urlencoded", "application/json"
_AUTHORIZATION = {
    "enterprise_id": None, "team_id": TEAM, "user_id": BOT_USER, "is_bot": True, "is_enterprise_install": False,
}  # fmt: skip
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Signed:
    """A request as it goes over the wire."""

    body: bytes
    headers: Mapping[str, str]


def signed(secret: str, payload: Mapping[str, Any], *, at: float | None = None, retry: int = 0) -> Signed:
    """A payload as Slack posts it, signed now or `at` a time; with `retry` as its n-th redelivery."""
    if payload.get("type") in ("event_callback", "url_verification"):
        kind, body = _JSON, json.dumps(payload).encode()
    elif "command" in payload or "ssl_check" in payload:
        kind, body = _FORM, urllib.parse.urlencode(payload).encode()
    else:
        kind, body = _FORM, urllib.parse.urlencode({"payload": json.dumps(payload)}).encode()
    stamp = str(int(SystemClock().now().timestamp() if at is None else at))
    headers = {"Content-Type": kind, "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)"}
    headers |= {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": signature(secret, stamp, body)}
    if retry:
        headers |= {"X-Slack-Retry-Num": str(retry), "X-Slack-Retry-Reason": "http_timeout"}
    return Signed(body, headers)


def signature(secret: str, stamp: str, body: bytes) -> str:
    """Slack's signature, version 0."""
    return "v0=" + hmac.new(secret.encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()


def command(
    text: str, *, user: str = "U0ANA", channel: str = "C0GENERAL", name: str = "/interlock", response_url: str = ""
) -> dict[str, str]:
    """A slash command."""
    return {
        "token": TOKEN, "team_id": TEAM, "team_domain": TEAM_NAME, "channel_id": channel, "channel_name": "general",
        "user_id": user, "user_name": f"name.of.{user.lower()}", "command": name, "text": text, "api_app_id": APP,
        "is_enterprise_install": "false", "response_url": response_url, "trigger_id": _trigger(),
    }  # fmt: skip


def tap(
    button: Mapping[str, Any],
    message: Mapping[str, Any],
    *,
    user: str = "U0ANA",
    channel: str = "C0GENERAL",
    response_url: str = "",
) -> dict[str, Any]:
    """A tap on a button of a message (`block_actions`)."""
    found = next(b["block_id"] for b in message["blocks"] if button in b.get("elements", ()))
    where = {"message_ts": message["ts"], "channel_id": channel}
    if message.get("thread_ts"):
        where["thread_ts"] = message["thread_ts"]
    return {
        "type": "block_actions", "user": _user(user), "api_app_id": APP, "token": TOKEN,
        "container": {"type": "message", **where, "is_ephemeral": False}, "trigger_id": _trigger(),
        "team": {"id": TEAM, "domain": TEAM_NAME}, "enterprise": None, "is_enterprise_install": False,
        "channel": {"id": channel, "name": "general"}, "message": dict(message), "state": {"values": {}},
        "response_url": response_url,
        "actions": [{**button, "block_id": found, "action_ts": f"{1700000000 + next(_numbers)}.000001"}],
    }  # fmt: skip


def sent_form(view: Mapping[str, Any], said: str | None, *, user: str = "U0ANA") -> dict[str, Any]:
    """A form that was sent (`view_submission`), with `said` in each of its inputs."""
    inputs = [block for block in view["blocks"] if block["type"] == "input"]
    values = {
        block["block_id"]: {block["element"]["action_id"]: {"type": block["element"]["type"], "value": said}}
        for block in inputs
    }
    return {
        "type": "view_submission", "team": {"id": TEAM, "domain": TEAM_NAME}, "user": _user(user), "api_app_id": APP,
        "token": TOKEN, "trigger_id": _trigger(), "view": {**view, "state": {"values": values}}, "response_urls": [],
        "is_enterprise_install": False, "enterprise": None,
    }  # fmt: skip


def mention(text: str, *, user: str = "U0ANA", channel: str = "C0GENERAL", thread: str | None = None) -> dict[str, Any]:
    """A message in a channel that begins with the app's name (`app_mention`)."""
    return _event({"type": "app_mention", "text": f"<@{BOT_USER}> {text}", "channel": channel}, user, thread)


def direct(text: str, *, user: str = "U0ANA", channel: str = "D0ANA", thread: str | None = None) -> dict[str, Any]:
    """A message in the conversation that a person has with the app (`message.im`)."""
    return _event({"type": "message", "channel_type": "im", "text": text, "channel": channel}, user, thread)


def home_opened(*, user: str = "U0ANA", tab: str = "home") -> dict[str, Any]:
    """A look at the app's Home tab (`app_home_opened`), or at its messages."""
    return _event({"type": "app_home_opened", "channel": "D0ANA", "tab": tab}, user, None)


def of_bot(text: str, *, channel: str = "D0ANA") -> dict[str, Any]:
    """The app's own message, as it comes back to it."""
    event = _event({"type": "message", "channel_type": "im", "text": text, "channel": channel}, BOT_USER, None)
    event["event"] |= {"bot_id": BOT, "app_id": APP, "bot_profile": {"id": BOT, "app_id": APP, "name": "Interlock"}}
    return event


def challenge(text: str) -> dict[str, str]:
    """The question by which Slack finds out whether an address is the app's (`url_verification`)."""
    return {"token": TOKEN, "challenge": text, "type": "url_verification"}


def ssl_check() -> dict[str, str]:
    """The unsigned look at the certificate of a command's address."""
    return {"ssl_check": "1", "token": TOKEN}


def _event(event: dict[str, Any], user: str, thread: str | None) -> dict[str, Any]:
    number = next(_numbers)
    ts = f"{1700000000 + number}.000002"
    said = {
        **event, "user": user, "ts": ts, "event_ts": ts, "team": TEAM, "client_msg_id": f"message-{number}",
        "blocks": [{"type": "rich_text", "block_id": f"b{number}", "elements": []}],
    }  # fmt: skip
    if thread is not None:
        said["thread_ts"] = thread
    return {
        "token": TOKEN, "team_id": TEAM, "context_team_id": TEAM, "context_enterprise_id": None, "api_app_id": APP,
        "event": said, "type": "event_callback", "event_id": f"Ev{number:09d}", "event_time": 1700000000 + number,
        "authorizations": [_AUTHORIZATION],
        "is_ext_shared_channel": False, "event_context": f"4-{number}",
    }  # fmt: skip


def _user(user: str) -> dict[str, str]:
    name = f"name.of.{user.lower()}"
    return {"id": user, "username": name, "name": name, "team_id": TEAM}


def _trigger() -> str:
    number = next(_numbers)
    return f"{13345224609 + number}.738474920.{number:032x}"
