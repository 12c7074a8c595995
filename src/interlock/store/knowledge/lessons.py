"""Lessons as rows: queries, inserts and versioned changes.

Scoring is in `policy.learning.lesson_rules`, the life cycle in `memory.lesson_book`.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.values import Actor, digest
from interlock.policy.learning.lesson_rules import IN_USE
from interlock.store.knowledge import lesson_versions
from interlock.store.schema import Lesson, LessonVersion, table
from interlock.store.tx import Tx

LESSONS, VERSIONS = table(Lesson), table(LessonVersion)
_l, _v = LESSONS.c, VERSIONS.c
_TIME = UTCDateTime()
CANDIDATES = 40
"""How many lessons are considered for the few that are shown."""

LEARNED, SEEN_AGAIN = "learned in run", "seen again in run"
"""The prefixes of the reasons of versions that added evidence."""
_EVIDENCE_AT = (  # literals: SQLite prepares a LIKE of a parameter anew each time
    sa.select(sa.func.max(_v.created_at))
    .where(
        _v.lesson_id == _l.id,
        sa.or_(*(_v.reason.like(sa.literal_column(f"'{words} %'")) for words in (LEARNED, SEEN_AGAIN))),
    )
    .scalar_subquery()
)
FITTING = (
    sa.select(LESSONS, sa.func.coalesce(_EVIDENCE_AT, _l.created_at, type_=_TIME).label("evidence_at"))
    .where(
        _l.status.in_([str(s) for s in IN_USE]),
        sa.or_(_l.project_id.is_(None), _l.project_id == b("project")),
        sa.or_(_l.persona.is_(None), _l.persona == b("name")),
        sa.or_(_l.task_type.is_(None), _l.task_type == b("sort")),
    )
    .order_by(sa.case((_l.status == "promoted", 0), else_=1), _l.confidence.desc(), _l.created_at.desc(), _l.id)
    .limit(CANDIDATES)
)
_APPLIED = (
    sa.update(LESSONS)
    .where(_l.id == b("lesson"))
    .values(applied_count=_l.applied_count + 1, last_applied_at=b("now", type_=_TIME), updated_at=b("now", type_=_TIME))
)
_ONE = sa.select(LESSONS).where(_l.id == b("lesson"))
_TO_CHANGE = _ONE.with_for_update(key_share=True)
_SAME = sa.select(LESSONS).where(_l.rule_digest == b("same"))
_IN_SCOPE = (
    sa.select(LESSONS)
    .where(_l.project_id == b("project"), _l.status.in_([str(s) for s in IN_USE]))
    .order_by(_l.created_at.desc(), _l.id)
    .limit(500)
)
_PAGE = (
    sa.select(LESSONS)
    .where(_l.id > b("after"), _l.status.in_([str(s) for s in IN_USE]))
    .order_by(_l.id)
    .limit(b("most"))
)
_WRITTEN = (
    "rule", "rule_digest", "kind", "task_type", "persona", "confidence", "status", "evidence", "labels", "contradicts",
    "helped_count", "hurt_count",
)  # fmt: skip
_CHANGE = (
    sa.update(LESSONS)
    .where(_l.id == b("lesson"))
    .values(
        **{name: b(f"to_{name}", type_=_l[name].type) for name in _WRITTEN},
        version=_l.version + 1,
        updated_at=b("now", type_=_TIME),
    )
)


def applied(tx: Tx, lesson_ids: Sequence[str], now: datetime) -> None:
    """Increments the use counts of lessons shown to a run."""
    for lesson in sorted(lesson_ids):
        tx.run(_APPLIED, {"lesson": lesson, "now": now})


def rule_digest(project_id: str | None, rule: str, task_type: str | None, persona: str | None) -> str:
    """The digest that identifies equal lessons: project, rule and audience."""
    same = {"project": project_id, "rule": " ".join(rule.lower().split()), "type": task_type, "persona": persona}
    return digest(same)


def known(tx: Tx, rule_digest: str) -> Any | None:
    """The lesson with a digest."""
    return tx.one(_SAME, {"same": rule_digest})


def in_use(tx: Tx, project_id: str) -> list[Any]:
    """The lessons of a project that are in use, newest first."""
    return tx.rows(_IN_SCOPE, {"project": project_id})


def page(tx: Tx, after: str, most: int) -> list[Any]:
    """A page of all lessons in use, in id order."""
    return tx.rows(_PAGE, {"after": after, "most": most})


def lesson(tx: Tx, lesson_id: str, *, to_change: bool = False) -> Any | None:
    """One lesson; `to_change` locks it until the end of the transaction."""
    return tx.one(_TO_CHANGE if to_change else _ONE, {"lesson": lesson_id})


def add(tx: Tx, values: Mapping[str, Any], author: Actor, reason: str, now: datetime) -> None:
    """Inserts a lesson with its first version. Source: row H7."""
    tx.add(Lesson, created_at=now, updated_at=now, **values)
    lesson_versions.write(tx, values["id"], 1, values, author, reason, now)


def change(tx: Tx, row: Any, changes: Mapping[str, Any], author: Actor, reason: str, now: datetime) -> int:
    """Changes a lesson that the caller has locked and stores the new version; returns its number."""
    content = {name: getattr(row, name) for name in _WRITTEN} | dict(changes)
    content["rule_digest"] = rule_digest(row.project_id, content["rule"], content["task_type"], content["persona"])
    tx.run(_CHANGE, {"lesson": row.id, "now": now, **{f"to_{name}": content[name] for name in _WRITTEN}})
    lesson_versions.write(tx, row.id, row.version + 1, content, author, reason, now)
    return int(row.version) + 1


def lessons(tx: Tx, most: int = 100, *, every: bool = False, project_id: str | None = None) -> list[Any]:
    """Lessons in use, best first; with `every`, merged, archived and pruned ones too."""
    query = sa.select(LESSONS).order_by(_l.confidence.desc(), _l.id).limit(most)
    if not every:
        query = query.where(_l.status.in_([str(s) for s in IN_USE]))
    return tx.rows(query if project_id is None else query.where(_l.project_id == project_id))
