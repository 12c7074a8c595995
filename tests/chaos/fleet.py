"""Workers on one database, killed and replaced, and runs that write their order number: `python -m` is a worker.

The tests check what was written.
"""

import asyncio
import json
import os
import random
import re
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy as sa

from interlock.app.local import open_store
from interlock.app.parts import load_parts
from interlock.core.clock import SystemClock
from interlock.core.ids import new_id
from interlock.llm.messages import ModelRequest, ToolUse
from interlock.settings import Settings, load_settings
from interlock.store import squad
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Post
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx
from interlock.testing.runtime import MODEL, runtime_over
from interlock.testing.scripted import ScriptedModel
from interlock.tools.contract import Outcome, Tool, ToolContext, write
from interlock.worker.loop import Worker
from tests import processes

NOTES = sa.Table(
    "chaos_notes", sa.MetaData(), sa.Column("id", sa.BigInteger, primary_key=True), sa.Column("agent", sa.String),
    sa.Column("number", sa.Integer),
)  # fmt: skip
"""What the runs write; the test's own table."""
_NOTE = sa.insert(NOTES).values(agent=sa.bindparam("of"), number=sa.bindparam("what"))
CONCURRENCY = 6
LONGEST_S = 900.0


def settings_of(folder: Path, url: str) -> Settings:
    """The settings of the workers."""
    return load_settings(folder, {}, {
        "home": folder / "home", "database_url": url, "model": MODEL, "project_day_usd": 100_000,
        "retry": {"base_s": 0.01, "cap_s": 0.05}, "times": {"heartbeat_s": 0.3}, "crash_limit": 10_000,
    })  # fmt: skip


def note(tx: Tx, agent_id: str, number: int) -> None:
    """Writes an agent's number, in the transaction of its call's outcome."""
    tx.run(_NOTE, {"of": agent_id, "what": number})


def _tool() -> Tool:
    async def call(context: ToolContext, *, number: int) -> Outcome:
        return Outcome("noted", writes=(write(note, context.agent_id, number),))

    schema = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
    return Tool(name="note", description="Notes a number.", input_schema=schema, fn=call, risk="GREEN", idempotent=True)


def _reply(request: ModelRequest) -> str | ToolUse:
    """Notes the number in its prompt, then ends."""
    said = request.messages[-1]
    found = re.search(r"note (\d+)$", said.text)
    return ToolUse("toolu_note", "note", {"number": int(found[1])}) if found else "noted"


async def work(folder: Path, url: str) -> None:
    """A worker, until it is killed."""
    settings = settings_of(folder, url)
    async with open_store(settings) as store:
        model = ScriptedModel(otherwise=_reply)
        runtime = runtime_over(store, settings, model, clock=SystemClock(), tools=[_tool()])
        await Worker(runtime, concurrency=CONCURRENCY).run()


async def furnish(folder: Path, url: str, *, agents: int, runs: int) -> None:
    """Posts so many runs to the mailboxes of so many agents in turn, each with its number within its mailbox."""
    settings, now = settings_of(folder, url), datetime.now(UTC)
    personas = load_parts(settings).personas.personas
    persona = {
        **personas["operations"].to_json(), "tools": ["note"], "max_tokens": 256,
        "budget": {"daily_usd": 10_000, "run_usd": 1_000, "chat_run_usd": 1},
    }  # fmt: skip

    def post(tx: Tx) -> None:
        squad.ensure_project(tx, settings.project, "UTC", now)
        lanes = []
        for number in range(agents):
            descriptor = Descriptor("think", settings.project, "operations", {"name": str(number)})
            lanes.append(squad.ensure_agent(tx, descriptor, persona, "lead", now).id)
        for number in range(runs):
            payload = {"purpose": "plan", "prompt": f"note {number // agents}"}
            mailbox.post(tx, Post(
                project_id=settings.project, agent_id=lanes[number % agents], kind="think", payload=payload,
                idempotency_key=new_id("key"), cause_kind="message",
            ), now)  # fmt: skip

    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE chaos_notes (id bigserial PRIMARY KEY, agent text, number int)")
    async with open_store(settings) as store:
        await store.write(post)


@dataclass
class Fleet:
    """Worker processes on one PostgreSQL database; `kill_one` kills one of them and starts a replacement."""

    folder: Path
    url: str
    chance: random.Random = field(default_factory=lambda: random.Random(4))
    kills: int = 0
    _workers: list[processes.Process] = field(default_factory=list)

    def start(self) -> None:
        """Adds a worker."""
        with (self.folder / "workers.err").open("ab") as said:
            self._workers.append(processes.start(
                ["-m", "tests.chaos.fleet", json.dumps([str(self.folder), self.url])], folder=self.folder,
                environment={"PATH": os.defpath, "HOME": str(self.folder)}, stdin=-3, stdout=said, stderr=said,
            ))  # fmt: skip

    def kill_one(self) -> None:
        """Kills a random one, and starts another."""
        processes.close(self._workers.pop(self.chance.randrange(len(self._workers))))
        self.kills += 1
        self.start()

    def close(self) -> None:
        """Kills all."""
        for worker in self._workers:
            processes.close(worker)

    async def work(self, *, workers: int, runs: int, kills: int) -> None:
        """Works until all runs have ended; kills are distributed by the progress of the work."""
        for _ in range(workers):
            self.start()
        with psycopg.connect(self.url, autocommit=True) as eye:
            async with asyncio.timeout(LONGEST_S):
                while await asyncio.to_thread(self._left, eye):
                    noted = _one(eye, "SELECT count(*) FROM chaos_notes")
                    if self.kills < kills and noted >= (self.kills + 1) * runs // (kills + 1):
                        self.kill_one()
                    await asyncio.sleep(0.01)

    def _left(self, eye: Any) -> int:
        assert all(worker.poll() is None for worker in self._workers), (self.folder / "workers.err").read_text()
        return _one(eye, "SELECT count(*) FROM runs WHERE status IN ('created', 'running', 'waiting')")


def _one(connection: Any, query: str) -> int:
    return int(connection.execute(query).fetchone()[0])


if __name__ == "__main__":
    told_folder, told_url = json.loads(sys.argv[1])
    asyncio.run(work(Path(told_folder), told_url))
