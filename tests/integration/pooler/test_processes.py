"""Real `interlock worker` processes on one PostgreSQL through the pooler: told to pause, to stop, and to end.

What a worker does then is `contract/worker`'s job; here, that it does so in every process, and how soon.
"""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import sqlalchemy as sa

from interlock.agents.persona import load_personas
from interlock.app.local import open_desk
from interlock.desk.context import DeskContext, Person
from interlock.desk.operations import emergency
from interlock.settings import load_settings
from interlock.store import squad
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Post
from interlock.store.runs import traces
from interlock.store.schema import Run, table
from interlock.store.tx import Tx
from interlock.testing.messages_api import MessagesApi
from interlock.testing.messages_script import Answer, Ending, Scripted, text, tool_use
from interlock.tools.builtin import builtin_tools
from tests.e2e.books import check_books
from tests.integration.cli_process import Cli
from tests.processes import Process

EFFECTIVE_S = 20.0
"""Ten times what it takes at most on a machine that has nothing else to do, and less than the next sign of life."""
WAIT_S = 60.0
LOOK_S = 0.02
ASK = Answer([tool_use("toolu_look", "recall", query="queues")])
HANG = Answer([text("on its way " * 50)], ending=Ending.HANG, events_before_ending=4)
DONE = Answer([text("done")])
ENDED = "stopped; what was running goes on at the next start"
_HELD = (
    sa.select(table(Run).c.worker_id, sa.func.count().label("runs"))
    .where(table(Run).c.status == "running")
    .group_by(table(Run).c.worker_id)
)


@dataclass
class Fleet:
    """Workers as processes, the model that they ask, and a desk of the same database."""

    cli: Cli
    api: MessagesApi
    context: DeskContext
    person: Person
    stack: ExitStack
    answers: dict[str, list[Scripted | asyncio.Event]] = field(default_factory=dict)
    """What each run is told, in turn; an event is waited for before the next one."""
    asked: list[str] = field(default_factory=list)
    """Whose model call arrived, in order."""

    async def answer(self, body: dict[str, Any]) -> Scripted:
        """The model's side."""
        said = json.dumps(body["messages"])
        (name,) = [each for each in self.answers if f"think of {each}." in said]
        self.asked.append(name)
        while isinstance(following := self.answers[name].pop(0), asyncio.Event):
            await following.wait()
        return following

    async def worker(self, concurrency: int, **variables: str) -> Process:
        """Starts one more and waits until it works."""
        args = ("worker", "--concurrency", str(concurrency))
        process = self.stack.enter_context(self.cli.running(*args, ANTHROPIC_API_KEY="test", **variables))
        assert "executing" in await line_with(process, "executing")
        return process

    async def post(self, *names: str) -> dict[str, str]:
        """One run for an agent of its own for each name; the runs by name."""
        return await self.context.store.write(_post, names, self.context)

    async def run(self, ident: str) -> Any:
        """The row of a run."""
        return await self.context.store.read(traces.run, ident)

    async def held(self) -> dict[str, int]:
        """How many runs each worker has in hand."""
        return {row.worker_id: row.runs for row in await self.context.store.read(lambda tx: tx.rows(_HELD))}


def _persona() -> dict[str, Any]:
    known = frozenset(tool.name for tool in builtin_tools())
    roomy = {"daily_usd": 100, "run_usd": 1, "chat_run_usd": 1}
    return {**load_personas(True, [], known_tools=known).personas["operations"].to_json(), "budget": roomy}


def _post(tx: Tx, names: tuple[str, ...], context: DeskContext) -> dict[str, str]:
    now, persona, runs = context.clock.now(), _persona(), {}
    for name in names:
        descriptor = squad.Descriptor("think", context.settings.project, "operations", {"name": name})
        agent = squad.ensure_agent(tx, descriptor, persona, "specialist", now)
        message = Post(
            project_id=context.settings.project, agent_id=agent.id, kind="think",
            payload={"purpose": "plan", "prompt": f"think of {name}."}, idempotency_key=name, cause_kind="message",
        )  # fmt: skip
        runs[name] = mailbox.post(tx, message, now)[0]
    return runs


async def line_with(process: Process, words: str) -> str:
    """The next line of its output with these words in it."""
    while line := await process.line():
        if words in line:
            return line
    raise AssertionError(f"`{words}` was never said: {process.stderr and process.stderr.read()}")


async def until(happened: Callable[[], bool]) -> None:
    """Waits until something is so."""
    async with asyncio.timeout(WAIT_S):
        while not happened():
            await asyncio.sleep(LOOK_S)


async def become(fleet: Fleet, runs: dict[str, str], status: str) -> None:
    """Waits until runs are in a state."""
    async with asyncio.timeout(WAIT_S):
        while {(await fleet.run(ident)).status for ident in runs.values()} != {status}:
            await asyncio.sleep(LOOK_S)


@asynccontextmanager
async def fleet_over(pooled_url: str, postgres_url: str, folder: Path) -> AsyncIterator[Fleet]:
    """A fleet without workers yet; those that it gets are killed at the end."""
    fleet: Fleet
    async with MessagesApi(lambda body, _: fleet.answer(body)) as api:
        settings = {
            "home": str(folder / "home"), "database_url": pooled_url, "database_pooler": True,
            "database_direct_url": postgres_url, "model": "anthropic/claude-sonnet-5-5",
            "providers": {"anthropic": {"base_url": api.base_url}},
        }  # fmt: skip
        (folder / "interlock.yaml").write_text(json.dumps(settings))
        loaded = load_settings(folder, {}, {})
        async with open_desk(loaded, surface="cli", anew=True) as (context, person):
            await context.store.write(squad.ensure_project, loaded.project, loaded.timezone, context.clock.now())
            with ExitStack() as stack:
                fleet = Fleet(Cli(folder), api, context, person, stack)
                yield fleet


async def test_pause_and_stop_are_in_force_in_four_worker_processes_soon(
    pooled_url: str, postgres_url: str, tmp_path: Path
) -> None:
    async with fleet_over(pooled_url, postgres_url, tmp_path) as fleet:
        answered = asyncio.Event()
        names = [f"n{number}" for number in range(8)]
        fleet.answers = {name: [answered, ASK, HANG, DONE] for name in names}
        workers = [await fleet.worker(2) for _ in range(4)]
        runs = await fleet.post(*names)
        await until(lambda: len(fleet.asked) == len(names))
        assert list((await fleet.held()).values()) == [2] * len(workers)

        began = monotonic()
        await emergency.pause(fleet.context, fleet.person)
        answered.set()
        await become(fleet, runs, "created")
        assert monotonic() - began < EFFECTIVE_S
        assert {(await fleet.run(ident)).step_count for ident in runs.values()} == {1}
        assert len(fleet.asked) == len(names)

        await emergency.resume(fleet.context, fleet.person)
        await until(lambda: len(fleet.api.hanging) == len(names))
        assert list((await fleet.held()).values()) == [2] * len(workers)
        began = monotonic()
        stopping = asyncio.create_task(emergency.stop(fleet.context, fleet.person, wait_s=WAIT_S))
        await until(lambda: len(fleet.api.abandoned) == len(names))
        assert monotonic() - began < EFFECTIVE_S
        assert (await stopping)["still_running"] == []

        await emergency.resume(fleet.context, fleet.person)
        await become(fleet, runs, "completed")
        assert sorted(fleet.asked) == sorted(names * 3)
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        assert [await worker.ended() for worker in workers] == [0] * len(workers)
        assert (await check_books(fleet.context, killed=False))["estimated"] > 0


async def test_worker_told_to_end_finishes_its_step_or_hands_it_back_and_loses_nothing(
    pooled_url: str, postgres_url: str, tmp_path: Path
) -> None:
    async with fleet_over(pooled_url, postgres_url, tmp_path) as fleet:
        answered = asyncio.Event()
        fleet.answers = {"quick": [answered, ASK, DONE], "slow": [HANG, DONE]}
        first = await fleet.worker(1)
        runs = await fleet.post("quick")
        await until(lambda: fleet.asked == ["quick"])
        first.send_signal(signal.SIGTERM)
        assert await line_with(first, "stopping") == (
            "stopping: 1 run may end the step within 20 s; once more stops at once\n"
        )
        second = await fleet.worker(1, INTERLOCK_TIMES__DRAIN_S="0.2")
        runs |= await fleet.post("slow")
        await until(lambda: len(fleet.api.hanging) == 1)
        answered.set()
        assert await first.ended() == 0
        assert await rest(first) == [f"handed back: {runs['quick']} (operations)", ENDED]
        assert fleet.asked == ["quick", "slow"]
        row = await fleet.run(runs["quick"])
        assert (row.status, row.step_count, row.worker_id) == ("created", 1, None)

        second.send_signal(signal.SIGTERM)
        assert await second.ended() == 0
        assert (await rest(second))[-2:] == [f"handed back: {runs['slow']} (operations)", ENDED]
        assert (await fleet.run(runs["slow"])).status == "created"
        assert await fleet.held() == {}

        third = await fleet.worker(2)
        await become(fleet, runs, "completed")
        assert sorted(fleet.asked) == ["quick", "quick", "slow", "slow"], "no step is made twice"
        third.send_signal(signal.SIGTERM)
        assert (await third.ended(), await rest(third)) == (0, [ENDED])
        assert (await check_books(fleet.context, killed=False))["estimated"] > 0


async def rest(process: Process) -> list[str]:
    """What a process that has ended had still to say."""
    lines = []
    while line := await process.line():
        lines.append(line.rstrip())
    return lines
