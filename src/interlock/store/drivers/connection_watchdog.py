"""A watchdog for connections to a server that no longer responds although the network reports no error.

A connection that it breaks is handled by the driver like any lost connection.
"""

import asyncio
import contextlib
import os
import socket
from time import monotonic
from typing import Any, Protocol

SILENT_S = 120.0
"""The timeout: by then other workers have taken over this process's runs. Source: numbers, "Time"."""
CLOSING_S = 25.0
"""The timeout while the store is being closed; longer than the server tolerates a stalled transaction."""
LOOKS = 20
"""The number of checks within the timeout."""


class Watched(Protocol):
    """A driver that reports which connections wait for a response, and since when."""

    silent_s: float
    closing_s: float
    is_closing: bool
    is_given_up: bool

    def waiting(self) -> list[tuple[Any, float]]:
        """Connections that wait for a response, each with the monotonic time of the request."""


async def guard(driver: Watched) -> None:
    """Breaks connections that are silent for too long; runs until cancelled."""
    while True:
        patience_s = driver.closing_s if driver.is_closing else driver.silent_s
        for connection, since in driver.waiting():
            if monotonic() - since > patience_s:
                driver.is_given_up = driver.is_closing
                break_off(connection)
        await asyncio.sleep(min(driver.closing_s, patience_s) / LOOKS)


def break_off(connection: Any) -> None:
    """Shuts down a connection's socket, so that the thread waiting on it gets a network error."""
    import psycopg

    with contextlib.suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.pgconn.socket)) as end:
        end.shutdown(socket.SHUT_RDWR)
