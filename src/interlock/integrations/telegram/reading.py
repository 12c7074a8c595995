"""Parses Telegram updates: a command, a button press, a reason for a denial, or nothing relevant.

INVARIANT: `identity` is the sender according to Telegram, regardless of any text.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from telegram import Bot, CallbackQuery, Message, Update, User

from interlock.core.text import storable
from interlock.desk.chats.command_table import named
from interlock.desk.chats.requests import Place, Request
from interlock.integrations.telegram.layout import ANSWER, APPROVE, DENY, MOST_DATA_BYTES
from interlock.integrations.telegram.text import typed

SURFACE = "telegram"
LARGEST_ID = 2**63 - 1
"""Of an update, a chat or a person; Telegram's are smaller."""
ALIASES = {"start": "help"}
"""What Telegram itself sends when somebody opens the bot for the first time."""
QUESTIONS = {
    "deny": "why do you deny {ident}? Answer this message with the reason, which the agent is told.",
    "approve": "what do you say to {ident}? Answer this message with it, and the agent goes on.",
}
"""What is asked for the words that a command lacks, by command."""
FIELDS = {"deny": "reason", "approve": "note"}
"""Where in a request these words go."""
_MENTION = re.compile(r"@([A-Za-z0-9_]{1,64})[,:]?\s+")
_COMMAND = re.compile(r"/([A-Za-z0-9_]{1,32})(?:@([A-Za-z0-9_]{1,64}))?(?:\s+(.*))?", re.DOTALL)
_IDENT = "([A-Za-z0-9_-]{1,62}(?::[a-z0-9-]{1,20})?)"
"""An id, and what is said with it after a colon."""
_ASKED = {
    command: re.compile(r"(?:[^\n]{1,200}, )?" + re.escape(said).replace(r"\{ident\}", _IDENT))
    for command, said in QUESTIONS.items()
}
_DATA = re.compile(f"([{APPROVE}{ANSWER}{DENY}]):{_IDENT}")


class Poison(ValueError):
    """An update that violates the Bot API's format."""


@dataclass(frozen=True, slots=True)
class Tap:
    """A button press, which must be acknowledged."""

    query_id: str
    notice: str | None = None
    """What the one who tapped is shown."""


@dataclass(frozen=True, slots=True)
class Question:
    """A command that lacks input, such as the reason of a denial, and where to ask for it."""

    request: Request
    """The command without words."""
    text: str
    user_id: int
    chat_id: int
    topic: int | None


@dataclass(frozen=True, slots=True)
class ParsedUpdate:
    """The parsed update."""

    request: Request | None = None
    tap: Tap | None = None
    question: Question | None = None


def number(raw: Any) -> int | None:
    """The id of a raw update; None if it has no valid one."""
    found = raw.get("update_id") if isinstance(raw, Mapping) else None
    return found if isinstance(found, int) and not isinstance(found, bool) and 0 <= found <= LARGEST_ID else None


def parse(raw: Any, bot: Bot, me: User) -> ParsedUpdate:
    """Parses a raw update.

    Edited messages, channel posts, service messages, messages of bots and forwarded messages are ignored.

    Raises Poison.
    """
    if number(raw) is None:
        raise Poison("an update without a number")
    try:
        return _heard(Update.de_json(raw, bot), me)
    except Exception as error:
        raise Poison(f"{type(error).__name__}: {error}"[:200]) from error


def _heard(update: Update, me: User) -> ParsedUpdate:
    if update.callback_query is not None:
        return _tap(update, update.callback_query)
    if update.message is not None:
        return ParsedUpdate(_said(update, update.message, me))
    return ParsedUpdate()


def _said(update: Update, message: Message, me: User) -> Request | None:
    sender, text = message.from_user, message.text
    if sender is None or sender.is_bot or message.sender_chat is not None or text is None:
        return None
    if message.forward_origin is not None or message.via_bot is not None:
        return None
    text = typed(storable(_checked(text, str).strip()))
    topic = message.message_thread_id if message.is_topic_message else None
    place = _place(message.chat.id, topic, sender, message.message_id)
    if text.startswith("/"):
        return _command(update, sender, place, text, me, private=message.chat.type == "private")
    above = message.reply_to_message
    if text and above is not None and above.from_user is not None and above.from_user.id == me.id:
        for command, asked in _ASKED.items():
            if (found := asked.fullmatch(above.text or "")) is not None:
                return _request(update, sender, place, command, fields={"id": found[1], FIELDS[command]: text})
    if message.chat.type != "private":
        text = _without_mention(text, me)
    if not text:
        return None
    word, *rest = text.split(maxsplit=1)
    return _request(update, sender, place, word, words="".join(rest))


def _without_mention(text: str, me: User) -> str:
    """A group message without the mention of the bot; empty if it does not mention the bot."""
    found = _MENTION.match(text)
    return text[found.end() :] if found is not None and found[1].lower() == (me.username or "").lower() else ""


def _command(update: Update, sender: User, place: Place, text: str, me: User, *, private: bool) -> Request | None:
    found = _COMMAND.fullmatch(text)
    if found is None:
        return _request(update, sender, place, text.split()[0]) if private else None
    word, addressee, words = found.groups()
    if addressee is not None and addressee.lower() != (me.username or "").lower():
        return None
    word = ALIASES.get(word.lower(), word)
    if named(word) is None and not private and addressee is None:
        return None
    return _request(update, sender, place, word, words="" if word == "help" and found[1] != "help" else words or "")


def _tap(update: Update, query: CallbackQuery) -> ParsedUpdate:
    sender, query_id = query.from_user, storable(_checked(query.id, str))
    if sender.is_bot or query.message is None:
        return ParsedUpdate(tap=Tap(query_id))
    data = query.data if isinstance(query.data, str) and len(query.data) <= MOST_DATA_BYTES else ""
    found = _DATA.fullmatch(data)
    if found is None:
        return ParsedUpdate(tap=Tap(query_id, "nothing happened: this button is none of ours"))
    message = query.message
    topic = message.message_thread_id if isinstance(message, Message) and message.is_topic_message else None
    place = _place(message.chat.id, topic, sender, message.message_id)
    command = "deny" if found[1] == DENY else "approve"
    request = _request(update, sender, place, command, fields={"id": found[2]})
    if found[1] == APPROVE:
        return ParsedUpdate(request, Tap(query_id))
    text = QUESTIONS[command].format(ident=found[2])
    return ParsedUpdate(tap=Tap(query_id), question=Question(request, text, sender.id, message.chat.id, topic))


def _place(chat_id: int, topic: int | None, sender: User, message_id: int) -> Place:
    chat_id, user_id = _identifier(chat_id), _identifier(sender.id)
    thread = None if topic is None else str(_identifier(topic))
    return Place(SURFACE, str(chat_id), thread, str(user_id), {"message_id": _identifier(message_id)})


def _request(
    update: Update, sender: User, place: Place, command: str, *, words: str = "", fields: dict[str, Any] | None = None
) -> Request:
    return Request(
        key=f"{SURFACE}:{update.update_id}",
        identity=f"{SURFACE}:{_identifier(sender.id)}",
        name=storable(_checked(sender.full_name, str))[:200],
        place=place,
        command=command,
        words=words,
        fields=fields,
        said_at=update.message.date.timestamp() if update.message is not None else None,
    )


def _identifier(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST_ID:
        raise Poison("an id that is not a number")
    return value


def _checked(value: object, kind: type[str]) -> str:
    if not isinstance(value, kind):
        raise Poison(f"{type(value).__name__} where text is due")
    return value
