"""A mission whose budget a person did not raise: one question for all its tasks, instead of one for each.

Balances are in the ledger; questions about a task's own budget are in `resolving`.
"""

from collections.abc import Sequence

from interlock.graph import effects
from interlock.graph.effects import Effect
from interlock.graph.view import MissionView, Question, RunView, TaskView, derived_id


def is_broke(view: MissionView, run: RunView) -> bool:
    """Whether a run ended because a person refused the mission more money."""
    return run.denied_money and f"`mission:{view.id}`" in (run.error or "")


def waits(view: MissionView, task: TaskView, reason: str) -> Effect:
    """Makes a task wait for the one answer about its mission's budget."""
    return effects.wait(
        task, "NEEDS_APPROVAL", reason, effects.block_key(task, "MONEY"), f"approval:{_question_id(view)}"
    )  # fmt: skip


def asked_once(view: MissionView, made: Sequence[Effect]) -> list[Effect]:
    """The question that those tasks wait for, unless it is already pending.

    The mission itself waits for it without being blocked, so that its coordinator still receives events of other tasks.
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
    """The id of the pending question, or of the one that `effects.escalate` would ask now."""
    if (found := _pending(view)) is not None:
        return found.id
    asked = sum(q.kind == "ESCALATION" and q.task_id == view.id for q in view.questions)
    return derived_id("apr", view.id, view.id, "ESCALATION", asked)
