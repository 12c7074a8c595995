"""An open store over a migrated database, once on each engine; no rows in it."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlmodel import SQLModel

from interlock.store.engine import Store
from interlock.store.migrate import upgrade

OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite file that was migrated once, to be copied."""
    path = tmp_path_factory.mktemp("migrated") / "interlock.db"
    asyncio.run(upgrade(f"sqlite:///{path}"))
    return path


@pytest.fixture(scope="session")
def migrated_database(postgres_server: str) -> str:
    """The URL of a PostgreSQL database that was migrated once, to be emptied for each test."""
    with psycopg.connect(host=postgres_server, user="postgres", dbname="postgres", autocommit=True) as admin:
        admin.execute("CREATE DATABASE migrated")
    url = f"postgresql://postgres@/migrated?host={postgres_server}"
    asyncio.run(upgrade(url))
    return url


@pytest.fixture
def migrated_sqlite_url(migrated_file: Path, tmp_path: Path) -> str:
    """The URL of a migrated SQLite file that only this test has."""
    path = shutil.copy(migrated_file, tmp_path / "interlock.db")
    return f"sqlite:///{path}"


@pytest.fixture
def migrated_postgres_url(migrated_database: str) -> str:
    """The URL of a migrated PostgreSQL database without rows and without anybody else connected."""
    with psycopg.connect(migrated_database, autocommit=True) as admin:
        admin.execute(OTHERS)
        tables = reversed(SQLModel.metadata.sorted_tables)
        admin.execute(sql.SQL("; ").join(sql.SQL("DELETE FROM {}").format(sql.Identifier(t.name)) for t in tables))
    return migrated_database


@pytest.fixture(params=["sqlite", "postgres"])
def migrated_url(request: pytest.FixtureRequest) -> str:
    """The URL of a migrated database without rows, once on each engine."""
    url: str = request.getfixturevalue(f"migrated_{request.param}_url")
    return url


@pytest.fixture
def database_url(migrated_url: str) -> str:
    """The same: what a contract test opens is migrated already, since that takes longer than most of them."""
    return migrated_url


@pytest.fixture
async def store(migrated_url: str) -> AsyncIterator[Store]:
    """An open store over it."""
    async with Store(migrated_url) as opened:
        yield opened
