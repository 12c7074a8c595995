"""A plan from a goal and the trigger patterns of the personas it is shown.

The rules are few and visible on purpose; a real model plans better.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from interlock.llm.rehearsal.protocol import Brief, PersonaLine, read_personas

ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_MAIL_WORD = re.compile(r"\be-?mails?\b", re.IGNORECASE)
_MAIL_CLAUSE = re.compile(
    r",?\s*(?:\band\b|\bthen\b|\s)*\b(?:e-?mail|mail|send)\b[^.;]*?" + ADDRESS.pattern, re.IGNORECASE
)
_WORKERS = 3
_TOPIC_CHARS = 70
_WEIGHTS = {"engineering": 5, "content": 4, "research": 4, "social": 2, "email": 1, "review": 2}
_MINUTES = {"engineering": 45, "content": 30, "research": 30, "docs": 25, "email": 5, "review": 10}
_DELIVERABLES = {
    "research": "a report in Markdown: findings, sources, open questions",
    "engineering": "the approach and the code in Markdown, with what was tested",
    "email": "the e-mail as sent, or why it was not",
    "review": "a verdict, pass or changes, with reasons",
}
_OWN_PART = frozenset({"coordinator", "learner"})
"""Personas that plan and learn; domain work is not theirs."""


@dataclass(slots=True)
class _Draft:
    key: str
    title: str
    persona: PersonaLine
    type: str
    description: str
    depends_on: list[str] = field(default_factory=list)
    reviews: str | None = None

    @property
    def kind(self) -> str:
        return "review" if self.reviews else self.type


def plan(brief: Brief) -> dict[str, Any]:
    """The plan as the prompt's schema wants it: up to five tasks that form a DAG, shares of at most 1 in all."""
    goal = "".join(c if c.isprintable() or c in "\n\t" else " " for c in brief.section("Goal"))
    personas = [p for p in read_personas(brief.section("Personas")) if p.name not in _OWN_PART]
    if not personas:
        return {"summary": f"Rehearsal: no persona is there for “{topic(goal)}”.", "tasks": []}
    reviewer = _reviewer(personas)
    drafts = _work(goal, personas, reviewer)
    main = drafts[-1]
    if reviewer is not None and reviewer != main.persona:
        drafts.append(_review(goal, main, reviewer))
    if (mail := _mail(goal, personas, [d for d in drafts if d.reviews is None])) is not None:
        drafts.append(mail)
    steps = "; ".join(f"{draft.persona.name}: {draft.title}" for draft in drafts)
    return {"summary": f"Rehearsal plan for “{topic(goal)}”. {steps}.", "tasks": _task_dicts(drafts, goal)}


def topic(goal: str) -> str:
    """The goal without whom to mail it to, short enough for a title."""
    said = " ".join(_without_mail(goal).split()).strip("#. ") or "the goal"
    if len(said) <= _TOPIC_CHARS:
        return said
    return said[:_TOPIC_CHARS].rsplit(" ", 1)[0] + " …"


def matches(trigger: str, goal: str) -> bool:
    """Whether all words of a trigger are in the goal, in whatever ending."""
    words = re.findall(r"\w+", trigger.lower())
    return bool(words) and all(re.search(rf"\b{word}(?:s|es|d|ed|ing)?\b", goal.lower()) for word in words)


def _without_mail(goal: str) -> str:
    said = ADDRESS.sub("the recipient", _MAIL_CLAUSE.sub("", goal)).strip(" ,;")
    return said or ADDRESS.sub("the recipient", goal)


def _hits(persona: PersonaLine, goal: str) -> int:
    return sum(matches(trigger, goal) for trigger in persona.triggers)


def _reviewer(personas: list[PersonaLine]) -> PersonaLine | None:
    named = [p for p in personas if "review" in p.capabilities]
    able = [p for p in personas if {"review", "verify"} & set(p.triggers)]
    return next(iter(named + able), None)


def _work(goal: str, personas: list[PersonaLine], reviewer: PersonaLine | None) -> list[_Draft]:
    """Who finds out, then who makes; a goal that calls for the reviewer alone is the reviewer's work."""
    asked = _without_mail(goal)
    called = sorted((p for p in personas if _hits(p, asked)), key=lambda p: -_hits(p, asked))
    workers = [p for p in called if p != reviewer][:_WORKERS] or called[:1]
    workers = workers or [_fittest(personas, "research", {"research"})]
    researchers = [p for p in workers if p.task_types[:1] == ("research",)]
    makers = [p for p in workers if p not in researchers]
    if not makers:
        researchers = researchers[: _WORKERS - 1]
        others = [p for p in personas if p not in (reviewer, *researchers)]
        makers = [_fittest(others, "content", {"write", "document"})] if others else []
    found = [
        _Draft(f"t{i}", _titled("Research", goal), p, "research", _research(asked, p))
        for i, p in enumerate(researchers, start=1)
    ]
    return found + [
        _made(f"t{len(found) + i}", goal, p, [draft.key for draft in found]) for i, p in enumerate(makers, start=1)
    ]


def _fittest(personas: list[PersonaLine], task_type: str, triggers: set[str]) -> PersonaLine:
    return max(personas, key=lambda p: (bool(triggers & set(p.triggers)), task_type in p.task_types))


def _titled(verb: str, goal: str) -> str:
    subject = topic(goal)
    return subject if subject.lower().startswith(verb.lower().split()[0]) else f"{verb}: {subject}"


def _research(asked: str, persona: PersonaLine) -> str:
    return (
        f"Find out what is needed for this goal: {asked}\n\n"
        f"As {persona.name}, collect what is known, name the options and how they differ, and say what stays open."
    )


def _made(key: str, goal: str, persona: PersonaLine, depends_on: list[str]) -> _Draft:
    kind = next((t for t in persona.task_types if t != "email"), "other")
    verb = {"engineering": "Build", "ops": "Organise", "docs": "Document"}.get(kind, "Write up")
    basis = " Use the results of the tasks before this one." if depends_on else ""
    words = f"Do the part of {persona.name} ({persona.role}) in this goal: {_without_mail(goal)}\n\n"
    return _Draft(
        key, _titled(verb, goal), persona, kind, f"{words}A reader must be able to act on it.{basis}", depends_on
    )


def _review(goal: str, main: _Draft, reviewer: PersonaLine) -> _Draft:
    kind = reviewer.task_types[0] if reviewer.task_types else "other"
    words = f"Check “{main.title}”: does it answer what was asked, is it complete, is anything unsupported?"
    return _Draft("review", _titled("Review", goal), reviewer, kind, words, [main.key], reviews=main.key)


def _mail(goal: str, personas: list[PersonaLine], work: list[_Draft]) -> _Draft | None:
    address = ADDRESS.search(goal)
    if address is None and not _MAIL_WORD.search(goal):
        return None
    able = [p for p in personas if "send_email" in p.tools]
    if not able:
        return None
    sender = next((p for p in able if "email" in p.task_types), able[0])
    whom = address[0] if address else "the recipient (the goal names no address)"
    words = f"Send the result of “{work[-1].title}” by e-mail to {whom}, with a short covering text."
    kind = "email" if "email" in sender.task_types else (sender.task_types or ("other",))[0]
    return _Draft("mail", f"E-mail the result to {whom}", sender, kind, words, [work[-1].key])


def _task_dicts(drafts: list[_Draft], goal: str) -> list[dict[str, Any]]:
    total = sum(_WEIGHTS.get(draft.kind, 3) for draft in drafts)
    urgent = re.search(r"\b(urgent|asap|immediately|today)\b", goal.lower()) is not None
    return [
        {
            "key": draft.key,
            "title": draft.title,
            "description": draft.description,
            "persona": draft.persona.name,
            "type": draft.type,
            "priority": "high" if urgent else "medium",
            "estimated_minutes": _MINUTES.get(draft.kind, 20),
            "capabilities": list(draft.persona.capabilities[:1]),
            "deliverable": _DELIVERABLES.get(draft.kind, "a text in Markdown with a summary first"),
            "budget_share": _WEIGHTS.get(draft.kind, 3) * 100 // total / 100,
            "depends_on": draft.depends_on,
            "reviews": draft.reviews,
        }
        for draft in drafts
    ]
