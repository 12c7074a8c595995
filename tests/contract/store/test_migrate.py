"""Databases come to this version's schema, once; those that are newer, not ours or not there are told in one line."""

import asyncio
import contextlib
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlmodel import SQLModel

from interlock.store.engine import Store
from interlock.store.errors import StoreError, StoreTooNew, StoreUnavailable
from interlock.store.upkeep import partitions
from interlock.store.upkeep.migrate import HEAD, KNOWN, MINIMUM_READER, revision, upgrade
from tests import processes
from tests.contract.store.furniture import agent

UPGRADE = "import asyncio, sys; from interlock.store.upkeep.migrate import upgrade; asyncio.run(upgrade(sys.argv[1]))"


def engine_of(url: str) -> sa.Engine:
    return sa.create_engine(url.replace("postgresql://", "postgresql+psycopg://"), poolclass=sa.NullPool)


def execute(url: str, statement: str) -> None:
    """Runs a statement behind the store's back."""
    with engine_of(url).begin() as connection:
        connection.exec_driver_sql(statement)


async def opened(url: str) -> None:
    await Store(url).open()


def one_line(told: pytest.ExceptionInfo[StoreError]) -> str:
    assert "\n" not in str(told.value)
    assert told.value.exit_code == 1
    return str(told.value)


async def test_empty_database_comes_to_the_head_once(database_url: str) -> None:
    assert revision(database_url) is None
    assert await upgrade(database_url) is None
    assert revision(database_url) == HEAD
    async with Store(database_url) as store:
        coder = await store.write(agent, "a")
    assert await upgrade(database_url) == HEAD
    async with Store(database_url) as store:
        assert await store.write(agent, "a") == coder


def metadata_of(dialect: str) -> sa.MetaData:
    """The models as a database has them: what is unique in a table that is parted by time has `created_at` in it."""
    made = sa.MetaData(naming_convention=SQLModel.metadata.naming_convention)
    for table in SQLModel.metadata.tables.values():
        copy = table.to_metadata(made)
        if dialect != "postgresql" or table.name not in partitions.TABLES:
            continue
        for constraint in [each for each in copy.constraints if isinstance(each, sa.UniqueConstraint)]:
            copy.constraints.remove(constraint)
            copy.append_constraint(sa.UniqueConstraint(*constraint.columns, copy.c.created_at, name=constraint.name))
    return made


def parts_of(connection: sa.Connection) -> set[str]:
    """The names of all partitions; none on SQLite."""
    if connection.dialect.name == "sqlite":
        return set()
    found = connection.exec_driver_sql("SELECT relname FROM pg_class WHERE relispartition AND relkind = 'r'")
    return {name for (name,) in found}


async def test_migrated_schema_is_that_of_the_models(database_url: str) -> None:
    await upgrade(database_url)
    with engine_of(database_url).connect() as connection:
        parts = parts_of(connection)

        def counts(name: str | None, kind: str, parents: object) -> bool:
            return kind != "table" or name not in parts

        context = MigrationContext.configure(connection, opts={"compare_server_default": True, "include_name": counts})
        assert compare_metadata(context, metadata_of(connection.dialect.name)) == []


async def test_partitioned_tables_have_the_keys_of_their_models_and_the_partition_column(
    postgres_url: str,
) -> None:
    await upgrade(postgres_url)
    with engine_of(postgres_url).connect() as connection:
        look = sa.inspect(connection)
        for name in partitions.TABLES:
            model = SQLModel.metadata.tables[name]
            for each in (name, *(part for part in parts_of(connection) if part.startswith(name))):
                assert look.get_pk_constraint(each)["constrained_columns"] == ["id", "created_at"]
                columns = {column["name"]: column["nullable"] for column in look.get_columns(each)}
                assert columns == {column.name: column.nullable for column in model.columns}
                references = [tuple(key["constrained_columns"]) for key in look.get_foreign_keys(each)]
                assert references == [tuple(key.column_keys) for key in model.foreign_key_constraints]


def alone(url: str) -> None:
    """Waits until no other session looks at the database, such as the server's own ANALYZE: as long as one may see old
    versions of rows, their room is not used again.
    """
    query = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        " AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)"
    )
    with engine_of(url).connect() as connection:
        while connection.exec_driver_sql(query).scalar_one():
            connection.rollback()
            time.sleep(0.05)


async def test_rows_that_change_again_and_again_find_room_on_their_page(postgres_url: str) -> None:
    await upgrade(postgres_url)
    with engine_of(postgres_url).begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO accounts (id, kind, owner_id, project_id, limit_microusd, settled_microusd, reserved_microusd,"
            " frozen, created_at) SELECT 'run:' || n, 'run', 'x', 'default', 0, 0, 0, false, now()"
            " FROM generate_series(1, 300) n"
        )
    for _ in range(5):
        alone(postgres_url)
        execute(postgres_url, "UPDATE accounts SET reserved_microusd = reserved_microusd + 1")
        alone(postgres_url)
        execute(postgres_url, "SELECT count(*) FROM accounts")
    query = "SELECT pg_stat_force_next_flush(), n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables"
    with engine_of(postgres_url).begin() as connection:
        _, changed, in_place = connection.exec_driver_sql(f"{query} WHERE relname = 'accounts'").one()
    assert (changed, in_place) == (1500, 1500)


async def test_outcome_of_a_call_finds_room_on_the_page_of_its_intent(postgres_url: str) -> None:
    await upgrade(postgres_url)
    with engine_of(postgres_url).begin() as connection:
        connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
        connection.exec_driver_sql(
            "INSERT INTO tool_calls (id, run_id, step_number, position, call_id, tool, tool_digest, risk, effect,"
            " rules, reasons, policy_hash, status, idempotency_token, simulated, is_error, created_at)"
            " SELECT 'call:' || n, 'run', n, 0, 'c', 'lookup', 'd', 'GREEN', 'read', '[]',"
            " '[]', 'p', 'ready', 't' || n, false, false, now() FROM generate_series(1, 300) n"
        )
    execute(postgres_url, "UPDATE tool_calls SET status = 'done', result = 'what it found', ended_at = now()")
    query = "SELECT pg_stat_force_next_flush(), n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables"
    with engine_of(postgres_url).begin() as connection:
        _, changed, in_place = connection.exec_driver_sql(f"{query} WHERE relname = 'tool_calls'").one()
    assert (changed, in_place) == (300, 300)


async def test_two_processes_that_migrate_at_once_both_succeed(database_url: str, tmp_path: Path) -> None:
    with ExitStack() as both:
        started = [
            both.enter_context(processes.running(("-c", UPGRADE, database_url), folder=tmp_path, environment={}))
            for _ in range(2)
        ]
        assert [await process.ended() for process in started] == [0, 0]
    assert revision(database_url) == HEAD


@contextmanager
def migrated_by_a_newer_version(url: str, minimum_reader: str) -> Iterator[None]:
    """A database at a revision that this version has never heard of; the database is shared, so it is set right."""
    execute(url, "UPDATE alembic_version SET version_num = '9999'")
    execute(url, f"UPDATE meta SET value = '{minimum_reader}' WHERE key = 'minimum_reader'")
    try:
        yield
    finally:
        execute(url, f"UPDATE alembic_version SET version_num = '{HEAD}'")
        execute(url, f"UPDATE meta SET value = '{MINIMUM_READER}' WHERE key = 'minimum_reader'")


@pytest.fixture
def url_with_meta(migrated_url: str) -> str:
    """The URL of a migrated database whose facts about itself no other test has emptied."""
    execute(migrated_url, "DELETE FROM meta")
    execute(migrated_url, f"INSERT INTO meta VALUES ('minimum_reader', '{MINIMUM_READER}')")
    return migrated_url


async def test_database_of_a_newer_version_is_refused_and_left_alone(url_with_meta: str) -> None:
    with migrated_by_a_newer_version(url_with_meta, "9999"):
        with pytest.raises(StoreTooNew, match=f"at revision `9999`, .* knows up to `{KNOWN[-1]}`: install") as told:
            await upgrade(url_with_meta)
        assert (told.value.found, told.value.known) == ("9999", HEAD)
        one_line(told)


async def test_database_that_a_newer_version_has_only_extended_is_used_and_left_as_it_is(url_with_meta: str) -> None:
    with migrated_by_a_newer_version(url_with_meta, HEAD):
        assert await upgrade(url_with_meta) == "9999"
        async with Store(url_with_meta) as store:
            await store.write(agent, "a")
        assert revision(url_with_meta) == "9999"


async def test_database_says_from_which_revision_on_it_can_be_used(database_url: str) -> None:
    await upgrade(database_url)
    with engine_of(database_url).connect() as connection:
        found = connection.exec_driver_sql("SELECT value FROM meta WHERE key = 'minimum_reader'").scalar_one()
    assert found == MINIMUM_READER


async def test_database_of_something_else_is_refused_and_left_alone(database_url: str) -> None:
    execute(database_url, "CREATE TABLE tasks (id INTEGER)")
    with pytest.raises(
        StoreError, match=r"is a database of something else: |relation \"tasks\" already exists"
    ) as told:
        await upgrade(database_url)
    one_line(told)
    with engine_of(database_url).connect() as connection:
        assert sa.inspect(connection).get_table_names() == ["tasks"]


async def test_migration_that_fails_leaves_nothing(database_url: str) -> None:
    await upgrade(database_url)
    execute(database_url, "DELETE FROM alembic_version")
    with pytest.raises(StoreError) as told:
        await upgrade(database_url)
    one_line(told)
    assert revision(database_url) is None


async def test_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but some words\n" * 100)
    for use in (upgrade, opened):
        with pytest.raises(StoreUnavailable, match="is not an interlock database, or is damaged") as told:
            await use(f"sqlite:///{path}")
        one_line(told)
    assert path.read_text().startswith("not a database")


@pytest.mark.parametrize("place", ["a-folder", "no/such/folder/interlock.db"])
async def test_path_that_cannot_be_opened_is_one_clear_error(tmp_path: Path, place: str) -> None:
    (tmp_path / "a-folder").mkdir()
    for use in (upgrade, opened):
        with pytest.raises(StoreUnavailable, match=r"cannot open the database `.*`: check the path") as told:
            await use(f"sqlite:///{tmp_path / place}")
        one_line(told)


async def test_file_that_cannot_be_written_is_one_clear_error(migrated_sqlite_url: str) -> None:
    async with Store(migrated_sqlite_url) as store:
        await store.write(lambda tx: tx.run(sa.text("PRAGMA query_only = on")))
        with pytest.raises(StoreUnavailable, match=r"is read-only: make it writable for this user") as told:
            await store.write(agent, "a")
        one_line(told)


async def test_odd_characters_in_a_path_are_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "a b%20?c#d&e=f;ü'" / "interlock.db"
    path.parent.mkdir()
    url = f"sqlite:///{path}"
    assert await upgrade(url) is None
    assert path.exists()
    assert await upgrade(url) == HEAD
    async with Store(url) as store:
        await store.write(agent, "a")
    assert sorted(p.name for p in tmp_path.iterdir()) == [path.parent.name]


def closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.mark.parametrize(
    "secret", ["s3cret", "s3/cret", "s3@cret", "s3%zzcret", "s3?cret", "s3#cret", "s3:cret", "s3 cret", "s3[cret"]
)
async def test_unreachable_postgresql_is_one_clear_error_without_the_password(secret: str) -> None:
    url = f"postgresql://somebody:{secret}@127.0.0.1:{closed_port()}/interlock"
    for use in (upgrade, opened):
        with pytest.raises(StoreUnavailable, match="INTERLOCK_DATABASE_URL") as told:
            await use(url)
        assert "s3" not in one_line(told)
        assert "cret" not in one_line(told)


async def test_database_that_does_not_exist_is_one_clear_error(postgres_server: str) -> None:
    url = f"postgresql://postgres@/nothing?host={postgres_server}"
    with pytest.raises(StoreUnavailable, match=r"database \"nothing\" does not exist") as told:
        await upgrade(url)
    one_line(told)


async def test_migration_waits_for_another_that_takes_its_time(postgres_url: str) -> None:
    from interlock.store.upkeep.migrate import LOCK_KEY

    with psycopg.connect(postgres_url) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK_KEY])
        waiting = asyncio.create_task(upgrade(postgres_url))
        blocked = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        async with asyncio.timeout(60):
            while other.execute(blocked).fetchone() != (1,):
                await asyncio.sleep(0.02)
            await asyncio.sleep(0.3)
        assert not waiting.done()
        other.commit()
    assert await waiting is None


async def test_migration_waits_for_another_that_copies_a_large_file(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's SQLite waits for 50 ms here if nobody says otherwise, since 5 s are too long for a test."""
    connect = sqlite3.dbapi2.connect
    monkeypatch.setattr(sqlite3.dbapi2, "connect", lambda *args, **kw: connect(*args, **{"timeout": 0.05} | kw))
    with contextlib.closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        waiting = asyncio.create_task(upgrade(sqlite_url))
        await asyncio.sleep(0.5)
        other.execute("ROLLBACK")
    assert await waiting is None


async def test_new_file_is_opened_while_another_process_writes_to_it(sqlite_url: str) -> None:
    await upgrade(sqlite_url)
    with contextlib.closing(sqlite3.connect(sqlite_url.removeprefix("sqlite:///"), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        opening = asyncio.create_task(Store(sqlite_url).open())
        await asyncio.sleep(0.3)
        other.execute("ROLLBACK")
    store = await opening
    await store.close()
