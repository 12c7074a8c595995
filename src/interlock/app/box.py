"""`Interlock`: an open home, whose missions run in this process or in the one that already executes them.

Everything that it does is an operation of the desk; here they are put together for use from Python.
"""

import asyncio
import contextlib
import inspect
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from interlock.agents.runtime import Runtime
from interlock.app.handles import Handle
from interlock.app.local import home_lock, local_person, open_store
from interlock.app.log_masking import discreet
from interlock.app.parts import load_parts
from interlock.app.policy_watch import PolicyWatch
from interlock.app.senders import deliverer, senders
from interlock.core.clock import Clock, SystemClock
from interlock.core.events import Event
from interlock.desk.agents import conversation
from interlock.desk.agents.conversation import Reply
from interlock.desk.chats import attachments
from interlock.desk.context import Person
from interlock.desk.events import answering
from interlock.desk.events.answering import Answers
from interlock.desk.events.relay import Relay
from interlock.desk.events.run_ends import RunWatcher
from interlock.desk.reading.details import deliverable, task
from interlock.desk.reading.progress import Progress, Standing, follow
from interlock.desk.work.goals import submit
from interlock.integrations.contract import Sender
from interlock.oversight import sealing
from interlock.scheduler.runner import Scheduler
from interlock.settings import POLICY, load_settings
from interlock.store import squad, trust
from interlock.store.auditing import audit
from interlock.store.drivers.broadcast import Broadcast
from interlock.tools.registry import Tool
from interlock.worker.home import HomeLock
from interlock.worker.loop import HandedBack, Worker

STOP_S = 4.6
"""How long the worker has to hand its runs back when the box is closed."""


@dataclass(frozen=True, slots=True)
class MissionResult:
    """The state of a mission once it has ended, or can only go on with a person's help."""

    mission_id: str
    status: str
    standing: Standing
    reason: str | None
    deliverable: str | None
    """The compiled deliverable's text."""
    approvals: tuple[str, ...]
    """Ids of the questions that wait for a person."""
    cost_usd: float
    estimate: Mapping[str, Any] | None = None
    """For a rehearsal: `cost_usd` and `model`, what the mission would have cost with a real model."""


class Interlock:
    """An open home: start missions, talk with agents, execute their runs. Open one with `Interlock.open()`.

    `runtime` and `person` are the arguments that the operations of the desk take.
    """

    def __init__(self, runtime: Runtime, person: Person) -> None:
        self.runtime, self.person = runtime, person
        self._lock: HomeLock | None = None
        self._worker: Worker | None = None
        self._working: asyncio.Task[None] | None = None
        self.outlets: list[Sender] = senders(runtime)
        """What delivers messages after `start`; a chat that runs in this process adds its sender before that."""
        self._beside: list[asyncio.Task[None]] = []
        self._relay: Relay | None = None
        self._relaying: asyncio.Task[None] | None = None
        self.handed_back: tuple[HandedBack, ...] = ()
        """The runs that `stop` has put back into their mailboxes unfinished."""
        self._ends = RunWatcher(runtime.store, self.check)
        self.answers = Answers(runtime, self.check)
        """Waits for the replies to messages."""

    @classmethod
    @contextlib.asynccontextmanager
    async def open(
        cls,
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        tools: Iterable[Tool | Callable[..., object]] = (),
        clock: Clock | None = None,
        surface: str = "python",
        **overrides: Any,
    ) -> "AsyncIterator[Interlock]":
        """Opens a home with the settings of `cwd`, of `env` (this process's by default) and of `overrides`.

        `tools` are your own, marked with `@tool`. Source: interfaces, "Python".

        Raises ConfigError with all mistakes in settings, policy and prices; UsageError for tools that are not valid;
        StoreError if the database cannot be used.
        """
        here = cwd or Path.cwd()
        settings = load_settings(here, os.environ if env is None else env, overrides)
        parts = await asyncio.to_thread(load_parts, settings, tools)
        async with open_store(settings) as store:
            runtime = parts.runtime(settings, clock or SystemClock(), store)
            with discreet(runtime.vault.scrub):
                try:
                    person = await local_person(settings, store, runtime.clock, surface)
                    await store.write(squad.ensure_project, settings.project, settings.timezone, runtime.clock.now())
                    await _keep_trust(runtime)
                    box = cls(runtime, person)
                    watching = asyncio.create_task(
                        PolicyWatch(runtime, appears_at=here / POLICY).run(), name="policy watch"
                    )
                    try:
                        yield box
                    finally:
                        watching.cancel()
                        await asyncio.gather(watching, return_exceptions=True)
                        await box.answers.close()
                        await box._ends.close()
                        await box.stop()
                finally:
                    await runtime.models.close()

    async def start(self) -> bool:
        """Starts executing runs in this process; False if another process already executes this SQLite home."""
        if self._working is not None:
            return True
        self.relay()
        settings = self.runtime.settings
        if settings.is_embedded:
            lock = home_lock(settings)
            if not lock.acquire():
                return False
            self._lock = lock
        await self.runtime.store.write(
            audit.note_change, "POLICY_IN_FORCE", self.runtime.clock.now(), project_id=settings.project,
            key="policy", value=self.runtime.policy.version_hash, path=str(settings.policy or "built-in"),
        )  # fmt: skip
        self._worker = Worker(self.runtime, concurrency=settings.concurrency)
        self._working = asyncio.create_task(self._worker.run(), name="worker")
        self._beside = [
            asyncio.create_task(Scheduler(self.runtime).run(), name="scheduler"),
            asyncio.create_task(deliverer(self.runtime, self.outlets).run(), name="deliverer"),
        ]
        return True

    def relay(self, *, listens: bool = False) -> None:
        """Starts exchanging live events with the other processes of a PostgreSQL database; does nothing on SQLite.

        Events of others are received once this process has a reader; with `listens`, at once.
        """
        if self._relay is None and Broadcast.is_possible(self.runtime.store):
            self._relay = Relay(self.runtime)
            self._relaying = asyncio.create_task(self._relay.run(), name="relay")
        if listens and self._relay is not None:
            self._relay.listen()

    @property
    def executes(self) -> bool:
        """Whether this process executes runs."""
        return self._working is not None

    @property
    def in_hand(self) -> int:
        """How many runs this process is executing."""
        return len(self._worker.in_hand) if self._worker is not None else 0

    async def drain(self, patience_s: float) -> None:
        """Claims no more runs, and waits up to `patience_s` until each running one has ended, or at least its step."""
        if self._worker is None or self._working is None:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await self._worker.drain()

    async def stop(self, *, at_once: bool = False) -> None:
        """Stops executing. Unfinished runs continue at the next start or in another worker; see `handed_back`.

        Running tool calls get a moment to finish, unless `at_once`.
        """
        if self._relaying is not None:
            self._relaying.cancel()
            await asyncio.gather(self._relaying, return_exceptions=True)
            self._relay = self._relaying = None
        for duty in self._beside:
            duty.cancel()
        if self._working is not None and self._worker is not None:
            self._worker.stop(at_once=at_once)
            await asyncio.wait({self._working}, timeout=STOP_S)
            self._working.cancel()
            await asyncio.gather(self._working, return_exceptions=True)
            self.handed_back = self._worker.handed_back
            self._working = self._worker = None
        await asyncio.gather(*self._beside, return_exceptions=True)
        if self._beside and not at_once:
            await sealing.seal_on_exit(self.runtime)
        self._beside = []
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    async def executed(self) -> None:
        """Returns when the worker of this process has ended, or raises what ended it; never without a worker."""
        if self._working is None:
            await asyncio.Event().wait()
        else:
            await asyncio.shield(self._working)

    def check(self) -> None:
        """Raises what ended the worker of this process, if anything did."""
        if self._working is None or not self._working.done() or self._working.cancelled():
            return
        if (error := self._working.exception()) is not None:
            raise error

    async def submit(
        self,
        goal: str,
        *,
        budget_usd: float | None = None,
        project: str | None = None,
        model: str | None = None,
        deadline: datetime | None = None,
        idempotency_key: str | None = None,
        checks: Sequence[Mapping[str, Any]] = (),
        workflow: str | None = None,
        inputs: Mapping[str, str] | None = None,
    ) -> str:
        """Starts a mission and returns its id. It makes progress while some process executes this home.

        `checks` are what its deliverable must pass, such as `{"kind": "contains", "text": "Sources"}`. A `workflow`,
        with its `inputs`, takes the place of a plan.

        Raises UsageError for an invalid goal, check, budget, model, deadline or workflow.
        """
        return await submit(
            self.runtime, self.person, goal, budget_usd=budget_usd, project=project, model=model, deadline=deadline,
            idempotency_key=idempotency_key, checks=checks, workflow=workflow, inputs=inputs,
        )  # fmt: skip

    async def run(self, goal: str, **options: Any) -> MissionResult:
        """Runs a mission until it has ended or waits for a person. Options and errors are those of `submit`."""
        mission_id = await self.submit(goal, **options)
        await self.start()
        found = await self.settled(mission_id)
        return await self.result(found)

    async def chat(
        self,
        persona: str,
        text: str,
        *,
        files: Sequence[Path] = (),
        project: str | None = None,
        model: str | None = None,
        extra: str | None = None,
        on_event: Callable[[Event], object] | None = None,
    ) -> Reply:
        """Sends a message to a persona; returns its reply, or what it waits for. Each person has a conversation.

        `files` are attached for the persona to read. `extra` goes into the system prompt of this one run: what your
        program wants to tell the persona besides the message. `on_event` is called with each event of the run as it
        happens (see `stream`), and awaited if it is a coroutine function.

        Raises UsageError for an empty text, a file that cannot be read, an unknown model or an unknown persona. What
        `on_event` raises is raised here, while the run continues. Source: row J6.
        """
        attached = await asyncio.to_thread(attachments.read, files)
        said = self._spoken(persona, text, project=project, model=model, files=attached, extra=extra)
        if on_event is None:
            return await self.answers.of(await said(None))
        async with contextlib.aclosing(answering.stream_reply(self.runtime, self.answers, said)) as news:
            async for item in news:
                if isinstance(item, Reply):
                    return item
                if isinstance(item, Event) and inspect.isawaitable(done := on_event(item)):
                    await done
        raise AssertionError("a conversation ends with its reply")

    async def stream(
        self,
        persona: str,
        text: str,
        *,
        project: str | None = None,
        model: str | None = None,
        extra: str | None = None,
    ) -> AsyncGenerator[Event | Reply, None]:
        """Sends a message to a persona; yields each event of its run as it happens, and the reply last.

        Events have a `name` (`lifecycle`, `assistant`, `tool`, `compaction`) and a `payload`; the model's text comes in
        `assistant` events, as `payload["delta"]`. If you stop iterating early, the run continues.

        Raises what `chat` raises. Source: rows F6, J6.
        """
        said = self._spoken(persona, text, project=project, model=model, extra=extra)
        async with contextlib.aclosing(answering.stream_reply(self.runtime, self.answers, said)) as news:
            async for item in news:
                if not isinstance(item, str):
                    yield item

    def _spoken(self, persona: str, text: str, **options: Any) -> Callable[[str | None], Awaitable[str]]:
        async def post(run_id: str | None) -> str:
            if await self.start():
                self._require_model(persona, options["model"])
            return await conversation.say(self.runtime, self.person, persona, text, run_id=run_id, **options)

        return post

    def _require_model(self, persona: str, named: str | None) -> None:
        """Where this process executes, what nothing names a model for is refused, not posted only to fail."""
        found = self.runtime.personas.personas.get(persona)
        if found is not None and not (named or found.model or self.runtime.settings.model):
            self.runtime.models.resolve(None)

    async def post(
        self,
        persona: str,
        text: str,
        *,
        files: Sequence[Path] = (),
        project: str | None = None,
        model: str | None = None,
        idempotency_key: str | None = None,
        execute: bool = True,
    ) -> Handle:
        """Puts a message into the mailbox of a persona's agent; returns a handle as soon as the message is recorded.

        Await the handle for the result. With `execute`, awaiting it makes this process execute runs, as `chat` does.
        The same `idempotency_key` returns the handle of the message that was posted first. Source: row E6.

        Raises what `chat` raises.
        """
        attached = await asyncio.to_thread(attachments.read, files)
        run_id = await conversation.say(
            self.runtime, self.person, persona, text, project=project, model=model, files=attached,
            idempotency_key=idempotency_key,
        )  # fmt: skip
        return self.handle(run_id, execute=execute)

    def handle(self, run_id: str, *, execute: bool = True) -> Handle:
        """The handle of a run that was posted earlier, perhaps by another process."""
        return Handle(run_id, self._ends, self.start if execute else None)

    async def follow(self, mission_id: str) -> AsyncGenerator[Progress, None]:
        """Yields the progress of a mission, again and again, until the caller stops iterating.

        Raises what ended the worker of this process.
        """
        async for found in follow(self.runtime, mission_id, while_waiting=self.check):
            yield found

    async def settled(self, mission_id: str) -> Progress:
        """Waits until a mission has ended or cannot move by itself; returns its progress."""
        async with contextlib.aclosing(self.follow(mission_id)) as news:
            async for found in news:
                if found.standing is not Standing.MOVING:
                    return found
        raise AssertionError("following a mission ends only when one leaves")

    async def result(self, found: Progress) -> MissionResult:
        """The result of a mission from its progress, with the deliverable's text."""
        whole = await task(self.runtime, found.mission_id)
        text = None
        if found.deliverable_id is not None:
            text = (await deliverable(self.runtime, found.deliverable_id)).content.decode("utf-8", "replace")
        return MissionResult(
            mission_id=found.mission_id, status=found.status, standing=found.standing, reason=found.reason,
            deliverable=text, approvals=found.approvals, cost_usd=whole["cost_usd"], estimate=whole["estimate"],
        )  # fmt: skip


async def _keep_trust(runtime: Runtime) -> None:
    """Gives members the trust that their persona files say, and ends grants of personas that have changed too much."""
    store, now = runtime.store, runtime.clock.now()
    files = {name: each.to_json() for name, each in runtime.personas.personas.items()}
    trusted = {name: str(each["trust"]) for name, each in files.items()}
    if await store.read(trust.changed, trusted):
        await store.write(trust.keep, trusted, now)
    if stale := await store.read(trust.stale, files, now):
        await store.write(trust.withdraw, stale, now)
