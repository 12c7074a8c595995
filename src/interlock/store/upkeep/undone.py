"""Finds what a restore undoes: what was stopped, revoked or removed since the backup, and whoever was erased since.

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


class _Removable(NamedTuple):
    """What is stopped by being removed: only where its owner is in both databases was it there in both."""

    what: str
    rows: str
    """A query for the ids, owners and names of what is not stopped in a database."""
    owners: str
    details: str


_ERASED = "name = 'erased ' || substr(id, length(id) - 5)"
"""As `personal.Known.pseudonym` has it."""

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
        "person", f"SELECT id, name FROM people WHERE role = 'viewer' AND NOT {_ERASED}",
        "SELECT id FROM people WHERE role <> 'viewer'", "{name} was a viewer: `interlock people role {id} viewer`",
    ),
    _Kind(
        "person", f"SELECT id, name FROM people WHERE {_ERASED}", f"SELECT id FROM people WHERE NOT {_ERASED}",
        "was erased: `interlock people erase {id}`",
    ),
    _Kind(
        "mission", "SELECT id, goal FROM missions WHERE canceled_at IS NOT NULL",
        "SELECT id FROM missions WHERE canceled_at IS NULL", "was canceled: `interlock cancel {id}`",
    ),
)  # fmt: skip

_REMOVABLE = (
    _Removable(
        "identity", "SELECT i.key, i.person_id, p.name FROM identities i JOIN people p ON p.id = i.person_id",
        f"SELECT id FROM people WHERE NOT {_ERASED}", "was {name}'s no more: `interlock people unlink {id}`",
    ),
    _Removable(
        "schedule", "SELECT id, project_id, name FROM schedules WHERE state = 'active'", "SELECT id FROM projects",
        "was paused, removed or at its end: `interlock schedule pause {name} --project {owner}`",
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
    for each in _REMOVABLE:
        owners = {str(row[0]) for row in replaced(each.owners)}
        kept = {(str(row[0]), str(row[1])) for row in replaced(each.rows)}
        found += [
            Undone(each.what, ident, each.details.format(id=ident, owner=owner, name=name))
            for ident, owner, name in sorted((str(a), str(b), str(c)) for a, b, c in restored(each.rows))
            if owner in owners and (ident, owner) not in kept
        ]
    return found
