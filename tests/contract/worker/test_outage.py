"""A database that is out of reach for a while: everything waits and goes on, nothing is lost, doubled or failed."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from time import monotonic

import pytest
import typer

from interlock.cli.serving import opened
from interlock.store.drivers.postgres import Unreachable
from interlock.store.engine import Store
from interlock.testing.scripted import ScriptedModel, calls
from interlock.tools.registry import Tool
from interlock.worker.loop import Worker
from tests.contract.runner.stage import Stage, staged, until


class Line:
    """A line to a PostgreSQL, on a port of its own, that can be cut and put together again."""

    def __init__(self, socket: str) -> None:
        self.socket, self.is_cut, self.refused = socket, False, 0
        self._ends: set[asyncio.StreamWriter] = set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_cut:
            self.refused += 1
            writer.close()
            return
        there, back = await asyncio.open_unix_connection(self.socket)
        self._ends |= {writer, back}
        with contextlib.suppress(OSError):
            await asyncio.gather(self._carry(reader, back), self._carry(there, writer))

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(65_536):
            writer.write(piece)
            await writer.drain()
        writer.close()

    def cut(self) -> None:
        """Drops every connection, and takes no more."""
        self.is_cut = True
        for end in self._ends:
            end.transport.abort()
        self._ends.clear()

    def mend(self) -> None:
        """Takes connections again."""
        self.is_cut = False


@asynccontextmanager
async def line_to(url: str) -> AsyncIterator[tuple[Line, str]]:
    """A line to a database, and the URL that leads over it."""
    name, _, folder = url.partition("@/")[2].partition("?host=")
    line = Line(f"{folder}/.s.PGSQL.5432")
    server = await asyncio.start_server(line._serve, "127.0.0.1", 0)
    try:
        yield line, f"postgresql://postgres@127.0.0.1:{server.sockets[0].getsockname()[1]}/{name}"
    finally:
        line.cut()
        server.close()


async def test_outage_in_the_middle_of_a_call_loses_doubles_and_fails_nothing(
    migrated_postgres_url: str, tmp_path: Path
) -> None:
    began, may_end, count = asyncio.Event(), asyncio.Event(), 0

    async def act(_: object) -> str:
        nonlocal count
        count += 1
        began.set()
        await may_end.wait()
        return "acted"

    effect = Tool(name="act", description="Acts.", fn=act, input_schema={"type": "object"}, risk="GREEN")
    model = ScriptedModel(calls("act", "1"), otherwise=lambda _: "done")
    async with line_to(migrated_postgres_url) as (line, url), Store(url) as store:
        stage = await staged(store, tmp_path, model, [effect])
        run = await stage.think()
        worker = Worker(stage.runtime, concurrency=4)
        working = asyncio.create_task(worker.run())
        await began.wait()
        line.cut()
        may_end.set()
        await until(lambda: line.refused > 3)
        assert worker.in_hand == (run,), "the run keeps what it did until it can be told"
        line.mend()

        async def ended() -> bool:
            return (await stage.run(run)).completed_at is not None

        await until(ended)
        row = await stage.run(run)
        assert (row.status, row.attempt, row.crashes, count) == ("completed", 0, 0, 1)
        async with Store(migrated_postgres_url) as elsewhere:
            late = await Stage(replace(stage.runtime, store=elsewhere), model, stage.clock, stage.ada).think(
                name="late"
            )

        async def later() -> bool:
            return (await stage.run(late)).completed_at is not None

        await until(later)
        worker.stop()
        await working


async def test_worker_whose_database_is_away_when_it_begins_waits_for_it_with_one_line(
    migrated_postgres_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = ScriptedModel(otherwise=lambda _: "done")
    async with line_to(migrated_postgres_url) as (line, url), Store(url) as store:
        stage = await staged(store, tmp_path, model, [])
        run = await stage.think()
        line.cut()
        worker = Worker(stage.runtime, concurrency=4)
        working = asyncio.create_task(worker.run())
        await until(lambda: any("cannot begin yet" in each for each in caplog.messages) or working.done())
        refused = line.refused
        await until(lambda: line.refused > refused or working.done())
        line.mend()

        async def ended() -> bool:
            return working.done() or (await stage.run(run)).completed_at is not None

        await until(ended)
        assert not working.done()
        assert (await stage.run(run)).status == "completed"
        assert sum("cannot begin yet" in each for each in caplog.messages) == 1
        worker.stop()
        await working


async def test_part_of_a_fleet_waits_for_its_database_with_one_line(
    postgres_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with line_to(postgres_url) as (line, url):
        line.cut()
        options = {"home": tmp_path / "home", "database_url": url}

        async def opening() -> str:
            async with opened(asyncio.Event(), **options) as box:
                return box.person.name

        waiting = asyncio.create_task(opening())
        await until(lambda: line.refused > 0)
        assert not waiting.done()
        line.mend()
        assert await waiting
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 1
    assert told[0].endswith("check INTERLOCK_DATABASE_URL; waiting for it")


async def test_part_that_waits_for_its_database_stops_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked, began = asyncio.Event(), monotonic()
    asked.set()
    with pytest.raises(typer.Exit):
        async with opened(asked, home=tmp_path, database_url="postgresql://me@127.0.0.1:1/none"):
            raise AssertionError("there is no such server")
    assert monotonic() - began < 60, "it would wait for ever"


async def test_server_that_refuses_is_not_waited_for(
    postgres_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    url = f"postgresql://postgres@/nothing?host={postgres_server}"
    with pytest.raises(Unreachable, match="does not exist"):
        async with opened(asyncio.Event(), home=tmp_path, database_url=url):
            raise AssertionError("there is no such database")
