"""The lease of a duty that one process at a time has: taken, renewed, taken over from who is gone.

What is done under it is the owner's job; each of its writes shows the fence to `store.leaders.check`.
"""

import os
from typing import Any

from interlock.core.clock import Clock
from interlock.core.ids import new_id
from interlock.store import leaders, processes
from interlock.store.engine import Store
from interlock.store.leaders import Candidate

RENEW_S = 3.0
"""How often `hold` is to be called."""


class Leadership:
    """One process's claim to a duty. Call `hold` every `RENEW_S` seconds, and `release` at the end.

    A holder is gone where its process on this machine is, or where it has shown no sign for `takeover_s` seconds of
    this process's monotonic clock, so that no clock's jump can unseat it.
    """

    def __init__(self, store: Store, clock: Clock, name: str, *, takeover_s: float) -> None:
        self.store, self.clock, self.name, self.takeover_s = store, clock, name, takeover_s
        self.fence = 0
        """To be shown with each write of the duty; 0 while another has it."""
        pid = os.getpid()
        self._me = Candidate(new_id("ldr"), processes.host(), pid, processes.started(pid) or "unknown")
        self._heard: tuple[int, int] | None = None
        self._heard_at = self._held_at = clock.monotonic()

    @property
    def id(self) -> str:
        """The holder's name in the row of the duty while this one has it."""
        return self._me.who

    @property
    def leads(self) -> bool:
        """Whether the duty is certainly this one's: held, and shown so recently that nobody can have taken it over."""
        return self.fence > 0 and self.clock.monotonic() - self._held_at < self.takeover_s

    async def hold(self) -> bool:
        """Takes the duty where it is free, or shows that it is still held; says whether this one has it.

        Raises StoreError if the database cannot be asked: then `leads` ends by itself in time.
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
        """Gives the duty back, so that another process can have it at once."""
        fence, self.fence = self.fence, 0
        if fence:
            await self.store.write(leaders.release, self.name, self._me.who, fence)

    def _is_gone(self, row: Any) -> bool:
        now, heard = self.clock.monotonic(), (row.fence, row.beat)
        if heard != self._heard:
            self._heard, self._heard_at = heard, now
        if processes.is_dead(row.host, row.pid, row.process_started):
            return True
        return now - self._heard_at >= self.takeover_s
