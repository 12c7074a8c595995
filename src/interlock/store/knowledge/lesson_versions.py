"""The immutable history of lessons: every version, with author and reason."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.core.values import Actor
from interlock.store.schema import LessonVersion, table
from interlock.store.tx import Tx, observe

VERSIONS = table(LessonVersion)
_v = VERSIONS.c
KEPT = ("rule", "kind", "task_type", "persona", "confidence", "status", "evidence", "labels", "contradicts")
_ALL = sa.select(VERSIONS).where(_v.lesson_id == b("lesson")).order_by(_v.version)
_ONE = sa.select(VERSIONS).where(_v.lesson_id == b("lesson"), _v.version == b("number"))


def write(
    tx: Tx, lesson_id: str, version: int, content: Mapping[str, Any], author: Actor, reason: str, now: datetime
) -> None:
    """Stores a version of a lesson. Source: row H7."""
    tx.add(
        LessonVersion, lesson_id=lesson_id, version=version, content={name: content.get(name) for name in KEPT},
        author_kind=str(author.kind), author_id=author.id, reason=reason, created_at=now,
    )  # fmt: skip
    observe(
        tx, "lesson_written", lesson_id=lesson_id, version=version, lesson_kind=content.get("kind"),
        confidence=content.get("confidence"), status=content.get("status"),
    )  # fmt: skip


def of(tx: Tx, lesson_id: str) -> list[Any]:
    """The versions of a lesson in order."""
    return tx.rows(_ALL, {"lesson": lesson_id})


def version(tx: Tx, lesson_id: str, number: int) -> Any | None:
    """One version."""
    return tx.one(_ONE, {"lesson": lesson_id, "number": number})
