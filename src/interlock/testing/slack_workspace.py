"""What there is in the local Slack, its channels, messages and forms, and the methods that change them; no server.

Source: https://docs.slack.dev/reference/methods.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from interlock.testing.slack_limits import fault
from interlock.testing.slack_payloads import APP, BOT, BOT_USER, TEAM, TEAM_NAME

Json = dict[str, Any]


@dataclass(slots=True)
class Posted:
    """A message in a channel; `blocks` have the ids that Slack gives them."""

    channel: str
    ts: str
    body: Json
    versions: list[Json] = field(default_factory=list)

    @property
    def thread(self) -> str | None:
        """The first message of its thread."""
        return self.body.get("thread_ts")

    @property
    def shown(self) -> Json:
        """The message as Slack hands it out."""
        return {"type": "message", "user": BOT_USER, "bot_id": BOT, "app_id": APP, "ts": self.ts, **self.body}

    def buttons(self) -> dict[str, Json]:
        """Its buttons, by their label."""
        rows = [block["elements"] for block in self.body["blocks"] if block["type"] == "actions"]
        return {button["text"]["text"]: button for row in rows for button in row}

    def text(self) -> str:
        """Everything that it says, as it was sent."""
        return "\n".join(_texts(self.body["blocks"]))


class Workspace:
    """Channels with their messages, what one person alone was told, the forms that were opened."""

    def __init__(self, channels: tuple[str, ...]) -> None:
        self.channels = channels
        self.outside: set[str] = set()
        """Of these the public ones that the app is not in: it may post there, and not read."""
        self.messages: list[Posted] = []
        self.private: list[Json] = []
        self.views: list[Json] = []
        self.homes: dict[str, list[Json]] = {}
        """By user: each state of their Home tab, the present one last."""
        self._numbers = itertools.count(1)
        self._triggers: set[str] = set()
        self._deleted: set[str] = set()

    def do(self, method: str, body: Json) -> Json:
        """What Slack answers to a call by who may make it."""
        handler = getattr(self, "_" + method.replace(".", "_"), None)
        if handler is None:
            return {"ok": False, "error": "unknown_method"}
        wrong = fault(body)
        answer: Json = wrong or handler(body)
        return {"ok": "error" not in answer, **answer}

    def number(self) -> int:
        """A number that no one had before."""
        return next(self._numbers)

    def _auth_test(self, _: Json) -> Json:
        return {"url": "https://interlock.slack.com/", "team": TEAM_NAME, "user": "interlock", "team_id": TEAM,
                "user_id": BOT_USER, "bot_id": BOT}  # fmt: skip

    def _chat_postMessage(self, body: Json) -> Json:  # noqa: N802 (Slack's own spelling)
        channel = body.pop("channel")
        if channel not in self.channels and not channel.startswith("U"):
            return {"error": "channel_not_found"}
        if body.get("thread_ts") in self._deleted:
            return {"error": "thread_not_found"}
        posted = Posted(channel, f"1700000000.{next(self._numbers):06d}", _identified(body))
        self.messages.append(posted)
        return {"channel": channel, "ts": posted.ts, "message": posted.shown}

    def _chat_update(self, body: Json) -> Json:
        found = self._message(body.pop("channel"), body.pop("ts"))
        if found is None:
            return {"error": "message_not_found"}
        found.versions.append(found.body)
        found.body = {**found.body, **_identified(body)}
        return {"channel": found.channel, "ts": found.ts, "text": body.get("text", "")}

    def _chat_delete(self, body: Json) -> Json:
        found = self._message(body["channel"], body["ts"])
        if found is None:
            return {"error": "message_not_found"}
        self.delete(found)
        return {"channel": found.channel, "ts": found.ts}

    def delete(self, message: Posted) -> None:
        """Takes a message away; nothing can be written beneath it any more."""
        self.messages.remove(message)
        self._deleted.add(message.ts)

    def _chat_postEphemeral(self, body: Json) -> Json:  # noqa: N802
        if wrong := self._unread(body):
            return wrong
        self.private.append(body)
        return {"message_ts": f"1700000000.{next(self._numbers):06d}"}

    def _views_open(self, body: Json) -> Json:
        if body["trigger_id"] in self._triggers:
            return {"error": "exchanged_trigger_id"}
        self._triggers.add(body["trigger_id"])
        number = next(self._numbers)
        view = {**body["view"], "id": f"V{number:09d}", "hash": f"1700000000.{number}", "team_id": TEAM, "app_id": APP}
        self.views.append(view)
        return {"view": view}

    def _views_publish(self, body: Json) -> Json:
        if body["view"].get("type") != "home":
            return {"error": "invalid_arguments"}
        self.homes.setdefault(body["user_id"], []).append(body["view"])
        return {"view": body["view"]}

    def _conversations_join(self, body: Json) -> Json:
        self.outside.discard(body["channel"])
        return {"channel": {"id": body["channel"]}}

    def _unread(self, body: Json) -> Json | None:
        if body["channel"] not in self.channels:
            return {"error": "channel_not_found"}
        return {"error": "not_in_channel"} if body["channel"] in self.outside else None

    def _conversations_history(self, body: Json) -> Json:
        if wrong := self._unread(body):
            return wrong
        return self._page([m for m in reversed(self.messages) if m.thread is None], body)

    def _conversations_replies(self, body: Json) -> Json:
        if wrong := self._unread(body):
            return wrong
        if self._message(body["channel"], body["ts"]) is None:
            return {"error": "thread_not_found"}
        return self._page([m for m in self.messages if body["ts"] in (m.ts, m.thread)], body)

    def _page(self, found: list[Posted], body: Json) -> Json:
        start, most = int(body.get("cursor") or 0), int(body.get("limit") or 100)
        here = [m.shown for m in found if m.channel == body["channel"]]
        if body.get("include_all_metadata") not in ("1", True):
            here = [{k: v for k, v in message.items() if k != "metadata"} for message in here]
        more = str(start + most) if start + most < len(here) else ""
        return {"messages": here[start : start + most], "has_more": bool(more),
                "response_metadata": {"next_cursor": more}}  # fmt: skip

    def _message(self, channel: str, ts: str) -> Posted | None:
        return next((m for m in self.messages if (m.channel, m.ts) == (channel, ts)), None)


def _identified(body: Json) -> Json:
    """A message whose blocks have ids."""
    blocks = [{"block_id": f"b{number}", **block} for number, block in enumerate(body.get("blocks") or ())]
    return {**body, "blocks": blocks}


def _texts(part: Any) -> list[str]:
    if isinstance(part, Mapping):
        own = [part["text"]] if isinstance(part.get("text"), str) else []
        return own + [text for value in part.values() for text in _texts(value)]
    return [text for item in part for text in _texts(item)] if isinstance(part, list) else []
