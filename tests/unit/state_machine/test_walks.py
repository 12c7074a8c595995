"""Random lives of a task: whatever is tried in whatever order, the invariants of the table hold."""

from dataclasses import replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from interlock.core.values import SYSTEM, Actor, ActorKind
from interlock.state_machine.machine import Allowed, TaskFacts, check, held_from_after, targets
from interlock.state_machine.table import COORDINATOR_CLEARS, HELD, TERMINAL, BlockKind, TaskState
from tests.examples import times

AGENTS = ("a", "b", "c")
EVERYBODY = [SYSTEM, Actor(ActorKind.HUMAN, "ann")] + [
    Actor(ActorKind.AGENT, i, persona) for i in AGENTS for persona in ("coder", "coordinator")
]
WORKING = (TaskState.INBOX, TaskState.ASSIGNED, TaskState.IN_PROGRESS, TaskState.REVIEW)
FLAGS = (
    "has_deliverable", "has_approval_record", "dependencies_met", "mission_canceled", "waiting_path", "agent_lost",
)  # fmt: skip


class Life(RuleBasedStateMachine):
    """A task among random facts and random wishes; `history` has every change that was allowed.

    A rule makes one change at most, so the invariants look at the last one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.facts = TaskFacts(
            status=TaskState.INBOX, assignee_agent_id="a", has_deliverable=True, has_approval_record=True,
            dependencies_met=True, mission_canceled=True, waiting_path=True, agent_lost=True,
        )  # fmt: skip
        self.history: list[tuple[TaskFacts, TaskState, Actor, BlockKind | None]] = []

    @initialize(status=st.sampled_from(TaskState), came_from=st.sampled_from(WORKING))
    def it_begins_somewhere(self, status: TaskState, came_from: TaskState) -> None:
        self.facts = replace(self.facts, status=status, held_from=came_from if status in HELD else None)

    @rule(name=st.sampled_from(FLAGS))
    def a_fact_changes(self, name: str) -> None:
        change: Any = {name: not getattr(self.facts, name)}
        self.facts = replace(self.facts, **change)

    @rule(assignee=st.sampled_from((*AGENTS, None)), reviewer=st.sampled_from(AGENTS), pending=st.integers(0, 1))
    def parts_are_given(self, assignee: str | None, reviewer: str, pending: int) -> None:
        self.facts = replace(
            self.facts, assignee_agent_id=assignee, reviewer_agent_ids=(reviewer,), pending_approvals=pending
        )

    @rule(
        to=st.sampled_from(TaskState), actor=st.sampled_from(EVERYBODY), reason=st.sampled_from(("", "because")),
        kind=st.none() | st.sampled_from(BlockKind),
    )  # fmt: skip
    def somebody_tries(self, to: TaskState, actor: Actor, reason: str, kind: BlockKind | None) -> None:
        before = self.facts
        if isinstance(check(before, to, actor, reason=reason, block_kind=kind), Allowed):
            self.history.append((before, to, actor, kind))
            self.facts = replace(
                before, status=to, held_from=held_from_after(before, to),
                blocked_kind=kind if to is TaskState.BLOCKED else None,
            )  # fmt: skip

    @rule(turn=st.integers(0, 59), kind=st.sampled_from(BlockKind))
    def everybody_tries_a_way_of_the_table(self, turn: int, kind: BlockKind) -> None:
        ways = [to for to in targets(self.facts.status) if to is not TaskState.CANCELED or turn % 10 == 0]
        before = len(self.history)
        for actor in EVERYBODY[turn % 3 :] + EVERYBODY[: turn % 3]:
            if ways and len(self.history) == before:
                self.somebody_tries(ways[turn % len(ways)], actor, "because", kind)

    @invariant()
    def nothing_leaves_a_terminal_state(self) -> None:
        assert all(before.status not in TERMINAL for before, *_ in self.history[-1:])

    @invariant()
    def done_has_deliverable_and_approval_record_and_no_agent_declares_it(self) -> None:
        for before, to, actor, _ in self.history[-1:]:
            if to is TaskState.DONE:
                assert before.has_deliverable
                assert before.has_approval_record
                assert actor.kind is not ActorKind.AGENT

    @invariant()
    def review_is_entered_with_a_deliverable_or_by_an_answer(self) -> None:
        for before, to, _, _ in self.history[-1:]:
            if to is TaskState.REVIEW and before.status is not TaskState.NEEDS_APPROVAL:
                assert before.has_deliverable

    @invariant()
    def work_begins_only_with_every_dependency_met(self) -> None:
        for before, to, actor, _ in self.history[-1:]:
            if before.status is TaskState.ASSIGNED and to is TaskState.IN_PROGRESS:
                assert before.dependencies_met
                assert actor.id == before.assignee_agent_id

    @invariant()
    def no_task_waits_for_nothing(self) -> None:
        assert all(before.waiting_path for before, to, *_ in self.history[-1:] if to in HELD)
        assert all(kind is not None for _, to, _, kind in self.history[-1:] if to is TaskState.BLOCKED)

    @invariant()
    def a_held_task_remembers_a_state_that_is_neither_held_nor_terminal(self) -> None:
        if self.facts.status in HELD:
            assert self.facts.held_from not in HELD | TERMINAL | {None}

    @invariant()
    def what_a_person_must_answer_no_agent_and_no_system_answers(self) -> None:
        for before, to, actor, _ in self.history[-1:]:
            if before.status is TaskState.NEEDS_APPROVAL and to not in (TaskState.BLOCKED, TaskState.CANCELED):
                assert actor.kind is ActorKind.HUMAN
                assert to in (before.held_from, TaskState.DONE)

    @invariant()
    def agents_clear_only_the_blocks_that_are_theirs(self) -> None:
        for before, _, actor, _ in self.history[-1:]:
            if before.status is TaskState.BLOCKED and actor.kind is ActorKind.AGENT:
                assert before.blocked_kind in COORDINATOR_CLEARS
                assert actor.persona == "coordinator"


TestLife = Life.TestCase
TestLife.settings = settings(times(1), stateful_step_count=40)
