"""Connections to a server that answers no more while the network says nothing: broken off, so that no wait is endless.

What is done once one is broken off is the driver's job, as after any loss of a connection.
"""

import asyncio
import contextlib
import os
import socket
from time import monotonic
from typing import Any, Protocol

SILENT_S = 120.0
"""Without an answer: by then others have taken over what this process had in hand. Source: numbers, "Time"."""
CLOSING_S = 25.0
"""The same where the store is to be closed; longer than a server waits for a transaction that stands still."""
LOOKS = 20
"""Within the time that is waited."""


class Watched(Protocol):
    """A driver that says on which connections somebody waits, and since when."""

    silent_s: float
    closing_s: float
    is_closing: bool
    is_given_up: bool

    def waiting(self) -> list[tuple[Any, float]]:
        """Connections on which an answer is awaited, each with the monotonic time since when."""


async def guard(driver: Watched) -> None:
    """Breaks off what is silent for too long; runs until it is cancelled."""
    while True:
        patience_s = driver.closing_s if driver.is_closing else driver.silent_s
        for connection, since in driver.waiting():
            if monotonic() - since > patience_s:
                driver.is_given_up = driver.is_closing
                break_off(connection)
        await asyncio.sleep(min(driver.closing_s, patience_s) / LOOKS)


def break_off(connection: Any) -> None:
    """Ends a connection under the hands of the thread that waits on it, which is told as by the network."""
    import psycopg

    with contextlib.suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.pgconn.socket)) as end:
        end.shutdown(socket.SHUT_RDWR)
