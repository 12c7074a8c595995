"""The coordinator: one run processes a mission's pending events, and commits all consequences in one transaction.

INVARIANT: the graph writes nothing. Its checkpoint, its effects, the consumed events and the end of the run are one
transaction under the run's lease, so a crash before the commit leaves everything as it was. The nodes decide what
follows from an event.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, StateSnapshot
from langsmith.run_helpers import tracing_context

from interlock.agents.persona import COORDINATOR, Persona
from interlock.core.clock import Clock
from interlock.core.errors import Conflict, InterlockError
from interlock.core.values import digest
from interlock.graph import effects
from interlock.graph.applying import Applier, Waits
from interlock.graph.checkpointer import BufferedSaver
from interlock.graph.coordinator_graph import RECURSION_LIMIT, Graph, build
from interlock.graph.effects import Effect
from interlock.graph.loading import Loaded, load
from interlock.graph.resolving import closing
from interlock.graph.state import GRAPH_VERSION, NODES, State, question
from interlock.graph.unreviewed import lookbacks
from interlock.graph.view import ENDED, MissionView, derived_id
from interlock.memory import lesson_book
from interlock.policy.budgets import task_limits
from interlock.policy.loops import Limits
from interlock.store.auditing import audit
from interlock.store.engine import Store
from interlock.store.errors import LeaseLost, StoreError, StoreUnavailable
from interlock.store.mailboxes import leases, mailbox
from interlock.store.mailboxes.mailbox import Claim
from interlock.store.money import estimates
from interlock.store.tx import Tx
from interlock.store.work import loops, missions, tasks
from interlock.store.work.tasks import TransitionRefused

if TYPE_CHECKING:
    from interlock.agents.runtime import Runtime

LOOKS = 5
"""How often a step is repeated on a new view after a concurrent change of the mission."""
LONGEST_BACKOFF_S = 300
TRIES = 8
"""How often a run whose step fails is retried, over about four minutes; then a person is asked."""
FAILED = "coordinator_failed"
"""The kind of an alert about a coordinator that tries again; it is settled when a try works, or a person is asked."""
_KEPT = ("task_id", "from", "to", "purpose", "status", "run_id", "text", "note")
_log = logging.getLogger(__name__)


async def handle(runtime: Runtime, claim: Claim) -> None:
    """Handles a claimed run of kind `mission`. Never raises because of the mission."""
    settings = runtime.settings
    limits = lesson_book.thresholds(settings.lessons)
    waits = Waits(
        settings.times.blocked_escalation_s, settings.approval_expires_s, limits, settings.loops, runtime.policy.checks,
        plan=settings.approvals.plan, estimate_factor=settings.breakers.estimate_factor,
        models=settings.consensus.models, task_budgets_microusd=task_limits(settings.task_budgets_usd),
        task_tries=settings.agents.task_tries, delegation=settings.delegation,
    )  # fmt: skip
    with runtime.telemetry.run(claim.run):
        await Coordinator(runtime.store, runtime.clock, runtime.personas.personas, waits).handle(claim)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a step. Unless `consumed`, the events stay pending, because they could not be processed."""

    effects: list[Effect]
    saver: BufferedSaver | None = None
    consumed: bool = True


class Coordinator:
    """The shell around the graph: reads the mission, lets the graph decide, commits."""

    def __init__(self, store: Store, clock: Clock, personas: Mapping[str, Persona], waits: Waits) -> None:
        self.store, self.clock, self.personas, self.waits = store, clock, personas, waits

    async def handle(self, claim: Claim) -> None:
        """Executes one run: processes everything that is pending for its mission, in one commit.

        After a failure the run is tried again later, with an alert; nothing pending is lost. A failure that keeps
        coming back blocks the mission until a person has looked at it.
        """
        try:
            for look in range(1, LOOKS + 1):
                try:
                    return await self._step(claim)
                except LeaseLost:
                    raise
                except (Conflict, TransitionRefused):
                    if look == LOOKS:
                        raise
        except LeaseLost:
            _log.info("run %s was given to another worker", claim.run.id)
        except Exception as error:  # noqa: BLE001 (the run's boundary: row E5)
            _log.warning("the coordinator of mission %s failed: %s", claim.run.mission_id, error)
            if not isinstance(error, InterlockError):
                self.store.telemetry.failed(error)
            await self._put_off(claim, error)

    async def _step(self, claim: Claim) -> None:
        mission_id = claim.run.mission_id
        loaded = await self._loaded(mission_id)
        if await self._end_loops(claim, loaded):
            loaded = await self._loaded(mission_id)
        with self.store.telemetry.span("resolve", agent=COORDINATOR, count=len(loaded.events)):
            outcome = await self._look(loaded) if loaded.events else Outcome([])
        outcome = replace(outcome, effects=[await self._estimated(loaded.view, each) for each in outcome.effects])
        await self.store.write(self._commit, claim, loaded, outcome)

    async def _estimated(self, view: MissionView, effect: Effect) -> Effect:
        """A plan with its estimated cost, computed from past runs before the transaction, which would block others."""
        if effect["do"] != "create":
            return effect
        wanted = [(task["type"], task["budget_microusd"]) for task in effect["tasks"]]
        found = await self.store.read(estimates.of_plan, view.project_id, wanted, view.model, self.clock.now())
        return {**effect, "likely_microusd": found}

    async def _loaded(self, mission_id: str) -> Loaded:
        now, consensus = self.clock.now(), bool(self.waits.models)
        return await self.store.read(load, mission_id, self.personas, now, consensus=consensus)

    async def _end_loops(self, claim: Claim, loaded: Loaded) -> bool:
        """Blocks tasks that have just completed a loop, before anything else follows. Source: row I1."""
        changed = sorted({e.payload["task_id"] for e in loaded.events if e.kind == "task_changed"})
        now = self.clock.now()
        found = [each for each in changed if await self.store.read(_is_loop, each, self.waits.loops, now)]
        for task_id in found:
            await self.store.write(_end_loop, claim, task_id, self.waits.loops, now)
        return bool(found)

    def _commit(self, tx: Tx, claim: Claim, loaded: Loaded, outcome: Outcome) -> None:
        now = self.clock.now()
        mailbox.own(tx, claim, even_if_controlled=True)
        if outcome.saver is not None:
            outcome.saver.commit(tx)
        Applier(tx, loaded.view, claim.run.id, self.waits, now).apply(outcome.effects)
        if outcome.consumed:
            missions.consume(tx, [event.id for event in loaded.events], now)
        mailbox.finish(tx, claim, "completed", "end_turn", now, result=None, error=None)
        if claim.run.error is not None:
            audit.settle(tx, FAILED, claim.run.mission_id, now)

    async def _look(self, loaded: Loaded) -> Outcome:
        waits = self.waits
        view = replace(
            loaded.view, asks_about_plan=waits.plan == "ask", task_budgets_microusd=waits.task_budgets_microusd,
            task_tries=waits.task_tries, delegation=waits.delegation,
        )  # fmt: skip
        if view.version != GRAPH_VERSION:
            return _other_version(view)
        if view.root.status == "BLOCKED" and not view.canceled:
            return Outcome([], consumed=False)
        config: RunnableConfig = {"configurable": {"thread_id": view.id}, "recursion_limit": RECURSION_LIMIT}
        saver = BufferedSaver(self.store, self.clock)
        graph = build(saver)
        batch = [_small(event) for event in loaded.events]
        if loaded.checkpoint_id is None and view.root.status == "INBOX" and not view.canceled:
            return await _run(graph, saver, _beginning(view, batch), config, view)
        found = await graph.aget_state(config) if loaded.checkpoint_id else None
        if found is not None and (interrupt_id := _waiting(found, view)):
            return await _run(graph, saver, Command(resume={interrupt_id: batch}), config, view)
        if view.canceled or view.root.status in ENDED:
            return Outcome([*closing(view), *lookbacks(view)] if view.canceled else lookbacks(view))
        if not view.answered(_thread_subject(loaded)):
            return _broken(loaded)
        saver = BufferedSaver(self.store, self.clock, anew=True)
        begun = await _run(build(saver), saver, _beginning(view, batch), config, view)
        return Outcome([*begun.effects, effects.tick()], saver)

    async def _put_off(self, claim: Claim, error: Exception) -> None:
        reason = str(error) if isinstance(error, InterlockError) else f"{type(error).__name__}: {error}"
        is_outage, is_cut_off = isinstance(error, StoreError), isinstance(error, StoreUnavailable) and error.is_cut_off
        try:
            if is_outage or claim.run.attempt + 1 < TRIES:
                await self.store.write(_again, claim, reason, is_outage, is_cut_off, self.clock.now())
            else:
                await self._give_up(claim, reason)
        except LeaseLost:
            _log.info("run %s was given to another worker", claim.run.id)

    async def _give_up(self, claim: Claim, error: str) -> None:
        """Asks a person what to do; if even that fails, the run becomes a dead letter."""
        try:
            loaded = await self._loaded(claim.run.mission_id)
            await self.store.write(self._ask, claim, loaded, error)
        except (LeaseLost, StoreError):
            raise
        except Exception as another:  # noqa: BLE001 (on record with the dead letter)
            why = f"{TRIES} tries in a row failed: {error}; and a person could not be asked: {another}"
            await self.store.write(_set_aside, claim, why, self.clock.now())

    def _ask(self, tx: Tx, claim: Claim, loaded: Loaded, error: str) -> None:
        now, view = self.clock.now(), loaded.view
        mailbox.own(tx, claim, even_if_controlled=True)
        reason = f"{TRIES} tries in a row of its coordinator failed: {error}"
        asked = effects.escalate(
            view, view.root, kind="OPERATOR", reason=reason, question=f"{reason}. Is it to be tried again?",
            approve="try again", subject=digest(f"give up:{claim.run.id}"),
        )  # fmt: skip
        Applier(tx, view, claim.run.id, self.waits, now).apply(asked)
        mailbox.finish(tx, claim, "failed", "error", now, result=None, error=error)
        audit.settle(tx, FAILED, claim.run.mission_id, now)


def _set_aside(tx: Tx, claim: Claim, why: str, now: datetime) -> None:
    leases.set_aside(tx, claim, why, now)
    audit.settle(tx, FAILED, claim.run.mission_id, now)


def _again(tx: Tx, claim: Claim, error: str, is_outage: bool, is_cut_off: bool, now: datetime) -> None:
    """Schedules a retry of a run. An unusable database does not count as an attempt; a lost connection is no alert."""
    backoff = min(LONGEST_BACKOFF_S, 2 ** min(claim.run.attempt + 1, 16))
    mailbox.requeue(tx, claim, now, due_at=now + timedelta(seconds=backoff), error=error, failed=not is_outage)
    if is_cut_off:
        return
    audit.alert(
        tx, now, project_id=claim.run.project_id, severity="critical", kind=FAILED,
        text=f"the coordinator of mission `{claim.run.mission_id}` failed and tries again in {backoff} s: {error}",
        key=f"coordinator:{claim.run.mission_id}", subject=claim.run.mission_id,
    )  # fmt: skip


_CHANGES = ("review_cycles", "transitions")


def _is_loop(tx: Tx, task_id: str, limits: Limits, now: datetime) -> bool:
    return bool(loops.broken(tx, tasks.task(tx, task_id), limits, now, rules=_CHANGES))


def _end_loop(tx: Tx, claim: Claim, task_id: str, limits: Limits, now: datetime) -> None:
    mailbox.own(tx, claim, even_if_controlled=True)
    loops.check(tx, task_id, limits, now, rules=_CHANGES)


async def _run(graph: Graph, saver: BufferedSaver, given: Any, config: RunnableConfig, view: MissionView) -> Outcome:
    with tracing_context(enabled=False):
        output = await graph.ainvoke(given, config, context=view, durability="exit", version="v2")
    value: Any = output.value
    return Outcome(list(value.get("effects", [])), saver)


def _beginning(view: MissionView, batch: list[dict[str, Any]]) -> State:
    notes = [event["text"] for event in batch if event["kind"] == "note" and event.get("text")]
    return {"mission": view.id, "notes": notes, "problems": [], "batch": batch, "effects": []}


def _small(event: Any) -> dict[str, Any]:
    return {"kind": event.kind, **{name: event.payload[name] for name in _KEPT if name in event.payload}}


def _waiting(found: StateSnapshot, view: MissionView) -> str | None:
    """The id of the interrupt at which a mission's thread waits; None unless there is exactly one, of this mission."""
    if len(found.interrupts) != 1 or len(found.next) != 1 or found.next[0] not in NODES:
        return None
    asked = found.interrupts[0]
    return asked.id if asked.value == question(view.id, found.next[0]) else None


def _thread_subject(loaded: Loaded) -> str:
    return derived_id("sub", loaded.view.id, "THREAD", loaded.checkpoint_id)


def _broken(loaded: Loaded) -> Outcome:
    """Blocks a mission whose thread does not wait where it should; never ends it silently."""
    view = loaded.view
    reason = "the coordinator's thread does not wait where it should"
    asked = effects.escalate(
        view,
        view.root,
        kind="OPERATOR",
        reason=reason,
        question=f"{reason}. Is it to be made anew from the tables?",
        approve="make the thread anew and go on",
        subject=_thread_subject(loaded),
    )
    return Outcome(asked, consumed=False)


def _other_version(view: MissionView) -> Outcome:
    """Blocks a mission that was started with another version of the graph."""
    if view.canceled:
        return Outcome(closing(view))
    if view.root.status in ENDED or view.root.status == "BLOCKED":
        return Outcome([], consumed=view.root.status in ENDED)
    reason = f"it was begun with version {view.version} of the coordinator, this is version {GRAPH_VERSION}"
    key = effects.block_key(view.root, "OPERATOR")
    action = "run it with that version of interlock, or cancel it and submit the goal again"
    blocked = [
        effects.wait(view.root, "BLOCKED", f"{reason}: {action}", key, "owner:operator", "OPERATOR"),
        effects.decide("escalation", reason, {"found": view.version, "known": GRAPH_VERSION}, view.root),
        effects.alert("graph_version", f"mission `{view.id}` waits: {reason}: {action}", key, view.id, "critical"),
    ]
    return Outcome(blocked, consumed=False)
