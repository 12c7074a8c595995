"""The life of a task as data: its states, what can block it, and every allowed transition.

How a transition is judged is guards' and machine's; how it is stored is the store's.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from interlock.core.values import ActorKind


class TaskState(StrEnum):
    """Where a task stands. Source: row B1."""

    INBOX = "INBOX"
    ASSIGNED = "ASSIGNED"
    IN_PROGRESS = "IN_PROGRESS"
    REVIEW = "REVIEW"
    NEEDS_APPROVAL = "NEEDS_APPROVAL"
    BLOCKED = "BLOCKED"
    DONE = "DONE"
    CANCELED = "CANCELED"


class BlockKind(StrEnum):
    """Why a task is BLOCKED. Source: decisions, "Block kinds"."""

    DEPENDENCY = "DEPENDENCY"
    """A dependency was canceled or cannot finish."""
    FAILURE = "FAILURE"
    """Its tries are used up."""
    STUCK = "STUCK"
    """Its agent was lost."""
    LOOP = "LOOP"
    BREAKER = "BREAKER"
    POLICY = "POLICY"
    BUDGET = "BUDGET"
    EXPIRED = "EXPIRED"
    """Nobody answered its approval in time."""
    OPERATOR = "OPERATOR"
    UNKNOWN_OUTCOME = "UNKNOWN_OUTCOME"
    NO_AGENT = "NO_AGENT"


class Part(StrEnum):
    """What somebody is to a task; one actor can have several parts."""

    HUMAN = "human"
    SYSTEM = "system"
    COORDINATOR = "coordinator"
    ASSIGNEE = "assignee"
    REVIEWER = "reviewer"


Guard = Literal[
    "assignee_known",
    "dependencies_met",
    "has_deliverable",
    "has_approval",
    "evidence_passed",
    "answered",
    "goes_back",
    "came_from_review",
    "had_started",
    "waits_for_something",
    "reason_given",
    "kind_given",
    "clearable",
    "not_the_author",
    "mission_canceled",
    "agent_lost",
]
"""The names of the conditions in `guards`."""

S = TaskState
TERMINAL = frozenset({S.DONE, S.CANCELED})
"""INVARIANT: no transition leaves these."""
HELD = frozenset({S.BLOCKED, S.NEEDS_APPROVAL})
"""States that remember where the task was."""
COORDINATOR_CLEARS = frozenset({BlockKind.DEPENDENCY, BlockKind.FAILURE, BlockKind.STUCK, BlockKind.NO_AGENT})
"""Blocks that the Coordinator may clear, and the only ones that an agent may set; the rest belong to people."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One allowed change: by whom, under which conditions, all of which must hold."""

    source: TaskState
    dest: TaskState
    parts: frozenset[Part]
    guards: tuple[Guard, ...]
    needs: str
    """The conditions in words."""

    @property
    def actors(self) -> frozenset[ActorKind]:
        """The kinds of actor among its parts."""
        return frozenset(_KIND[part] for part in self.parts)


_KIND = {
    Part.HUMAN: ActorKind.HUMAN,
    Part.SYSTEM: ActorKind.SYSTEM,
    Part.COORDINATOR: ActorKind.AGENT,
    Part.ASSIGNEE: ActorKind.AGENT,
    Part.REVIEWER: ActorKind.AGENT,
}
_H, _S, _C, _A, _R = Part.HUMAN, Part.SYSTEM, Part.COORDINATOR, Part.ASSIGNEE, Part.REVIEWER
_HOLD: tuple[Guard, ...] = ("waits_for_something",)
_BLOCK: tuple[Guard, ...] = ("kind_given", "reason_given", "waits_for_something")
_DONE: tuple[Guard, ...] = ("has_deliverable", "has_approval", "evidence_passed")
_WAIT_WORDS = "something that it waits for"
_BLOCK_WORDS = "a block kind, a reason, something that it waits for"
_CANCEL_WORDS = "the system only when its mission is canceled"


def _t(source: TaskState, dest: TaskState, parts: set[Part], needs: str = "", *guards: Guard) -> Transition:
    return Transition(source, dest, frozenset(parts), guards, needs)


TRANSITIONS: tuple[Transition, ...] = (
    _t(S.INBOX, S.ASSIGNED, {_C, _H, _S}, "an assignee", "assignee_known"),
    _t(S.INBOX, S.NEEDS_APPROVAL, {_S}, f"plan or budget to be approved; {_WAIT_WORDS}", *_HOLD),
    _t(S.INBOX, S.BLOCKED, {_S, _H}, _BLOCK_WORDS, *_BLOCK),
    _t(S.INBOX, S.CANCELED, {_H, _S}, _CANCEL_WORDS, "mission_canceled"),
    _t(
        S.ASSIGNED, S.IN_PROGRESS, {_A}, "every dependency DONE (for a review task: in REVIEW)", "dependencies_met",
    ),
    _t(S.ASSIGNED, S.INBOX, {_H, _S}),
    _t(S.ASSIGNED, S.NEEDS_APPROVAL, {_S}, _WAIT_WORDS, *_HOLD),
    _t(S.ASSIGNED, S.BLOCKED, {_S, _H}, _BLOCK_WORDS, *_BLOCK),
    _t(S.ASSIGNED, S.CANCELED, {_H, _S}, _CANCEL_WORDS, "mission_canceled"),
    _t(S.IN_PROGRESS, S.REVIEW, {_A, _H}, "a deliverable", "has_deliverable"),
    _t(S.IN_PROGRESS, S.NEEDS_APPROVAL, {_S}, f"a held call or a budget excess; {_WAIT_WORDS}", *_HOLD),
    _t(S.IN_PROGRESS, S.BLOCKED, {_A, _C, _H, _S}, _BLOCK_WORDS, *_BLOCK),
    _t(
        S.IN_PROGRESS, S.ASSIGNED, {_H, _S}, "an assignee; the system only after a lost agent",
        "assignee_known", "agent_lost",
    ),
    _t(S.IN_PROGRESS, S.CANCELED, {_H, _S}, _CANCEL_WORDS, "mission_canceled"),
    _t(S.REVIEW, S.DONE, {_H, _S}, "an approval record, the deliverable, its checks passed", *_DONE),
    _t(
        S.REVIEW, S.IN_PROGRESS, {_R, _C, _H, _S}, "feedback as the reason; never by its author; one review cycle",
        "not_the_author", "reason_given",
    ),
    _t(S.REVIEW, S.NEEDS_APPROVAL, {_S}, _WAIT_WORDS, *_HOLD),
    _t(S.REVIEW, S.BLOCKED, {_H, _S}, _BLOCK_WORDS, *_BLOCK),
    _t(S.REVIEW, S.CANCELED, {_H, _S}, _CANCEL_WORDS, "mission_canceled"),
    *(
        _t(S.NEEDS_APPROVAL, back, {_H}, "the answer; only where it came from", "goes_back", "answered")
        for back in (S.INBOX, S.ASSIGNED, S.IN_PROGRESS, S.REVIEW)
    ),
    _t(
        S.NEEDS_APPROVAL, S.DONE, {_H}, "came from REVIEW; the approval record, the deliverable, its checks passed",
        "came_from_review", "answered", *_DONE,
    ),
    _t(S.NEEDS_APPROVAL, S.BLOCKED, {_H, _S}, f"the system on expiry; {_BLOCK_WORDS}", *_BLOCK),
    _t(S.NEEDS_APPROVAL, S.CANCELED, {_H, _S}),
    _t(
        S.BLOCKED, S.ASSIGNED, {_H, _C}, "an assignee; the Coordinator only for a block it may clear",
        "clearable", "assignee_known",
    ),
    _t(
        S.BLOCKED, S.IN_PROGRESS, {_H, _C},
        "an assignee; work on it had begun; the Coordinator only for a block it may clear",
        "clearable", "assignee_known", "had_started",
    ),
    _t(S.BLOCKED, S.NEEDS_APPROVAL, {_S, _H}, f"escalation; {_WAIT_WORDS}", *_HOLD),
    _t(S.BLOCKED, S.CANCELED, {_H, _S}),
)  # fmt: skip
"""Every allowed change, at most one for a pair of states. Source: numbers, "Task transitions"."""
