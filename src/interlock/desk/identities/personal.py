"""A person's data: exporting it, and erasing it except for what the record of decisions needs. For admins only.

Source: row L6.
"""

import asyncio
from datetime import datetime

from interlock.core.values import Actor
from interlock.desk.context import DeskContext, Person
from interlock.desk.identities.people import find_person, keep_an_admin, require_admin
from interlock.desk.reading.views import View, view
from interlock.memory import erasure
from interlock.oversight import audit_keys
from interlock.oversight.audit_keys import AuditKeyError
from interlock.store.auditing import audit, seals
from interlock.store.auditing.chain import Keyring
from interlock.store.identities import people as store
from interlock.store.identities import personal, personal_echoes, personal_notices, personal_verdicts
from interlock.store.identities.personal import Known
from interlock.store.identities.personal_echoes import Echoes
from interlock.store.signoff import withdrawals
from interlock.store.tx import Tx

PAGE = 50
"""The number of rows erased per transaction."""


async def known(context: DeskContext, person: Person, who: str) -> View:
    """Resolves `who` to a person: id, name, role, identities.

    Raises Refused unless the caller is an admin, Unknown, UsageError if it is ambiguous.
    """
    require_admin(person)
    return await context.store.read(_known, who)


def _known(tx: Tx, who: str) -> View:
    row = find_person(tx, who)
    return view(row, identities=store.identities(tx).get(row.id, []))


async def export(context: DeskContext, person: Person, who: str) -> View:
    """All data about a person: `person`, and by kind their messages and decisions, and messages to them.

    Raises as `known`.
    """
    require_admin(person)
    found = await context.store.read(_export, who)
    await context.store.write(_exported, person, found["person"]["id"], context.settings.project, context.clock.now())
    return found


def _export(tx: Tx, who: str) -> View:
    found = _known(tx, who)
    subject = Known(found["id"], found["name"], tuple(found["identities"]))
    sections = personal.gathered(tx, subject) | erasure.gathered(tx, subject)
    written = {name: [row._asdict() for row in rows] for name, rows in sections.items()}
    return {"person": found, **written, "waivers": personal_verdicts.waivers(tx, subject)}


def _exported(tx: Tx, actor: Person, ident: str, project: str, now: datetime) -> None:
    audit.note(tx, "PERSON_EXPORTED", actor.actor, now, project_id=project, subject=ident, surface=actor.surface)


async def erase(context: DeskContext, person: Person, who: str) -> View:
    """Erases a person: their messages, name and identities; their decisions stay under their id.

    First of all they lose their role, so that they cannot act meanwhile. An interrupted erasure is continued by
    calling it again. Returns `id`, `name` (the pseudonym), the numbers of `chats` erased, of `open_chats` that could
    not be erased yet, and of `activities` changed.

    If the audit log is sealed, the changes to it are sealed too.

    Raises Refused, LastAdmin, Unknown, UsageError, AuditKeyError.
    """
    require_admin(person)
    project = context.settings.project
    keys = await asyncio.to_thread(audit_keys.keyring, context.settings)
    if keys.current is None and await context.store.read(seals.last) is not None:
        raise AuditKeyError("the audit log is sealed and its key is not here: erase where it is, or set it")
    subject = await context.store.write(_begin, person, who, project, context.clock.now())
    erased, still_open = await _erase_chats(context, subject)
    await _erase_memories(context, subject)
    echoes = await context.store.read(personal_echoes.gathered, subject)
    for where in echoes.places:
        for found in await context.store.read(personal_echoes.mentions, echoes, where):
            await context.store.write(personal_echoes.redact, echoes, where, *found)
    await context.store.write(personal_echoes.forget, echoes)
    for kind, ident in await context.store.read(personal_verdicts.mentions, subject):
        await context.store.write(personal_verdicts.redact, subject, kind, ident)
    await context.store.write(personal_notices.erase_notes, subject)
    for kind, ident in await context.store.read(personal_notices.mentions, subject):
        await context.store.write(personal_notices.redact, subject, kind, ident)
    changed = await _redact(context, subject, person.actor, keys, echoes)
    await context.store.write(personal.erase_words, subject)
    await context.store.write(_finish, person, subject, project, context.clock.now())
    return {
        "id": subject.id, "name": subject.pseudonym, "chats": erased, "open_chats": still_open, "activities": changed,
    }  # fmt: skip


def _begin(tx: Tx, actor: Person, who: str, project: str, now: datetime) -> Known:
    store.lock_admins(tx)
    row, admins = find_person(tx, who), store.admins(tx)
    if row.role != "viewer":
        store.set_role(tx, row.id, "viewer")
        keep_an_admin(tx, row, admins)
        withdrawals.take_back(tx, row.id, "viewer", actor.actor, now)
        audit.note(
            tx, "ROLE_CHANGED", actor.actor, now, project_id=project, subject=row.id, surface=actor.surface,
            role="viewer", before=row.role,
        )  # fmt: skip
    return Known(row.id, row.name, tuple(store.identities(tx).get(row.id, ())))


async def _erase_chats(context: DeskContext, subject: Known) -> tuple[int, list[str]]:
    erased, still_open = 0, []
    for run_id in await context.store.read(personal.chats, subject):
        gone: bool | None = False
        while gone is False:
            gone = await context.store.write(personal.erase_chat, run_id, PAGE, context.clock.now())
        erased += gone is True
        still_open += [run_id] if gone is None else []
    return erased, still_open


async def _erase_memories(context: DeskContext, subject: Known) -> None:
    while await context.store.write(erasure.erase, subject, PAGE):
        continue
    ids = await context.store.read(erasure.mentions, subject)
    for at in range(0, len(ids), PAGE):
        await context.store.write(erasure.redact, subject, ids[at : at + PAGE])


async def _redact(context: DeskContext, subject: Known, by: Actor, keys: Keyring, echoes: Echoes) -> int:
    """Their own activities come last: their words are searched for in the others first."""

    async def bite(ids: list[int], *, own: bool) -> int:
        project, now = context.settings.project, context.clock.now()
        return await context.store.write(personal.redact, subject, ids, by, project, now, keys, echoes.clean, own=own)

    changed = 0
    for mission_id in echoes.of_mission:
        logged = await context.store.read(personal_echoes.logged, echoes, mission_id)
        changed += sum([await bite(logged[at : at + PAGE], own=False) for at in range(0, len(logged), PAGE)])
    for own in (False, True):
        after = 0
        while ids := await context.store.read(personal.about, subject, after, PAGE):
            changed += await bite(ids, own=own)
            after = ids[-1]
    return changed


def _finish(tx: Tx, actor: Person, subject: Known, project: str, now: datetime) -> None:
    personal.finish(tx, subject)
    audit.note(tx, "PERSON_ERASED", actor.actor, now, project_id=project, subject=subject.id, surface=actor.surface)
