"""Connections to PostgreSQL that break are made again: what is in rows is told all the same, live telling goes on."""

import asyncio
from pathlib import Path
from time import monotonic

import psycopg

from interlock.core.events import ASSISTANT, Event
from interlock.desk.events.readers import Interest
from tests.contract.web.house import house
from tests.contract.web.test_streams import tell

END_ALL = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


async def test_feed_and_relay_go_on_after_every_connection_was_lost(tmp_path: Path, migrated_postgres_url: str) -> None:
    async with (
        house(tmp_path / "one", database_url=migrated_postgres_url) as worker,
        house(tmp_path / "two", executes=False, database_url=migrated_postgres_url) as serve,
        serve.live.reading(Interest()) as reader,
    ):
        await tell(worker, "before")
        found = await reader.take(60)
        assert [each.event.payload["task_id"] for each in found] == ["before"]
        with psycopg.connect(migrated_postgres_url, autocommit=True) as admin:
            admin.execute(END_ALL)
        await tell(worker, "after")
        names: set[str] = set()
        until = monotonic() + 60
        while names != {"task_changed", ASSISTANT} and monotonic() < until:
            payload = {"run_id": "run_1", "delta": "x"}
            worker.box.runtime.events.tell(Event(name=ASSISTANT, payload=payload, project_id="default", run_id="run_1"))
            names |= {each.event.name for each in await reader.take(0.05)}
        assert names == {"task_changed", ASSISTANT}


async def test_nothing_is_relayed_while_nobody_reads(tmp_path: Path, migrated_postgres_url: str) -> None:
    async with (
        house(tmp_path / "one", database_url=migrated_postgres_url) as worker,
        house(tmp_path / "two", executes=False, database_url=migrated_postgres_url) as serve,
    ):
        heard = asyncio.Event()
        assert not worker.box.runtime.events.has_listeners
        worker.box.runtime.events.audience.add(heard.set)
        async with serve.live.reading(Interest()):
            await heard.wait()
            assert worker.box.runtime.events.has_listeners
            assert serve.box.runtime.events.has_listeners
        assert not serve.box.runtime.events.has_listeners
