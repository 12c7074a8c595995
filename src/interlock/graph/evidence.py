"""Evidence before sign-off: executes a task's checks, and handles failed ones. Source: row A20.

The store ensures that nothing counts as done without them; here is only the coordinator's reaction.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from interlock.graph import effects
from interlock.graph.effects import Effect
from interlock.graph.view import MissionView, Result, TaskView, derived_id

MOST_CYCLES = 3
"""After the third review cycle a person is asked; a fourth is a loop. Source: row A10."""
ABOUT_CHECKS = "checks"
"""The marker of questions that concern evidence only."""
TRIES = 3
"""Attempts to execute checks."""


@dataclass(frozen=True, slots=True)
class _Question:
    """A question to a person about checks, and the effect of approving it."""

    reason: str
    question: str
    approve: str


def outstanding(view: MissionView, task: TaskView, result: Result) -> list[Effect] | None:
    """The effects required before anybody reviews a deliverable; None if its checks have passed, or it has none."""
    proof = task.proof
    if proof is None or proof.settled:
        return None
    if proof.live:
        return []
    subject = derived_id("sub", task.id, "EVIDENCE", result.id, proof.runs)
    if proof.unrun:
        if proof.broken < TRIES or view.answered(subject):
            return [effects.check(task, result, proof.runs + 1)]
        why = f"its checks could not be run: {proof.trouble or 'no reason is known'}"
        return _asked(view, task, subject, _Question(why, f"{why}. Are they to be run again?", "run them again"))
    if view.answered(subject):
        return [effects.check(task, result, proof.runs + 1)]
    words = _words(proof.failed)
    inputs = {"deliverable": result.id, "cycle": task.review_cycles + 1, "failed": [name for name, _ in proof.failed]}
    if task.review_cycles >= MOST_CYCLES:
        why = f"its checks do not pass after {task.review_cycles} cycles: {'; '.join(name for name, _ in proof.failed)}"
        asked = _Question(why, f"{why}. Are they to be run again, for instance once you have waived one?", "run them")
        return [effects.decide("resolution", why, inputs, task), *_asked(view, task, subject, asked)]
    key = f"unproven:{task.id}:v{task.version}"
    reason = f"{len(proof.failed)} of its checks did not pass"
    return [
        effects.move(task, "IN_PROGRESS", "system", reason, key, feedback=words),
        effects.decide("resolution", reason, inputs, task),
    ]


def unjudged(view: MissionView, task: TaskView) -> list[Effect] | None:
    """The effects if a task requires a reviewer's pass and will not get one; None if it has it."""
    if task.proof is None or task.proof.verdict is not False:
        return None
    reviewed = any(each.reviews == task.id for each in view.tasks)
    why = "it must have a reviewer's pass, and " + ("its reviewer did not give it" if reviewed else "nobody reviews it")
    asked = _Question(why, f"{why}. Waive that check, then have it looked at again.", "look at it again")
    return _asked(view, task, derived_id("sub", task.id, "VERDICT", task.version), asked)


def _asked(view: MissionView, task: TaskView, subject: str, what: _Question) -> list[Effect]:
    waiving = f" (`interlock task {task.id}` shows the checks, with `--waive N --note …` one is waived)"
    return effects.escalate(
        view, task, kind=None, reason=what.reason, question=what.question + waiving, approve=what.approve,
        subject=subject, about=ABOUT_CHECKS,
    )  # fmt: skip


def _words(failed: Sequence[tuple[str, str]]) -> str:
    listed = "\n\n".join(f"- {name}: not passed" + (f"\n{detail}" if detail else "") for name, detail in failed)
    return f"These checks of what was handed in did not pass; it counts as done only once they do:\n\n{listed}"


def evidence_of(task: TaskView) -> list[str]:
    """The checks of a task for the person who signs it off: each with its result."""
    return list(task.proof.shown) if task.proof is not None else []
