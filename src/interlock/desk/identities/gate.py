"""Authenticates programs by token, and rate-limits failed attempts. Source: row L4.

Authorisation is up to each operation.
"""

import asyncio
import contextlib
import hmac
from collections import OrderedDict
from dataclasses import dataclass
from datetime import timedelta
from time import monotonic
from typing import Any

from interlock.core.errors import InterlockError
from interlock.desk.context import ROLES, DeskContext, Person
from interlock.desk.identities.tokens import PREFIX, digest_of
from interlock.store.errors import StoreUnavailable
from interlock.store.identities import tokens as store

FRESH_S = 2.0
"""How long a valid token is cached; a revoked one is refused after that."""
USED = timedelta(hours=1)
"""The accuracy of the time at which a token was last used."""
AGAIN_S = 0.5
"""Between attempts to look up the token of an open answer while the database cannot be reached."""
FAILURES, FAILURES_S = 20, 60.0
"""The number of failed attempts allowed per address within that time."""
MOST_ADDRESSES = 10_000
MOST_TOKENS = 10_000
LONGEST = 200


class NotKnown(InterlockError):
    """No token, or an invalid one."""


class TooMany(InterlockError):
    """Too many failed attempts from an address; the next is allowed after `after_s`."""

    def __init__(self, after_s: float) -> None:
        self.after_s = after_s
        super().__init__(f"too many requests without a good token came from this address: wait {after_s:.0f} s")


@dataclass(frozen=True, slots=True)
class Caller:
    """The person a program acts for, and the only project it may access; None: all."""

    person: Person
    project: str | None
    token_id: str


class Gate:
    """Authenticates callers by their tokens; one per process, and those `beside` it."""

    def __init__(self, context: DeskContext, surface: str = "http", *, fresh_s: float = FRESH_S) -> None:
        self._context, self._surface, self._fresh_s = context, surface, fresh_s
        self._known: OrderedDict[str, tuple[Any, float]] = OrderedDict()
        self._failures: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def beside(self, surface: str) -> "Gate":
        """A gate of this process for another surface: failed attempts at either count for both."""
        other = Gate(self._context, surface, fresh_s=self._fresh_s)
        other._known, other._failures = self._known, self._failures
        return other

    async def caller(self, token: str | None, address: str) -> Caller:
        """Authenticates a token from an address.

        Raises NotKnown, TooMany, and StoreUnavailable if the database cannot be reached.
        """
        if token is None:
            raise NotKnown("no token was shown: send `Authorization: Bearer …`, `interlock token create` makes one")
        digest = digest_of(token)
        known = self._known.get(digest)
        if known is None or monotonic() - known[1] > self._fresh_s:
            known = await self._look_up(token, digest, address)
        row = known[0]
        self._refuse_old(row)
        role = min(row.role, row.person_role, key=ROLES.index)
        return Caller(Person(row.person_id, row.person, role, self._surface), row.project_id, row.id)

    async def still(self, token: str) -> Caller | None:
        """The current caller of a token, with their current role; None if the token is no longer valid."""
        try:
            return await self.caller(token, "")
        except (NotKnown, TooMany):
            return None

    async def lasts(self, token: str) -> bool:
        """Whether a token that was valid still is; waits for a database that cannot be reached."""
        while True:
            with contextlib.suppress(StoreUnavailable):
                return await self.still(token) is not None
            await asyncio.sleep(AGAIN_S)

    async def _look_up(self, token: str, digest: str, address: str) -> tuple[Any, float]:
        if digest not in self._known:
            self._slow_down(address)
        row = None
        if token.startswith(PREFIX) and len(token) <= LONGEST:
            row = await self._context.store.read(store.by_digest, digest)
        if row is None or not hmac.compare_digest(row.digest, digest):
            self._known.pop(digest, None)
            self._failed(address)
            raise NotKnown("the token is not known here: `interlock token create` makes one")
        self._known[digest] = found = row, monotonic()
        self._known.move_to_end(digest)
        if len(self._known) > MOST_TOKENS:
            self._known.popitem(last=False)
        self._refuse_old(row)
        now = self._context.clock.now()
        if row.used_at is None or now - row.used_at > USED:
            await self._context.store.write(store.used, row.id, now)
        return found

    def _refuse_old(self, row: Any) -> None:
        if row.revoked_at is not None:
            raise NotKnown("the token was revoked: `interlock token create` makes another")
        if row.expires_at is not None and row.expires_at <= self._context.clock.now():
            raise NotKnown("the token has expired: `interlock token create` makes another")

    def _slow_down(self, address: str) -> None:
        count, since = self._failures.get(address, (0, 0.0))
        left_s = since + FAILURES_S - monotonic()
        if count >= FAILURES and left_s > 0:
            raise TooMany(left_s)

    def _failed(self, address: str) -> None:
        now = monotonic()
        count, since = self._failures.get(address, (0, now))
        if now - since > FAILURES_S:
            count, since = 0, now
        self._failures[address] = count + 1, since
        if len(self._failures) > MOST_ADDRESSES:
            self._failures.popitem(last=False)

    def forget(self) -> None:
        """Clears the cache of tokens."""
        self._known.clear()
