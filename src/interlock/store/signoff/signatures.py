"""Answers to approvals for display: who, what, where. Answering is in `approvals`."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.store.schema import ApprovalAnswer, Person, Vote, table
from interlock.store.tx import Tx

ANSWERS, PEOPLE = table(ApprovalAnswer), table(Person)
_an = ANSWERS.c
_GIVEN = (
    sa.select(
        _an.person_id, sa.func.coalesce(PEOPLE.c.name, _an.person_id).label("name"), _an.verdict, _an.surface,
        _an.note, _an.created_at,
    )
    .join_from(ANSWERS, PEOPLE, PEOPLE.c.id == _an.person_id, isouter=True)
    .where(_an.approval_id == b("approval"))
    .order_by(_an.created_at, _an.id)
)  # fmt: skip

_VOTES = sa.select(table(Vote)).where(table(Vote).c.about == b("about")).order_by(table(Vote).c.seat)


def votes(tx: Tx, approval_id: str) -> list[Any]:
    """Models' votes on a question, in order."""
    return tx.rows(_VOTES, {"about": f"approval:{approval_id}"})


def signatures(tx: Tx, approval_id: str) -> list[Any]:
    """People's answers, in order: person_id, name, verdict, surface, note, created_at."""
    return tx.rows(_GIVEN, {"approval": approval_id})
