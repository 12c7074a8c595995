"""A local server that speaks the Bot API of Telegram, with the faults that the real one has.

For tests: `async with TelegramApi() as api:` with `api.base_url` and `api.token`. `api.say(…)` and `api.tap(…)` are
what people do, `api.sent` what the bot has said, `api.fail(…)` what goes wrong. What it insists on is in
`telegram_state`.
"""

import asyncio
import json
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from aiohttp import ClientSession, web

from interlock.core.clock import SystemClock
from interlock.testing.telegram_state import Chats, Fault, Sent

BOT_ID = 7_000_001


class Trouble(StrEnum):
    """What can happen to a call besides an answer."""

    DROP = "drop"
    """The connection ends before the call is carried out."""
    LOSE = "lose"
    """The call is carried out, and the connection ends before the answer."""
    HANG = "hang"
    """No answer comes until the client leaves."""
    GARBAGE = "garbage"
    """The answer is no JSON."""


@dataclass(frozen=True, slots=True)
class Odd:
    """An answer that the Bot API would not give, such as a page of a proxy: its body and its HTTP status."""

    body: str
    status: int = 200


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a method, its parameters read from JSON where they are."""

    method: str
    given: dict[str, Any]


class TelegramApi:
    """The server; an async context manager. `calls` holds every call that carried the right token."""

    def __init__(
        self, *, token: str = "7000001:LOCAL-bot_token", username: str = "interlock_bot", port: int = 0
    ) -> None:
        self.token, self.username = token, username
        self.calls: list[Call] = []
        self.chats = Chats()
        self.webhook: dict[str, Any] | None = None
        self.commands: list[dict[str, str]] = []
        self.updates: list[Any] = []
        """What has not been confirmed; anything may be put here, however odd."""
        self.raw: Callable[[str], str] = str
        """What is made of the text of each answer before it leaves."""
        self._port, self._last_update = port, 1_000
        self._troubles: dict[str, deque[Trouble | Fault | Odd | None]] = defaultdict(deque)
        self._changed = asyncio.Condition()
        self._waiting: asyncio.Event | None = None
        self._runner: web.AppRunner | None = None

    @property
    def base_url(self) -> str:
        """What `INTERLOCK_TELEGRAM__BASE_URL` must be."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def sent(self) -> list[Sent]:
        """What the bot has said and not taken back, in order."""
        return [message for message in self.chats.messages.values() if not message.deleted]

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_route("*", "/bot{token}/{method}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def until(self, happened: Callable[["TelegramApi"], bool], *, within_s: float = 30.0) -> None:
        """Waits until `happened` is true of this server; it is asked after each call.

        Raises TimeoutError.
        """
        async with asyncio.timeout(within_s), self._changed:
            await self._changed.wait_for(lambda: happened(self))

    def given(self, method: str) -> list[dict[str, Any]]:
        """The parameters of each call of a method."""
        return [call.given for call in self.calls if call.method == method]

    def fail(self, method: str, *troubles: Trouble | Fault | Odd) -> None:
        """Has the next calls of a method go wrong, one after the other: `Fault(429, "…", retry_after=3)`."""
        self._troubles[method].extend(troubles)

    def pass_then_fail(self, method: str, passes: int, trouble: Trouble | Fault | Odd) -> None:
        """Has so many calls of a method go well, and the one after them wrong."""
        self._troubles[method].extend([None] * passes + [trouble])

    async def push(self, update: Any) -> None:
        """Adds an update as it is, for polling."""
        async with self._changed:
            self.updates.append(update)
            self._changed.notify_all()

    async def say(self, text: str, *, user: int = 42, chat: int | None = None, **more: Any) -> dict[str, Any]:
        """Somebody writes; in a private chat, unless `chat` is another. Returns the update."""
        update = {"update_id": self.next_update(), "message": self.message(text, user=user, chat=chat, **more)}
        await self.push(update)
        return update

    async def tap(self, data: str | None, *, on: Sent, user: int = 42, query_id: str | None = None) -> dict[str, Any]:
        """Somebody taps a button with `data` on a message of the bot. Returns the update."""
        number = self.next_update()
        below = {**self.message(on.text, user=BOT_ID, chat=on.chat_id, topic=on.thread_id), "message_id": on.message_id}
        query = {"id": query_id or f"q{number}", "from": self.person(user), "message": below, "chat_instance": "1"}
        update = {"update_id": number, "callback_query": query if data is None else {**query, "data": data}}
        await self.push(update)
        return update

    async def answer(self, text: str, *, to: Sent, user: int = 42, **more: Any) -> dict[str, Any]:
        """Somebody answers a message of the bot. Returns the update."""
        asked = {**self.message(to.text, user=BOT_ID, chat=to.chat_id), "message_id": to.message_id}
        return await self.say(text, user=user, chat=to.chat_id, topic=to.thread_id, reply_to_message=asked, **more)

    def next_update(self) -> int:
        """The number of the next update."""
        self._last_update += 1
        return self._last_update

    def message(
        self, text: str | None, *, user: int = 42, chat: int | None = None, topic: int | None = None, **more: Any
    ) -> dict[str, Any]:
        """A message as Telegram writes it."""
        where = user if chat is None else chat
        kind = {"type": "private", "first_name": "Ann"} if where > 0 else {"type": "supergroup", "title": "Squad"}
        found = {
            "message_id": self.chats.number(), "date": int(SystemClock().now().timestamp()),
            "from": self.person(user), "chat": {"id": where, **kind},
            **({} if text is None else {"text": text}), **more,
        }  # fmt: skip
        if text and text.startswith("/"):
            length = len(text.split()[0].encode("utf-16-le")) // 2
            found.setdefault("entities", [{"type": "bot_command", "offset": 0, "length": length}])
        return found if topic is None else {**found, "message_thread_id": topic, "is_topic_message": True}

    def person(self, ident: int) -> dict[str, Any]:
        """Somebody as Telegram writes them; the bot itself under its number."""
        if ident == BOT_ID:
            return {"id": ident, "is_bot": True, "first_name": "Interlock", "username": self.username}
        return {"id": ident, "is_bot": False, "first_name": "Ann", "last_name": f"No. {ident}"}

    async def deliver(self, update: Any) -> int:
        """Posts an update to the webhook that is set, as Telegram does; returns the status it was answered with."""
        if self.webhook is None:
            raise RuntimeError("no webhook is set")
        secret = self.webhook.get("secret_token")
        headers = {"X-Telegram-Bot-Api-Secret-Token": secret} if secret else {}
        async with (
            ClientSession() as session,
            session.post(self.webhook["url"], json=update, headers=headers) as answer,
        ):
            return answer.status

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        given = await _parameters(request)
        method = request.match_info["method"]
        if request.match_info["token"] != self.token:
            return _answer(Fault(401, "Unauthorized"))
        async with self._changed:
            self.calls.append(Call(method, given))
            self._changed.notify_all()
        trouble = self._troubles[method].popleft() if self._troubles[method] else None
        if isinstance(trouble, Fault):
            return _answer(trouble)
        if isinstance(trouble, Odd):
            return web.Response(text=trouble.body, status=trouble.status, content_type="application/json")
        if trouble is Trouble.HANG:
            await asyncio.Event().wait()
        if trouble is Trouble.GARBAGE:
            return web.Response(text='{"ok":true,"result":[{"update_id":', content_type="application/json")
        if trouble is Trouble.DROP:
            return _hang_up(request)
        try:
            result = await self._carry_out(method, given)
        except Fault as fault:
            return _answer(fault)
        finally:
            async with self._changed:
                self._changed.notify_all()
        return _hang_up(request) if trouble is Trouble.LOSE else _answer(result, self.raw)

    async def _carry_out(self, method: str, given: dict[str, Any]) -> Any:
        match method:
            case "getMe":
                return {**self.person(BOT_ID), "can_join_groups": True, "can_read_all_group_messages": False}
            case "getUpdates":
                return await self._updates(given)
            case "setWebhook" | "deleteWebhook":
                self.webhook = given if method == "setWebhook" and given.get("url") else None
                return True
            case "setMyCommands":
                self.commands = given["commands"]
                return True
            case "getChat":
                return self._chat(self.chats.of(given.get("chat_id")))
            case "sendMessage":
                return self._shown(self.chats.send(given))
            case "editMessageText":
                return self._shown(self.chats.edit(given))
            case "deleteMessage":
                self.chats.delete(given)
                return True
            case "createForumTopic":
                return self.chats.open_topic(given)
            case "answerCallbackQuery":
                return True
        raise Fault(404, "Not Found")

    async def _updates(self, given: dict[str, Any]) -> list[Any]:
        """Long polling: an offset confirms what is before it; a second poller ends the first."""
        if self.webhook is not None:
            raise Fault(409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to "
                        "delete the webhook first")  # fmt: skip
        async with self._changed:
            if self._waiting is not None:
                self._waiting.set()
                self._changed.notify_all()
            mine = self._waiting = asyncio.Event()
        offset = int(given.get("offset") or 0)
        self.updates[:] = [update for update in self.updates if not _is_before(update, offset)]
        try:
            async with asyncio.timeout(float(given.get("timeout") or 0)), self._changed:
                await self._changed.wait_for(lambda: self.updates or mine.is_set())
        except TimeoutError:
            pass
        if mine.is_set():
            raise Fault(409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance "
                        "is running")  # fmt: skip
        return self.updates[: int(given.get("limit") or 100)]

    def _chat(self, chat_id: int) -> dict[str, Any]:
        kind = "private" if chat_id > 0 else "supergroup"
        forum = {"is_forum": True} if chat_id in self.chats.forums else {}
        return {"id": chat_id, "type": kind, "accent_color_id": 0, "max_reaction_count": 11, **forum}

    def _shown(self, sent: Sent) -> dict[str, Any]:
        shown = self.message(sent.text, user=BOT_ID, chat=sent.chat_id, topic=sent.thread_id)
        return {**shown, "message_id": sent.message_id}


def _is_before(update: Any, offset: int) -> bool:
    number = update.get("update_id") if isinstance(update, dict) else None
    return isinstance(number, int) and number < offset


async def _parameters(request: web.Request) -> dict[str, Any]:
    """Of the query, a form or JSON; a value of a form that is JSON is read as such, but for texts."""
    if request.content_type == "application/json":
        found = await request.json()
        return found if isinstance(found, dict) else {}
    raw = {**request.query, **{name: value for name, value in (await request.post()).items() if isinstance(value, str)}}
    return {
        name: value if name in ("text", "name", "url", "secret_token") else _read(value) for name, value in raw.items()
    }


def _read(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value


def _answer(result: Any, raw: Callable[[str], str] = str) -> web.Response:
    if not isinstance(result, Fault):
        return web.Response(text=raw(json.dumps({"ok": True, "result": result})), content_type="application/json")
    body: dict[str, Any] = {"ok": False, "error_code": result.status, "description": result.description}
    if result.parameters:
        body["parameters"] = result.parameters
    return web.json_response(body, status=result.status)


def _hang_up(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
