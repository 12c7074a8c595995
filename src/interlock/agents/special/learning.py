"""The Learner's runs: posting one, and what it is shown when it starts.

INVARIANT: such a run has no tools, cannot ask for money, and nothing waits for it. What its answer becomes is
oversight.learner's job; what the facts are, memory.facts's.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from interlock.agents.persona import Persona
from interlock.agents.prompts.task_messages import learn_message
from interlock.llm.messages import Message
from interlock.memory import facts
from interlock.memory.facts import Scope
from interlock.store import squad
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Post
from interlock.store.money.ledger import Opening
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx
from interlock.store.work import missions, tasks

KIND = "learn"
MISSION_PERCENT = 10
"""Of a mission's budget, at most, is spent on learning from it."""
LEAST_MICROUSD = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LookBack:
    """What a run of the Learner reviews; its key makes sure that it happens once."""

    key: str
    scope: Scope
    project_id: str
    ident: str
    """Of the task, the mission or the project."""
    mission_id: str | None = None
    model: str | None = None
    simulated: bool = False


def post(tx: Tx, learner: Persona, what: LookBack, now: datetime, *, cause: str = "event") -> bool:
    """Posts the run; returns False if it was posted before. `cause` is `event`, `schedule` or `person:ID`."""
    parts = {"mission": what.mission_id} if what.mission_id else {"project": what.project_id}
    descriptor = Descriptor(KIND, what.project_id, learner.name, parts)
    agent = squad.ensure_agent(tx, descriptor, learner.to_json(), learner.trust, now)
    payload = {"purpose": KIND, "scope": what.scope, "about": what.ident}
    message = Post(
        project_id=what.project_id, agent_id=agent.id, kind=KIND, payload=payload, idempotency_key=what.key,
        cause_kind=cause.partition(":")[0], cause_id=cause.partition(":")[2] or what.ident, mission_id=what.mission_id,
        model=what.model, simulated=what.simulated,
    )  # fmt: skip
    return mailbox.post(tx, message, now)[1]


@dataclass(frozen=True, slots=True)
class LearnerInput:
    """What a run of the Learner is shown, and the labels that it acquires by that."""

    message: Message
    labels: frozenset[str]


def input_of(tx: Tx, run: Any) -> LearnerInput | None:
    """What a run of the Learner is shown; None if its payload contains the text itself."""
    scope, about = run.payload.get("scope"), run.payload.get("about")
    if scope is None:
        return None
    match scope:
        case "task":
            found = facts.of_task(tx, run.project_id, about)
        case "mission":
            found = facts.of_mission(tx, run.project_id, about)
        case _:
            found = facts.of_project(tx, run.project_id, run.created_at, rehearsal=run.simulated)
    return LearnerInput(learn_message(_goal(tx, run) | dict(found.shown)), found.labels)


def _goal(tx: Tx, run: Any) -> dict[str, Any]:
    mission = missions.mission(tx, run.mission_id) if run.mission_id else None
    if mission is None:
        return {}
    return {"mission": mission.id, "goal": " ".join(mission.goal.split())[:600], "rehearsal": mission.simulated}


def opening(tx: Tx, run: Any) -> Opening | None:
    """The account that limits the cost of learning from one mission; None for a scheduled review of a project.

    Source: numbers, "Budgets" (a learn run spends from its mission).
    """
    root = tasks.task(tx, run.mission_id) if run.mission_id else None
    if root is None:
        return None
    limit = max(LEAST_MICROUSD, root.budget_microusd * MISSION_PERCENT // 100)
    return Opening(f"learn:{root.id}", KIND, root.id, run.project_id, limit)
