"""An open store over a migrated, empty database, once on each engine."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlmodel import SQLModel

from interlock.store.engine import Store
from interlock.store.upkeep.migrate import upgrade

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


class Sweeper:
    """Empties a PostgreSQL database over a persistent connection: a new one would have to look up every table first.

    The deletions are in a function that only this connection sees, so that they are planned once.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._connect()

    def sweep(self) -> None:
        """Deletes all rows and disconnects everybody else."""
        try:
            self._empty()
        except psycopg.OperationalError:
            self.close()
            self._connect()
            self._empty()

    def _connect(self) -> None:
        self._connection = psycopg.connect(self._url, autocommit=True)
        tables = reversed(SQLModel.metadata.sorted_tables)
        deletions = (sql.SQL("DELETE FROM {};").format(sql.Identifier("public", table.name)) for table in tables)
        self._connection.execute(
            sql.SQL("CREATE FUNCTION pg_temp.sweep() RETURNS void LANGUAGE plpgsql AS $$BEGIN {} END$$").format(
                sql.SQL(" ").join(deletions)
            )
        )

    def _empty(self) -> None:
        self._connection.execute(OTHERS)
        self._connection.execute("SELECT pg_temp.sweep()")

    def close(self) -> None:
        """Disconnects."""
        self._connection.close()


@pytest.fixture(scope="session")
def sweeper(migrated_database: str) -> Iterator[Sweeper]:
    """What empties it."""
    found = Sweeper(migrated_database)
    yield found
    found.close()


@pytest.fixture
def migrated_sqlite_url(migrated_file: Path, tmp_path: Path) -> str:
    """The URL of a migrated SQLite file for this test."""
    path = shutil.copy(migrated_file, tmp_path / "interlock.db")
    return f"sqlite:///{path}"


@pytest.fixture
def migrated_postgres_url(migrated_database: str, sweeper: Sweeper) -> str:
    """The URL of a migrated, empty PostgreSQL database without other connections."""
    sweeper.sweep()
    return migrated_database


@pytest.fixture(params=["sqlite", "postgres"])
def migrated_url(request: pytest.FixtureRequest) -> str:
    """The URL of a migrated database without rows, once on each engine."""
    url: str = request.getfixturevalue(f"migrated_{request.param}_url")
    return url


@pytest.fixture
def database_url(migrated_url: str) -> str:
    """The same: contract tests open a migrated database, since migrating takes longer than most of them."""
    return migrated_url


@pytest.fixture
async def store(migrated_url: str) -> AsyncIterator[Store]:
    """An open store over it."""
    async with Store(migrated_url) as opened:
        yield opened
