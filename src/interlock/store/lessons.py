"""Lessons: those that fit a run, and how often they were used; writing them is the Learner's matter."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.ids import new_id
from interlock.core.values import digest
from interlock.store.schema import Lesson, table
from interlock.store.tx import Tx

LESSONS = table(Lesson)
_l = LESSONS.c
_TIME = UTCDateTime()
SHOWN = 5
"""Source: numbers, "Lessons loaded"."""

_FIT = (
    sa.select(LESSONS)
    .where(
        _l.status.in_(("probation", "active", "promoted")),
        sa.or_(_l.project_id.is_(None), _l.project_id == b("project")),
        sa.or_(_l.persona.is_(None), _l.persona == b("name")),
        sa.or_(_l.task_type.is_(None), _l.task_type == b("sort")),
    )
    .order_by(_l.confidence.desc(), _l.id)
    .limit(SHOWN)
)
_APPLIED = (
    sa.update(LESSONS)
    .where(_l.id == b("lesson"))
    .values(applied_count=_l.applied_count + 1, updated_at=b("now", type_=_TIME))
)
_SAME = sa.select(_l.id, _l.evidence).where(_l.rule_digest == b("same"))
_MERGE = (
    sa.update(LESSONS)
    .where(_l.id == b("lesson"))
    .values(evidence=b("cited", type_=_l.evidence.type), updated_at=b("now", type_=_TIME))
)


def fitting(tx: Tx, project_id: str, persona: str, task_type: str | None) -> list[Any]:
    """The best lessons for a persona and type of task. Source: row H6."""
    return tx.rows(_FIT, {"project": project_id, "name": persona, "sort": task_type})


def applied(tx: Tx, lesson_ids: list[str], now: datetime) -> None:
    """Counts that lessons were shown to a run."""
    for lesson in lesson_ids:
        tx.run(_APPLIED, {"lesson": lesson, "now": now})


def add(
    tx: Tx,
    now: datetime,
    *,
    project_id: str,
    kind: str,
    rule: str,
    task_type: str | None,
    persona: str | None,
    confidence: float,
    evidence: list[str],
    run_id: str,
    labels: list[str],
) -> bool:
    """Enters a lesson on probation; False where the same rule is there already, whose evidence then grows."""
    same = digest({"rule": " ".join(rule.lower().split()), "type": task_type, "persona": persona})
    known = tx.one(_SAME, {"same": same})
    if known is not None:
        tx.run(_MERGE, {"lesson": known.id, "cited": list(dict.fromkeys([*known.evidence, *evidence])), "now": now})
        return False
    tx.add(
        Lesson, id=new_id("les"), project_id=project_id, kind=kind, rule=rule, rule_digest=same, task_type=task_type,
        persona=persona, confidence=confidence, evidence=evidence, run_id=run_id, labels=labels, created_at=now,
        updated_at=now,
    )  # fmt: skip
    return True


def lessons(tx: Tx, most: int = 100) -> list[Any]:
    """Lessons, best first."""
    return tx.rows(sa.select(LESSONS).order_by(_l.confidence.desc(), _l.id).limit(most))
