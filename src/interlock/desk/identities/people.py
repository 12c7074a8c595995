"""People, their identities on surfaces, and their roles. Only admins change them.

Each operation checks the role it needs.
"""

import re
import unicodedata
from datetime import datetime
from typing import Any

from interlock.core.errors import NotFound, Refused, UsageError
from interlock.core.ids import new_id
from interlock.core.text import visible
from interlock.desk.context import ROLES, DeskContext, Person
from interlock.desk.reading.views import View, view
from interlock.policy.values.spelling import plain
from interlock.store.auditing import audit
from interlock.store.identities import people as store
from interlock.store.signoff import withdrawals
from interlock.store.tx import Tx

LONGEST_NAME = 60
SHAPES = {
    "slack": (re.compile(r"slack:[UW][A-Z0-9]{2,20}"), "slack:U0123ABCD"),
    "telegram": (re.compile(r"telegram:[1-9][0-9]{0,19}"), "telegram:42"),
    "local": (re.compile(r"local:(0|[1-9][0-9]{0,9})"), "local:1000"),
}
"""The form of identities by surface, with an example."""


class LastAdmin(Refused):
    """The change would leave no admin."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} is the last admin at a terminal: make somebody else one first, "
            "with an identity such as `local:1000`"
        )


async def people(context: DeskContext) -> list[View]:
    """All people: id, name, role, identities, created_at."""
    return await context.store.read(_people)


def _people(tx: Tx) -> list[View]:
    known = store.identities(tx)
    return [view(row, identities=known.get(row.id, [])) for row in store.people(tx)]


async def add(context: DeskContext, person: Person, name: str, *, role: str = "operator") -> View:
    """Adds a person without identities; returns them.

    Raises Refused unless the caller is an admin, UsageError for an invalid name or role.
    """
    require_admin(person)
    return await context.store.write(
        _add, person, new_id("per"), _name(name), _role(role), context.settings.project, context.clock.now()
    )


def _add(tx: Tx, actor: Person, ident: str, name: str, role: str, project: str, now: datetime) -> View:
    store.lock_admins(tx)
    for other in store.people(tx):
        if folded_name(other.name) == folded_name(name):
            raise UsageError(f"somebody is called `{other.name}` already ({other.id}): give another name")
    store.add(tx, ident, name, role, now)
    _note(tx, actor, "PERSON_ADDED", ident, project, now, name=name, role=role)
    return _shown(tx, ident)


async def link(context: DeskContext, person: Person, who: str, identity: str) -> View:
    """Links an identity to a person, with effect from the next command.

    Returns the person, with `moved_from`: the name of the previous owner, None if there was none.

    Raises Refused, LastAdmin, Unknown, and UsageError for an invalid identity.
    """
    require_admin(person)
    return await context.store.write(
        _link, person, who, identity_of(identity), context.settings.project, context.clock.now()
    )


def _link(tx: Tx, actor: Person, who: str, identity: str, project: str, now: datetime) -> View:
    store.lock_admins(tx)
    row, before, admins = find_person(tx, who), store.owner(tx, identity), store.admins(tx)
    if before is not None and before.id == row.id:
        return {**_shown(tx, row.id), "moved_from": None, "changed": False}
    store.link(tx, identity, row.id, now)
    if before is not None:
        keep_an_admin(tx, before, admins)
    moved_from = before.name if before is not None else None
    _note(tx, actor, "IDENTITY_LINKED", row.id, project, now, identity=identity, moved_from=before and before.id)
    return {**_shown(tx, row.id), "moved_from": moved_from, "changed": True}


async def unlink(context: DeskContext, person: Person, identity: str) -> View:
    """Unlinks an identity, whose requests are refused from then on. Returns its previous owner.

    Raises Refused, LastAdmin, and NotFound if it belongs to nobody.
    """
    require_admin(person)
    return await context.store.write(
        _unlink, person, identity_of(identity), context.settings.project, context.clock.now()
    )


def _unlink(tx: Tx, actor: Person, identity: str, project: str, now: datetime) -> View:
    store.lock_admins(tx)
    row, admins = store.owner(tx, identity), store.admins(tx)
    if row is None:
        message = f"`{identity}` is linked to nobody: `interlock people list` shows who is"
        raise NotFound("identity", identity, message=message)
    store.unlink(tx, identity)
    keep_an_admin(tx, row, admins)
    _note(tx, actor, "IDENTITY_UNLINKED", row.id, project, now, identity=identity)
    return _shown(tx, row.id)


async def set_role(context: DeskContext, person: Person, who: str, role: str) -> View:
    """Changes a person's role, with effect from their next command; returns them, with `before`.

    Who may not answer any more loses the grants that they gave, and approvals that no call has used.

    Raises Refused, LastAdmin, Unknown, and UsageError for a role that is none.
    """
    require_admin(person)
    return await context.store.write(_set_role, person, who, _role(role), context.settings.project, context.clock.now())


def _set_role(tx: Tx, actor: Person, who: str, role: str, project: str, now: datetime) -> View:
    store.lock_admins(tx)
    row, admins = find_person(tx, who), store.admins(tx)
    if row.role != role:
        store.set_role(tx, row.id, role)
        keep_an_admin(tx, row, admins)
        withdrawals.take_back(tx, row.id, role, actor.actor, now)
        _note(tx, actor, "ROLE_CHANGED", row.id, project, now, role=role, before=row.role)
    return {**_shown(tx, row.id), "before": row.role}


def require_admin(person: Person) -> None:
    """Checks that a person is an admin.

    Raises Refused for anybody else.
    """
    if person.role != "admin":
        raise Refused(f"{person.name} has the role {person.role} and may not say who is who: ask an admin")


def keep_an_admin(tx: Tx, row: Any, before: set[str]) -> None:
    """INVARIANT: there is always an admin who can administer people."""
    if before and not store.admins(tx):
        raise LastAdmin(row.name)


def find_person(tx: Tx, who: str) -> Any:
    """The person with an id, a name or an identity.

    Raises Stranger, and UsageError if it is ambiguous.
    """
    wanted, rows = who.strip(), store.people(tx)
    if (owner := store.owner(tx, wanted)) is not None:
        return owner
    found = [row for row in rows if row.id == wanted] or [
        row for row in rows if row.name.casefold() == wanted.casefold()
    ]
    if len(found) == 1:
        return found[0]
    if found:
        ids = ", ".join(f"`{row.id}`" for row in found)
        raise UsageError(f"`{wanted}` could be any of {ids}: give the id")
    raise Stranger(wanted)


class Stranger(NotFound):
    """There is nobody with that id or name."""

    def __init__(self, who: str) -> None:
        message = f"nobody is called `{who}`: `interlock people list` shows who there is, `people add` enters one"
        super().__init__("person", who, message=message)


def identity_of(text: str) -> str:
    """An identity in its canonical spelling, such as `slack:U0123ABCD`.

    Raises UsageError if it is invalid.
    """
    surface, _, rest = text.strip().partition(":")
    surface, rest = surface.strip().lower(), rest.strip()
    found = f"{surface}:{rest.upper() if surface == 'slack' else rest}"
    known = SHAPES.get(surface)
    if known is None or not known[0].fullmatch(found):
        like = ", ".join(f"`{example}`" for _, example in ([known] if known else SHAPES.values()))
        raise UsageError(f"`{text}` is not an identity: write it like {like}")
    return found


def _name(text: str) -> str:
    name = " ".join(text.split())
    if not name or len(name) > LONGEST_NAME:
        raise UsageError(f"a name has 1 to {LONGEST_NAME} characters")
    if visible(name) != name or ":" in name or name.startswith("per_"):
        raise UsageError(f"`{visible(name)}` is not a name: leave out colons and invisible characters, and `per_`")
    return name


def folded_name(name: str) -> str:
    """A name folded for comparison: ignores character widths, case and look-alike letters."""
    return " ".join(plain(word) for word in unicodedata.normalize("NFKC", name).casefold().split())


def unmistakable(tx: Tx, name: str, instead: str) -> str:
    """The name for a new person: `instead` if `name` could be confused with that of an operator or admin.

    INVARIANT: nobody is entered automatically under the name of an operator or admin.
    """
    folded = folded_name(name)
    return instead if any(folded == folded_name(other) for other in store.acting(tx)) else name


def _role(text: str) -> str:
    role = text.strip().lower()
    if role not in ROLES:
        raise UsageError(f"`{text}` is not a role: use one of {', '.join(ROLES)}")
    return role


def _shown(tx: Tx, ident: str) -> View:
    return next(each for each in _people(tx) if each["id"] == ident)


def _note(tx: Tx, actor: Person, action: str, ident: str, project: str, now: datetime, **data: Any) -> None:
    audit.note(
        tx, action, actor.actor, now, project_id=project, subject=ident, surface=actor.surface, by=actor.name, **data
    )  # fmt: skip
