"""Delivers the outbox to the surfaces: in order within a conversation, otherwise concurrently, by one process per
surface.

A single attempt is in `attempts`; each surface has its own package.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from interlock.core.complaint import Complaint
from interlock.desk.context import DeskContext
from interlock.integrations.attempts import Attempts, Draw
from interlock.integrations.contract import Sender
from interlock.scheduler.leadership import RENEW_S, Leadership
from interlock.store.duties import leaders
from interlock.store.errors import StoreError
from interlock.store.messages import dispatch
from interlock.store.tx import Tx

AT_ONCE = 8
"""Conversations of one surface that are spoken in side by side."""
POLL_S = 0.5
"""How often is looked for what is due again, while anything is to leave; what is new makes itself heard."""
GATHER_S = 0.02
"""So that many changes at once are looked at once."""
CANDIDATE_S = 1.0
RETRY_S = 1.0
LAST_WORDS_S = 3.0
"""How long what is due may still be sent when the process ends."""
_log = logging.getLogger(__name__)


def duty(surface: str) -> str:
    """The name of the duty of delivering a surface's outbox."""
    return f"outbox:{surface}"


class Deliverer:
    """Delivers on several surfaces until cancelled; then flushes, releases its duties and closes the senders."""

    def __init__(
        self,
        context: DeskContext,
        senders: Sequence[Sender],
        leadership_factory: Callable[[str], Leadership],
        *,
        draw: Draw,
    ) -> None:
        self._posts = [Post(context, sender, leadership_factory(duty(sender.surface)), draw) for sender in senders]

    async def run(self) -> None:
        """Delivers until cancelled."""
        async with asyncio.TaskGroup() as group:
            for post in self._posts:
                group.create_task(post.run(), name=f"outbox {post.sender.surface}")


class Post:
    """Delivers the outbox of one surface."""

    def __init__(self, context: DeskContext, sender: Sender, leadership: Leadership, draw: Draw) -> None:
        self.context, self.sender, self.leadership = context, sender, leadership
        self._attempts = Attempts(context, sender, draw, lambda: leadership.leads)
        self._news = context.store.listener()
        self._open: dict[asyncio.Task[None], int] = {}
        self._held_at: float | None = None
        self._stop = asyncio.Event()
        self._is_quiet = False

    @property
    def holder(self) -> str:
        """The holder of attempts: unique for each term of leadership."""
        return str(self.leadership.fence)

    async def run(self) -> None:
        """Delivers while this process has the duty, until cancelled.

        INVARIANT: cancellation never falls between claiming a message and attempting it, or its outcome would be
        unknown.
        """
        serving = asyncio.create_task(self._serve(), name=f"outbox {self.sender.surface}")
        try:
            await asyncio.shield(serving)
        finally:
            self._stop.set()
            self._news.tell()
            await asyncio.wait({serving}, timeout=LAST_WORDS_S)
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
            await self._drop()
            with contextlib.suppress(StoreError):
                await self.leadership.release()
            await self.sender.close()

    async def _serve(self) -> None:
        complaint = Complaint(_log)
        while not self._stop.is_set():
            try:
                await self._turn()
                complaint.over()
            except Exception as error:  # noqa: BLE001 (whatever it is, messages are to leave again after it)
                complaint.say("the outbox of %s waits: %s: %s", self.sender.surface, type(error).__name__, error)
                self._held_at = None
                await self._rest(RETRY_S)
        while self.leadership.leads and (await self._start_what_is_due() or self._open):
            await asyncio.wait(self._open, return_when=asyncio.FIRST_COMPLETED)

    async def _rest(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stop.wait()

    async def _turn(self) -> None:
        if not await self._leads():
            await self._drop()
            await self._rest(CANDIDATE_S)
            return
        await self._start_what_is_due()
        await self._news.wait(RENEW_S if self._is_quiet else POLL_S)
        await self._rest(GATHER_S)

    async def _leads(self) -> bool:
        now = self.context.clock.monotonic()
        if self._held_at is None or now - self._held_at >= RENEW_S or not self.leadership.leads:
            self._held_at = now if await self.leadership.hold() else None
        return self.leadership.leads

    async def _start_what_is_due(self) -> int:
        """Starts attempts at due messages, up to the limit of concurrent ones; returns how many."""
        context, surface, room = self.context, self.sender.surface, AT_ONCE - len(self._open)
        if room <= 0:
            return 0
        now, underway = context.clock.now(), frozenset(self._open.values())
        is_open, is_due = await context.store.read(_look, surface, self.holder, now, underway)
        self._is_quiet = not is_open
        if not is_due:
            return 0
        rows = await context.store.write(_take, surface, self.leadership.fence, now, room, underway)
        for row, is_open in rows:
            attempt = self._attempts.make(row, self.holder, is_open=is_open)
            task = asyncio.create_task(attempt, name=f"message {row.id}")
            self._open[task] = row.id
            task.add_done_callback(self._ended)
        return len(rows)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._open.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.warning("%s failed: %s: %s", task.get_name(), type(error).__name__, error)
        self._news.tell()

    async def _drop(self) -> None:
        """Cancels attempts that another process has taken over."""
        for task in list(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)


def _look(tx: Tx, surface: str, holder: str, now: datetime, underway: frozenset[int]) -> tuple[bool, bool]:
    """Whether any message is undelivered, and whether any is due."""
    is_open = dispatch.has_open(tx, surface)
    return is_open, is_open and dispatch.has_due(tx, surface, holder, now, underway)


def _take(
    tx: Tx, surface: str, fence: int, now: datetime, most: int, underway: frozenset[int]
) -> list[tuple[Any, bool]]:
    """Messages to attempt now, and whether each has an earlier attempt of unknown outcome."""
    leaders.check(tx, duty(surface), fence)
    holder = str(fence)
    begun = [(row, True) for row in dispatch.open_attempts(tx, surface, holder, now, underway)]
    return begun + [(row, False) for row in dispatch.take(tx, surface, holder, now, most)]
