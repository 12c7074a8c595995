"""The conditions of transitions, each a question about a task that answers with what is missing.

Which transition has which conditions is the table's; nothing here looks anything up.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from interlock.core.values import Actor, ActorKind
from interlock.state_machine.table import COORDINATOR_CLEARS, BlockKind, Guard, Part, TaskState

COORDINATOR = "coordinator"
"""The persona whose agents coordinate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFacts:
    """What is known of a task at the moment of a transition, read in the same transaction that changes it."""

    status: TaskState
    persona: str | None = None
    is_root: bool = False
    blocked_kind: BlockKind | None = None
    held_from: TaskState | None = None
    """In BLOCKED and NEEDS_APPROVAL: the last state that was neither (`held_from_after` keeps it)."""
    assignee_agent_id: str | None = None
    """The agent it has, or is given by this very transition."""
    reviewer_agent_ids: tuple[str, ...] = ()
    has_deliverable: bool = False
    has_approval_record: bool = False
    """Whether its deliverable was approved, by the policy or by a person."""
    missing_evidence: tuple[str, ...] = ()
    """The checks that have not passed for exactly its deliverable. Source: row A20."""
    dependencies_met: bool = False
    mission_canceled: bool = False
    waiting_path: bool = False
    """Whether something is recorded that wakes the task: an approval, a task, an owner with a time. Source: row A18."""
    agent_lost: bool = False
    """Whether its agent's lease ran out."""
    pending_approvals: int = 0
    """Its approvals that nobody has answered yet."""


@dataclass(slots=True)
class Attempt:
    """One wish to change a task's state, as the machine walks it."""

    state: str
    facts: TaskFacts
    actor: Actor
    reason: str
    block_kind: BlockKind | None
    why: str | None = None
    """After a refusal: what was missing."""

    @property
    def parts(self) -> frozenset[Part]:
        """What the actor is to the task; computed, never claimed. Source: decisions, "Actors"."""
        return parts_of(self.facts, self.actor)


def parts_of(facts: TaskFacts, actor: Actor) -> frozenset[Part]:
    """What `actor` is to the task; empty for an agent that has nothing to do with it."""
    match actor.kind:
        case ActorKind.HUMAN:
            return frozenset({Part.HUMAN})
        case ActorKind.SYSTEM:
            return frozenset({Part.SYSTEM})
        case ActorKind.AGENT:
            found = {
                Part.COORDINATOR: actor.persona == COORDINATOR,
                Part.ASSIGNEE: facts.assignee_agent_id == actor.id,
                Part.REVIEWER: actor.id in facts.reviewer_agent_ids,
            }
            return frozenset(part for part, holds in found.items() if holds)


def _assignee_known(a: Attempt) -> str | None:
    return None if a.facts.assignee_agent_id else "it has no assignee"


def _dependencies_met(a: Attempt) -> str | None:
    return None if a.facts.dependencies_met else "a task that it depends on is not finished"


def _has_deliverable(a: Attempt) -> str | None:
    return None if a.facts.has_deliverable else "it has no deliverable"


def _has_approval(a: Attempt) -> str | None:
    return None if a.facts.has_approval_record else "it has no approval record"


def _evidence_passed(a: Attempt) -> str | None:
    missing = a.facts.missing_evidence
    if not missing:
        return None
    return f"{len(missing)} of its checks {'has' if len(missing) == 1 else 'have'} not passed: {'; '.join(missing)}"


def _answered(a: Attempt) -> str | None:
    if a.facts.pending_approvals:
        return f"it waits for {a.facts.pending_approvals} more answer{'s' * (a.facts.pending_approvals > 1)}"
    return None


def _came_from_review(a: Attempt) -> str | None:
    return None if a.facts.held_from is TaskState.REVIEW else "it did not come from REVIEW"


def _had_started(a: Attempt) -> str | None:
    if a.facts.held_from in (TaskState.IN_PROGRESS, TaskState.REVIEW):
        return None
    return "work on it had not begun: assign it"


def _waits_for_something(a: Attempt) -> str | None:
    return None if a.facts.waiting_path else "nothing is recorded that would wake it"


def _reason_given(a: Attempt) -> str | None:
    return None if a.reason.strip() else "a reason is needed"


def _kind_given(a: Attempt) -> str | None:
    if a.block_kind is None:
        return "a block kind is needed"
    if a.actor.kind is ActorKind.AGENT and a.block_kind not in COORDINATOR_CLEARS:
        return f"an agent cannot block with {a.block_kind}"
    return None


def _clearable(a: Attempt) -> str | None:
    if a.actor.kind is ActorKind.HUMAN or a.facts.blocked_kind in COORDINATOR_CLEARS:
        return None
    return f"only a person may clear a block of kind {a.facts.blocked_kind or 'unknown'}"


def _not_the_author(a: Attempt) -> str | None:
    return "its author cannot pull it back" if Part.ASSIGNEE in a.parts else None


def _mission_canceled(a: Attempt) -> str | None:
    if a.actor.kind is ActorKind.SYSTEM and not a.facts.mission_canceled:
        return "the system cancels a task only when its mission is canceled"
    return None


def _agent_lost(a: Attempt) -> str | None:
    if a.actor.kind is ActorKind.SYSTEM and not a.facts.agent_lost:
        return "the system reassigns a task only after its agent was lost"
    return None


GUARDS: Mapping[Guard, Callable[[Attempt], str | None]] = {
    "assignee_known": _assignee_known,
    "dependencies_met": _dependencies_met,
    "has_deliverable": _has_deliverable,
    "has_approval": _has_approval,
    "evidence_passed": _evidence_passed,
    "answered": _answered,
    "came_from_review": _came_from_review,
    "had_started": _had_started,
    "waits_for_something": _waits_for_something,
    "reason_given": _reason_given,
    "kind_given": _kind_given,
    "clearable": _clearable,
    "not_the_author": _not_the_author,
    "mission_canceled": _mission_canceled,
    "agent_lost": _agent_lost,
}
"""Each gives None if it holds, else what is missing. `goes_back` needs the transition, so the machine has it."""
