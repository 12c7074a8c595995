"""A mission whose own budget a person did not raise: one question for all its tasks, instead of one for each.

Whether the money is there is the ledger's job; how a task's own budget is asked for, resolving's.
"""

from collections.abc import Sequence

from interlock.graph import effects
from interlock.graph.effects import Effect
from interlock.graph.view import MissionView, Question, RunView, TaskView, derived_id


def is_broke(view: MissionView, run: RunView) -> bool:
    """Whether a run ended because a person gave the whole mission no more money."""
    return run.denied_money and f"`mission:{view.id}`" in (run.error or "")


def waits(view: MissionView, task: TaskView, reason: str) -> Effect:
    """A task that waits for the one answer about its mission's money."""
    return effects.wait(
        task, "NEEDS_APPROVAL", reason, effects.block_key(task, "MONEY"), f"approval:{_question_id(view)}"
    )  # fmt: skip


def asked_once(view: MissionView, made: Sequence[Effect]) -> list[Effect]:
    """The question that those tasks wait for, unless it is there already.

    The mission itself waits for it and is not blocked, so that its coordinator still hears of the other tasks.
    """
    waiting = f"approval:{_question_id(view)}"
    reason = next((e["reason"] for e in made if e["do"] == "wait" and e["wait_for"] == waiting), None)
    if reason is None or _pending(view) is not None:
        return []
    return effects.escalate(
        view,
        view.root,
        kind=None,
        reason=reason,
        question=f"{reason}. Is the mission to go on, or is that its end?",
        approve=f"go on; raise its budget before, with `interlock budget raise mission:{view.id} USD`",
        subject=_subject(view),
    )


def _subject(view: MissionView) -> str:
    return derived_id("sub", view.id, "BUDGET")


def _pending(view: MissionView) -> Question | None:
    return next((q for q in view.pending(view.root) if q.subject == _subject(view)), None)


def _question_id(view: MissionView) -> str:
    """Of the question that is open, or of the one that `effects.escalate` would ask now."""
    if (found := _pending(view)) is not None:
        return found.id
    asked = sum(q.kind == "ESCALATION" and q.task_id == view.id for q in view.questions)
    return derived_id("apr", view.id, view.id, "ESCALATION", asked)
