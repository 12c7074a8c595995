"""API tokens, with which programs act for people: creating, listing, revoking. Authentication is in `gate`.

Source: row L4.
"""

import hashlib
import re
import secrets
from datetime import datetime, timedelta
from typing import Any

from interlock.core.errors import Refused, UsageError
from interlock.core.ids import new_id
from interlock.core.text import visible
from interlock.desk.context import ROLES, DeskContext, Person
from interlock.desk.identities.people import find_person, folded_name
from interlock.desk.reading.finding import one_of
from interlock.desk.reading.views import View, view
from interlock.desk.work import projects
from interlock.store.auditing import audit
from interlock.store.identities import tokens as store
from interlock.store.tx import Tx

PREFIX = "ilk_"
"""Identifies tokens in texts, so that they are masked in logs; see `policy.secrets`."""
BYTES = 32
LONGEST_NAME = 60
LONGEST_S = 10 * 365 * 86_400.0
_SPAN = re.compile(r"([1-9][0-9]{0,5})\s*([smhdw])")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}


async def create(
    context: DeskContext,
    person: Person,
    name: str,
    *,
    role: str | None = None,
    project: str | None = None,
    expires_s: float | None = None,
    who: str | None = None,
) -> View:
    """A new token for `person`, or (by an admin) for somebody else; `token` is returned only here.

    Without a role it has the person's own. With a project it is valid for that project only.

    Raises UsageError for invalid values and an unknown project, Refused for a higher role than the person's.
    """
    if person.role == "viewer" and role not in (None, "viewer"):
        raise Refused(f"{person.name} is a viewer, and so is each token of theirs: leave out `--role`")
    if expires_s is not None and not 0 < expires_s <= LONGEST_S:
        raise UsageError("a token is good for up to 10 years: give less, such as `--expires 30d`")
    if project is not None:
        await projects.require(context, project)
    secret, now = PREFIX + secrets.token_urlsafe(BYTES), context.clock.now()
    made = await context.store.write(
        _create, person, _name(name), _role(role), project, who, digest_of(secret), now,
        now + timedelta(seconds=expires_s) if expires_s is not None else None, new_id("tok"), context.settings.project,
    )  # fmt: skip
    return {**made, "token": secret}


def _create(
    tx: Tx, actor: Person, name: str, role: str | None, project: str | None, who: str | None, digest: str,
    now: datetime, expires_at: datetime | None, ident: str, at_home: str,
) -> View:  # fmt: skip
    row = find_person(tx, who or actor.id)
    if row.id != actor.id and actor.role != "admin":
        raise Refused(f"{actor.name} has the role {actor.role} and may not make tokens for others: ask an admin")
    wanted = role or row.role
    if ROLES.index(wanted) > ROLES.index(row.role):
        raise Refused(f"{row.name} has the role {row.role}, and a token is never more than who it acts for")
    for other in store.tokens(tx):
        if other.person_id == row.id and folded_name(other.name) == folded_name(name) and _status(other, now) == "good":
            raise UsageError(
                f"{row.name} has a token `{other.name}` already (`{other.id}`): give another name, or revoke that one"
            )
    store.add(tx, row.id, name, digest, wanted, project, now, expires_at, ident=ident)
    _note(tx, actor, "TOKEN_CREATED", ident, project or at_home, now, name=name, role=wanted, person=row.id)
    return _shown(store.one(tx, ident), now)


async def tokens(context: DeskContext, person: Person) -> list[View]:
    """The tokens of a person, or of everybody for an admin; without the secrets."""
    now = context.clock.now()
    rows = await context.store.read(store.tokens)
    return [_shown(row, now) for row in rows if person.role == "admin" or row.person_id == person.id]


async def revoke(context: DeskContext, person: Person, ident: str) -> View:
    """Revokes a token, within two seconds everywhere; its open connections are closed.

    Raises NotFound, and Refused for somebody else's unless an admin does it.
    """
    return await context.store.write(_revoke, person, ident, context.clock.now(), context.settings.project)


def _revoke(tx: Tx, actor: Person, ident: str, now: datetime, at_home: str) -> View:
    may_know = [row.id for row in store.tokens(tx) if row.person_id == actor.id or actor.role != "viewer"]
    ident = one_of("token", ident, may_know)
    row: Any = store.one(tx, ident)
    if row.person_id != actor.id and actor.role != "admin":
        raise Refused(f"`{ident}` is {row.person}'s: ask an admin to revoke it")
    if store.revoke(tx, ident, now):
        _note(tx, actor, "TOKEN_REVOKED", ident, row.project_id or at_home, now, name=row.name, person=row.person_id)
    return _shown(store.one(tx, ident), now)


async def are_there(context: DeskContext) -> bool:
    """Whether there are any tokens."""
    return await context.store.read(store.has_any)


def digest_of(token: str) -> str:
    """The stored digest of a token. It has 256 random bits, so that no slow hash is needed."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def span_s(text: str) -> float:
    """A time such as `30d`, `12h` or `90m` in seconds.

    Raises UsageError.
    """
    found = _SPAN.fullmatch(text.strip().lower())
    if found is None:
        raise UsageError(f"`{text}` is not a time: write it like `30d`, `12h` or `90m`")
    return int(found[1]) * _UNITS[found[2]]


def _name(text: str) -> str:
    name = " ".join(text.split())
    if not name or len(name) > LONGEST_NAME or visible(name) != name:
        raise UsageError(f"a token's name has 1 to {LONGEST_NAME} visible characters")
    return name


def _role(text: str | None) -> str | None:
    if text is None:
        return None
    role = text.strip().lower()
    if role not in ROLES:
        raise UsageError(f"`{text}` is not a role: use one of {', '.join(ROLES)}")
    return role


def _shown(row: Any, now: datetime) -> View:
    return view(
        row, "id", "name", "role", "project_id", "person", "created_at", "expires_at", "used_at", "revoked_at",
        status=_status(row, now),
    )  # fmt: skip


def _status(row: Any, now: datetime) -> str:
    if row.revoked_at is not None:
        return "revoked"
    return "expired" if row.expires_at is not None and row.expires_at <= now else "good"


def _note(tx: Tx, actor: Person, action: str, ident: str, project: str, now: datetime, **data: Any) -> None:
    audit.note(
        tx, action, actor.actor, now, project_id=project, subject=ident, surface=actor.surface, by=actor.name, **data
    )  # fmt: skip
