"""Migrated databases, any number per test; no test lives here."""

import asyncio
import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from interlock.store.upkeep import migrate

Databases = Callable[[], str]
"""Makes a migrated database without rows and returns its URL."""


@pytest.fixture(params=["sqlite", "postgresql"])
def databases(request: pytest.FixtureRequest) -> Databases:
    """As many databases as requested, once on each engine."""
    found: Databases = request.getfixturevalue(f"{request.param}_databases")
    return found


@pytest.fixture(scope="session")
def migrated_first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite file that was migrated once, to be copied."""
    path = tmp_path_factory.mktemp("first") / "first.db"
    asyncio.run(migrate.upgrade(f"sqlite:///{path}"))
    return path


@pytest.fixture
def sqlite_databases(migrated_first: Path, tmp_path: Path) -> Databases:
    """SQLite files."""
    numbers = itertools.count()

    def make() -> str:
        return f"sqlite:///{shutil.copy(migrated_first, tmp_path / f'{next(numbers)}.db')}"

    return make


def _url(postgres_server: str, name: str) -> str:
    return f"postgresql://postgres@/{name}?host={postgres_server}"


def _execute(postgres_server: str, statement: str, *names: str) -> None:
    """Uses a connection of its own, because tests restart the server."""
    with psycopg.connect(host=postgres_server, user="postgres", dbname="postgres", autocommit=True) as admin:
        admin.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


@pytest.fixture(scope="session")
def migrated_template(postgres_server: str) -> str:
    """The name of a migrated PostgreSQL database to be copied; nobody connects to it."""
    _execute(postgres_server, "CREATE DATABASE {}", name := "chaos_first")
    asyncio.run(migrate.upgrade(_url(postgres_server, name)))
    return name


@pytest.fixture
def postgresql_databases(postgres_server: str, migrated_template: str) -> Iterator[Databases]:
    """Databases on the session's PostgreSQL server."""
    prefix, made = f"chaos_{os.urandom(4).hex()}", list[str]()

    def make() -> str:
        made.append(f"{prefix}_{len(made)}")
        _execute(postgres_server, "CREATE DATABASE {} TEMPLATE {}", made[-1], migrated_template)
        return _url(postgres_server, made[-1])

    yield make
    for name in made:
        _execute(postgres_server, "DROP DATABASE {} WITH (FORCE)", name)
