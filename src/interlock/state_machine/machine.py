"""The machine over the table: whether a task may change its state, for whom, and if not, why.

It decides and stores nothing; `store.work.tasks.advance()` is the door that acts on its verdict.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from transitions import EventData, Machine, MachineError

from interlock.core.values import Actor
from interlock.state_machine.guards import GUARDS, Attempt, TaskFacts, parts_of
from interlock.state_machine.table import HELD, TERMINAL, TRANSITIONS, BlockKind, Part, TaskState, Transition

__all__ = [
    "Allowed", "NotAllowed", "TaskFacts", "Verdict", "check", "diagram", "held_from_after", "machine", "open_to",
    "targets",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Allowed:
    """The change may be made."""

    transition: Transition


@dataclass(frozen=True, slots=True)
class NotAllowed:
    """The change may not be made: why, and where the same actor could move the task now."""

    why: str
    allowed: tuple[TaskState, ...]


Verdict = Allowed | NotAllowed


@cache
def machine() -> Machine:
    """The machine of package transitions: one event for each target state, the guards as its conditions."""
    rows: list[Any] = [[t.dest.value, t.source.value, t.dest.value, _conditions(t)] for t in TRANSITIONS]
    return Machine(
        model=None,
        states=[state.value for state in TaskState],
        transitions=rows,
        initial=TaskState.INBOX.value,
        auto_transitions=False,
        send_event=True,
    )


def check(
    facts: TaskFacts, to: TaskState, actor: Actor, *, reason: str, block_kind: BlockKind | None = None
) -> Verdict:
    """Whether `actor` may move the task to `to`. Source: rows B1, B2, B4, A18."""
    attempt = Attempt(facts.status.value, facts, actor, reason, block_kind)
    if _walk(attempt, to):
        return Allowed(_BY_PAIR[facts.status, to])
    return NotAllowed(attempt.why or "it cannot", open_to(facts, actor, reason=reason, block_kind=block_kind))


def open_to(
    facts: TaskFacts, actor: Actor, *, reason: str = "", block_kind: BlockKind | None = None
) -> tuple[TaskState, ...]:
    """The states to which `actor` could move the task now."""
    return tuple(
        to for to in targets(facts.status) if _walk(Attempt(facts.status.value, facts, actor, reason, block_kind), to)
    )


def targets(state: TaskState) -> tuple[TaskState, ...]:
    """The states that the table leads to from `state`, whoever acts; none from a terminal state."""
    found = {t.dest for t in machine().get_transitions(source=state.value)}
    return tuple(to for to in TaskState if to.value in found)


def held_from_after(facts: TaskFacts, to: TaskState) -> TaskState | None:
    """What a task that goes to `to` must remember as `held_from`: the last state that was neither held state.

    So NEEDS_APPROVAL entered from BLOCKED leads back to the state before the block.
    Source: decisions, "Approval kinds".
    """
    if to not in HELD:
        return None
    return facts.held_from if facts.status in HELD else facts.status


def diagram() -> str:
    """The machine as a Mermaid state diagram; the letters say who may act (H human, S system, A an agent)."""
    lines = ["stateDiagram-v2", f"    [*] --> {machine().initial}"]
    for state in TaskState:
        for to in targets(state):
            kinds = _BY_PAIR[state, to].actors
            who = " ".join(sorted({"agent": "A", "human": "H", "system": "S"}[kind] for kind in kinds))
            lines.append(f"    {state} --> {to}: {who}")
    lines += [f"    {state} --> [*]" for state in TaskState if state in TERMINAL]
    return "\n".join(lines)


_BY_PAIR = {(t.source, t.dest): t for t in TRANSITIONS}


def _walk(attempt: Attempt, to: TaskState) -> bool:
    if attempt.state == to.value:
        attempt.why = f"it is in {to} already"
        return False
    event = machine().events.get(to.value)
    try:
        return event is not None and bool(event.trigger(attempt))
    except MachineError:
        state = TaskState(attempt.state)
        ends = "nothing leaves it" if state in TERMINAL else f"from there to {', '.join(targets(state))}"
        attempt.why = f"{state} does not lead to {to}: {ends}"
        return False


def _conditions(transition: Transition) -> list[Callable[[EventData], bool]]:
    checks: list[Callable[[Attempt], str | None]] = [_may_act(transition)]
    for name in transition.guards:
        checks.append(_goes_back(transition) if name == "goes_back" else GUARDS[name])
    return [_condition(check) for check in checks]


def _condition(find_missing: Callable[[Attempt], str | None]) -> Callable[[EventData], bool]:
    def holds(event: EventData) -> bool:
        attempt: Any = event.model
        attempt.why = find_missing(attempt)
        return attempt.why is None

    return holds


def _may_act(transition: Transition) -> Callable[[Attempt], str | None]:
    who = ", ".join(part for part in Part if part in transition.parts)

    def find_missing(attempt: Attempt) -> str | None:
        parts = parts_of(attempt.facts, attempt.actor)
        if parts & transition.parts:
            return None
        acting = " and ".join(sorted(parts)) or "an agent that has no part in it"
        return f"{acting} may not do this; it is for: {who}"

    return find_missing


def _goes_back(transition: Transition) -> Callable[[Attempt], str | None]:
    def find_missing(attempt: Attempt) -> str | None:
        came_from = attempt.facts.held_from
        return None if came_from is transition.dest else f"it came from {came_from or 'an unknown state'}"

    return find_missing
