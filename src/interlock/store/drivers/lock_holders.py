"""Reports which processes hold locks on the tables of a PostgreSQL database; read-only."""

from typing import Any

_HOLDERS = (
    "SELECT a.pid, a.application_name, host(a.client_addr), extract(epoch FROM now() - a.xact_start)::int"
    " FROM pg_stat_activity AS a WHERE a.pid <> pg_backend_pid() AND a.pid IN ("
    "SELECT l.pid FROM pg_locks AS l JOIN pg_class AS c ON c.oid = l.relation"
    " WHERE l.granted AND c.relnamespace = current_schema()::regnamespace"
    " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))"
    " ORDER BY a.xact_start NULLS LAST, a.pid"
)


def describe_holders(connection: Any) -> str:
    """The server processes with locks on tables, oldest transaction first, and how to end one, as text."""
    rows = connection.execute(_HOLDERS).fetchall()
    if not rows:
        return "somebody was using its tables: try again"
    pid, name, host, seconds = rows[0]
    who = ", ".join(part for part in (f"`{name}`" if name else "", f"from {host}" if host else "") if part)
    since = f", in a transaction for {seconds:,} s" if seconds is not None else ""
    others = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
    return (
        f"process {pid} of the server{f' ({who})' if who else ''}{others} has its tables in use{since}: "
        f"end it, with `SELECT pg_terminate_backend({pid})` if need be, and try again"
    )
