"""People and their identities on surfaces: creating, linking, unlinking, roles.

Authorisation, and the form of identities, are up to the desk.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.store.schema import Identity, Person, table
from interlock.store.tx import Tx

PEOPLE, IDENTITIES = table(Person), table(Identity)
_p, _i = PEOPLE.c, IDENTITIES.c
_ALL = sa.select(PEOPLE).order_by(_p.created_at, _p.id)
_IDENTITIES = sa.select(_i.key, _i.person_id).order_by(_i.created_at, _i.key)
_OWNER = sa.select(PEOPLE).join_from(PEOPLE, IDENTITIES, _p.id == _i.person_id).where(_i.key == b("identity"))
_MOVE = sa.update(IDENTITIES).where(_i.key == b("identity")).values(person_id=b("to"))
_UNLINK = sa.delete(IDENTITIES).where(_i.key == b("identity"))
_ROLE = sa.update(PEOPLE).where(_p.id == b("person")).values(role=b("to"))
_LOCK = sa.select(_p.id).where(_p.role == "admin").order_by(_p.id).with_for_update()
_ADMINS = sa.select(_p.id).where(
    _p.role == "admin", sa.exists().where(_i.person_id == _p.id, _i.key.startswith("local:", autoescape=True))
)
_ACTING = sa.select(_p.name).where(_p.role != "viewer")
_ROLE_OF = sa.select(_p.role).where(_p.id == b("who"))


def people(tx: Tx) -> list[Any]:
    """Everybody, oldest first."""
    return tx.rows(_ALL)


def names(tx: Tx, person_ids: Iterable[str | None]) -> dict[str, str]:
    """People's names, by id."""
    wanted = sorted({each for each in person_ids if each})
    return {row.id: row.name for row in tx.rows(sa.select(_p.id, _p.name).where(_p.id.in_(wanted)))}


def role(tx: Tx, person_id: str) -> str | None:
    """A person's current role; None if there is no such person."""
    found = tx.one(_ROLE_OF, {"who": person_id})
    return None if found is None else str(found.role)


def acting(tx: Tx) -> list[str]:
    """The names of all who are more than viewers."""
    return [row.name for row in tx.rows(_ACTING)]


def identities(tx: Tx) -> dict[str, list[str]]:
    """All identities, by person."""
    found: dict[str, list[str]] = {}
    for row in tx.rows(_IDENTITIES):
        found.setdefault(row.person_id, []).append(row.key)
    return found


def owner(tx: Tx, identity: str) -> Any | None:
    """The person to whom an identity belongs."""
    return tx.one(_OWNER, {"identity": identity})


def add(tx: Tx, person_id: str, name: str, role: str, now: datetime) -> None:
    """Inserts a person without identities."""
    tx.add(Person, id=person_id, name=name, role=role, created_at=now)


def link(tx: Tx, identity: str, person_id: str, now: datetime) -> None:
    """Assigns an identity to a person; takes it from its previous owner."""
    if owner(tx, identity) is None:
        tx.add(Identity, key=identity, person_id=person_id, created_at=now)
    else:
        tx.run(_MOVE, {"identity": identity, "to": person_id})


def unlink(tx: Tx, identity: str) -> None:
    """Removes an identity from its owner."""
    tx.run(_UNLINK, {"identity": identity})


def set_role(tx: Tx, person_id: str, role: str) -> None:
    """Sets a person's role: viewer, operator or admin."""
    tx.run(_ROLE, {"person": person_id, "to": role})


def lock_admins(tx: Tx) -> None:
    """Prevents other admins from changing roles, identities and names before the commit."""
    tx.rows(_LOCK)


def admins(tx: Tx) -> set[str]:
    """Ids of the admins with a local account: people can only be administered at a command line."""
    return {row.id for row in tx.rows(_ADMINS)}
