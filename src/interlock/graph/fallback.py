"""A plan from trigger words, for when no model's plan is usable; meaning is not interpreted."""

from collections.abc import Mapping

from interlock.agents.persona import Persona
from interlock.agents.prompts.quoting import one_line
from interlock.graph.plan import Plan, PlanTask
from interlock.graph.triggers import match_triggers

MOST_AUTHORS = 5
REVIEW = "review"
"""The capability that makes a persona a reviewer of others' work."""
_GATHERING = frozenset({"research", "seo"})
_DELIVERABLES: Mapping[str, str] = {
    "content": "the finished text, ready to use, with a list of facts that still need to be confirmed",
    "social": "the finished posts, each with the platform it is for",
    "email": "the finished email: recipients, subject and text",
    "research": "the answer with its sources, how sure it is, and what was not found",
    "seo": "the recommendations in order of effect, each with its evidence",
    "engineering": "the changed files in the workspace, with what was changed, how to run it, and what was verified",
    "docs": "the finished document, with what is missing marked as missing",
    "ops": "what was done and where, what is open, who has to act and by when",
    "other": "the result, with what it rests on and what is open",
}


def fallback_plan(goal: str, personas: Mapping[str, Persona]) -> Plan:
    """A plan for the goal from trigger patterns: first gathering, then authoring, then review.

    A goal that matches nobody becomes one task for the persona with the most task types, `other` among them.
    Raises ValueError if no persona takes tasks. Source: row A3.
    """
    takers = {name: persona for name, persona in personas.items() if persona.takes_tasks}
    if not takers:
        raise ValueError("no persona takes tasks: give one `task_types`")
    matched = [takers[name] for name, _ in match_triggers(goal, takers)]
    authors = [p for p in matched if REVIEW not in p.capabilities][:MOST_AUTHORS]
    reviewers = [p for p in matched if REVIEW in p.capabilities][:1]
    if not authors:
        authors, reviewers = reviewers or [_generalist(takers)], []
    gatherers = [p for p in authors if p.task_types[0] in _GATHERING]
    makers = [p for p in authors if p not in gatherers]
    share = int(10_000 / (len(authors) + len(reviewers))) / 10_000
    tasks = [_task(goal, persona, share) for persona in gatherers]
    tasks += [_task(goal, persona, share, after=tuple(p.name for p in gatherers)) for persona in makers]
    tasks += [_review(goal, persona, share, author=(makers or gatherers)[0]) for persona in reviewers]
    names = ", ".join(task.persona for task in tasks)
    return Plan(f"Made from trigger words, without a model: {names}.", tuple(tasks))


def _generalist(takers: Mapping[str, Persona]) -> Persona:
    return min(takers.values(), key=lambda p: ("other" not in p.task_types, -len(p.task_types), p.name))


def _task(goal: str, persona: Persona, share: float, after: tuple[str, ...] = ()) -> PlanTask:
    kind = persona.task_types[0]
    return PlanTask(
        key=persona.name,
        title=f"{persona.title}: {one_line(goal, limit=120)}",
        description=f"Do the part of this goal that falls to your role ({persona.role}):\n\n{goal.strip()}",
        persona=persona.name,
        type=kind,
        priority="medium",
        estimated_minutes=30,
        capabilities=(),
        deliverable=_DELIVERABLES[kind],
        budget_share=share,
        depends_on=after,
    )


def _review(goal: str, persona: Persona, share: float, *, author: Persona) -> PlanTask:
    return PlanTask(
        key=persona.name,
        title=f"Review of {author.title}: {one_line(goal, limit=100)}",
        description=f"Judge the work of {author.title} by this goal:\n\n{goal.strip()}",
        persona=persona.name,
        type=persona.task_types[0],
        priority="medium",
        estimated_minutes=15,
        capabilities=(REVIEW,),
        deliverable="the verdict, `pass` or `changes`, with findings ordered by the harm they do",
        budget_share=share,
        depends_on=(author.name,),
        reviews=author.name,
    )
