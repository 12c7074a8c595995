"""Databases by the dozen, each migrated and its test's own; no test lives here."""

import asyncio
import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from interlock.store import migrate

Databases = Callable[[], str]
"""Makes a migrated database without rows and returns its URL."""


@pytest.fixture(params=["sqlite", "postgresql"])
def databases(request: pytest.FixtureRequest) -> Databases:
    """As many databases as are asked for, once on each engine."""
    found: Databases = request.getfixturevalue(f"{request.param}_databases")
    return found


@pytest.fixture
def sqlite_databases(tmp_path: Path) -> Databases:
    """SQLite files."""
    first, numbers = tmp_path / "first.db", itertools.count()
    asyncio.run(migrate.upgrade(f"sqlite:///{first}"))

    def make() -> str:
        path = tmp_path / f"{next(numbers)}.db"
        shutil.copy(first, path)
        return f"sqlite:///{path}"

    return make


@pytest.fixture
def postgresql_databases(postgres_server: str) -> Iterator[Databases]:
    """Databases of the session's PostgreSQL."""
    prefix, numbers = f"chaos_{os.urandom(4).hex()}", itertools.count()
    made: list[str] = []

    def url(name: str) -> str:
        return f"postgresql://postgres@/{name}?host={postgres_server}"

    def execute(statement: str, *names: str) -> None:
        """On a connection of its own, since tests restart the server."""
        with psycopg.connect(host=postgres_server, user="postgres", dbname="postgres", autocommit=True) as admin:
            admin.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))

    def make() -> str:
        made.append(f"{prefix}_{next(numbers)}")
        execute("CREATE DATABASE {} TEMPLATE {}", made[-1], prefix)
        return url(made[-1])

    execute("CREATE DATABASE {}", prefix)
    asyncio.run(migrate.upgrade(url(prefix)))
    yield make
    for name in (*made, prefix):
        execute("DROP DATABASE {} WITH (FORCE)", name)
