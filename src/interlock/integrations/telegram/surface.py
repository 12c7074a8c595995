"""Telegram as a surface: updates by polling or webhook, each stored by the reception before it is confirmed.

Updates are parsed in `reading`; messages are sent by `sender`.
"""

import asyncio
import contextlib
import hmac
import html
import json
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol

from telegram import ForceReply
from telegram.constants import ParseMode
from telegram.error import TelegramError

from interlock.core.errors import InterlockError
from interlock.desk.chats.command_table import COMMANDS
from interlock.desk.chats.requests import Request
from interlock.integrations.contract import Answer
from interlock.integrations.telegram.client import WANTED, Client, error_text
from interlock.integrations.telegram.polling import Pace, Poller, Waits
from interlock.integrations.telegram.reading import Poison, Question, Tap, number, parse
from interlock.integrations.telegram.sender import TelegramSender
from interlock.settings.services import TelegramSettings

_log = logging.getLogger(__name__)
SECRET_HEADER = "x-telegram-bot-api-secret-token"
DUTY = "telegram:poll"
MOST_BYTES = 1 << 20
"""Of a webhook's body; Telegram's are a few kilobytes."""
MOST_ASKED = 1_000
TWICE_S = 5.0
"""Two taps of one person on one button within this are one."""
FAREWELL_S = 2.0


class Reception(Protocol):
    """Accepts requests: `interlock.desk.chats.reception.Reception`."""

    async def accept(self, request: Request) -> bool:
        """Stores a request durably; False if it was known already."""

    async def may_act(self, identity: str) -> bool:
        """Whether an identity belongs to an operator or admin."""


class Duty(Protocol):
    """A duty that one process at a time holds: `interlock.scheduler.leadership.Leadership`."""

    async def hold(self) -> bool:
        """Acquires or renews it; returns whether this process holds it."""

    async def release(self) -> None:
        """Releases it."""


class Telegram:
    """The surface: `run` until cancelled, `handle` for the webhook, `sender` for the outbox, `close` at the end.

    Raises ConfigError for missing or inconsistent settings.
    """

    def __init__(
        self,
        settings: TelegramSettings,
        reception: Reception,
        leadership_factory: Callable[[str], Duty],
        *,
        pace: Pace | None = None,
    ) -> None:
        self._settings, self._reception, self._leaderships = settings, reception, leadership_factory
        self._pace = pace or Pace()
        self._client = Client(settings)
        self._asides: set[asyncio.Task[None]] = set()
        self._asked: OrderedDict[str, float] = OrderedDict()

    def sender(self) -> TelegramSender:
        """The sender for the outbox; the caller closes it."""
        return TelegramSender(self._settings)

    async def run(self) -> None:
        """Receives updates until cancelled, and registers the commands."""
        introducing = asyncio.create_task(self._insist(self._introduce), name="telegram introduction")
        try:
            if self._settings.webhook_url is None:
                await self._poll()
            while True:
                await self._insist(self._set_webhook)
                await asyncio.sleep(self._pace.webhook_s)
        finally:
            await _ended(introducing)

    async def handle(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Answers a POST to `/telegram/webhook`. An unreadable update is acknowledged: repeating it would not help.

        401 without Telegram's secret, 400 for invalid bodies, 500 if the update could not be stored, so that it is
        resent.
        """
        given = next((value for name, value in headers.items() if name.lower() == SECRET_HEADER), "")
        secret = self._settings.webhook_secret
        if secret is None or not hmac.compare_digest(
            given.encode("utf-8", "replace"), secret.get_secret_value().encode()
        ):
            return Answer(401)
        if len(body) > MOST_BYTES:
            return Answer(400)
        try:
            raw = json.loads(body)
        except (ValueError, RecursionError):
            return Answer(400)
        if number(raw) is None:
            return Answer(400)
        try:
            await self._take(raw)
        except (InterlockError, TelegramError) as error:
            _log.warning("telegram: an update could not be kept (%s); it comes again", type(error).__name__)
            return Answer(500)
        return Answer(200)

    async def close(self) -> None:
        """Sends pending acknowledgements, and closes connections."""
        if self._asides:
            _, late = await asyncio.wait(self._asides, timeout=FAREWELL_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self._client.close_connections()

    async def _take(self, raw: Any) -> None:
        """Processes an update; when this returns, it has been stored durably."""
        me = await self._client.me()
        try:
            found = parse(raw, self._client, me)
        except Poison as poison:
            _log.error("telegram: update %s is passed over: %s", number(raw), poison)
            return
        if found.question is not None:
            await self._ask_or_accept(found.question)
        if found.request is not None:
            await self._reception.accept(found.request)
        if found.tap is not None:
            self._aside(self._acknowledge(found.tap))

    async def _ask_or_accept(self, question: Question) -> None:
        """Asks for a command's missing input; a request by somebody without permission goes to the reception, which
        refuses it.
        """
        if not await self._reception.may_act(question.request.identity):
            await self._reception.accept(question.request)
        elif self._is_new(question):
            self._aside(self._ask(question))

    def _is_new(self, question: Question) -> bool:
        """Whether neither this update nor the same command of this person has just been asked about."""
        now = asyncio.get_running_loop().time()
        update, words = question.request.key, f"{question.user_id}:{question.chat_id}:{question.text}"
        is_known = update in self._asked or now - self._asked.get(words, -TWICE_S) < TWICE_S
        self._asked[update] = now
        if not is_known:
            self._asked[words] = now
        while len(self._asked) > MOST_ASKED:
            self._asked.popitem(last=False)
        return not is_known

    async def _ask(self, question: Question) -> None:
        words = html.escape(question.text, quote=False)
        name = html.escape(" ".join(question.request.name.split())[:100] or "you", quote=False)
        await self._client.send_message(
            question.chat_id,
            f'<a href="tg://user?id={question.user_id}">{name}</a>, {words}',
            parse_mode=ParseMode.HTML,
            message_thread_id=question.topic,
            reply_markup=ForceReply(selective=True, input_field_placeholder="your words"),
        )

    async def _acknowledge(self, tap: Tap) -> None:
        await self._client.answer_callback_query(tap.query_id, text=tap.notice)

    def _aside(self, work: Coroutine[Any, Any, object]) -> None:
        """Sends something to Telegram in the background."""

        async def say() -> None:
            try:
                await work
            except TelegramError as error:
                _log.warning("telegram: %s", error_text(error))
            except (AttributeError, LookupError, TypeError, ValueError) as error:
                _log.warning("telegram: something unexpected in an answer (%s: %s)", type(error).__name__, error)

        task = asyncio.create_task(say(), name="telegram aside")
        self._asides.add(task)
        task.add_done_callback(self._asides.discard)

    async def _insist(self, attempt: Callable[[], Coroutine[Any, Any, None]]) -> None:
        waits = Waits(self._pace)
        while True:
            try:
                return await attempt()
            except Exception as error:  # noqa: BLE001 (whatever is answered, it is asked for again)
                await waits.after_error(error)

    async def _introduce(self) -> None:
        await self._client.introduce({name: command.help.rstrip(".") for name, command in COMMANDS.items()})

    async def _set_webhook(self) -> None:
        secret = self._settings.webhook_secret
        await self._client.set_webhook(
            self._settings.webhook_url or "",
            secret_token=secret.get_secret_value() if secret is not None else None,
            allowed_updates=list(WANTED),
            drop_pending_updates=False,
        )

    async def _poll(self) -> None:
        """Polls while this process holds the duty."""
        duty, polling = self._leaderships(DUTY), None
        try:
            while True:
                has_it = await _holds(duty)
                if has_it and polling is None:
                    polling = asyncio.create_task(self._receive(), name="telegram polling")
                elif not has_it and polling is not None:
                    await _ended(polling)
                    polling = None
                if polling is None:
                    await asyncio.sleep(self._pace.hold_s)
                elif (await asyncio.wait({polling}, timeout=self._pace.hold_s))[0]:
                    polling.result()
        finally:
            if polling is not None:
                await _ended(polling)
            with contextlib.suppress(InterlockError):
                await duty.release()

    async def _receive(self) -> None:
        await self._insist(self._unset_webhook)
        await Poller(self._client, self._take, self._pace).run()

    async def _unset_webhook(self) -> None:
        await self._client.delete_webhook(drop_pending_updates=False)


async def _holds(duty: Duty) -> bool:
    try:
        return await duty.hold()
    except InterlockError as error:
        _log.warning("telegram: nobody knows who polls: %s", error)
        return False


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
