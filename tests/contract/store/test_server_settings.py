"""What an administrator has set for a PostgreSQL database or role changes nothing of what is written and read."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql

from interlock.core.values import SYSTEM
from interlock.store import squad
from interlock.store.engine import Store
from interlock.store.errors import StoreUnavailable
from interlock.store.schema import Project, table
from interlock.store.tx import Tx
from interlock.store.upkeep import archive, migrate, restore
from interlock.store.upkeep.epochs import Beginning

MOMENT = datetime(2026, 3, 9, 12, 30, 15, 250_000, tzinfo=UTC)
WORDS = "Bäder — “ja” 😀"
ISOLATION = sa.text("SHOW transaction_isolation").columns(transaction_isolation=sa.String())
ODD = {
    "dates": {"datestyle": "SQL, DMY", "timezone": "Asia/Kolkata"},
    "german dates": {"datestyle": "German"},
    "words": {"client_encoding": "LATIN1"},
    "isolation": {"default_transaction_isolation": "serializable"},
}


@pytest.fixture(params=ODD)
def odd_url(request: pytest.FixtureRequest, postgres_url: str) -> str:
    """The URL of an empty database with settings of its own."""
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        for name, value in ODD[request.param].items():
            admin.execute(
                sql.SQL("ALTER DATABASE {} SET {} = {}").format(
                    sql.Identifier(admin.info.dbname), sql.Identifier(name), sql.Literal(value)
                )
            )
    return postgres_url


def put(tx: Tx) -> str:
    squad.ensure_project(tx, WORDS, "UTC", MOMENT)
    return str(tx.rows(ISOLATION)[0].transaction_isolation)


@pytest.mark.parametrize("pooled", [False, True])
async def test_times_words_and_isolation_are_the_same_whatever_the_database_is_set_to(
    odd_url: str, pooled: bool
) -> None:
    await migrate.upgrade(odd_url, pooled=pooled)
    async with Store(odd_url, pooled=pooled) as store:
        assert set(await asyncio.gather(store.write(put), store.write(put))) == {"read committed"}
        row = await store.read(lambda tx: tx.one(sa.select(table(Project))))
    assert row is not None
    assert (row.id, row.created_at) == (WORDS, MOMENT)
    with psycopg.connect(odd_url, client_encoding="UTF8") as eye:
        assert eye.execute("SELECT id FROM projects").fetchone() == (WORDS,)


@pytest.fixture(params=["SQL_ASCII", "LATIN1"])
def narrow_url(request: pytest.FixtureRequest, postgres_url: str) -> Iterator[str]:
    """The URL of an empty database that cannot hold every character."""
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        name = f"{admin.info.dbname}_narrow"
        made = "CREATE DATABASE {} ENCODING {} TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
        admin.execute(sql.SQL(made).format(sql.Identifier(name), sql.Literal(request.param)))
        yield postgres_url.replace(admin.info.dbname, name)
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


async def test_new_database_that_cannot_hold_every_character_is_refused_with_the_way_out(narrow_url: str) -> None:
    with pytest.raises(StoreUnavailable, match=r"encoding .* ENCODING 'UTF8'") as refused:
        await migrate.upgrade(narrow_url)
    assert getattr(refused.value, "is_final", False)
    with psycopg.connect(narrow_url) as eye:
        assert eye.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)


async def test_older_database_that_cannot_store_every_character_is_refused_and_can_be_moved(
    narrow_url: str, postgres_url: str, tmp_path: Path
) -> None:
    """An earlier version made its tables in a database of any encoding."""
    migrate.migrate_to(narrow_url)
    with psycopg.connect(narrow_url) as eye:
        encoding = eye.info.parameter_status("server_encoding")
    if encoding == "LATIN1":
        with pytest.raises(
            StoreUnavailable, match=r"encoding LATIN1.*: take .* `interlock db backup FILE`.* there with"
        ):
            await migrate.upgrade(narrow_url)
    else:
        await migrate.upgrade(narrow_url)
    archive.back_up(narrow_url, tmp_path / "a.backup", "1", MOMENT)

    def begin(_: archive.Manifest) -> Beginning:
        return Beginning(MOMENT, MOMENT, SYSTEM, "default", False)

    restore.restore(postgres_url, tmp_path / "a.backup", tmp_path, begin, silent_s=None)
    assert await migrate.upgrade(postgres_url) == migrate.HEAD


def of_database(url: str, statement: str) -> None:
    """Changes the database of a URL, and breaks off who is connected."""
    with psycopg.connect(url, autocommit=True, options="-c default_transaction_read_only=off") as admin:
        admin.execute(sql.SQL(f"ALTER DATABASE {{}} {statement}").format(sql.Identifier(admin.info.dbname)))
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.mark.parametrize("limit", ["statement_timeout", "transaction_timeout"])
@pytest.mark.parametrize("pooled", [False, True])
async def test_statement_that_takes_long_is_not_broken_off(
    migrated_postgres_url: str, pooled: bool, limit: str
) -> None:
    of_database(migrated_postgres_url, f"SET {limit} = '500ms'")
    slow = sa.text("SELECT CAST(pg_sleep(0.7) AS text) AS slept").columns(slept=sa.String())
    async with Store(migrated_postgres_url, pooled=pooled) as store:
        assert await store.read(lambda tx: len(tx.rows(slow))) == 1
        assert await store.write(lambda tx: len(tx.rows(slow))) == 1


@pytest.mark.parametrize("pooled", [False, True])
async def test_backup_that_takes_longer_than_a_transaction_should_is_whole(
    migrated_postgres_url: str, tmp_path: Path, pooled: bool
) -> None:
    of_database(migrated_postgres_url, "SET transaction_timeout = '500ms'")
    with psycopg.connect(migrated_postgres_url, options="-c transaction_timeout=0") as other:
        other.execute("LOCK TABLE workers IN ACCESS EXCLUSIVE MODE")
        path = tmp_path / "a.backup"
        backup = asyncio.create_task(
            asyncio.to_thread(archive.back_up, migrated_postgres_url, path, "1", MOMENT, pooled=pooled)
        )
        await asyncio.sleep(0.7)
    made = await backup
    with archive.Archive(path) as kept:
        assert kept.manifest == made


@pytest.mark.parametrize("where", ["url", "environment", "database"])
async def test_tables_are_in_the_schema_that_was_asked_for(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute("CREATE SCHEMA squad")
    url = postgres_url
    if where == "url":
        url = f"{postgres_url}&options=-csearch_path%3Dsquad"
    elif where == "environment":
        monkeypatch.setenv("PGOPTIONS", "-c search_path=squad")
    else:
        of_database(postgres_url, "SET search_path = squad")
    await migrate.upgrade(url)
    async with Store(url) as store:
        assert await store.write(put) == "read committed"
    with psycopg.connect(postgres_url, options="-c search_path=public") as eye:
        assert eye.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)
        assert eye.execute("SELECT id FROM squad.projects").fetchone() == (WORDS,)


async def test_server_that_takes_no_changes_for_a_while_is_asked_anew(migrated_postgres_url: str) -> None:
    async with Store(migrated_postgres_url) as store:
        of_database(migrated_postgres_url, "SET default_transaction_read_only = on")
        with pytest.raises(StoreUnavailable, match=r"read-only transaction: try again$") as refused:
            await store.write(put)
        assert not getattr(refused.value, "is_final", False)
        with psycopg.connect(migrated_postgres_url, autocommit=True) as admin:
            admin.execute("SET default_transaction_read_only = off")
            admin.execute(
                sql.SQL("ALTER DATABASE {} RESET default_transaction_read_only").format(
                    sql.Identifier(admin.info.dbname)
                )
            )
        assert await store.write(put) == "read committed"


@pytest.fixture
def reader_url(postgres_url: str) -> Iterator[str]:
    """The URL of an empty database for a role that may read and do nothing else."""
    name = f"reader_{postgres_url.partition('test_')[2][:12]}"
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        role = sql.Identifier(name)
        admin.execute(sql.SQL("CREATE ROLE {} LOGIN").format(role))
        admin.execute(sql.SQL("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO {}").format(role))
        yield postgres_url.replace("postgres@", f"{name}@")
        admin.execute(sql.SQL("DROP OWNED BY {}").format(role))
        admin.execute(sql.SQL("DROP ROLE {}").format(role))


async def test_server_whose_connections_are_all_taken_is_waited_for_with_other_advice(
    postgres_url: str, reader_url: str
) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        role = sql.Identifier(reader_url.partition("//")[2].partition("@")[0])
        admin.execute(sql.SQL("ALTER ROLE {} CONNECTION LIMIT 0").format(role))
    with pytest.raises(StoreUnavailable, match=r"too many connections .*: raise its limit of connections") as refused:
        await migrate.upgrade(reader_url)
    assert not getattr(refused.value, "is_final", True)


async def test_role_without_rights_is_refused_with_the_way_out(postgres_url: str, reader_url: str) -> None:
    with pytest.raises(StoreUnavailable, match=r"permission denied for schema public.*: use a role that owns the tabl"):
        await migrate.upgrade(reader_url)
    await migrate.upgrade(postgres_url)
    async with Store(reader_url) as store:
        assert await store.read(lambda tx: tx.rows(sa.select(table(Project)))) == []
        with pytest.raises(StoreUnavailable, match=r"permission denied for table projects: use a role that") as refused:
            await store.write(put)
    assert getattr(refused.value, "is_final", False)
