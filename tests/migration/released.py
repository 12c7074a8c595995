"""The revisions that were released, as data: each is for ever, and so are the rows that a release has left somewhere.

`releases/<revision>.rows` is a database of that revision in the middle of its work, as `filling` made it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy as sa

from interlock.store.upkeep import migrate, snapshots
from interlock.store.upkeep.archive import Archive, Part

FOLDER = Path(__file__).parent / "releases"
RELEASED = {
    "0001": "8ced2622b6f3a37b1ebfb75a05efe571705f076508a736554615fe706f83fcf4",
    "0002": "6c94c4c44ff34be89dabbe4789413430e1d99688bcc321fb1449cc6f449668cc",
    "0003": "bd00fa70ea16c0ba249ff35c36fab10c2af0aa2e91d29a7248360967a5773537",
    "0004": "cf7692b1fe681721398a034a534b308a17830985c50a45d106fdb28ed4e6baf9",
    "0005": "0ceeee8631c45fcfa3bb48375e909a77db7f39294097abea9e34703d1039c855",
    "0006": "ce9841832c02d8d8afadd4040a808f676f574ddf9ce879db8a928a38deb49cda",
    "0007": "26945593871ae1b84bfa9e31abd4271de8f9f3042912453fed0d8b54a2a89be3",
    "0008": "38e2c791e6bbd762576fd3c427fd93958c0f7d876c35b25d2cd8ad170fc00eb3",
}
"""Each with the SHA-256 of its module."""
RELEASES = ("0001", "0002", "0004", "0006")
"""What earlier releases left databases at: 0003 and 0004 came out together, as did 0005
and 0006, and one transaction makes both. 0007 and 0008 are those of this version.

A new revision after a release is added with the release's rows and, in place of the last one, its sources.
"""
SOURCES = FOLDER / "0006.tar.xz"
"""The code of the release before this version."""
GOAL = "Compare three session stores for a web shop and e-mail the recommendation to board@example.com"


def archive_of(revision: str) -> Archive:
    """What a database of that revision held."""
    return Archive(FOLDER / f"{revision}.rows")


def build(url: str, revision: str) -> None:
    """Makes a database as that release did, with the rows that it had."""
    migrate.migrate_to(url, revision)
    with archive_of(revision) as archive:
        if url.startswith("sqlite"):
            _fill_sqlite(url, archive)
        else:
            _fill_postgres(url, archive)


def _fill_sqlite(url: str, archive: Archive) -> None:
    with sa.create_engine(url, poolclass=sa.NullPool).connect() as connection:
        raw: Any = connection.connection.driver_connection
        for part in archive.manifest.parts:
            names = ", ".join(part.columns)
            places = ", ".join("?" * len(part.columns))
            raw.execute(f"DELETE FROM {part.table}")
            raw.executemany(f"INSERT INTO {part.table} ({names}) VALUES ({places})", list(archive.rows(part)))
        raw.commit()


def _fill_postgres(url: str, archive: Archive) -> None:
    with psycopg.connect(url, options="-c timezone=UTC") as connection:
        connection.execute("SET CONSTRAINTS ALL DEFERRED")
        for part in _parents_first(connection, archive.manifest.parts):
            connection.execute(f"DELETE FROM {part.table}")
            names = ", ".join(part.columns)
            with connection.cursor() as cursor, cursor.copy(f"COPY {part.table} ({names}) FROM STDIN") as copy:
                for row in archive.rows(part):
                    copy.write_row(row)
            if dict(part.columns).get("id") == "int":
                connection.execute(
                    f"SELECT setval(pg_get_serial_sequence('{part.table}', 'id'), max(id)) FROM {part.table}"
                )


def _parents_first(connection: "psycopg.Connection[Any]", parts: tuple[Part, ...]) -> Iterator[Part]:
    needs: dict[str, set[str]] = {part.table: set() for part in parts}
    for child, parent in connection.execute(
        "SELECT conrelid::regclass::text, confrelid::regclass::text FROM pg_constraint"
        " WHERE contype = 'f' AND conparentid = 0"
    ):
        needs[child].add(parent)
    by_name = {part.table: part for part in parts}
    while needs:
        ready = sorted(name for name, parents in needs.items() if not (parents - {name}) & needs.keys())
        yield from (by_name[name] for name in ready)
        needs = {name: parents for name, parents in needs.items() if name not in ready}


def rows_of(url: str, table: str, columns: dict[str, str]) -> list[str]:
    """The rows of a table now, in those columns, in an order that does not depend on the database."""
    with snapshots.of(url) as snapshot:
        return sorted(repr(row) for row in snapshot.rows(table, columns))
