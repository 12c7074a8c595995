"""A database that fails tells it in one line, loses nothing that it acknowledged, and goes on when it can."""

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from interlock.store.drivers.postgres import PostgresDriver, Unreachable
from interlock.store.engine import Store
from interlock.store.errors import StoreUnavailable
from interlock.store.schema import Meta
from interlock.store.tx import Tx
from interlock.store.upkeep import migrate
from tests import processes
from tests.contract.store.test_engine import keys, put


async def test_writer_whose_connection_is_cut_goes_on(migrated_postgres_url: str) -> None:
    async with Store(migrated_postgres_url) as store:
        await store.write(put, "before")
        await store.read(keys)
        with psycopg.connect(migrated_postgres_url, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        results = await asyncio.gather(*[store.write(put, f"after {i}") for i in range(5)])
        assert await store.read(keys) == sorted(["before", *results])


@asynccontextmanager
async def fickle_line(socket: str, drops: int) -> AsyncIterator[int]:
    """The port of a line to PostgreSQL on which the first connections are dropped as soon as they are made."""
    left = drops
    serving: set[asyncio.Task[None] | None] = set()
    ends: set[asyncio.StreamWriter] = set()

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, upto: bytes | None = None) -> None:
        with contextlib.suppress(OSError):
            while piece := await reader.read(65_536):
                writer.write(piece)
                await writer.drain()
                if upto is not None and piece.endswith(upto):
                    break
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal left
        serving.add(asyncio.current_task())
        there, back = await asyncio.open_unix_connection(socket)
        ends.update((writer, back))
        upto, left = b"Z\0\0\0\5I" if left else None, max(left - 1, 0)
        await asyncio.gather(carry(reader, back), carry(there, writer, upto))

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]
        for end in ends:
            end.transport.abort()
        await asyncio.gather(*(task for task in serving if task is not None))


async def test_connection_that_is_lost_as_soon_as_it_is_made_is_made_again_by_who_waits(
    migrated_postgres_url: str, postgres_server: str
) -> None:
    async with fickle_line(f"{postgres_server}/.s.PGSQL.5432", 2) as port:
        url = migrated_postgres_url.replace("postgres@/", f"postgres@127.0.0.1:{port}/").partition("?")[0]
        with pytest.raises(Unreachable, match=r"PostgreSQL.*lost"):
            await asyncio.to_thread(migrate.revision, url)
        with pytest.raises(Unreachable, match=r"PostgreSQL.*lost"):
            await Store(url).open()
        async with Store(url) as store:
            assert await store.write(put, "key") == "key"


async def test_connection_cut_within_a_unit_loses_and_doubles_nothing(migrated_postgres_url: str) -> None:
    async with Store(migrated_postgres_url) as store:
        cuts = [0]

        def cut_once(tx: Tx) -> None:
            tx.add(Meta, key="key", value="x")
            if cuts[0] < 1:
                cuts[0] += 1
                tx.run(sa.text("SELECT pg_terminate_backend(pg_backend_pid())"))

        await store.write(cut_once)
        assert await store.read(keys) == ["key"]


async def test_statements_fault_is_told_and_the_writer_goes_on(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(Exception, match=r"(?i)no_such_table"):
        await store.write(lambda tx: tx.run(sa.text("SELECT * FROM no_such_table")))
    with pytest.raises(Exception, match=r"(?i)no_such_table"):
        await store.read(lambda tx: tx.rows(sa.text("SELECT * FROM no_such_table")))
    assert await store.write(put, "key") == "key"
    assert await store.read(keys) == ["key"]
    assert caplog.messages == []


async def test_full_disk_is_one_clear_error_and_loses_nothing(migrated_sqlite_url: str, tmp_path: Path) -> None:
    async with Store(migrated_sqlite_url) as store:
        await store.write(put, "before")
        await store.write(lambda tx: tx.run(sa.text("PRAGMA max_page_count = 1")))
        results = await asyncio.gather(
            *[store.write(put, f"{i}", "x" * 10_000) for i in range(50)], return_exceptions=True
        )
        assert any(isinstance(r, StoreUnavailable) for r in results)
        for fault in (r for r in results if isinstance(r, BaseException)):
            assert str(fault).startswith(f"no space left for the database `{tmp_path / 'interlock.db'}`: free some")
        kept = [r for r in results if isinstance(r, str)]
        await store.write(lambda tx: tx.run(sa.text("PRAGMA max_page_count = 1073741823")))
        await store.write(put, "after")
        assert await store.read(keys) == sorted(["before", *kept, "after"])


NO_SPACE = """
CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS
$$BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END$$;
CREATE TRIGGER no_space BEFORE INSERT ON meta FOR EACH STATEMENT EXECUTE FUNCTION no_space()
"""


async def test_full_disk_of_a_server_is_an_outage_after_which_work_goes_on(migrated_postgres_url: str) -> None:
    async with Store(migrated_postgres_url) as store:
        assert isinstance(store.driver, PostgresDriver)
        store.driver.patience_s = 0.1
        with psycopg.connect(migrated_postgres_url, autocommit=True) as admin:
            admin.execute(NO_SPACE)
            try:
                with pytest.raises(Unreachable, match=r"No space left on device.*: try again$") as failed:
                    await store.write(put, "key")
                assert failed.value.is_cut_off
            finally:
                admin.execute("DROP FUNCTION no_space CASCADE")
        assert await store.write(put, "key") == "key"
        assert await store.read(keys) == ["key"]


NO_ROOM = """
import asyncio, resource, sys
from interlock.store.engine import Store
from interlock.store.errors import StoreUnavailable
resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
async def main():
    async with Store(sys.argv[1]):
        pass
try:
    asyncio.run(main())
except StoreUnavailable as error:
    print(error)
"""


async def test_disk_that_is_full_before_the_database_is_opened_is_the_same_clear_error(
    migrated_sqlite_url: str, tmp_path: Path
) -> None:
    async with Store(migrated_sqlite_url) as store:
        await store.write(put, "before")
    code, out, err = await asyncio.to_thread(
        processes.run, ("-c", NO_ROOM, migrated_sqlite_url), folder=tmp_path, environment={"PATH": os.defpath}
    )
    assert code == 0, err
    assert out.startswith(f"no space left for the database `{tmp_path / 'interlock.db'}`: free some")


async def test_file_that_another_process_has_locked_is_one_clear_error(
    migrated_sqlite_url: str, tmp_path: Path
) -> None:
    async with Store(migrated_sqlite_url) as store:
        await store.write(lambda tx: tx.run(sa.text("PRAGMA busy_timeout = 20")))
        with contextlib.closing(sqlite3.connect(tmp_path / "interlock.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnavailable, match=r"is locked by another process: try again when it is done$"):
                await store.write(put, "key")
            assert await store.read(keys) == []
            other.execute("ROLLBACK")
        await store.write(put, "key")


@pytest.mark.parametrize("url", ["mysql://u:secret@h/d", "interlock.db", "sqlite://"])
def test_url_of_another_kind_is_one_clear_error(url: str) -> None:
    with pytest.raises(StoreUnavailable, match="not a database that interlock supports: use `sqlite:///PATH`") as told:
        Store(url)
    assert "secret" not in str(told.value)
