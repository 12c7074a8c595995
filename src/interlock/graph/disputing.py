"""Disputes between author and reviewers: three models vote once, if that is configured; otherwise a person decides.

Other consequences of reviews are in `reviewing`; votes are received in `agents.special.voting`. Source: row A10.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from interlock.graph import effects
from interlock.graph.effects import Effect
from interlock.graph.evidence import MOST_CYCLES
from interlock.graph.view import MissionView, Result, TaskView, derived_id
from interlock.policy.ballots import LOST, NO, YES, Outcome, tally


class SignOff(Protocol):
    """The sign-off of acceptable work: the approval that its risk demands."""

    def __call__(self, *, because: str | None = None) -> list[Effect]:
        """The effects; with `because`, a person is asked whatever the risk."""


def is_disputed(task: TaskView, inputs: Mapping[str, Any]) -> bool:
    """Whether objections are a dispute: the third cycle is over, or one reviewer passes what another rejects."""
    return task.review_cycles >= MOST_CYCLES or bool(inputs["for"])


def settled(
    view: MissionView, task: TaskView, result: Result, words: str, inputs: dict[str, Any], sign_off: SignOff
) -> list[Effect]:
    """The effects for a dispute. `words` are the objections; `inputs` are recorded with the decision.

    INVARIANT: models that side with the author replace no person whose approval the risk demands.
    """
    late = task.review_cycles >= MOST_CYCLES
    why = "author and reviewer do not agree after the third cycle" if late else "its reviewers contradict each other"
    if not view.consensus:
        return [effects.decide("resolution", why, inputs, task), *_person(view, task, result, words, why, sign_off)]
    if not task.ballots:
        asked = effects.decide("resolution", f"{why}: three models are asked", inputs, task)
        return [asked, effects.vote(task, result, inputs["against"], inputs["for"])]
    outcome = tally([each.verdict for each in task.ballots])
    if any(each.verdict is None for each in task.ballots):
        return []
    inputs = {**inputs, **_counted(task, outcome)}
    match outcome:
        case Outcome.YES:
            reason = f"{why}: 2 of 3 models or more side with the author"
            return [effects.decide("resolution", reason, inputs, task), *sign_off()]
        case Outcome.NO:
            reason = f"{why}: 2 of 3 models or more side with the reviewer"
            return [
                effects.decide("resolution", reason, inputs, task),
                *_against(view, task, result, words, reason, sign_off),
            ]
    reason = f"{why}, and the models that were asked do not decide it"
    return [effects.decide("resolution", reason, inputs, task), *_person(view, task, result, words, reason, sign_off)]


def _counted(task: TaskView, outcome: Outcome) -> dict[str, Any]:
    """The votes for the record, with the dissenting one separate."""
    votes = [
        {"seat": each.seat, "model": each.model, "verdict": each.verdict, "reason": each.reason, "run": each.run_id}
        for each in task.ballots
    ]
    losing = {Outcome.YES: NO, Outcome.NO: YES}.get(outcome)
    dissent = [vote for vote in votes if vote["verdict"] == losing or (losing is None and vote["verdict"] != LOST)]
    return {"votes": votes, "outcome": str(outcome), "dissent": dissent}


def _against(
    view: MissionView, task: TaskView, result: Result, words: str, reason: str, sign_off: SignOff
) -> list[Effect]:  # fmt: skip
    """The reviewer's side prevails: rework, or, because a fourth cycle is a loop, a person."""
    if task.review_cycles >= MOST_CYCLES:
        return _person(view, task, result, words, reason, sign_off)
    key = f"changes:{task.id}:v{task.version}"
    return [effects.move(task, "IN_PROGRESS", "coordinator", reason, key, feedback=words)]


def _person(
    view: MissionView, task: TaskView, result: Result, words: str, reason: str, sign_off: SignOff
) -> list[Effect]:  # fmt: skip
    """Until the third cycle is over, a person approves or returns the work; after it, accepts it as it is or not."""
    if task.review_cycles < MOST_CYCLES:
        return sign_off(because=f"{reason}: {words}")
    said = "".join(f"\nModel {each.model}: {each.verdict}: {each.reason}" for each in task.ballots)
    return effects.escalate(
        view,
        task,
        kind=None,
        reason=f"{reason}: {words}{said}",
        question="Author and reviewer do not agree. Is the work to be taken as it is, the dissent on record?",
        approve="take the work as it is",
        subject=dissent(task, result),
    )


def dissent(task: TaskView, result: Result) -> str:
    """The subject of the question whether work is accepted against its reviewer."""
    return derived_id("sub", task.id, "DISSENT", result.id)
