"""What a session on PostgreSQL is set to, whatever the server, the database or the role has for all others.

How a connection is made is the driver's job.
"""

from typing import Any

LOCK_TIMEOUT_MS = 100
"""Shorter than `deadlock_timeout`, so that two groups that block each other are resolved at once."""
FIRST_WITH_TRANSACTION_TIMEOUT = 170_000
"""Of PostgreSQL; an older one refuses a session that sets it."""


def of_session(standstill_ms: int) -> dict[str, str]:
    """What any server knows, by name."""
    return {
        "timezone": "UTC",
        "datestyle": "ISO",
        "statement_timeout": "0",
        "lock_timeout": str(LOCK_TIMEOUT_MS),
        "idle_in_transaction_session_timeout": str(standstill_ms),
    }


def of_server(connection: Any) -> dict[str, str]:
    """What only some servers know, as far as this one does."""
    is_known = connection.info.server_version >= FIRST_WITH_TRANSACTION_TIMEOUT
    return {"transaction_timeout": "0"} if is_known else {}


def override(connection: Any) -> None:
    """Sets what only this server knows, for as long as the session lasts.

    Raises psycopg.OperationalError if the connection is lost, and closes it.
    """
    from psycopg import OperationalError

    if newer := of_server(connection):
        connection.pgconn.exec_("; ".join(f"SET {name} = '{value}'" for name, value in newer.items()).encode())
        if connection.closed:
            connection.pgconn.finish()
            raise OperationalError("the connection was lost")


def in_transaction(settings: dict[str, str]) -> str:
    """A statement that sets them for the transaction in which it is executed."""
    return "SELECT " + ", ".join(f"set_config('{name}', '{value}', true)" for name, value in settings.items())
