"""Processes requests from surfaces: stored before they are acknowledged, executed once, replied to.

Commands are executed in `commands`; identities are linked to people by admins.
"""

import asyncio
import bisect
import contextlib
import json
import logging
import os
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from interlock.agents.runtime import Runtime
from interlock.core.complaint import Complaint
from interlock.core.ids import new_id
from interlock.core.text import storable_value
from interlock.desk.chats import replies
from interlock.desk.chats.cards import Card
from interlock.desk.chats.commands import carry_out
from interlock.desk.chats.requests import Request
from interlock.desk.chats.wording import line
from interlock.desk.context import ROLES, Person
from interlock.policy.secrets import scrub
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.errors import StoreError
from interlock.store.mailboxes import processes
from interlock.store.messages import conversations, inbox, outbox
from interlock.store.signoff.approvals import ROLES_THAT_ANSWER
from interlock.store.tx import Tx

POLL_S = 0.5
"""How often to poll for requests of other processes."""
SIDE_BY_SIDE = 16
"""The number of people whose requests are processed concurrently."""
WORK_S = 30.0
"""The timeout of a request."""
TAKEOVER_S = 60.0
"""The time after which a request is taken over if its holder cannot be checked."""
RETRY_S = 1.0
AGAIN_S = 0.2
"""The pause between attempts to store a request."""
MOST_BYTES = 100_000
"""The maximum size of a request; a larger one is refused, without its text."""
MOST_STRANGERS = 20
"""The maximum number of individual alerts about unknown senders that are open at a time."""
TOO_LONG = "too_long"
_QUOTES = str.maketrans({"`": "", "“": "'", "”": "'"})
_log = logging.getLogger(__name__)


class Reception:
    """Processes the requests of all surfaces of this process, and those left behind by dead processes."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        pid = os.getpid()
        self._mine = json.dumps([processes.host(), pid, processes.started(pid) or "unknown", new_id("rcp")])
        self._lanes: dict[str, asyncio.Task[None]] = {}
        self._wake = asyncio.Event()
        self._latest = ""

    async def accept(self, request: Request, *, patience_s: float = 0.0) -> bool:
        """Stores a request; when this returns, it will be processed even if this process dies.

        False if its key was accepted before, or if the sender is unknown and was refused before. Retries for
        `patience_s` seconds if the database cannot be reached.

        Raises StoreError.
        """
        payload, clock = storable_value(_bounded(request).to_json()), self.runtime.clock
        give_up_at = clock.monotonic() + patience_s
        while True:
            try:
                is_new = await self.runtime.store.write(_take_in, request, payload, clock.now())
                break
            except StoreError:
                if clock.monotonic() + AGAIN_S > give_up_at:
                    raise
                await asyncio.sleep(AGAIN_S)
        if is_new:
            self._wake.set()
        return is_new

    async def may_act(self, identity: str) -> bool:
        """Whether an identity belongs to an operator or admin; for surfaces that open a form first.

        Raises StoreError.
        """
        found = await self.runtime.store.read(squad.person, identity)
        return found is not None and found.role in ROLES_THAT_ANSWER

    async def person(self, identity: str, surface: str) -> Person | None:
        """The person with an identity; None if it is unknown, or they have no role.

        Raises StoreError.
        """
        found = await self.runtime.store.read(squad.person, identity)
        if found is None or found.role not in ROLES:
            return None
        return Person(id=found.id, name=found.name, role=found.role, surface=surface)

    async def run(self) -> None:
        """Processes open requests until cancelled: in order for each person, several people concurrently."""
        try:
            complaint = Complaint(_log)
            while True:
                self._wake.clear()
                try:
                    await self._round()
                    complaint.over()
                except Exception as error:  # noqa: BLE001 (whatever it is, people are to be heard again after it)
                    complaint.say("requests wait: %s: %s", type(error).__name__, scrub(str(error)))
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(POLL_S):
                        await self._wake.wait()
        finally:
            lanes = list(self._lanes.values())
            for lane in lanes:
                lane.cancel()
            await asyncio.gather(*lanes, return_exceptions=True)
            with contextlib.suppress(StoreError):
                await self.runtime.store.write(inbox.release, self._mine)

    async def _round(self) -> None:
        """Starts people's queues in turn, so that those held by another process do not starve others."""
        waiting = sorted(await self.runtime.store.read(inbox.waiting))
        turn = bisect.bisect_right(waiting, self._latest)
        for identity in waiting[turn:] + waiting[:turn]:
            if len(self._lanes) >= SIDE_BY_SIDE:
                return
            self._latest = identity
            if identity not in self._lanes:
                lane = asyncio.create_task(self._lane(identity), name=f"requests of {identity}")
                self._lanes[identity] = lane
                lane.add_done_callback(lambda _, who=identity: self._ended(who))  # type: ignore[misc]

    def _ended(self, identity: str) -> None:
        self._lanes.pop(identity, None)

    async def _lane(self, identity: str) -> None:
        """Processes one person's requests in order, until none is left that this process may claim."""
        store = self.runtime.store
        try:
            while (row := await store.read(inbox.head, identity)) is not None:
                now = self.runtime.clock.now()
                if not self._is_free(row, now):
                    return
                if not await store.write(inbox.claim, row.key, row.holder, self._mine, now):
                    return
                await self._work(row)
        except StoreError as error:
            _log.warning("requests of %s wait for the database: %s", identity, error)
            await asyncio.sleep(RETRY_S)
        self._wake.set()

    def _is_free(self, row: Any, now: datetime) -> bool:
        """Whether a request is held by nobody, by this process, or by a dead one."""
        if not row.holder or row.holder == self._mine:
            return True
        host, pid, started, _ = json.loads(row.holder)
        return processes.is_dead(host, pid, started) or now - row.taken_at > timedelta(seconds=TAKEOVER_S)

    async def _work(self, row: Any) -> None:
        try:
            request = Request.from_json(row.payload)
        except (KeyError, TypeError) as error:
            _log.warning("request %s is none that this version knows: %s", row.key, error)
            await self.runtime.store.write(inbox.done, row.key, self._mine, self.runtime.clock.now())
            return
        person = await self.person(request.identity, request.place.surface)
        if person is None:
            await self.runtime.store.write(
                _refuse, request, self.runtime.settings.project, self._mine, self.runtime.clock.now()
            )
            return
        card = await self._carry_out(person, request, None if row.holder is None else row.created_at)
        await self.runtime.store.write(
            _finish, request, card, self.runtime.settings.project, self._mine, self.runtime.clock.now()
        )

    async def _carry_out(self, person: Person, request: Request, accepted_at: datetime | None) -> Card | None:
        if size := (request.fields or {}).get(TOO_LONG):
            return replies.fault(f"that was {size:,} bytes: {MOST_BYTES:,} are the most, put the rest into a file")
        try:
            async with asyncio.timeout(WORK_S):
                return await carry_out(self.runtime, person, request, accepted_at=accepted_at)
        except StoreError:
            raise
        except TimeoutError:
            return replies.fault(f"it took longer than {WORK_S:.0f} s: look with `status` before you say it again")
        except Exception as error:  # noqa: BLE001 (one request never ends those of others)
            _log.error("request %s failed", request.key, exc_info=error)
            return replies.fault(f"something unexpected happened ({type(error).__name__}): the details are in the log")


def _bounded(request: Request) -> Request:
    """A request limited to a size that can be stored."""
    size = len(json.dumps([request.words, request.fields, request.command, request.name]).encode())
    request = replace(request, name=request.name[:200], command=request.command[:200])
    return request if size <= MOST_BYTES else replace(request, words="", fields={TOO_LONG: size})


def _take_in(tx: Tx, request: Request, payload: dict[str, Any], now: datetime) -> bool:
    """INVARIANT: unknown senders who were refused before add no rows, however often they try."""
    if squad.person(tx, request.identity) is None and inbox.was_refused(tx, request.identity):
        return False
    return inbox.accept(tx, request.key, request.place.surface, payload, now)


def _finish(tx: Tx, request: Request, card: Card | None, project: str, mine: str, now: datetime) -> None:
    if inbox.done(tx, request.key, mine, now) and card is not None:
        _reply(tx, request, card, f"reply:{request.key}", project, now)


def _reply(tx: Tx, request: Request, card: Card, key: str, project: str, now: datetime) -> None:
    place = request.place
    where = conversations.reply_place(tx, place.surface, place.channel, place.user, place.thread, project, now)
    outbox.enqueue(tx, where, {"card": card.to_json(), **place.reply}, key, now)


def _refuse(tx: Tx, request: Request, project: str, mine: str, now: datetime) -> None:
    """Replies once to an unknown sender, with how an admin can link them."""
    if not inbox.done(tx, request.key, mine, now):
        return
    identity, surface = request.identity, request.place.surface
    if not inbox.record_refusal(tx, identity, surface, now):
        return
    how = f"`interlock people link NAME {identity}`"
    card = replies.notice("You are not known here", f"Ask an admin of this Interlock to link you: {how}")
    _reply(tx, request, card, f"refusal:{identity}", project, now)
    name = line(request.name.translate(_QUOTES), 60)
    text, key = f"somebody unknown wrote on {surface}: “{name}” ({identity}); if you know them: {how}", identity
    if audit.count_open(tx, "STRANGER") >= MOST_STRANGERS:
        text, key = f"more than {MOST_STRANGERS} unknown people wrote: `interlock alerts` has the first ones", "many"
    audit.alert(
        tx, now, project_id=project, severity="warning", kind="STRANGER", text=text, key=f"stranger:{key}",
        subject=identity,
    )  # fmt: skip
