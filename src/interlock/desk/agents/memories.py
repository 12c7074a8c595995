"""Agents' memory for people: searching, viewing, restoring, archiving, sharing."""

import asyncio
from datetime import datetime
from typing import Any

from interlock.core.errors import UsageError
from interlock.desk.agents.personas import persona_named
from interlock.desk.context import DeskContext, Person, require_operator
from interlock.desk.reading.finding import find_any
from interlock.desk.reading.views import View, view
from interlock.desk.work import projects
from interlock.memory import archive, blocks, recall
from interlock.memory.words import query_terms, words_of
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.identities import people
from interlock.store.knowledge import blocks as block_rows
from interlock.store.knowledge import memories, memory_versions
from interlock.store.signoff.approvals import ROLES_THAT_ANSWER, name_of
from interlock.store.tx import Tx

KINDS = ("memory", "block")
MOST = 20
LISTED = (
    "id", "persona", "type", "text", "importance", "decay", "labels", "person_id", "run_id", "uses", "version",
    "created_at", "used_at", "archived_at", "project_id",
)  # fmt: skip


async def search(
    context: DeskContext,
    person: Person,
    query: str = "",
    *,
    persona: str | None = None,
    kind: str | None = None,
    project: str | None = None,
    most: int = MOST,
) -> list[View]:
    """The blocks and memories that match `query`, best first; without a query, blocks and then the most important
    memories.

    Each has `what` (block or memory), `id`, `persona`, `type`, `text`, `score`, `labels`, `created_at`. Viewers see
    only their own conversations.

    Raises UsageError for an unknown type, NotFound for a project or a persona that is not there.
    """
    if kind is not None and kind not in (*archive.KINDS, "block"):
        raise UsageError(f"`{kind}` is not a type of memory: use block, {', '.join(archive.KINDS)}")
    if project is not None:
        await projects.require(context, project)
    where = project or context.settings.project
    found = await context.store.read(_search, person, query, persona, kind, where, max(1, most), context.clock.now())
    if persona is not None and not found:
        await asyncio.to_thread(persona_named, context, persona)
    return found


def _search(
    tx: Tx, person: Person, query: str, persona: str | None, kind: str | None, project: str, most: int, now: datetime
) -> list[View]:  # fmt: skip
    words = words_of(query)
    found = [] if kind not in (None, "block") else _blocks(tx, project, persona, frozenset(words))
    kinds = () if kind is None else (kind,)
    scopes = [] if kind == "block" else memories.scopes(tx, project)
    seen = [each for each in scopes if _is_shown(person, each, persona)]
    if query_terms(query):
        recalled = recall.search_each(tx, project, seen, query, now, most, kinds=kinds)
    else:
        recalled = recall.most_important(tx, project, seen, now, most, kinds=kinds)
    found += [_recalled(row, scope) for scope, row in recalled]
    return sorted(found, key=lambda each: (each["score"], each["id"]), reverse=True)[:most]


def _is_shown(person: Person, scope: str, persona: str | None) -> bool:
    whose, _, talks_to = scope.partition(":")
    return (persona is None or whose.removeprefix("~") == persona) and _may_see(person, talks_to)


def _may_see(person: Person, talks_to: str) -> bool:
    return not talks_to or person.role in ROLES_THAT_ANSWER or talks_to == person.id


def _recalled(found: recall.Recalled, scope: str) -> View:
    whose = scope.partition(":")[0]
    return {
        "what": "memory", "id": found.id, "persona": whose.removeprefix("~"), "rehearsal": whose.startswith("~"),
        "type": found.type, "text": found.text, "importance": found.importance, "decay": found.decay,
        "score": found.score, "labels": sorted(found.labels), "created_at": found.created_at,
    }  # fmt: skip


def _blocks(tx: Tx, project: str, persona: str | None, words: frozenset[str]) -> list[View]:
    found = []
    by_block = block_rows.all_holders(tx, project)
    for row in block_rows.of_project(tx, project):
        holders = by_block.get(row.id, [])
        shared = len(words & words_of(f"{row.label}\n{row.content}").keys()) / len(words) if words else 1.0
        if shared and (persona is None or persona in holders):
            found.append(
                {
                    "what": "block", "id": row.id, "persona": ", ".join(holders), "rehearsal": False, "type": "block",
                    "text": f"{row.label}: {row.content}", "importance": 1.0, "decay": 1.0, "score": round(shared, 6),
                    "labels": list(row.labels), "created_at": row.created_at,
                }
            )  # fmt: skip
    return found


async def show(context: DeskContext, person: Person, ident: str) -> View:
    """One memory or block in full: `what`, its fields, and for a block `holders` with `can_write`.

    Raises Unknown, UsageError if `ident` is ambiguous.
    """
    return await context.store.read(_one, person, ident)


def _found(tx: Tx, person: Person, ident: str) -> tuple[str, Any]:
    what, whole = find_any(tx, KINDS, ident)
    row = memories.memory(tx, whole) if what == "memory" else block_rows.block(tx, whole)
    assert row is not None
    if what == "memory" and not _may_see(person, row.scope.partition(":")[2]):
        require_operator(person, "see what others talked about")
    return what, row


def _one(tx: Tx, person: Person, ident: str) -> View:
    what, row = _found(tx, person, ident)
    if what == "memory":
        heard_from = people.names(tx, [row.person_id]).get(row.person_id)
        return {"what": what, **view(row, *LISTED), "rehearsal": row.scope.startswith("~"), "heard_from": heard_from}
    holders = [view(each) for each in block_rows.holders(tx, row.id)]
    return {"what": what, **view(row), "holders": holders}


async def versions(context: DeskContext, person: Person, ident: str) -> list[View]:
    """The versions of a memory or block, oldest first: `version`, `content`, `author`, `reason`, `created_at`.

    Raises as `show`.
    """
    return await context.store.read(_versions, person, ident)


def _versions(tx: Tx, person: Person, ident: str) -> list[View]:
    _, row = _found(tx, person, ident)
    found = memory_versions.of(tx, row.id)
    names = squad.names(tx, [each.author_id for each in found if each.author_kind == "agent"])
    return [view(each, author=names.get(each.author_id) or name_of(tx, each.author_id)) for each in found]


async def restore(context: DeskContext, person: Person, ident: str, version: int) -> View:
    """Makes an earlier version of a memory (archived or not) or block the current one.

    Raises Unknown, NotFound for the version, Refused, Conflict. Source: row H7.
    """
    require_operator(person, "restore memories")
    return await context.store.write(_restore, person, ident, version, context.clock.now())


def _restore(tx: Tx, person: Person, ident: str, version: int, now: datetime) -> View:
    what, row = _found(tx, person, ident)
    if what == "memory":
        archive.restore(tx, row.id, version, person.actor, now)
    else:
        blocks.restore(tx, row.id, version, person.actor, now)
    _note(tx, "MEMORY_RESTORED", person, row, now, version=version)
    return _one(tx, person, row.id)


async def forget(context: DeskContext, person: Person, ident: str, reason: str) -> View:
    """Archives a memory: it is no longer recalled. Any of its versions can still be restored.

    Raises Unknown, Refused, Conflict, and UsageError for a block or without a reason.
    """
    require_operator(person, "put memories away")
    if not reason.strip():
        raise UsageError("say why: the reason stays with its versions")
    return await context.store.write(_forget, person, ident, reason.strip(), context.clock.now())


def _forget(tx: Tx, person: Person, ident: str, reason: str, now: datetime) -> View:
    what, row = _found(tx, person, ident)
    if what == "block":
        raise UsageError(f"`{row.id}` is a block: take it from an agent with `interlock memory share {row.id} --off`")
    archive.forget(tx, row.id, person.actor, reason, now)
    _note(tx, "MEMORY_PUT_AWAY", person, row, now)
    return _one(tx, person, row.id)


async def share(
    context: DeskContext, person: Person, ident: str, persona: str, *, can_write: bool = False, off: bool = False
) -> View:
    """Attaches a block to another persona of its project, read-only unless `can_write`; `off` detaches it.

    Raises Unknown, Refused, Conflict, UsageError.
    """
    require_operator(person, "share blocks")
    return await context.store.write(_share, person, ident, persona, can_write, off, context.clock.now())


def _share(tx: Tx, person: Person, ident: str, persona: str, can_write: bool, off: bool, now: datetime) -> View:
    what, row = _found(tx, person, ident)
    if what == "memory":
        raise UsageError(f"`{row.id}` is a memory: only blocks can be shared")
    if not off:
        blocks.share(tx, row.id, persona, can_write=can_write)
    elif not block_rows.let_go(tx, row.id, persona):
        raise UsageError(f"`{persona}` does not have the block `{row.label}`")
    _note(tx, "BLOCK_TAKEN" if off else "BLOCK_SHARED", person, row, now, persona=persona, can_write=can_write)
    return _one(tx, person, row.id)


def _note(tx: Tx, action: str, person: Person, row: Any, now: datetime, **more: Any) -> None:
    audit.note(tx, action, person.actor, now, project_id=row.project_id, subject=row.id, surface=person.surface, **more)
