"""One attempt to deliver a message: renders it, hands it to its surface, and records the outcome.

Which messages are next, and which process delivers, is decided in `delivery`.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, Concatenate, ParamSpec

from interlock.core.complaint import Complaint
from interlock.desk.chats.cards import Card
from interlock.desk.context import DeskContext
from interlock.integrations import undelivered
from interlock.integrations.contract import DeliveryUnknown, Later, Message, Sender, Undeliverable
from interlock.policy.secrets import scrub
from interlock.store.errors import StoreError
from interlock.store.messages import dispatch
from interlock.store.messages.dispatch import AttemptLost
from interlock.store.tx import Tx

P = ParamSpec("P")
Draw = Callable[[DeskContext, str], Awaitable[Card | None]]
"""What a subject looks like now; None if there is nothing to be said of it."""
MOST_ATTEMPTS = 12
BASE_S = 1.0
CAP_S = 300.0
LONGEST_HOLD_S = 3600.0
"""What a surface may ask for at most."""
SEND_S = 40.0
"""How long an attempt may take; less than it takes to be held for gone, so that nobody repeats what still goes on."""
EDIT_EVERY_S = 2.0
"""Between two edits of a mission's card."""
STORE_RETRY_S = 1.0
LONGEST_ERROR = 500
_log = logging.getLogger(__name__)


def backoff_s(attempts: int, *, jitter: float) -> float:
    """The backoff in seconds: doubled with each attempt up to five minutes, half of it scaled by `jitter` (0 to 1)."""
    full = min(BASE_S * 2.0 ** (max(attempts, 1) - 1), CAP_S)
    return float(full / 2 + full / 2 * jitter)


class Attempts:
    """Delivery attempts on one surface; outcomes are recorded under the holder of the attempt.

    INVARIANT: an attempt of unknown outcome is repeated only if the surface does not show the message and a duplicate
    would do no harm; and a process that is no longer `in_charge` sends nothing.
    """

    def __init__(self, context: DeskContext, sender: Sender, draw: Draw, in_charge: Callable[[], bool]) -> None:
        self.context, self.sender, self._draw, self._in_charge = context, sender, draw, in_charge

    async def make(self, row: Any, holder: str, *, is_open: bool) -> None:
        """Delivers a claimed message; if an earlier attempt `is_open`, first determines its outcome."""
        try:
            message = await self._message(row)
            if not self._in_charge():
                _log.warning("message %s is left to who is in charge now", row.id)
            elif message is None:
                await self._delivered(row, holder, row.revision, None)
            elif is_open and message.ref is None:
                await self._look(row, holder, message)
            else:
                await self._send(row, holder, message)
        except AttemptLost as error:
            _log.warning("%s", error)
        except Exception as error:  # noqa: BLE001 (what is wrong with one message must not stop the others)
            await self._failed(row, holder, f"it cannot be drawn up: {type(error).__name__}: {error}", None)

    async def _send(self, row: Any, holder: str, message: Message) -> None:
        try:
            async with asyncio.timeout(SEND_S):
                ref = await self._hand_over(message)
        except Later as error:
            await self._failed(row, holder, str(error), error.seconds)
            if error.needs_person:
                await self._record(undelivered.alert_unavailable, row, _line(str(error)), self.context.clock.now())
        except Undeliverable as error:
            await self._bury(row, holder, str(error))
        except Exception as error:  # noqa: BLE001 (whatever a surface raises, the message may be there)
            await self._unheard(row, holder, message, _cause(error))
        else:
            await self._delivered(row, holder, row.revision, ref)

    async def _message(self, row: Any) -> Message | None:
        card = None
        if row.subject is not None:
            card = await self._draw(self.context, row.subject)
            if card is None:
                return None
        elif "card" in row.payload:
            card = Card.from_json(row.payload["card"])
        return Message(
            key=row.key, kind=row.kind, channel=row.channel, address=row.address, card=card, payload=row.payload,
            root=row.root_ref, ref=row.remote_ref,
        )  # fmt: skip

    async def _hand_over(self, message: Message) -> str | None:
        if message.ref is None:
            return await self.sender.post(message)
        await self.sender.edit(message)
        return None

    async def _look(self, row: Any, holder: str, message: Message) -> None:
        """Determines whether an earlier attempt arrived."""
        try:
            async with asyncio.timeout(SEND_S):
                ref = await self.sender.find(message)
        except Exception as error:  # noqa: BLE001 (as long as nobody can look, nobody knows)
            await self._doubt(row, holder, _cause(error), error.seconds if isinstance(error, Later) else None)
            return
        if ref is not None:
            said = row.revision if row.subject is None or row.revision == 1 else row.revision - 1
            await self._delivered(row, holder, said, ref)
        elif self.sender.repeats:
            await self._failed(row, holder, row.error or "an attempt was cut off", 0.0 if row.error is None else None)
        else:
            why = row.error or "the process that sent it was cut off"
            await self._bury(row, holder, f"{why}: it may or may not have arrived", uncertain=True)

    async def _unheard(self, row: Any, holder: str, message: Message, why: str) -> None:
        if message.ref is not None:
            await self._failed(row, holder, why, None)
        elif self.sender.repeats:
            await self._doubt(row, holder, why, None)
        else:
            await self._look(row._replace(error=why), holder, message)

    async def _delivered(self, row: Any, holder: str, revision: int, ref: str | None) -> None:
        now = self.context.clock.now()
        rest = now + timedelta(seconds=EDIT_EVERY_S) if row.kind == "mission" else None
        await self._record(record_delivery, row, holder, revision, ref, now, rest_until=rest)

    async def _failed(self, row: Any, holder: str, why: str, seconds: float | None) -> None:
        """Postpones a message that has certainly not arrived; if the surface asked for a pause, its whole channel."""
        if seconds is None and row.attempts >= MOST_ATTEMPTS:
            await self._bury(row, holder, why)
            return
        wait_s = self._backoff(row) if seconds is None else min(max(seconds, 0.0), LONGEST_HOLD_S)
        due_at = self.context.clock.now() + timedelta(seconds=wait_s)
        await self._record(dispatch.put_off, row.id, holder, due_at, _line(why), holds_channel=seconds is not None)

    async def _doubt(self, row: Any, holder: str, why: str, seconds: float | None) -> None:
        if row.attempts >= MOST_ATTEMPTS:
            await self._bury(row, holder, f"{why}: it may or may not have arrived", uncertain=True)
            return
        wait_s = self._backoff(row) if seconds is None else min(max(seconds, 0.0), LONGEST_HOLD_S)
        due_at = self.context.clock.now() + timedelta(seconds=wait_s)
        await self._record(dispatch.doubt, row.id, holder, due_at, _line(why))

    async def _record(self, unit: Callable[Concatenate[Tx, P], None], *args: P.args, **kwargs: P.kwargs) -> None:
        """Records the outcome of an attempt, retrying until the database accepts it: it is known only here.

        Raises AttemptLost.
        """
        complaint = Complaint(_log)
        while True:
            try:
                return await self.context.store.write(unit, *args, **kwargs)
            except StoreError as error:
                complaint.say("what came of a message cannot be recorded yet: %s", error)
                await asyncio.sleep(STORE_RETRY_S)

    def _backoff(self, row: Any) -> float:
        return backoff_s(row.attempts, jitter=random.random())

    async def _bury(self, row: Any, holder: str, why: str, *, uncertain: bool = False) -> None:
        now = self.context.clock.now()
        await self._record(give_up, row, holder, _line(why), now, uncertain=uncertain)


def record_delivery(
    tx: Tx, row: Any, holder: str, revision: int, ref: str | None, now: datetime, *, rest_until: datetime | None
) -> None:
    """Records a delivery, and settles an alert that the surface is unavailable.

    Raises AttemptLost.
    """
    dispatch.delivered(tx, row.id, holder, revision, ref, now, rest_until=rest_until)
    if row.error is not None:
        undelivered.settle_unavailable(tx, row.surface, now)


def give_up(tx: Tx, row: Any, holder: str, why: str, now: datetime, *, uncertain: bool) -> None:
    """Gives up on a message, and alerts people.

    Raises AttemptLost.
    """
    dispatch.bury(tx, row.id, holder, why, uncertain=uncertain)
    undelivered.alert_undelivered(tx, row, why, now)


def _cause(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {SEND_S:g} s"
    return (
        str(error) if isinstance(error, DeliveryUnknown | Later | Undeliverable) else f"{type(error).__name__}: {error}"
    )


def _line(text: str) -> str:
    shown = " ".join("".join(c if c.isprintable() else " " for c in scrub(text)).split())
    return shown if len(shown) <= LONGEST_ERROR else f"{shown[: LONGEST_ERROR - 1]}…"
