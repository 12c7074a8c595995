"""Synchronises members' trust with the persona files: lower trust applies from the next run on and ends grants, as does
any other change of a persona.

What trust means for a call is defined in `policy`.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.core.values import SYSTEM
from interlock.policy.grants import outgrown
from interlock.store.auditing import audit
from interlock.store.schema import Member, table
from interlock.store.signoff import grants
from interlock.store.tx import Tx

LEVELS = ("intern", "specialist", "lead")
MEMBERS = table(Member)
_m = MEMBERS.c
_ALL = sa.select(_m.id, _m.project_id, _m.persona, _m.trust).order_by(_m.id)
_SET = sa.update(MEMBERS).where(_m.id == b("member"), _m.trust == b("seen")).values(trust=b("to"))


def changed(tx: Tx, trust_of: Mapping[str, str]) -> list[Any]:
    """The members, in all projects, whose trust differs from their persona's."""
    return [row for row in tx.rows(_ALL) if trust_of.get(row.persona, row.trust) != row.trust]


def keep(tx: Tx, trust_of: Mapping[str, str], now: datetime) -> None:
    """Sets members' trust to that of their personas. A member whose trust is lowered loses its grants."""
    for row in changed(tx, trust_of):
        to = trust_of[row.persona]
        if tx.count(_SET, {"member": row.id, "seen": row.trust, "to": to}) != 1:
            continue
        audit.note(
            tx, "TRUST_CHANGED", SYSTEM, now, project_id=row.project_id, subject=row.id, persona=row.persona,
            before=row.trust, after=to,
        )  # fmt: skip
        if LEVELS.index(to) < LEVELS.index(row.trust):
            for grant_id in grants.of_persona(tx, row.project_id, row.persona, now):
                grants.revoke(tx, grant_id, SYSTEM, now, reason=f"{row.persona} is trusted less: {to}")


def stale(tx: Tx, personas: Mapping[str, Mapping[str, Any]], now: datetime) -> list[tuple[str, str]]:
    """The grants in force whose persona has changed since they were given, each with the reason.

    `personas` are those of the files, as returned by `to_json`. A persona without a file keeps its grants.
    """
    found = []
    for row in grants.given_to(tx, now):
        persona = personas.get(row.persona)
        why = outgrown(row.persona_json, persona) if persona is not None else None
        if why is not None:
            found.append((row.id, f"{row.persona} {why}"))
    return found


def withdraw(tx: Tx, found: Sequence[tuple[str, str]], now: datetime) -> None:
    """Revokes grants, each with its reason."""
    for grant_id, why in found:
        grants.revoke(tx, grant_id, SYSTEM, now, reason=why)
