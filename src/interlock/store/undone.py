"""Finds what a restore undoes: agents, tokens, people, missions and the squad that were stopped since the backup.

It is shown to whoever restores, and not done again: the replaced database may be what was wrong.
"""

import contextlib
import sqlite3
from collections.abc import Callable
from typing import Any, NamedTuple

Read = Callable[[str], list[tuple[Any, ...]]]
"""Executes a query on one of the databases."""


class Undone(NamedTuple):
    """Something that was stopped in the replaced database, and is not in the restored one."""

    what: str
    id: str
    details: str
    """What it was, and the command that stops it again."""


class _Kind(NamedTuple):
    what: str
    stopped: str
    """A query for the ids and names of what is stopped in a database."""
    there: str
    """One for the ids of what is not."""
    details: str


_KINDS = (
    _Kind(
        "squad", "SELECT scope, mode FROM controls WHERE scope = 'squad' AND mode <> 'running'",
        "SELECT 'squad' WHERE NOT EXISTS (SELECT 1 FROM controls WHERE scope = 'squad' AND mode <> 'running')",
        "was {name}: `interlock pause`",
    ),
    _Kind(
        "agent", "SELECT id, persona FROM members WHERE state = 'QUARANTINED'",
        "SELECT id FROM members WHERE state <> 'QUARANTINED'", "was in quarantine: `interlock quarantine {name}`",
    ),
    _Kind(
        "token", "SELECT id, name FROM api_tokens WHERE revoked_at IS NOT NULL",
        "SELECT id FROM api_tokens WHERE revoked_at IS NULL", "{name} was revoked: `interlock token revoke {id}`",
    ),
    _Kind(
        "person", "SELECT id, name FROM people WHERE role = 'viewer'", "SELECT id FROM people WHERE role <> 'viewer'",
        "{name} was a viewer: `interlock people role {id} viewer`",
    ),
    _Kind(
        "mission", "SELECT id, goal FROM missions WHERE canceled_at IS NOT NULL",
        "SELECT id FROM missions WHERE canceled_at IS NULL", "was canceled: `interlock cancel {id}`",
    ),
)  # fmt: skip


def of_sqlite(connection: sqlite3.Connection) -> Read:
    """Reads an SQLite database of any revision; what it has no table for, it has none of."""

    def read(query: str) -> list[tuple[Any, ...]]:
        with contextlib.suppress(sqlite3.OperationalError):
            return connection.execute(query).fetchall()
        return []

    return read


def find(replaced: Read, restored: Read) -> list[Undone]:
    """Returns what is stopped in the replaced database and not in the restored one, by kind and id."""
    found = []
    for kind in _KINDS:
        there = {str(row[0]) for row in restored(kind.there)}
        rows = sorted((str(ident), str(name)) for ident, name in replaced(kind.stopped))
        found += [
            Undone(kind.what, ident, kind.details.format(id=ident, name=name)) for ident, name in rows if ident in there
        ]
    return found
