"""What a local Bot API server keeps and insists on: updates, chats, messages, and the limits of the real one.

How it is reached over HTTP is in `telegram_api`.
"""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

MOST_UNITS = 4096
MOST_DATA_BYTES = 64
_TAGS = {"b", "strong", "i", "em", "u", "s", "code", "pre", "a", "blockquote"}
_ENTITY = re.compile(r"&(?!(?:lt|gt|amp|quot|#\d+|#x[0-9a-fA-F]+);)")


class Fault(Exception):
    """An error of the Bot API: its HTTP status, what it says, and further parameters."""

    def __init__(self, status: int, description: str, **parameters: Any) -> None:
        self.status, self.description, self.parameters = status, description, parameters
        super().__init__(description)


@dataclass(slots=True)
class Sent:
    """A message of the bot as it is seen now."""

    chat_id: int
    message_id: int
    text: str
    """Without marks."""
    source: str
    """As it was sent."""
    buttons: list[tuple[str, str]] = field(default_factory=list)
    """Label and data."""
    thread_id: int | None = None
    reply_to: int | None = None
    force_reply: bool = False
    edit_count: int = 0
    deleted: bool = False


class _Reader(HTMLParser):
    """Telegram's HTML: known tags only, all closed in order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text, self._open = "", list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _TAGS:
            raise Fault(400, f'Bad Request: can\'t parse entities: Unsupported start tag "{tag}"')
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            raise Fault(400, "Bad Request: can't parse entities: Unexpected end tag")

    def handle_data(self, data: str) -> None:
        self.text += data

    def end(self) -> str:
        """The text without marks."""
        self.close()
        if self._open:
            raise Fault(400, "Bad Request: can't parse entities: Can't find end tag")
        return self.text


def seen(text: str, parse_mode: str | None) -> str:
    """The text of a message as people see it, its ends trimmed; refused where Telegram would refuse it."""
    if parse_mode == "HTML":
        if _ENTITY.search(text):
            raise Fault(400, "Bad Request: can't parse entities: Unexpected entity")
        reader = _Reader()
        reader.feed(text)
        text = reader.end()
    elif parse_mode:
        raise Fault(400, "Bad Request: unsupported parse_mode")
    text = text.strip()
    if not text:
        raise Fault(400, "Bad Request: message text is empty")
    if len(text.encode("utf-16-le")) // 2 > MOST_UNITS:
        raise Fault(400, "Bad Request: message is too long")
    return text


def buttons(markup: Any) -> list[tuple[str, str]]:
    """Label and data of each button of an inline keyboard."""
    rows = markup.get("inline_keyboard", []) if isinstance(markup, dict) else []
    found = [(button["text"], button.get("callback_data", "")) for row in rows for button in row]
    for label, data in found:
        if not label or not 1 <= len(data.encode()) <= MOST_DATA_BYTES:
            raise Fault(400, "Bad Request: BUTTON_DATA_INVALID")
    return found


class Chats:
    """The messages of all chats; any chat exists unless `unknown` or `blocked` names it."""

    def __init__(self) -> None:
        self.messages: dict[tuple[int, int], Sent] = {}
        self.forums: set[int] = set()
        self.unknown: set[int] = set()
        self.blocked: set[int] = set()
        self.moved: dict[int, int] = {}
        self.topics: dict[int, str] = {}
        self.last_id = 100

    def number(self) -> int:
        """A number for the next message."""
        self.last_id += 1
        return self.last_id

    def of(self, chat: Any) -> int:
        """The chat that is meant; refused where the bot cannot write there."""
        try:
            chat_id = int(chat)
        except (TypeError, ValueError):
            raise Fault(400, "Bad Request: chat not found") from None
        if chat_id in self.unknown:
            raise Fault(400, "Bad Request: chat not found")
        if chat_id in self.blocked:
            raise Fault(403, "Forbidden: bot was blocked by the user")
        if chat_id in self.moved:
            moved = self.moved[chat_id]
            raise Fault(400, "Bad Request: group chat was upgraded to a supergroup chat", migrate_to_chat_id=moved)
        return chat_id

    def send(self, given: dict[str, Any]) -> Sent:
        """`sendMessage`."""
        chat_id, thread = self.of(given.get("chat_id")), given.get("message_thread_id")
        if thread is not None and thread not in self.topics:
            raise Fault(400, "Bad Request: message thread not found")
        markup, reply = given.get("reply_markup") or {}, given.get("reply_parameters") or {}
        source = str(given.get("text", ""))
        sent = Sent(
            chat_id, self.number(), seen(source, given.get("parse_mode")), source, buttons(markup), thread,
            reply.get("message_id"), bool(markup.get("force_reply")),
        )  # fmt: skip
        self.messages[chat_id, sent.message_id] = sent
        return sent

    def edit(self, given: dict[str, Any]) -> Sent:
        """`editMessageText`; what changes nothing is refused."""
        sent = self._existing(given, "message to edit not found")
        text, found = (
            seen(str(given.get("text", "")), given.get("parse_mode")),
            buttons(given.get("reply_markup") or {}),
        )
        if (text, found) == (sent.text, sent.buttons):
            raise Fault(400, "Bad Request: message is not modified: specified new message content and reply markup "
                        "are exactly the same as a current content and reply markup of the message")  # fmt: skip
        sent.text, sent.source, sent.buttons = text, str(given["text"]), found
        sent.edit_count += 1
        return sent

    def delete(self, given: dict[str, Any]) -> None:
        """`deleteMessage`."""
        self._existing(given, "message to delete not found").deleted = True

    def open_topic(self, given: dict[str, Any]) -> dict[str, Any]:
        """`createForumTopic`."""
        if self.of(given.get("chat_id")) not in self.forums:
            raise Fault(400, "Bad Request: the chat is not a forum")
        name = str(given.get("name", ""))
        if not 1 <= len(name) <= 128:
            raise Fault(400, "Bad Request: topic name is invalid")
        number = self.number()
        self.topics[number] = name
        return {"message_thread_id": number, "name": name, "icon_color": 7322096}

    def _existing(self, given: dict[str, Any], otherwise: str) -> Sent:
        sent = self.messages.get((self.of(given.get("chat_id")), int(given.get("message_id", 0))))
        if sent is None or sent.deleted:
            raise Fault(400, f"Bad Request: {otherwise}")
        return sent
