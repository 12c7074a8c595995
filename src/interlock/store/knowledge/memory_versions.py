"""The history of blocks and memories: every version, with author and reason. Only an erasure changes one."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.core.values import Actor
from interlock.store.schema import MemoryVersion, table
from interlock.store.tx import Tx, observe

VERSIONS = table(MemoryVersion)
_v = VERSIONS.c
_ALL = sa.select(VERSIONS).where(_v.subject_id == b("subject")).order_by(_v.version)
_ONE = sa.select(VERSIONS).where(_v.subject_id == b("subject"), _v.version == b("number"))
_LAST = sa.select(VERSIONS).where(_v.subject_id == b("subject")).order_by(_v.version.desc()).limit(b("most"))


ByCall = str | None
"""The tool call by which a version was written, if any."""
_RECENT = 20
"""How many recent versions are searched for that of a repeated call."""


def write(
    tx: Tx, subject_id: str, version: int, content: Mapping[str, Any], author: Actor, reason: str, now: datetime,
    call: ByCall = None,
) -> None:  # fmt: skip
    """Stores a version of a block or a memory. Source: row H7."""
    kept = dict(content) if call is None else {**content, "call": call}
    tx.add(
        MemoryVersion, subject_id=subject_id, version=version, content=kept, author_kind=str(author.kind),
        author_id=author.id, reason=reason, created_at=now,
    )  # fmt: skip
    observe(tx, "memory_written", memory_id=subject_id, version=version)


def of(tx: Tx, subject_id: str) -> list[Any]:
    """The versions of a block or a memory in order."""
    return tx.rows(_ALL, {"subject": subject_id})


def version(tx: Tx, subject_id: str, number: int) -> Any | None:
    """One version."""
    return tx.one(_ONE, {"subject": subject_id, "number": number})


def latest(tx: Tx, subject_id: str) -> Any | None:
    """The last version."""
    return tx.one(_LAST, {"subject": subject_id, "most": 1})


def by_call(tx: Tx, subject_id: str, call: ByCall) -> Any | None:
    """The recent version that a tool call has written."""
    if call is None:
        return None
    found = tx.rows(_LAST, {"subject": subject_id, "most": _RECENT})
    return next((row for row in found if row.content.get("call") == call), None)
