"""Random lives of tasks, cheap enough for a hundred thousand of them; no test lives here.

`test_walks` searches for short ones that break something, here chance alone leads on.
"""

import random
from collections import Counter
from dataclasses import replace
from typing import Any

from interlock.core.values import SYSTEM, Actor, ActorKind
from interlock.state_machine.machine import Allowed, TaskFacts, check, held_from_after, targets
from interlock.state_machine.table import COORDINATOR_CLEARS, HELD, TERMINAL, BlockKind, TaskState

AGENTS = ("a", "b")
HUMAN = Actor(ActorKind.HUMAN, "ann")
EVERYBODY = (SYSTEM, HUMAN, *(Actor(ActorKind.AGENT, i, p) for i in AGENTS for p in ("coder", "coordinator")))
FLAGS = ("has_deliverable", "has_approval_record", "dependencies_met", "mission_canceled", "waiting_path", "agent_lost")
STATES, KINDS = tuple(TaskState), tuple(BlockKind)
WORKING = (TaskState.INBOX, TaskState.ASSIGNED, TaskState.IN_PROGRESS, TaskState.REVIEW)
BEGINNINGS = (TaskState.INBOX, TaskState.INBOX, *(state for state in TaskState if state not in TERMINAL))
STEPS = 12


def walk(dice: random.Random, seen: Counter[tuple[str, str]]) -> None:
    """One life from some state on: asserts what must hold of every change that is allowed, and counts them."""
    status = dice.choice(BEGINNINGS)
    facts = TaskFacts(
        status=status, assignee_agent_id="a", dependencies_met=True, waiting_path=True,
        held_from=dice.choice(WORKING) if status in HELD else None,
    )  # fmt: skip
    for _ in range(STEPS):
        changed: dict[str, Any] = {name: dice.random() < 0.7 for name in FLAGS}
        facts = replace(
            facts, assignee_agent_id=dice.choice(("a", "a", "b", None)), reviewer_agent_ids=(dice.choice(AGENTS),),
            pending_approvals=int(dice.random() < 0.2), **changed,
        )  # fmt: skip
        likely = targets(facts.status) or STATES
        to = dice.choice(likely if dice.random() < 0.9 else STATES)
        if to is TaskState.CANCELED and dice.random() < 0.8:
            continue
        actor, reason = dice.choice(EVERYBODY), "because" if dice.random() < 0.9 else ""
        kind = dice.choice(KINDS) if dice.random() < 0.9 else None
        if isinstance(check(facts, to, actor, reason=reason, block_kind=kind), Allowed):
            _judge(facts, to, actor, reason, kind)
            seen[facts.status.value, to.value] += 1
            facts = replace(
                facts, status=to, held_from=held_from_after(facts, to),
                blocked_kind=kind if to is TaskState.BLOCKED else None,
            )  # fmt: skip


def _judge(before: TaskFacts, to: TaskState, actor: Actor, reason: str, kind: BlockKind | None) -> None:
    """The invariants of the table."""
    change = (before, to, actor)
    assert before.status not in TERMINAL, change
    if to is TaskState.DONE:
        assert before.has_deliverable, change
        assert before.has_approval_record, change
        assert actor.kind is not ActorKind.AGENT, change
    if to is TaskState.REVIEW and before.status is not TaskState.NEEDS_APPROVAL:
        assert before.has_deliverable, change
    if (before.status, to) == (TaskState.ASSIGNED, TaskState.IN_PROGRESS):
        assert before.dependencies_met, change
        assert actor.id == before.assignee_agent_id, change
    if to in HELD:
        assert before.waiting_path, change
        assert held_from_after(before, to) not in HELD | TERMINAL | {None}, change
    if to is TaskState.BLOCKED:
        assert kind is not None, change
        assert reason, change
        assert actor.kind is not ActorKind.AGENT or kind in COORDINATOR_CLEARS, change
    if before.status is TaskState.BLOCKED and actor.kind is ActorKind.AGENT:
        assert before.blocked_kind in COORDINATOR_CLEARS, change
        assert actor.persona == "coordinator", change
    if before.status is TaskState.NEEDS_APPROVAL and to not in (TaskState.BLOCKED, TaskState.CANCELED):
        assert actor.kind is ActorKind.HUMAN, change
        assert to in (before.held_from, TaskState.DONE), change
        assert not before.pending_approvals, change
