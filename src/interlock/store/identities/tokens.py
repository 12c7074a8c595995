"""API tokens of programs that act for people; only digests are stored.

Their format, and who may have one, is up to the desk.
"""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.ids import new_id
from interlock.store.identities.people import PEOPLE
from interlock.store.schema import ApiToken, table
from interlock.store.tx import Tx, relaxed, small

TOKENS = table(ApiToken)
_t, _p = TOKENS.c, PEOPLE.c
_NOW = b("now", type_=UTCDateTime())
_WITH_PERSON = sa.select(TOKENS, _p.name.label("person"), _p.role.label("person_role")).join_from(
    TOKENS, PEOPLE, _p.id == _t.person_id
)
_BY_DIGEST = _WITH_PERSON.where(_t.digest == b("sum"))
_ONE = _WITH_PERSON.where(_t.id == b("token"))
_ALL = _WITH_PERSON.order_by(_t.created_at, _t.id)
_ANY = sa.select(_t.id).where(_t.revoked_at.is_(None)).limit(1)
_REVOKE = sa.update(TOKENS).where(_t.id == b("token"), _t.revoked_at.is_(None)).values(revoked_at=_NOW)
_FORGET = sa.delete(TOKENS).where(_t.person_id == b("person"))
_USED = sa.update(TOKENS).where(_t.id == b("token")).values(used_at=_NOW)


def add(
    tx: Tx, person_id: str, name: str, digest: str, role: str, project_id: str | None, now: datetime,
    expires_at: datetime | None, *, ident: str | None = None,
) -> str:  # fmt: skip
    """Stores a token; returns its id."""
    ident = ident or new_id("tok")
    tx.add(
        ApiToken, id=ident, person_id=person_id, name=name, digest=digest, role=role, project_id=project_id,
        created_at=now, expires_at=expires_at,
    )  # fmt: skip
    return ident


@small
def by_digest(tx: Tx, digest: str) -> Any | None:
    """The token with a digest, with the current `person` and `person_role`."""
    return tx.one(_BY_DIGEST, {"sum": digest})


def one(tx: Tx, token_id: str) -> Any | None:
    """One token, with `person` and `person_role`."""
    return tx.one(_ONE, {"token": token_id})


def tokens(tx: Tx) -> list[Any]:
    """All tokens, oldest first, including invalid ones."""
    return tx.rows(_ALL)


def has_any(tx: Tx) -> bool:
    """Whether there is an unrevoked token."""
    return tx.one(_ANY) is not None


def revoke(tx: Tx, token_id: str, now: datetime) -> bool:
    """Revokes a token; False if it was revoked before."""
    return tx.count(_REVOKE, {"token": token_id, "now": now}) == 1


def forget(tx: Tx, person_id: str) -> None:
    """Deletes a person's tokens."""
    tx.run(_FORGET, {"person": person_id})


@relaxed
def used(tx: Tx, token_id: str, now: datetime) -> None:
    """Records the use of a token."""
    tx.run(_USED, {"token": token_id, "now": now})
