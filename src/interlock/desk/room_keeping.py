"""Making and closing channels of the workspace chat, and who is in them; only operators do either.

What is said there is `rooms`' matter.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

from interlock.core.errors import Conflict, NotFound, UsageError
from interlock.core.ids import new_id
from interlock.desk import room_names
from interlock.desk.office import Office, Person, require_operator
from interlock.desk.people import find_person
from interlock.desk.room_views import as_who, one, readable
from interlock.desk.views import View
from interlock.policy.audience import AGENT, DM, PERSON, Who
from interlock.store import audit, rooms, rounds, squad
from interlock.store.rooms import OPEN, PRIVATE
from interlock.store.tx import Tx

if TYPE_CHECKING:
    from interlock.agents.persona import PersonaSet

KINDS = (OPEN, PRIVATE)


class Staffed(Office, Protocol):
    """An office that knows the personas; `Runtime` is one."""

    @property
    def personas(self) -> "PersonaSet":
        """Those that can be talked with."""


async def create(
    office: Staffed,
    person: Person,
    name: str,
    *,
    kind: str = OPEN,
    members: Sequence[str] = (),
    topic: str = "",
    project: str | None = None,
) -> View:
    """A new channel, open to the project or `private`, with its maker and these personas and people in it.

    Raises UsageError for a name, kind or member that cannot be, Conflict if the name is taken, Refused for a viewer.
    """
    require_operator(person, "create channels")
    if kind not in KINDS:
        raise UsageError(f"`{kind}` is not a kind of channel: use {' or '.join(KINDS)}")
    return await office.store.write(
        _create, office, person, room_names.name(name), kind, tuple(members), room_names.topic(topic),
        project or office.settings.project, new_id("chn"), office.clock.now(),
    )  # fmt: skip


def _create(
    tx: Tx, office: Staffed, person: Person, name: str, kind: str, members: Sequence[str], topic: str, project: str,
    ident: str, now: datetime,
) -> View:  # fmt: skip
    squad.ensure_project(tx, project, office.settings.timezone, now)
    found = [_member(tx, office, each) for each in members]
    row = rooms.create(
        tx, ident, project_id=project, kind=kind, key=name, name=name, topic=topic, by=as_who(person), now=now
    )  # fmt: skip
    for at, who in enumerate([as_who(person), *found]):
        _join(tx, office, row, who, now + timedelta(microseconds=at))
    audit.note(
        tx, "CHANNEL_CREATED", person.actor, now, project_id=project, subject=ident, name=name, kind=kind,
        members=[who.name for who in found],
    )  # fmt: skip
    return one(tx, person, ident)


async def dm(office: Staffed, person: Person, persona: str, *, project: str | None = None) -> View:
    """The direct conversation of somebody with a persona; the two have one in a project.

    Raises UsageError for an unknown persona, Refused for a viewer.
    """
    require_operator(person, "talk to agents")
    _known(office, persona)
    return await office.store.write(
        _dm, office, person, persona, project or office.settings.project, new_id("chn"), office.clock.now()
    )


def _dm(tx: Tx, office: Staffed, person: Person, persona: str, project: str, ident: str, now: datetime) -> View:
    squad.ensure_project(tx, project, office.settings.timezone, now)
    both = (as_who(person), Who(AGENT, persona))
    key = rooms.dm_key(*both)
    found: Any = rooms.by_key(tx, project, key)
    if found is None:
        try:
            found = rooms.create(
                tx, ident, project_id=project, kind=DM, key=key, name=persona, topic="", by=both[0], now=now
            )  # fmt: skip
        except Conflict:
            found = rooms.by_key(tx, project, key)
    for who in both:
        _join(tx, office, found, who, now)
    return one(tx, person, found.id)


async def join(office: Staffed, person: Person, channel_id: str, who: str | None = None) -> View:
    """The channel with one more member: a persona, another person, or whoever asks.

    Raises Unknown, UsageError for a direct conversation and for who is not known, Refused for a viewer.
    """
    require_operator(person, "join channels")
    return await office.store.write(_joined, office, person, channel_id, who, office.clock.now())


def _joined(tx: Tx, office: Staffed, person: Person, channel_id: str, who: str | None, now: datetime) -> View:
    row = _changeable(tx, person, channel_id)
    member = as_who(person) if who is None else _member(tx, office, who)
    if _join(tx, office, row, member, now):
        audit.note(
            tx, "CHANNEL_JOINED", person.actor, now, project_id=row.project_id, subject=row.id, member=member.name
        )  # fmt: skip
    return one(tx, person, row.id)


def _join(tx: Tx, office: Staffed, row: Any, who: Who, now: datetime) -> bool:
    """An agent of the workspace chat is spawned where its persona has none yet."""
    if who.kind == AGENT:
        persona = office.personas.personas[who.name]
        who_it_is = rounds.descriptor(row.project_id, persona.name)
        squad.ensure_agent(tx, who_it_is, persona.to_json(), persona.trust, now)
    return rooms.join(tx, row.id, who, now)


async def leave(office: Office, person: Person, channel_id: str, who: str | None = None) -> View:
    """The channel without a member: a persona, another person, or whoever asks.

    Raises Unknown, UsageError for a direct conversation and for who is not in it, Refused for a viewer.
    """
    require_operator(person, "leave channels")
    return await office.store.write(_left, person, channel_id, who, office.clock.now())


def _left(tx: Tx, person: Person, channel_id: str, who: str | None, now: datetime) -> View:
    row = _changeable(tx, person, channel_id)
    member = as_who(person)
    if who is not None:
        is_agent = rooms.is_member(tx, row.id, Who(AGENT, who))
        member = Who(AGENT, who) if is_agent else Who(PERSON, find_person(tx, who).id)
    shown = one(tx, person, row.id)
    if not rooms.leave(tx, row.id, member):
        raise UsageError(f"`{who or person.name}` is not in `{row.name}`")
    audit.note(tx, "CHANNEL_LEFT", person.actor, now, project_id=row.project_id, subject=row.id, member=member.name)
    kept = [each for each in shown["members"] if (each["kind"], each["who"]) != tuple(member)]
    return {**shown, "members": kept, "is_member": shown["is_member"] and member != as_who(person)}


async def archive(office: Office, person: Person, channel_id: str, *, on: bool = True) -> View:
    """Closes a channel to new words, or with `on` False opens it again; what was said can still be read.

    Raises Unknown, UsageError for a direct conversation, Refused for a viewer.
    """
    require_operator(person, "archive channels")
    return await office.store.write(_archive, person, channel_id, on, office.clock.now())


def _archive(tx: Tx, person: Person, channel_id: str, on: bool, now: datetime) -> View:
    row = _changeable(tx, person, channel_id)
    rooms.lock(tx, row.id)
    if on != (row.archived_at is not None):
        rooms.archive(tx, row.id, now if on else None)
        done = "CHANNEL_ARCHIVED" if on else "CHANNEL_REOPENED"
        audit.note(tx, done, person.actor, now, project_id=row.project_id, subject=row.id, name=row.name)
    return one(tx, person, row.id)


def _changeable(tx: Tx, person: Person, channel_id: str) -> Any:
    row = readable(tx, person, channel_id)
    if row.kind == DM:
        raise UsageError("a direct conversation is of the two who have it: create a channel for more")
    return row


def _known(office: Staffed, persona: str) -> None:
    if persona not in office.personas.personas:
        raise UsageError(f"no persona `{persona}`: there are {', '.join(office.personas.personas)}")


def _member(tx: Tx, office: Staffed, named: str) -> Who:
    name = named.strip().removeprefix("@")
    if name in office.personas.personas:
        return Who(AGENT, name)
    try:
        return Who(PERSON, find_person(tx, name.removeprefix("person:")).id)
    except NotFound as error:
        there = ", ".join(office.personas.personas)
        raise UsageError(f"`{named}` is neither a persona nor a person: there are {there}") from error
