"""One mission of five tasks in a process that is killed and restarted until it has ended, and its invariants.

The tests choose the points at which it is killed.
"""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from interlock.app.local import open_desk
from interlock.desk.context import DeskContext
from interlock.desk.reading.details import deliverable
from interlock.settings import load_settings
from interlock.store.schema import Mission, Run, Task, ToolCall
from interlock.testing.messages_api import MessagesApi
from interlock.testing.messages_script import Scripted
from tests import processes
from tests.chaos.effects import Asked, Effects
from tests.chaos.script import DELIVERABLE, EFFECTS, MODEL, ORDERS, answer, purpose_of, usage_of
from tests.e2e.books import check_books, check_rest, rows
from tests.e2e.story import cost_of

LONGEST_S = 150.0
PERSONA = f"""\
schema_version: 1
name: {ORDERS}
title: Clerk
role: Orders and pays
trust: specialist
risk_profile: GREEN
capabilities: [orders]
task_types: [ops]
tools: [{", ".join(EFFECTS)}]
budget: {{daily_usd: 5, run_usd: 0.75, chat_run_usd: 0.10}}
limits: {{max_turns: 10, chat_max_turns: 5}}
max_tokens: 1024
mbti: ISTJ
soul: You do what is asked, once.
prompt: You order what is asked.
"""


@dataclass
class Siege:
    """A mission under fire. `dooms` are those of its commits, `requests` the points of its outside requests.

    A point of a request is `("model" | "effect", N, "before" | "after")`: before it takes effect, or after it, whether
    or not the answer has arrived. With a purpose instead of N, it is the first model call for that purpose.
    """

    folder: Path
    url: str
    dooms: list[dict[str, Any]] = field(default_factory=list)
    requests: list[tuple[str, int | str, str]] = field(default_factory=list)
    deaths: int = 0
    hits: list[tuple[str, ...]] = field(default_factory=list)
    """The points at which it was killed; of a commit with the name of its unit."""
    billed: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """What the model server has billed, by purpose."""
    effects: Effects = field(default_factory=Effects)
    lives: list[list[str]] = field(default_factory=list)
    """The units that each process has begun to commit."""
    _process: processes.Process | None = None
    _seen: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _tasks: asyncio.TaskGroup = field(default_factory=asyncio.TaskGroup)
    _api: MessagesApi | None = None

    async def endure(self) -> "Siege":
        """Runs the mission to its end through all kills and checks the invariants; returns itself."""
        async with self.outside():
            while not await self._life():
                self.deaths += 1
        await self._check()
        return self

    @contextlib.asynccontextmanager
    async def outside(self) -> "AsyncIterator[None]":
        """The servers that the mission uses, and the persona that it needs."""
        (self.folder / "personas").mkdir(parents=True)
        (self.folder / "personas" / f"{ORDERS}.yaml").write_text(PERSONA)
        for moment in ("before", "after"):
            self.effects.at.setdefault(moment, self._effect(moment))
        async with MessagesApi(self._model) as self._api, self.effects, asyncio.TaskGroup() as self._tasks:
            yield

    @property
    def unit_count(self) -> int:
        """The number of transactions of the first process."""
        return len(self.lives[0])

    @property
    def request_counts(self) -> dict[str, int]:
        """The number of outside requests, by server."""
        return dict(self._seen)

    async def _life(self) -> bool:
        """Runs one process; whether it reached the end of the mission."""
        number = len(self.lives)
        self._process = self.launch(str(number), self._dooms_of_life())
        code = await self.end_of(self._process, str(number))
        entries = [json.loads(line) for line in (self.folder / f"{number}.journal").read_text().splitlines()]
        self.lives.append([entry["unit"] for entry in entries if "number" in entry])
        for entry in entries:
            if "doom" in entry:
                self.dooms.remove(entry["doom"])
                self.hits.append(("commit", entry["doom"]["when"], entry["unit"]))
        assert code in (0, -signal.SIGKILL), self.said(str(number))
        return code == 0

    def launch(
        self,
        name: str,
        dooms: Sequence[Mapping[str, Any]] = (),
        *,
        with_clerk: bool = True,
        standstill_ms: int | None = None,
        **overrides: Any,
    ) -> processes.Process:
        """A process that executes the mission; `overrides` are additional settings."""
        (self.folder / f"{name}.journal").touch()
        orders = {
            "overrides": {**self.overrides(), **overrides}, "journal": str(self.folder / f"{name}.journal"),
            "effects_port": self.effects.port, "dooms": list(dooms), "with_clerk": with_clerk,
            "standstill_ms": standstill_ms,
        }  # fmt: skip
        with (self.folder / f"{name}.err").open("wb") as said:
            return processes.start(
                ["-m", "tests.chaos.victim", json.dumps(orders)], folder=self.folder,
                environment={"PATH": os.defpath, "HOME": str(self.folder), "ANTHROPIC_API_KEY": "test"},
                stdin=subprocess.DEVNULL, stdout=said, stderr=said,
            )  # fmt: skip

    def said(self, name: str) -> str:
        """The output of a process."""
        return (self.folder / f"{name}.err").read_text()

    async def end_of(self, process: processes.Process, name: str) -> int:
        """The exit code of a process; one that does not end is killed and fails the test with its output."""
        try:
            return await asyncio.wait_for(process.ended(), LONGEST_S)
        except TimeoutError:
            raise AssertionError(f"the mission does not end: {self.hits}\n{self.said(name)}") from None
        finally:
            processes.close(process)

    def _dooms_of_life(self) -> list[dict[str, Any]]:
        """Of the dooms by number only the first: numbering restarts with each process."""
        numbers = [doom for doom in self.dooms if "number" in doom]
        return [doom for doom in self.dooms if "unit" in doom] + numbers[:1]

    def overrides(self) -> dict[str, Any]:
        """The settings of its processes."""
        model_url = self._api.base_url if self._api is not None else "http://127.0.0.1:1"
        return {
            "home": str(self.folder / "home"), "database_url": self.url, "model": f"anthropic/{MODEL}",
            "personas": [str(self.folder / "personas")], "providers": {"anthropic": {"base_url": model_url}},
            "retry": {"base_s": 0.01, "cap_s": 0.05}, "times": {"heartbeat_s": 0.5}, "crash_limit": 10_000,
        }  # fmt: skip

    async def _model(self, body: dict[str, Any], number: int) -> Scripted:
        """The model server: kills before it has begun to answer, or after the complete answer."""
        self._seen["model"] += 1
        point = self._seen["model"]
        purpose, turn = purpose_of(body)
        self._kill_at("model", point, "before")
        self._kill_at("model", purpose, "before")
        for doom in [
            each for each in self.requests if each in (("model", point, "after"), ("model", purpose, "after"))
        ]:
            api = self._api
            assert api is not None

            self._tasks.create_task(self._shoot(api, number, doom))
        self.billed[purpose].append(cost_of({**_NO_CACHE, **usage_of(purpose, turn)}))
        return answer(body)

    async def _shoot(self, api: MessagesApi, number: int, doom: tuple[str, int | str, str]) -> None:
        await api.until(lambda api: number in api.answered or number in api.abandoned)
        self._kill_at(*doom)

    def _effect(self, moment: str) -> Callable[[Asked], Any]:
        async def meet(asked: Asked) -> None:
            self._seen["effect"] += moment == "before"
            if self._kill_at("effect", self._seen["effect"], moment) and moment == "before":
                raise ConnectionError("it came too late")

        return meet

    def _kill_at(self, server: str, number: int | str, when: str) -> bool:
        """Kills the process if this is the next point; whether it was."""
        if (server, number, when) not in self.requests:
            return False
        assert self._process is not None
        self.requests.remove((server, number, when))
        self.hits.append((server, when, str(number)))
        self._process.kill()
        self._process.wait()
        return True

    def signal(self, which: signal.Signals) -> None:
        """Sends the process a signal."""
        assert self._process is not None
        self._process.send_signal(which)

    @property
    def pid(self) -> int:
        """Of the process that executes the mission."""
        assert self._process is not None
        return self._process.pid

    async def _check(self) -> None:
        settings = load_settings(self.folder, {}, self.overrides())
        async with open_desk(settings, surface="cli") as (context, _):
            await check_result(context)
            await check_rest(context)
            money = await check_books(context)
            await self._check_bill(context, is_exact=not money["estimated"])
            await self._check_effects(context)

    async def _check_bill(self, context: DeskContext, *, is_exact: bool) -> None:
        """What the model server has billed is covered, purpose by purpose, by what the ledger has settled.

        To the micro-dollar, unless a call was interrupted, which is charged at its worst and marked as an estimate.
        """
        settled: dict[str, int] = defaultdict(int)
        tasks = {task.id: task.key for task in await rows(context, Task)}
        for run in await rows(context, Run):
            purpose = tasks[run.task_id] if run.kind == "task" else run.payload.get("purpose", run.kind)
            settled[str(purpose)] += run.cost_microusd
        for purpose, amounts in self.billed.items():
            assert settled[purpose] >= sum(amounts), (purpose, dict(settled), amounts)
        if is_exact:
            assert sum(settled.values()) == sum(map(sum, self.billed.values()))

    async def _check_effects(self, context: DeskContext) -> None:
        """Each effect happened once, and no run or call twice."""
        assert {name: self.effects.calls(name) for name in EFFECTS} == dict.fromkeys(EFFECTS, 1)
        assert {one.tool: one.args for one in self.effects.done} == EFFECTS
        calls = await rows(context, ToolCall)
        for name in (*EFFECTS, "submit_deliverable"):
            assert sum(call.tool == name for call in calls) == (5 if name == "submit_deliverable" else 1)
        runs = [(run.kind, run.task_id or run.payload.get("purpose")) for run in await rows(context, Run)]
        work = [run for run in runs if run[0] in ("task", "think")]
        assert len(work) == len(set(work)) == 7, runs


async def check_result(context: DeskContext) -> None:
    """The mission is done with the expected result."""
    (mission,) = await rows(context, Mission)
    found = await deliverable(context, mission.id)
    assert found.content.decode() == DELIVERABLE
    assert [row.status for row in await rows(context, Task)] == ["DONE"] * 6


_NO_CACHE = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
