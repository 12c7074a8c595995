"""Leader election: the lease of a duty that one process at a time holds, renews, or takes over from a dead holder.

What is done under the lease is the owner's job; each of its writes passes the fencing token to
`store.duties.leaders.check`.
"""

import os
from typing import Any

from interlock.core.clock import Clock
from interlock.core.ids import new_id
from interlock.store.duties import leaders
from interlock.store.duties.leaders import Candidate
from interlock.store.engine import Store
from interlock.store.mailboxes import processes

RENEW_S = 3.0
"""How often to call `hold`."""


class Leadership:
    """One process's candidacy for a duty. Call `hold` every `RENEW_S` seconds, and `release` at the end.

    A holder counts as dead if its process on this machine has exited, or if it has not renewed for `takeover_s` seconds
    of this process's monotonic clock, so that a jump of the wall clock cannot depose it.
    """

    def __init__(self, store: Store, clock: Clock, name: str, *, takeover_s: float) -> None:
        self.store, self.clock, self.name, self.takeover_s = store, clock, name, takeover_s
        self.fence = 0
        """The fencing token of this term, checked with each write of the duty; 0 while another process leads."""
        pid = os.getpid()
        self._me = Candidate(new_id("ldr"), processes.host(), pid, processes.started(pid) or "unknown")
        self._last_seen: tuple[int, int] | None = None
        self._last_seen_at = self._held_at = clock.monotonic()

    @property
    def id(self) -> str:
        """The name of this process in the row of the duty while it leads."""
        return self._me.who

    @property
    def term(self) -> int:
        """The fencing token of whoever holds the duty, as far as is known; 0 if nobody was seen to."""
        return self.fence or (self._last_seen[0] if self._last_seen is not None else 0)

    @property
    def leads(self) -> bool:
        """Whether this process certainly holds the duty: renewed so recently that nobody can have taken it over."""
        return self.fence > 0 and self.clock.monotonic() - self._held_at < self.takeover_s

    async def hold(self) -> bool:
        """Takes the duty if it is free, or renews the lease; returns whether this process holds it.

        Raises StoreError if the database cannot be reached: `leads` then becomes false by itself after `takeover_s`.
        """
        began = self.clock.monotonic()
        if self.fence and await self.store.write(leaders.renew, self.name, self._me.who, self.fence):
            self._held_at = began
            return True
        self.fence = 0
        row = await self.store.read(leaders.leader, self.name)
        if row is not None and row.holder == self._me.who:
            self.fence = row.fence
        elif row is None or row.holder is None or self._is_gone(row):
            seen = None if row is None else (row.fence, row.beat)
            taken = await self.store.write(leaders.take, self.name, seen, self._me, self.clock.now())
            self.fence = taken or 0
        self._held_at = began
        return self.fence > 0

    async def release(self) -> None:
        """Releases the duty, so that another process can take it at once."""
        fence, self.fence = self.fence, 0
        if fence:
            await self.store.write(leaders.release, self.name, self._me.who, fence)

    def _is_gone(self, row: Any) -> bool:
        now, seen = self.clock.monotonic(), (row.fence, row.beat)
        if seen != self._last_seen:
            self._last_seen, self._last_seen_at = seen, now
        if processes.is_dead(row.host, row.pid, row.process_started):
            return True
        return now - self._last_seen_at >= self.takeover_s
