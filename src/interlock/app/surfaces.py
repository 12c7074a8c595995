"""The chats of a home, put together from its settings: the reception, Slack, Telegram, and their rooms.

What a surface does is in its own package; a home without a chat has none of them and loads none of their libraries.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from interlock.agents.runtime import Runtime
from interlock.app.senders import leadership
from interlock.desk.chats.reception import Reception
from interlock.integrations.contract import Answer, Sender
from interlock.settings import Settings
from interlock.store.messages import conversations, outbox
from interlock.store.tx import Tx

SLACK_PATH, TELEGRAM_PATH = "/slack/events", "/telegram/webhook"
"""Source: interfaces, "HTTP"."""
REST_S = 5.0
"""After which a chat that broke off begins anew."""
_log = logging.getLogger(__name__)


class Surface(Protocol):
    """The common interface of Slack and Telegram."""

    def sender(self) -> Sender:
        """The sender of messages."""

    async def run(self) -> None:
        """Receives requests until cancelled, if the service does not call a webhook."""

    async def handle(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Handles a request to the webhook."""

    async def close(self) -> None:
        """Closes connections."""


@dataclass(frozen=True, slots=True)
class Chat:
    """A chat service as it is set up here."""

    surface: Surface
    description: str
    """For the operator: which, and how it is heard."""
    path: str | None
    """Of the hook that the service calls; None if we connect to it."""


def configured(settings: Settings) -> tuple[str, ...]:
    """The chats that the settings name."""
    named = {"slack": settings.slack.bot_token or settings.slack.app_token, "telegram": settings.telegram.bot_token}
    return tuple(name for name, token in named.items() if token is not None)


@dataclass(frozen=True, slots=True)
class Surfaces:
    """The chats of an open home while they are served."""

    chats: tuple[Chat, ...]

    @property
    def hooks(self) -> dict[str, Callable[[bytes, Mapping[str, str]], Awaitable[Answer]]]:
        """The webhooks to serve, by path."""
        return {chat.path: chat.surface.handle for chat in self.chats if chat.path is not None}


@contextlib.asynccontextmanager
async def attended(runtime: Runtime) -> AsyncIterator[Surfaces]:
    """Serves the chats of a home, commands included, until the context ends.

    Raises ConfigError if a chat is half set up.
    """
    names = configured(runtime.settings)
    if not names:
        yield Surfaces(())
        return
    reception = Reception(runtime)
    chats = tuple(_chat(name, runtime, reception) for name in names)
    await runtime.store.write(_name_rooms, runtime.settings, runtime.clock.now())
    duties = [asyncio.create_task(reception.run(), name="reception")]
    duties += [
        asyncio.create_task(lasting(chat.surface.run, chat.description), name=chat.description) for chat in chats
    ]
    try:
        yield Surfaces(chats)
    finally:
        for duty in duties:
            duty.cancel()
        await asyncio.gather(*duties, return_exceptions=True)
        for chat in chats:
            await chat.surface.close()


async def lasting(run: Callable[[], Awaitable[object]], name: str, *, rest_s: float = REST_S) -> None:
    """Keeps a chat's receiver running: if it fails, that is logged, and it starts again after `rest_s` seconds."""
    while True:
        try:
            await run()
            return
        except Exception as error:  # noqa: BLE001 (nobody could say `stop` any more)
            _log.error("%s: it broke off and begins anew: %s: %s", name, type(error).__name__, error)
            await asyncio.sleep(rest_s)


def _chat(name: str, runtime: Runtime, reception: Reception) -> Chat:
    if name == "slack":
        from interlock.integrations.slack.surface import Slack

        slack = Slack(runtime.settings.slack, reception)
        if runtime.settings.slack.app_token is not None:
            return Chat(slack, "slack: by Socket Mode", None)
        return Chat(slack, f"slack: its requests come to {SLACK_PATH}", SLACK_PATH)
    from interlock.integrations.telegram.surface import Telegram

    telegram = Telegram(runtime.settings.telegram, reception, lambda duty: leadership(runtime, duty))
    if runtime.settings.telegram.webhook_url is None:
        return Chat(telegram, "telegram: by polling", None)
    return Chat(telegram, f"telegram: its updates come to {TELEGRAM_PATH}", TELEGRAM_PATH)


def _name_rooms(tx: Tx, settings: Settings, now: datetime) -> None:
    """Makes the channels of the settings the rooms of the project; a room that is new hears of what goes on."""
    rooms = {"slack": settings.slack.channel, "telegram": settings.telegram.chat}
    for surface, channel in rooms.items():
        if surface not in configured(settings):
            continue
        if conversations.room(tx, surface, channel, settings.project, now) and channel is not None:
            outbox.catch_up(tx, surface, channel, now)
