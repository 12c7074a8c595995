"""Who may move a task where, and what is said to those who may not."""

from dataclasses import replace

import pytest

from interlock.core.values import SYSTEM, Actor, ActorKind
from interlock.state_machine.machine import Allowed, NotAllowed, TaskFacts, check, held_from_after, open_to, targets
from interlock.state_machine.table import TRANSITIONS, BlockKind, TaskState

S = TaskState
HUMAN = Actor(ActorKind.HUMAN, "ann")
COORDINATOR = Actor(ActorKind.AGENT, "agent-c", "coordinator")
ASSIGNEE = Actor(ActorKind.AGENT, "agent-a", "coder")
REVIEWER = Actor(ActorKind.AGENT, "agent-r", "qa")
STRANGER = Actor(ActorKind.AGENT, "agent-x", "coder")
EVERYONE = (HUMAN, SYSTEM, COORDINATOR, ASSIGNEE, REVIEWER, STRANGER)
READY = TaskFacts(
    status=S.INBOX,
    assignee_agent_id="agent-a",
    reviewer_agent_ids=("agent-r",),
    has_deliverable=True,
    has_approval_record=True,
    dependencies_met=True,
    mission_canceled=True,
    waiting_path=True,
    agent_lost=True,
)


def allowed(facts: TaskFacts, to: TaskState, actor: Actor, kind: BlockKind | None = BlockKind.DEPENDENCY) -> bool:
    return isinstance(check(facts, to, actor, reason="because", block_kind=kind), Allowed)


def why(facts: TaskFacts, to: TaskState, actor: Actor, reason: str = "because", kind: BlockKind | None = None) -> str:
    verdict = check(facts, to, actor, reason=reason, block_kind=kind)
    assert isinstance(verdict, NotAllowed)
    return verdict.why


def held(state: TaskState, came_from: TaskState, kind: BlockKind | None = None) -> TaskFacts:
    return replace(READY, status=state, held_from=came_from, blocked_kind=kind)


def names(*actors: Actor) -> set[str]:
    return {actor.id for actor in actors}


@pytest.mark.parametrize(
    ("source", "to", "who"),
    [
        (S.INBOX, S.ASSIGNED, names(HUMAN, SYSTEM, COORDINATOR)),
        (S.INBOX, S.NEEDS_APPROVAL, names(SYSTEM)),
        (S.INBOX, S.BLOCKED, names(HUMAN, SYSTEM)),
        (S.INBOX, S.CANCELED, names(HUMAN, SYSTEM)),
        (S.ASSIGNED, S.IN_PROGRESS, names(ASSIGNEE)),
        (S.ASSIGNED, S.INBOX, names(HUMAN, SYSTEM)),
        (S.ASSIGNED, S.NEEDS_APPROVAL, names(SYSTEM)),
        (S.ASSIGNED, S.BLOCKED, names(HUMAN, SYSTEM)),
        (S.ASSIGNED, S.CANCELED, names(HUMAN, SYSTEM)),
        (S.IN_PROGRESS, S.REVIEW, names(ASSIGNEE, HUMAN)),
        (S.IN_PROGRESS, S.NEEDS_APPROVAL, names(SYSTEM)),
        (S.IN_PROGRESS, S.BLOCKED, names(ASSIGNEE, COORDINATOR, HUMAN, SYSTEM)),
        (S.IN_PROGRESS, S.ASSIGNED, names(HUMAN, SYSTEM)),
        (S.IN_PROGRESS, S.CANCELED, names(HUMAN, SYSTEM)),
        (S.REVIEW, S.DONE, names(HUMAN, SYSTEM)),
        (S.REVIEW, S.IN_PROGRESS, names(REVIEWER, COORDINATOR, HUMAN, SYSTEM)),
        (S.REVIEW, S.NEEDS_APPROVAL, names(SYSTEM)),
        (S.REVIEW, S.BLOCKED, names(HUMAN, SYSTEM)),
        (S.REVIEW, S.CANCELED, names(HUMAN, SYSTEM)),
        (S.INBOX, S.IN_PROGRESS, set()),
        (S.INBOX, S.REVIEW, set()),
        (S.INBOX, S.DONE, set()),
        (S.ASSIGNED, S.REVIEW, set()),
        (S.ASSIGNED, S.DONE, set()),
        (S.IN_PROGRESS, S.INBOX, set()),
        (S.IN_PROGRESS, S.DONE, set()),
        (S.REVIEW, S.INBOX, set()),
        (S.REVIEW, S.ASSIGNED, set()),
    ],
)
def test_each_change_is_open_to_its_actors_only(source: TaskState, to: TaskState, who: set[str]) -> None:
    facts = replace(READY, status=source)
    assert {actor.id for actor in EVERYONE if allowed(facts, to, actor)} == who


@pytest.mark.parametrize("came_from", [S.INBOX, S.ASSIGNED, S.IN_PROGRESS, S.REVIEW])
def test_an_answer_leads_back_to_the_state_before_it_and_only_a_person_gives_it(came_from: TaskState) -> None:
    facts = held(S.NEEDS_APPROVAL, came_from)
    back = {to for to in (S.INBOX, S.ASSIGNED, S.IN_PROGRESS, S.REVIEW) if allowed(facts, to, HUMAN)}
    assert back == {came_from}
    assert not any(allowed(facts, came_from, actor) for actor in EVERYONE if actor is not HUMAN)


def test_a_held_task_goes_on_after_the_last_answer() -> None:
    facts = replace(held(S.NEEDS_APPROVAL, S.IN_PROGRESS), pending_approvals=2)
    assert why(facts, S.IN_PROGRESS, HUMAN) == "it waits for 2 more answers"
    assert allowed(replace(facts, pending_approvals=0), S.IN_PROGRESS, HUMAN)


def test_a_person_finishes_a_held_task_only_if_it_came_from_review_with_work_and_record() -> None:
    assert allowed(held(S.NEEDS_APPROVAL, S.REVIEW), S.DONE, HUMAN)
    assert why(held(S.NEEDS_APPROVAL, S.IN_PROGRESS), S.DONE, HUMAN) == "it did not come from REVIEW"
    bare = replace(held(S.NEEDS_APPROVAL, S.REVIEW), has_approval_record=False)
    assert why(bare, S.DONE, HUMAN) == "it has no approval record"
    assert not allowed(held(S.NEEDS_APPROVAL, S.REVIEW), S.DONE, SYSTEM)


@pytest.mark.parametrize("kind", list(BlockKind))
def test_the_coordinator_clears_only_the_blocks_that_are_not_for_people(kind: BlockKind) -> None:
    facts = held(S.BLOCKED, S.IN_PROGRESS, kind)
    may = kind in {BlockKind.DEPENDENCY, BlockKind.FAILURE, BlockKind.STUCK, BlockKind.NO_AGENT}
    for to in (S.ASSIGNED, S.IN_PROGRESS):
        assert allowed(facts, to, COORDINATOR) is may
        assert allowed(facts, to, HUMAN)
        assert not allowed(facts, to, ASSIGNEE)
        assert not allowed(facts, to, SYSTEM)


def test_a_block_of_unknown_kind_belongs_to_people() -> None:
    facts = held(S.BLOCKED, S.IN_PROGRESS, None)
    assert why(facts, S.ASSIGNED, COORDINATOR) == "only a person may clear a block of kind unknown"


def test_clearing_a_block_cannot_skip_the_wait_for_dependencies() -> None:
    facts = held(S.BLOCKED, S.ASSIGNED, BlockKind.DEPENDENCY)
    assert why(facts, S.IN_PROGRESS, HUMAN) == "work on it had not begun: assign it"
    assert allowed(facts, S.ASSIGNED, HUMAN)


def test_an_agent_blocks_only_with_kinds_that_the_coordinator_clears() -> None:
    facts = replace(READY, status=S.IN_PROGRESS)
    assert allowed(facts, S.BLOCKED, ASSIGNEE, BlockKind.DEPENDENCY)
    assert why(facts, S.BLOCKED, ASSIGNEE, kind=BlockKind.OPERATOR) == "an agent cannot block with OPERATOR"
    assert allowed(facts, S.BLOCKED, SYSTEM, BlockKind.OPERATOR)


@pytest.mark.parametrize(
    ("facts", "to", "actor", "missing"),
    [
        (replace(READY, assignee_agent_id=None), S.ASSIGNED, HUMAN, "it has no assignee"),
        (
            replace(READY, status=S.ASSIGNED, dependencies_met=False), S.IN_PROGRESS, ASSIGNEE,
            "a task that it depends on is not finished",
        ),
        (replace(READY, status=S.IN_PROGRESS, has_deliverable=False), S.REVIEW, ASSIGNEE, "it has no deliverable"),
        (replace(READY, status=S.REVIEW, has_approval_record=False), S.DONE, SYSTEM, "it has no approval record"),
        (replace(READY, status=S.REVIEW, has_deliverable=False), S.DONE, HUMAN, "it has no deliverable"),
        (
            replace(READY, status=S.IN_PROGRESS, waiting_path=False), S.NEEDS_APPROVAL, SYSTEM,
            "nothing is recorded that would wake it",
        ),
        (replace(READY, status=S.IN_PROGRESS), S.BLOCKED, SYSTEM, "a block kind is needed"),
        (
            replace(READY, status=S.IN_PROGRESS, mission_canceled=False), S.CANCELED, SYSTEM,
            "the system cancels a task only when its mission is canceled",
        ),
        (
            replace(READY, status=S.IN_PROGRESS, agent_lost=False), S.ASSIGNED, SYSTEM,
            "the system reassigns a task only after its agent was lost",
        ),
        (
            replace(READY, status=S.IN_PROGRESS), S.REVIEW, STRANGER,
            "an agent that has no part in it may not do this; it is for: human, assignee",
        ),
        (READY, S.INBOX, HUMAN, "it is in INBOX already"),
        (
            READY, S.DONE, HUMAN,
            "INBOX does not lead to DONE: from there to ASSIGNED, NEEDS_APPROVAL, BLOCKED, CANCELED",
        ),
        (replace(READY, status=S.DONE), S.IN_PROGRESS, HUMAN, "DONE does not lead to IN_PROGRESS: nothing leaves it"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_is_missing(facts: TaskFacts, to: TaskState, actor: Actor, missing: str) -> None:
    assert why(facts, to, actor) == missing


@pytest.mark.parametrize("to", [S.BLOCKED, S.IN_PROGRESS])
def test_blocking_and_sending_back_need_a_reason(to: TaskState) -> None:
    assert why(replace(READY, status=S.REVIEW), to, HUMAN, reason=" ", kind=BlockKind.OPERATOR) == "a reason is needed"


def test_an_author_cannot_pull_its_own_work_back_even_as_coordinator() -> None:
    facts = replace(READY, status=S.REVIEW, assignee_agent_id=COORDINATOR.id)
    assert why(facts, S.IN_PROGRESS, COORDINATOR) == "its author cannot pull it back"
    both = replace(READY, status=S.REVIEW, reviewer_agent_ids=(ASSIGNEE.id,))
    assert why(both, S.IN_PROGRESS, ASSIGNEE) == "its author cannot pull it back"


def test_a_refusal_names_where_the_actor_could_move_the_task() -> None:
    verdict = check(replace(READY, status=S.IN_PROGRESS), S.DONE, ASSIGNEE, reason="done")
    assert isinstance(verdict, NotAllowed)
    assert verdict.allowed == (S.REVIEW,)
    assert open_to(replace(READY, status=S.IN_PROGRESS), HUMAN) == (S.ASSIGNED, S.REVIEW, S.CANCELED)


def test_an_allowed_change_carries_its_row_of_the_table() -> None:
    verdict = check(READY, S.ASSIGNED, SYSTEM, reason="x")
    assert isinstance(verdict, Allowed)
    assert verdict.transition in TRANSITIONS
    assert (verdict.transition.source, verdict.transition.dest) == (S.INBOX, S.ASSIGNED)


def test_what_a_held_task_remembers_survives_a_second_hold() -> None:
    assert held_from_after(replace(READY, status=S.REVIEW), S.BLOCKED) is S.REVIEW
    assert held_from_after(held(S.BLOCKED, S.REVIEW), S.NEEDS_APPROVAL) is S.REVIEW
    assert held_from_after(held(S.NEEDS_APPROVAL, S.ASSIGNED), S.BLOCKED) is S.ASSIGNED
    assert held_from_after(held(S.BLOCKED, S.REVIEW), S.ASSIGNED) is None


def test_the_machine_has_the_table_and_nothing_else() -> None:
    pairs = {(state, to) for state in TaskState for to in targets(state)}
    assert pairs == {(t.source, t.dest) for t in TRANSITIONS}
    assert len(TRANSITIONS) == len(pairs)
