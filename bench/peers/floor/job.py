"""The floor of the scripted job: the rows of a durable run written by hand, eight commits and 17 statements a run.

Either each commit is a transaction of its own in the loop (`full`), or a thread commits what has come together
(`group`). No agent, no policy, no budget; SQLite with synchronous FULL.
"""

import asyncio
import json
import queue
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from bench.peers.driver import ANSWER, QUESTION, TOOL_CALLS, Counts, Run, main

SCHEMA = """
PRAGMA journal_mode=WAL;
PRAGMA synchronous=FULL;
CREATE TABLE runs (id TEXT PRIMARY KEY, status TEXT, payload TEXT, result TEXT, created_at TEXT, completed_at TEXT);
CREATE TABLE steps (id TEXT PRIMARY KEY, run_id TEXT, number INT, usage TEXT, created_at TEXT);
CREATE TABLE messages (run_id TEXT, position INT, type TEXT, content TEXT, PRIMARY KEY (run_id, position));
CREATE TABLE calls (id TEXT PRIMARY KEY, run_id TEXT, tool TEXT, args TEXT, status TEXT, result TEXT);
CREATE INDEX steps_run ON steps (run_id);
CREATE INDEX calls_run ON calls (run_id);
"""
POST = "INSERT INTO runs VALUES (?, 'running', ?, NULL, datetime(), NULL)"
STEP = "INSERT INTO steps VALUES (?, ?, ?, ?, datetime())"
MESSAGE = "INSERT INTO messages VALUES (?, ?, ?, ?)"
CALL = "INSERT INTO calls VALUES (?, ?, 'lookup_order', ?, 'started', NULL)"
OUTCOME = "UPDATE calls SET status = 'done', result = ? WHERE id = ?"
END = "UPDATE runs SET status = 'completed', result = ?, completed_at = datetime() WHERE id = ?"
USAGE = json.dumps({"input_tokens": 500, "output_tokens": 50})

Unit = Sequence[tuple[str, tuple[Any, ...]]]


def units(number: int, counts: Counts) -> Iterator[Unit]:
    """The transactions of a run, one after the other; what happens between them happens while they are asked for."""
    run = f"run_{number}"
    yield (POST, (run, QUESTION)), (MESSAGE, (run, 0, "user", QUESTION))
    for turn in range(TOOL_CALLS):
        counts.model += 1
        call, args = f"{run}:{turn}", json.dumps({"order_id": str(turn)})
        yield (STEP, (call, run, turn, USAGE)), (CALL, (call, run, args))
        result = counts.order(str(turn))
        yield (OUTCOME, (result, call)), (MESSAGE, (run, turn + 1, "return", result))
    counts.model += 1
    last = TOOL_CALLS + 1
    yield (
        (STEP, (f"{run}:{last}", run, last, USAGE)),
        (MESSAGE, (run, last, "assistant", ANSWER)),
        (END, (ANSWER, run)),
    )


def opened(database: str) -> sqlite3.Connection:
    """The database with its tables."""
    made = sqlite3.connect(database.removeprefix("sqlite:///"), isolation_level=None, check_same_thread=False)
    made.executescript(SCHEMA)
    return made


def commit(connection: sqlite3.Connection, wanted: Sequence[Unit]) -> None:
    """All in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    for unit in wanted:
        for statement, values in unit:
            connection.execute(statement, values)
    connection.execute("COMMIT")


@asynccontextmanager
async def full(database: str, _: int, counts: Counts) -> AsyncIterator[Run]:
    """Each transaction by itself."""
    connection = opened(database)

    async def run(number: int) -> str:
        for unit in units(number, counts):
            commit(connection, [unit])
            await asyncio.sleep(0)
        return ANSWER

    yield run
    connection.close()


@asynccontextmanager
async def group(database: str, _: int, counts: Counts) -> AsyncIterator[Run]:
    """What has come together while the last transaction was written becomes the next one."""
    connection, loop = opened(database), asyncio.get_running_loop()
    waiting: queue.SimpleQueue[tuple[Unit, asyncio.Future[None]] | None] = queue.SimpleQueue()

    def done(futures: list["asyncio.Future[None]"]) -> None:
        for future in futures:
            future.set_result(None)

    def write() -> None:
        while (first := waiting.get()) is not None:
            batch = [first]
            while not waiting.empty() and (more := waiting.get()) is not None:
                batch.append(more)
            commit(connection, [unit for unit, _ in batch])
            loop.call_soon_threadsafe(done, [future for _, future in batch])

    thread = threading.Thread(target=write)
    thread.start()

    async def run(number: int) -> str:
        for unit in units(number, counts):
            future: asyncio.Future[None] = loop.create_future()
            waiting.put((unit, future))
            await future
        return ANSWER

    try:
        yield run
    finally:
        waiting.put(None)
        thread.join()
        connection.close()


if __name__ == "__main__":
    main(full=full, group=group)
