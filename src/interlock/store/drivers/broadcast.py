"""Best-effort messages between processes, by LISTEN/NOTIFY of PostgreSQL on connections of their own.

Knows nothing of their contents. Whatever must not be lost is stored as a row instead.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from interlock.store.drivers.postgres import NO_DEAD_PEERS, WAKE_CHANNEL, PostgresDriver
from interlock.store.engine import Store

CHANNEL = "interlock_live"
LONGEST = 7_900
"""The maximum length of a message in (ASCII) characters: PostgreSQL accepts less than 8,000 bytes."""
RECONNECT_S = 1.0
CHECK_S = 5.0
_SEND = "SELECT pg_notify(%s, note) FROM unnest(%s::text[]) AS note"


class Broadcast:
    """Broadcasts over one database. Lost connections are re-established; messages sent meanwhile are lost."""

    def __init__(self, store: Store) -> None:
        assert isinstance(store.driver, PostgresDriver)
        self._url = store.driver.listen_url
        self._sending: Any = None
        self._turn = asyncio.Lock()
        self.is_listening = asyncio.Event()
        """Set while messages of other processes can be received."""

    @staticmethod
    def is_possible(store: Store) -> bool:
        """Whether broadcasting works: not on SQLite, nor through a transaction pooler without a direct address."""
        return isinstance(store.driver, PostgresDriver) and store.driver.listen_url is not None

    async def send(self, notes: Sequence[str], *, wakes: bool = False) -> bool:
        """Sends messages to the processes that listen, or with `wakes` to all processes; False if they are lost."""
        import psycopg

        async with self._turn:
            try:
                if self._sending is None or self._sending.closed:
                    self._sending = await self._connected()
                await self._sending.execute(_SEND, [WAKE_CHANNEL if wakes else CHANNEL, list(notes)])
            except psycopg.Error:
                await self._let_go()
                return False
        return True

    async def listen(self, take: Callable[[str], object]) -> None:
        """Passes each message of another process to `take`; runs until cancelled."""
        import psycopg

        while True:
            with contextlib.suppress(psycopg.Error):
                async with await self._connected() as connection:
                    await connection.execute(f"LISTEN {CHANNEL}")
                    self.is_listening.set()
                    while True:
                        async for note in connection.notifies(timeout=CHECK_S):
                            if not self._is_own(note.pid):
                                take(note.payload)
                        await connection.execute("SELECT 1")
            self.is_listening.clear()
            await asyncio.sleep(RECONNECT_S)

    async def close(self) -> None:
        """Closes the sending connection."""
        async with self._turn:
            await self._let_go()

    def _is_own(self, pid: int) -> bool:
        return self._sending is not None and not self._sending.closed and self._sending.info.backend_pid == pid

    async def _let_go(self) -> None:
        if self._sending is not None:
            with contextlib.suppress(Exception):
                await self._sending.close()
            self._sending = None

    async def _connected(self) -> Any:
        import psycopg

        assert self._url is not None
        return await psycopg.AsyncConnection.connect(self._url, autocommit=True, connect_timeout=10, **NO_DEAD_PEERS)
