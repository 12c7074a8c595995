"""Lessons for people: listing, approving and restoring them, and starting the Learner."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from interlock.core.errors import UsageError
from interlock.desk.context import DeskContext, Person, require_operator
from interlock.desk.reading.finding import find
from interlock.desk.reading.views import View, view, views
from interlock.memory import lesson_book
from interlock.policy.learning.lesson_rules import UNTRUSTED
from interlock.store import squad
from interlock.store.knowledge import lesson_uses, lesson_versions
from interlock.store.knowledge import lessons as lesson_store
from interlock.store.signoff.approvals import name_of
from interlock.store.tx import Tx

if TYPE_CHECKING:
    from interlock.agents.persona import Persona

MOST = 100
"""The most that one list has."""
LISTED = (
    "id", "status", "kind", "rule", "task_type", "persona", "confidence", "applied_count", "helped_count", "hurt_count",
    "evidence", "labels", "contradicts", "version", "project_id", "created_at", "last_applied_at",
)  # fmt: skip


async def learn(context: DeskContext, person: Person) -> View:
    """Starts reviews of everything that the Learner has not reviewed yet; returns how many were posted.

    Raises Refused, and UsageError if the Learner's persona did not load.
    """
    from interlock.oversight import learner

    require_operator(person, "have the Learner look back")
    persona = _learner(context)
    limits = lesson_book.thresholds(context.settings.lessons)
    found = await learner.catch_up(context.store, persona, limits, context.clock.now(), f"person:{person.id}")
    return {"posted": found.posted, "judged": found.judged}


def _learner(context: DeskContext) -> "Persona":
    from interlock.agents.persona import LEARNER, load_personas
    from interlock.agents.runtime import Runtime
    from interlock.tools.builtin import builtin_tools

    if isinstance(context, Runtime):
        loaded = context.personas
    else:
        known = frozenset(tool.name for tool in builtin_tools())
        loaded = load_personas(True, context.settings.personas, known_tools=known)
    found = loaded.personas.get(LEARNER)
    if found is None:
        raise UsageError(f"the persona `{LEARNER}` did not load: see `interlock persona check`")
    return found


async def lessons(context: DeskContext, *, every: bool = False, most: int = MOST) -> list[View]:
    """Lessons, best first; with `every`, merged, archived and pruned ones too.

    `waits_for_person`: the evidence contains untrusted text, so that it does not become a rule without approval.
    """
    return await context.store.read(_listed, every, most)


def _listed(tx: Tx, every: bool, most: int) -> list[View]:
    return [_lesson(row) for row in lesson_store.lessons(tx, most, every=every)]


def _lesson(row: Any) -> View:
    return view(row, *LISTED, waits_for_person=UNTRUSTED in row.labels)


async def lesson(context: DeskContext, ident: str) -> View:
    """One lesson with its versions and its last uses.

    Raises Unknown.
    """
    return await context.store.read(_one, ident)


def _one(tx: Tx, ident: str) -> View:
    row = lesson_store.lesson(tx, find(tx, "lesson", ident))
    assert row is not None
    versions = lesson_versions.of(tx, row.id)
    names = squad.names(tx, [version.author_id for version in versions if version.author_kind == "agent"])
    return {
        **_lesson(row),
        "run_id": row.run_id,
        "versions": [view(each, author=names.get(each.author_id) or name_of(tx, each.author_id)) for each in versions],
        "uses": views(lesson_uses.of_lesson(tx, row.id)),
    }


async def approve(context: DeskContext, person: Person, ident: str) -> View:
    """Approves a lesson with untrusted text in its evidence; `changed` is false if it needs no approval.

    Raises Unknown, Refused, Conflict. Source: row C11.
    """
    require_operator(person, "approve lessons")
    return await context.store.write(_approve, person, ident, context.clock.now())


def _approve(tx: Tx, person: Person, ident: str, now: datetime) -> View:
    lesson_id = find(tx, "lesson", ident)
    changed = lesson_book.approve(tx, lesson_id, person.actor, now)
    return {**_lesson(lesson_store.lesson(tx, lesson_id)), "changed": changed}


async def restore(context: DeskContext, person: Person, ident: str, version: int) -> View:
    """Makes an earlier version of a lesson the current one.

    Raises Unknown, NotFound for the version, Refused. Source: row H7.
    """
    require_operator(person, "restore lessons")
    return await context.store.write(_restore, person, ident, version, context.clock.now())


def _restore(tx: Tx, person: Person, ident: str, version: int, now: datetime) -> View:
    lesson_id = find(tx, "lesson", ident)
    lesson_book.restore(tx, lesson_id, version, person.actor, now)
    return _lesson(lesson_store.lesson(tx, lesson_id))
