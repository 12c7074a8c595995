"""Long polling: one bad update does not affect the others, and none is confirmed before it has been stored.

Updates are processed in `surface`.
"""

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from telegram.error import BadRequest, Conflict, InvalidToken, NetworkError, TelegramError

from interlock.integrations.telegram.client import REFUSED_S, Busy, Client, Unreadable, error_text
from interlock.integrations.telegram.reading import number

_log = logging.getLogger(__name__)
MOST = 100
"""Updates of one answer; Telegram's limit too."""
EMPTY_S = 0.2
"""The least time between two empty answers, should somebody on the way not let Telegram wait."""
FAREWELL_S = 2.0


@dataclass(frozen=True, slots=True)
class Pace:
    """The timing of polling, in seconds."""

    wait_s: int = 30
    """How long Telegram keeps a request that it has nothing for."""
    hold_s: float = 3.0
    """How often the duty to poll is renewed, or asked for."""
    first_s: float = 1.0
    """The wait after a first failure; it doubles up to `most_s`."""
    most_s: float = 30.0
    webhook_s: float = 600.0
    """How often the address of the webhook is set anew."""


class Waits:
    """Backoff that grows with consecutive failures; each kind of failure is logged once."""

    def __init__(self, pace: Pace) -> None:
        self._pace, self._count, self._trouble = pace, 0, ""

    def over(self) -> None:
        """Resets the backoff after a success."""
        if self._trouble:
            _log.info("telegram answers again")
        self._count, self._trouble = 0, ""

    async def after(self, trouble: str, least_s: float = 0.0) -> None:
        """Waits before the next attempt."""
        if trouble != self._trouble:
            _log.warning("telegram: %s", trouble)
            self._trouble = trouble
        wait = min(self._pace.most_s, self._pace.first_s * 2.0 ** min(self._count, 16)) * random.uniform(0.5, 1.0)
        self._count += 1
        await asyncio.sleep(max(least_s, wait))

    async def after_error(self, error: Exception) -> None:
        """Waits for Telegram's Retry-After, or for the backoff."""
        match error:
            case Busy():
                await self.after(error_text(error), error.seconds)
            case InvalidToken():
                await self.after(
                    "the bot's token is refused: set TELEGRAM_BOT_TOKEN", min(REFUSED_S, self._pace.most_s)
                )
            case NetworkError() if not isinstance(error, BadRequest):
                await self.after(f"out of reach, trying on ({error_text(error)})")
            case TelegramError():
                await self.after(error_text(error))
            case _:
                await self.after(f"something unexpected in an answer ({type(error).__name__}: {error})")


class Poller:
    """Polls for updates and passes on each raw update, in order.

    `take` returns when the update has been stored; if it raises, the update is requested again.
    """

    def __init__(self, client: Client, take: Callable[[Any], Awaitable[None]], pace: Pace) -> None:
        self._client, self._take, self._pace = client, take, pace
        self._waits = Waits(pace)
        self._offset: int | None = None
        self._confirmed: int | None = None
        self._most = MOST
        self._told_of_no_number = False

    async def run(self) -> None:
        """Polls until cancelled; then confirms what was stored."""
        try:
            while True:
                await self._once()
        finally:
            await self._confirm()

    async def _once(self) -> None:
        began = asyncio.get_running_loop().time()
        try:
            updates = await self._ask(self._pace.wait_s)
        except Unreadable as error:
            await self._pass_over(error)
        except Conflict as error:
            await self._give_way(error)
        except Exception as error:  # noqa: BLE001 (whatever one answer holds, the next one is asked for)
            await self._waits.after_error(error)
        else:
            self._most = MOST
            if not isinstance(updates, list):
                await self._waits.after("an answer that is not a list of updates")
            elif updates:
                await self._take_each(updates)
            else:
                self._waits.over()
                await asyncio.sleep(max(0.0, began + EMPTY_S - asyncio.get_running_loop().time()))

    async def _ask(self, wait_s: int, most: int | None = None) -> Any:
        offset = self._offset
        updates = await self._client.updates(offset, wait_s=wait_s, most=most or self._most)
        self._confirmed = offset
        return updates

    async def _take_each(self, updates: Sequence[Any]) -> None:
        before = self._offset
        for raw in updates:
            ident = number(raw)
            if ident is None:
                self._tell_of_no_number()
                continue
            if self._offset is not None and ident < self._offset:
                continue
            try:
                await self._take(raw)
            except Exception as error:  # noqa: BLE001 - whatever keeps it from being durable, Telegram keeps it for us
                await self._waits.after(f"an update could not be kept ({type(error).__name__}); it is asked for again")
                return
            self._offset = ident + 1
        if self._offset == before:
            await self._waits.after("updates that cannot be confirmed")
        else:
            self._waits.over()

    def _tell_of_no_number(self) -> None:
        """Logs once that an update without an id cannot be confirmed, and is delivered again each time."""
        if not self._told_of_no_number:
            _log.warning("telegram: updates without a number are passed over")
        self._told_of_no_number = True

    async def _pass_over(self, error: Unreadable) -> None:
        """Finds the update that makes a response unreadable, and skips it."""
        if self._most > 1:
            self._most = 1
        elif error.first_id is None or (self._offset is not None and error.first_id < self._offset):
            await self._waits.after("an answer that nobody can read")
        else:
            _log.warning("telegram: update %d cannot be read and is passed over", error.first_id)
            self._offset, self._most = error.first_id + 1, MOST

    async def _give_way(self, error: Conflict) -> None:
        if "webhook" not in str(error).lower():
            await self._waits.after("another program polls with the same token: stop it, or give it a bot of its own")
            return
        await self._waits.after("a webhook is set, which polling takes away")
        with contextlib.suppress(TelegramError):
            await self._client.delete_webhook(drop_pending_updates=False)

    async def _confirm(self) -> None:
        if self._offset != self._confirmed:
            with contextlib.suppress(TelegramError, TimeoutError):
                async with asyncio.timeout(FAREWELL_S):
                    await self._ask(0, most=1)
