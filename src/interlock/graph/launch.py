"""Starts a mission: its root task, its coordinator and its accounts, in one transaction.

The desk decides who may start one, and validates the goal.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from interlock.agents.persona import COORDINATOR, Persona
from interlock.agents.prompts.quoting import one_line
from interlock.core.ids import new_id
from interlock.core.values import Actor, ActorKind
from interlock.graph.state import GRAPH_VERSION
from interlock.graph.workflow import Workflow
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.messages import conversations, outbox
from interlock.store.messages.conversations import Origin
from interlock.store.money import ledger
from interlock.store.money.ledger import Opening
from interlock.store.schema import Mission
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx
from interlock.store.work import coordination, missions, tasks

LONGEST_TITLE = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """The data of a new mission. `model` is `provider/model`; None leaves it to the personas."""

    project_id: str
    goal: str
    requested_by: str
    """The id of the person, from authentication."""
    coordinator: Persona
    budget_microusd: int
    idempotency_key: str
    timezone: str = "UTC"
    model: str | None = None
    simulated: bool = False
    deadline_at: datetime | None = None
    origin: Origin | None = None
    """The chat message that started it; a thread is opened there too."""
    checks: Sequence[Mapping[str, Any]] = ()
    """The acceptance checks of the mission's own deliverable; each with `by`, who demands it. Source: row A20."""
    workflow: Workflow | None = None
    """The workflow that replaces a plan; the mission stores it as it is now."""
    mission_id: str = field(default_factory=lambda: new_id("mis"))


def launch(tx: Tx, spec: Launch, now: datetime) -> str:
    """Starts a mission and returns its id; the same idempotency key in a project gives the first one.

    Source: row A1.
    """
    key = f"goal:{spec.project_id}:{spec.idempotency_key}"
    if found := coordination.root_by_key(tx, key):
        return found
    squad.ensure_project(tx, spec.project_id, spec.timezone, now)
    coordinator, thinker = (
        squad.ensure_agent(
            tx,
            Descriptor(kind, spec.project_id, COORDINATOR, {"mission": spec.mission_id}),
            spec.coordinator.to_json(),
            spec.coordinator.trust,
            now,
        ).id
        for kind in ("mission", "think")
    )
    tasks.add(
        tx, id=spec.mission_id, project_id=spec.project_id, mission_id=spec.mission_id, key="root",
        title=one_line(spec.goal, limit=LONGEST_TITLE), description=spec.goal, persona=COORDINATOR, type="other",
        budget_microusd=spec.budget_microusd, checks=[dict(each) for each in spec.checks] or None,
        idempotency_key=key, created_at=now, updated_at=now,
    )  # fmt: skip
    tx.add(
        Mission, id=spec.mission_id, project_id=spec.project_id, goal=spec.goal, model=spec.model,
        simulated=spec.simulated, graph_version=GRAPH_VERSION, coordinator_agent_id=coordinator,
        thinker_agent_id=thinker, requested_by=spec.requested_by, deadline_at=spec.deadline_at, created_at=now,
        workflow=None if spec.workflow is None else spec.workflow.to_json(),
    )  # fmt: skip
    followed = {} if spec.workflow is None else {"workflow": spec.workflow.name}
    opening = Opening(f"mission:{spec.mission_id}", "mission", spec.mission_id, spec.project_id, spec.budget_microusd)
    ledger.open_accounts(tx, [opening], now)
    audit.note(
        tx, "MISSION_STARTED", Actor(ActorKind.HUMAN, spec.requested_by), now, project_id=spec.project_id,
        mission_id=spec.mission_id, goal=spec.goal, budget_microusd=spec.budget_microusd, simulated=spec.simulated,
        **followed,
    )  # fmt: skip
    _open_threads(tx, spec, now)
    missions.notify(tx, spec.mission_id, "goal", {}, now)
    return spec.mission_id


def _open_threads(tx: Tx, spec: Launch, now: datetime) -> None:
    """A thread where it was started and one in every other mission channel; the first message of each is its card."""
    if spec.origin is not None:
        conversations.of_mission(tx, spec.mission_id, spec.origin, spec.project_id, now)
    conversations.threads_in_rooms(tx, spec.mission_id, spec.project_id, now)
    about = f"mission:{spec.mission_id}"
    outbox.notify(tx, "mission", about, now, project_id=spec.project_id, mission_id=spec.mission_id)
