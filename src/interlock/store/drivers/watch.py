"""Detects commits of other processes: `PRAGMA data_version` on SQLite, LISTEN on PostgreSQL."""

import asyncio
import sqlite3
from collections.abc import Callable

from interlock.store.drivers.postgres import NO_DEAD_PEERS, WAKE_CHANNEL, PostgresDriver
from interlock.store.drivers.sqlite import SqliteDriver
from interlock.store.errors import StoreError

SQLITE_POLL_S = 0.2
POSTGRES_POLL_S = 2.0
POOLED_POLL_S = 0.5
"""The poll interval if LISTEN is not available."""
RECONNECT_S = 1.0


async def watch(
    driver: SqliteDriver | PostgresDriver, changed: Callable[[], object], on_broadcast: Callable[[str], object]
) -> None:
    """Calls `changed` after each commit that may have made work ready; runs until cancelled.

    `on_broadcast` is called with the broadcasts of other processes.
    """
    if isinstance(driver, SqliteDriver):
        await _watch_sqlite(driver, changed)
    else:
        await _watch_postgres(driver, changed, on_broadcast)


async def _watch_sqlite(driver: SqliteDriver, changed: Callable[[], object]) -> None:
    connection = driver.open_reader().connection
    try:
        seen = None
        while True:
            try:
                version = connection.execute("PRAGMA data_version").fetchone()
            except sqlite3.Error:
                version = None
            if version != seen:
                seen = version
                changed()
            await asyncio.sleep(SQLITE_POLL_S)
    finally:
        connection.close()


async def _watch_postgres(
    driver: PostgresDriver, changed: Callable[[], object], on_broadcast: Callable[[str], object]
) -> None:
    import psycopg

    while driver.listen_url is None:
        await asyncio.sleep(POOLED_POLL_S)
        changed()
    while True:
        try:
            connection = await psycopg.AsyncConnection.connect(
                driver.listen_url, autocommit=True, connect_timeout=10, **NO_DEAD_PEERS
            )
            async with connection:
                await connection.execute(f"LISTEN {WAKE_CHANNEL}")
                while True:
                    async for note in connection.notifies(timeout=POSTGRES_POLL_S, stop_after=1):
                        if note.payload:
                            on_broadcast(note.payload)
                    changed()
        except (psycopg.Error, StoreError):
            changed()
            await asyncio.sleep(RECONNECT_S)
