"""Handles submitted work: reviewers' verdicts, rework, and the sign-off that its risk demands.

Approvals decide who may answer a question.
"""

from functools import partial

from interlock.graph import effects, evidence
from interlock.graph.disputing import dissent, is_disputed, settled
from interlock.graph.effects import Effect
from interlock.graph.view import MissionView, Result, TaskView, derived_id
from interlock.policy.risk import highest, needs_person

HANDED_IN = frozenset({"REVIEW", "NEEDS_APPROVAL", "DONE"})


def judged(view: MissionView, task: TaskView) -> list[Effect]:
    """The effects for a task in REVIEW."""
    if task.result is None:
        return []
    if (first := evidence.outstanding(view, task, task.result)) is not None:
        return first
    return _review(view, task, task.result) if task.reviews else _work(view, task, task.result)


def _work(view: MissionView, task: TaskView, result: Result) -> list[Effect]:
    reviewers = gates(view, task)
    if any(not current(view, each) for each in reviewers):
        return []
    against = [each for each in reviewers if each.result is not None and each.result.verdict != "pass"]
    if not against or view.answered(dissent(task, result)):
        return signed_off(view, task, result)
    words = "\n\n".join(f"{each.title}:\n{view.texts.get(each.result.id, '')}" for each in against if each.result)
    inputs = {
        "deliverable": result.id, "cycle": task.review_cycles + 1,
        "against": [each.result.id for each in against if each.result],
        "for": [each.result.id for each in reviewers if each.result and each not in against],
    }  # fmt: skip
    if is_disputed(task, inputs):
        return settled(view, task, result, words, inputs, partial(signed_off, view, task, result))
    key = f"changes:{task.id}:v{task.version}"
    return [
        effects.move(task, "IN_PROGRESS", "coordinator", "the reviewer asks for changes", key, feedback=words),
        effects.decide("resolution", "the reviewer asks for changes", inputs, task),
    ]


def _review(view: MissionView, task: TaskView, result: Result) -> list[Effect]:
    author = view.task(task.reviews or "")
    if author.ended or task not in gates(view, author):
        return signed_off(view, task, result)
    if author.reviewable and not current(view, task):
        again = "The author has handed in a new version. Look at it again, at your earlier findings first."
        key = f"again:{task.id}:v{task.version}"
        why = "a new version is to be reviewed"
        return [effects.move(task, "IN_PROGRESS", "coordinator", why, key, feedback=again)]
    return []


def gates(view: MissionView, task: TaskView) -> list[TaskView]:
    """The reviewers whose verdict a task waits for.

    A reviewer that itself waits for a successor of the task is left out, to avoid a deadlock. Source: row A18.
    """
    later = {each.id for each in view.downstream(task)}
    reviewers = [each for each in view.tasks if each.reviews == task.id and each.status != "CANCELED"]
    return [each for each in reviewers if not later.intersection(each.depends_on)]


def current(view: MissionView, review: TaskView) -> bool:
    """Whether a review is complete, and is about its author's latest deliverable."""
    author = view.task(review.reviews or "")
    if review.status not in HANDED_IN or review.result is None or author.result is None:
        return False
    return review.result.about == author.result.id


def signed_off(view: MissionView, task: TaskView, result: Result, because: str | None = None) -> list[Effect]:
    """Approves a deliverable if the policy may, otherwise asks a person; always if `because` gives a reason. Row B2.

    Its risk is the highest of the persona's profile, its own declaration, and the calls executed for it.
    """
    if (asked := evidence.unjudged(view, task)) is not None:
        return asked
    return _signed_off(view, task, result, because)


def _signed_off(view: MissionView, task: TaskView, result: Result, because: str | None) -> list[Effect]:
    persona = view.personas.get(task.worker or task.persona or "")
    risk = str(highest([persona.risk_profile if persona else "RED", result.risk, task.call_risk]))
    trust = view.trust(task.worker)
    subject = derived_id("sub", task.id, "TASK_REVIEW", result.id)
    earlier = sum(q.kind == "TASK_REVIEW" and q.task_id == task.id for q in view.questions)
    approval = derived_id("apr", view.id, task.id, "TASK_REVIEW", earlier)
    key = f"sign_off:{task.id}:v{task.version}"
    if because is None and not needs_person(risk, trust):
        why = "GREEN work needs no person" if risk == "GREEN" else f"YELLOW work of a {trust}"
        return [
            effects.approve(task, approval, subject, risk, why, result),
            effects.move(task, "DONE", "system", f"approved by the policy: {why}", key, approval=approval),
        ]
    why = because or f"{risk} work{'' if risk == 'RED' else f' of an {trust}'} is signed off by a person"
    request = {"title": task.title, "question": "Is this deliverable good?", "deliverable": result.id}
    request |= {"result": result.title, "approve": "it is done", "deny": "it goes back with your reason"}
    if shown := evidence.evidence_of(task):
        request["checks"] = "\n".join(shown)
    return [
        effects.ask(task, "TASK_REVIEW", approval, subject, risk, request, [why]),
        effects.wait(task, "NEEDS_APPROVAL", why, key, f"approval:{approval}"),
    ]
