"""What an administrator has set for a PostgreSQL database or role changes nothing of what is written and read."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql

from interlock.store import migrate, squad
from interlock.store.engine import Store
from interlock.store.errors import StoreUnavailable
from interlock.store.schema import Project, table
from interlock.store.tx import Tx

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
