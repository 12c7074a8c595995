"""Sends the outbox to Telegram: posts and edits messages, in topics if the chat has them.

Order, retries and outcomes are handled in `delivery`; the layout of cards in `layout`.
"""

import contextlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from telegram import InlineKeyboardButton, InlineKeyboardMarkup, LinkPreviewOptions, ReplyParameters
from telegram.constants import ParseMode
from telegram.error import BadRequest, ChatMigrated, Forbidden, TelegramError

from interlock.desk.chats.cards import Card
from interlock.integrations.contract import Message, Undeliverable
from interlock.integrations.telegram.client import Client, translate_errors
from interlock.integrations.telegram.layout import Page, pages, shortened
from interlock.settings.services import TelegramSettings

MOST_BEGUN = 1_000
TOPIC_UNITS = 128
"""Of a topic's name. Source: https://core.telegram.org/bots/api#createforumtopic."""
_NO_PREVIEW = LinkPreviewOptions(is_disabled=True)
"""A preview would have Telegram fetch an address that an agent wrote."""


@dataclass(frozen=True, slots=True)
class Ref:
    """The reference of a posted message: the ids of its parts, and their topic."""

    parts: tuple[int, ...]
    topic: int | None = None

    def __str__(self) -> str:
        parts = ",".join(map(str, self.parts))
        return parts if self.topic is None else f"{parts}@{self.topic}"

    @classmethod
    def parse(cls, text: str) -> "Ref":
        """Parses a reference."""
        parts, _, topic = text.partition("@")
        return cls(tuple(map(int, parts.split(","))), int(topic) if topic else None)


@dataclass(slots=True)
class _Begun:
    """The state of a partly sent message: another attempt continues where the last one ended."""

    topic: int | None = None
    sent: list[tuple[int, Page]] = field(default_factory=list)


class TelegramSender:
    """A Sender for the surface `telegram`.

    Telegram has no way to look up messages, so one of unknown outcome is never posted again: people are alerted.
    """

    surface = "telegram"
    repeats = False

    def __init__(self, settings: TelegramSettings) -> None:
        self._client = Client(settings)
        self._begun: OrderedDict[str, _Begun] = OrderedDict()
        self._moved: dict[str, int] = {}

    async def post(self, message: Message) -> str:
        """Posts the card in as many messages as necessary; returns their ids."""
        begun = self._begun.setdefault(message.key, _Begun())
        while len(self._begun) > MOST_BEGUN:
            self._begun.popitem(last=False)
        card = _card(message)
        with translate_errors(message.channel, repeatable=True):
            begun.topic = begun.topic or await self._topic(message, card)
        for index, page in enumerate(pages(card)):
            if index >= len(begun.sent):
                with translate_errors(message.channel, repeatable=False):
                    number = await self._send(message, page, begun)
                begun.sent.append((number, page))
            elif begun.sent[index][1] != page:
                with translate_errors(message.channel, repeatable=True):
                    await self._change(message, begun.sent[index][0], page)
                begun.sent[index] = (begun.sent[index][0], page)
        del self._begun[message.key]
        return str(Ref(tuple(number for number, _ in begun.sent), begun.topic))

    async def edit(self, message: Message) -> None:
        """Edits all parts to match the card, and deletes superfluous ones."""
        if message.ref is None:
            raise Undeliverable("a message that has not been posted cannot be edited")
        parts = Ref.parse(message.ref).parts
        wanted = shortened(_card(message), len(parts))
        with translate_errors(message.channel, repeatable=True):
            for number, page in zip(parts, wanted, strict=False):
                await self._change(message, number, page)
            for number in parts[len(wanted) :]:
                with contextlib.suppress(BadRequest, Forbidden):
                    await self._client.delete_message(self._chat(message), number)

    async def find(self, message: Message) -> str | None:
        """Always None: a bot cannot read its own messages."""
        return None

    async def close(self) -> None:
        """Closes connections."""
        await self._client.close_connections()

    def _chat(self, message: Message) -> int | str:
        return self._moved.get(message.channel) or _chat_id(message.channel)

    async def _topic(self, message: Message, card: Card) -> int | None:
        """The topic for a message: that of its thread, or a new one for a mission in a chat with topics.

        Creating a topic is retried if the outcome is unknown: a duplicate empty topic does no harm.
        """
        thread = message.address.get("thread")
        if thread is not None:
            return int(thread)
        if message.root is not None:
            return Ref.parse(message.root).topic
        if message.kind != "mission" or not await self._has_topics(message):
            return None
        with contextlib.suppress(BadRequest, Forbidden):
            name = card.title[: TOPIC_UNITS // 2]
            return (await self._client.create_forum_topic(self._chat(message), name)).message_thread_id
        return None

    async def _has_topics(self, message: Message) -> bool:
        chat = self._chat(message)
        if isinstance(chat, int) and chat > 0:
            return False
        try:
            return await self._client.has_topics(chat)
        except ChatMigrated as error:
            self._moved[message.channel] = error.new_chat_id
            return await self._client.has_topics(error.new_chat_id)

    async def _send(self, message: Message, page: Page, begun: _Begun) -> int:
        """Sends one part as a reply to the first part, the command or the root; returns its id."""
        above = begun.sent[0][0] if begun.sent else _above(message)

        async def send(chat: int | str, text: str, mode: str | None) -> int:
            posted = await self._client.send_message(
                chat, text, parse_mode=mode, message_thread_id=begun.topic, link_preview_options=_NO_PREVIEW,
                reply_parameters=ReplyParameters(above, allow_sending_without_reply=True) if above else None,
                reply_markup=_keyboard(page),
            )  # fmt: skip
            return posted.message_id

        try:
            return await self._deliver(message, page, send)
        except BadRequest as error:
            if begun.topic is None or not _says(error, "thread not found", "topic_deleted", "topic_closed"):
                raise
            begun.topic = None
            return await self._deliver(message, page, send)

    async def _change(self, message: Message, number: int, page: Page) -> None:
        async def change(chat: int | str, text: str, mode: str | None) -> int:
            await self._client.edit_message_text(
                text, chat, number, parse_mode=mode, link_preview_options=_NO_PREVIEW, reply_markup=_keyboard(page)
            )
            return number

        try:
            await self._deliver(message, page, change)
        except BadRequest as error:
            if not _says(error, "message is not modified"):
                raise

    async def _deliver(
        self, message: Message, page: Page, tell: Callable[[int | str, str, str | None], Awaitable[int]]
    ) -> int:
        """Sends one message; follows the chat if it has migrated, and drops the markup if Telegram rejects it."""
        try:
            return await tell(self._chat(message), page.markup, ParseMode.HTML)
        except ChatMigrated as error:
            self._moved[message.channel] = error.new_chat_id
            return await tell(error.new_chat_id, page.markup, ParseMode.HTML)
        except BadRequest as error:
            if not _says(error, "can't parse entities"):
                raise
            return await tell(self._chat(message), page.plain, None)


def _card(message: Message) -> Card:
    if message.card is None:
        raise Undeliverable("telegram takes cards, and this is none")
    return message.card


def _chat_id(channel: str) -> int | str:
    return int(channel) if channel.lstrip("-").isdecimal() else channel


def _above(message: Message) -> int | None:
    """The message to which this one replies."""
    if message.root is not None:
        root = Ref.parse(message.root)
        return root.parts[0] if root.topic is None else None
    given = message.payload.get("message_id")
    return int(given) if given is not None else None


def _keyboard(page: Page) -> InlineKeyboardMarkup | None:
    row = [InlineKeyboardButton(button.label, callback_data=button.data) for button in page.buttons]
    return InlineKeyboardMarkup([row]) if row else None


def _says(error: TelegramError, *phrases: str) -> bool:
    message = str(error).lower()
    return any(phrase in message for phrase in phrases)
