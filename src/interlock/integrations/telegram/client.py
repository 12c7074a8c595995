"""The client of the Bot API: python-telegram-bot's Bot with a configurable base URL, translated errors and a masked
token.
"""

import contextlib
import json
import logging
import re
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from telegram import Bot, BotCommand, User
from telegram.error import BadRequest, ChatMigrated, Conflict, Forbidden, InvalidToken, NetworkError, TelegramError
from telegram.request import HTTPXRequest

from interlock.core.errors import ConfigError
from interlock.integrations.contract import DeliveryUnknown, Later, Undeliverable
from interlock.policy.secrets import scrub
from interlock.settings.services import TelegramSettings

WANTED = ("message", "callback_query")
"""The updates that are asked for."""
ANSWER_S = 10.0
"""How long a call may take."""
CONNECTIONS = 32
LONGEST_REST_S = 86_400.0
REFUSED_S = 60.0
"""How long is waited where the token is refused: somebody has to set another."""
_TOKEN = re.compile(r"[0-9A-Za-z:_-]+")
_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")
_FIRST_ID = re.compile(r'(?<!\\)"update_id"\s*:\s*(\d{1,18})\b')
_TALKATIVE = ("httpx", "telegram.Bot")
"""The loggers that write addresses of requests, which hold the token."""
_UNSENT = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout"})
"""What fails before anything has left: errors of httpx, which the library brings and is none of ours to import."""


class Unreadable(TelegramError):
    """An invalid response; `first_id` is the id of the first update in it, if any."""

    def __init__(self, first_id: int | None) -> None:
        self.first_id = first_id
        super().__init__("the answer is none of the Bot API")


class Busy(TelegramError):
    """Rate limited for `seconds`; replaces the library's own error, which emits a warning when constructed."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"too many requests: {seconds:g} s of rest")


class _Calls(HTTPXRequest):
    """The library's HTTP requests, with Retry-After, and without logging of unparsable responses.

    INVARIANT: whatever a response contains, only TelegramError is raised.
    """

    async def do_request(self, *args: Any, **kwargs: Any) -> tuple[int, bytes]:
        code, payload = await super().do_request(*args, **kwargs)
        if code == HTTPStatus.TOO_MANY_REQUESTS:
            raise Busy(_rest(payload))
        return code, payload if HTTPStatus.OK <= code < HTTPStatus.MULTIPLE_CHOICES else _refusal(payload)

    @staticmethod
    def parse_json_payload(payload: bytes) -> Any:
        text = payload.decode("utf-8", "replace")
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError) as error:
            found = _FIRST_ID.search(text)
            raise Unreadable(int(found[1]) if found else None) from error
        if not isinstance(answer, dict) or "result" not in answer:
            raise Unreadable(None)
        return answer


class _Hidden(logging.Filter):
    """Log filter: masks the token."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self._token = token

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if self._token in message:
            record.msg, record.args = message.replace(self._token, "[secret: bot token]"), ()
        return True


class Client(Bot):
    """The bot; close it.

    Raises ConfigError for missing or inconsistent settings.
    """

    __slots__ = ("_calls", "_hidden", "_polls")

    def __init__(self, settings: TelegramSettings) -> None:
        token = settings.bot_token.get_secret_value().strip() if settings.bot_token is not None else ""
        if faults := list(_faults(settings, token)):
            raise ConfigError(faults)
        hidden = _Hidden(token)
        _hide(hidden)
        polls = _Calls(connection_pool_size=2, read_timeout=ANSWER_S, connect_timeout=ANSWER_S)
        calls = _Calls(
            connection_pool_size=CONNECTIONS, read_timeout=ANSWER_S, write_timeout=ANSWER_S, connect_timeout=ANSWER_S,
            pool_timeout=ANSWER_S,
        )  # fmt: skip
        super().__init__(token, base_url=address(settings.base_url), request=calls, get_updates_request=polls)
        self._hidden, self._calls, self._polls = hidden, calls, polls

    async def me(self) -> User:
        """The bot's user; cached.

        Raises TelegramError.
        """
        try:
            return self._bot_user or await self.get_me()
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise Unreadable(None) from error

    async def updates(self, offset: int | None, *, wait_s: int, most: int) -> Any:
        """The raw result of `getUpdates`, so that an unparsable update does not affect the others.

        Raises TelegramError, Unreadable.
        """
        data = {"offset": offset, "timeout": wait_s, "limit": most, "allowed_updates": list(WANTED)}
        return await self._post("getUpdates", data, read_timeout=wait_s + ANSWER_S)

    async def has_topics(self, chat: int | str) -> bool:
        """Whether a chat is a forum.

        Raises TelegramError.
        """
        found = await self._post("getChat", {"chat_id": chat})
        return isinstance(found, dict) and found.get("is_forum") is True

    async def introduce(self, commands: dict[str, str]) -> None:
        """Registers the list of commands.

        Raises TelegramError.
        """
        await self.set_my_commands([BotCommand(name, description[:256]) for name, description in commands.items()])

    async def close_connections(self) -> None:
        """Closes all connections."""
        await self._calls.shutdown()
        await self._polls.shutdown()
        for name in _TALKATIVE:
            logging.getLogger(name).removeFilter(self._hidden)


def address(base_url: str) -> str:
    """The URL before the token: `https://api.telegram.org/bot`, whether or not the last part is given."""
    base = base_url.rstrip("/")
    return base if base.endswith("/bot") or "{token}" in base else f"{base}/bot"


def error_text(error: TelegramError) -> str:
    """Telegram's error on one line."""
    return scrub(" ".join(str(error).removeprefix("httpx.").split()))[:300].rstrip(".")


@contextlib.contextmanager
def translate_errors(chat: object, *, repeatable: bool) -> Iterator[None]:
    """Translates Telegram's errors for the outbox; a `repeatable` call is never DeliveryUnknown.

    Raises Later, Undeliverable, DeliveryUnknown.
    """
    try:
        yield
    except TelegramError as error:
        found = _meaning(error, chat)
        if repeatable and isinstance(found, DeliveryUnknown):
            found = Later(str(found))
        raise found from error
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        what = "telegram answered in a way that cannot be read"
        raise Later(what) if repeatable else DeliveryUnknown(what) from error


def _meaning(error: TelegramError, chat: object) -> Later | Undeliverable | DeliveryUnknown:
    match error:
        case Busy():
            return Later(f"telegram wants {error.seconds:g} s of rest", error.seconds)
        case InvalidToken():
            why = "telegram refuses the bot's token: set TELEGRAM_BOT_TOKEN to the one of @BotFather"
            return Later(why, REFUSED_S, needs_person=True)
        case ChatMigrated():
            return Undeliverable(f"chat `{chat}` is now `{error.new_chat_id}`: set `telegram.chat` to that")
        case Forbidden():
            return Undeliverable(
                f"the bot may not write to chat `{chat}` ({error_text(error)}): let it in again, "
                "then `interlock outbox retry ID`"
            )
        case BadRequest() if "chat not found" in str(error).lower():
            return Undeliverable(f"telegram knows no chat `{chat}`, or the bot is not in it: see docs/telegram.md")
        case BadRequest():
            return Undeliverable(f"telegram refuses the message: {error_text(error)}")
        case NetworkError() if _may_be_there(error):
            return DeliveryUnknown(f"no answer from telegram: {error_text(error)}")
        case NetworkError() | Conflict():
            return Later(f"telegram does not take it now: {error_text(error)}")
        case _:
            return DeliveryUnknown(f"an answer of telegram that tells nothing: {error_text(error)}")


def _may_be_there(error: NetworkError) -> bool:
    """Whether the request may have been executed: it was sent, and no response came."""
    cause = error.__cause__
    if type(cause).__name__ in _UNSENT:
        return False
    if cause is None or isinstance(cause, TelegramError):
        return "(504)" in str(error) or "gateway time" in str(error).lower()
    return True


def _refusal(payload: bytes) -> bytes:
    """The payload of an error response, reduced to the fields that the library expects."""
    try:
        given = json.loads(payload)
    except (ValueError, RecursionError):
        given = None
    found: dict[str, Any] = {"ok": False, "result": None}
    if isinstance(given, dict):
        moved = parameters.get("migrate_to_chat_id") if isinstance(parameters := given.get("parameters"), dict) else 0
        if isinstance(moved, int) and moved:
            found["parameters"] = {"migrate_to_chat_id": moved}
        if isinstance(given.get("description"), str):
            found["description"] = given["description"]
    return json.dumps(found).encode()


def _rest(payload: bytes) -> float:
    """The Retry-After in seconds; 1 if there is none."""
    try:
        wait = float(json.loads(payload)["parameters"]["retry_after"])
    except (LookupError, TypeError, ValueError):
        return 1.0
    return min(max(wait, 0.0), LONGEST_REST_S)


def _faults(settings: TelegramSettings, token: str) -> Iterator[str]:
    if not token:
        yield "telegram has no bot token: set TELEGRAM_BOT_TOKEN to the one that @BotFather gave"
    elif not _TOKEN.fullmatch(token):
        yield "the bot token of telegram has signs that no token has: set TELEGRAM_BOT_TOKEN as @BotFather gave it"
    secret = settings.webhook_secret.get_secret_value() if settings.webhook_secret is not None else None
    if settings.webhook_url is not None and not secret:
        yield (
            "`telegram.webhook_url` needs `telegram.webhook_secret`: set INTERLOCK_TELEGRAM__WEBHOOK_SECRET to "
            "1 to 256 of A-Z, a-z, 0-9, _ and -"
        )
    elif secret and not _SECRET.fullmatch(secret):
        yield "`telegram.webhook_secret` has other signs than Telegram takes: use 1 to 256 of A-Z, a-z, 0-9, _ and -"


def _hide(hidden: logging.Filter) -> None:
    for name in _TALKATIVE:
        logging.getLogger(name).addFilter(hidden)
