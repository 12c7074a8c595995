"""Imports sessions from files: only the history of an agent is replaced; a file grants no permissions.

The file format is in `agents.history.session_file`; exporting is in `sessions`.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from interlock.agents.history import session_file
from interlock.agents.history.session_file import Mask, SessionFile
from interlock.agents.history.session_records import FileDescriptor
from interlock.agents.persona import Persona, PersonaSet
from interlock.core.errors import Conflict, NotFound, UsageError
from interlock.core.values import digest
from interlock.desk.context import DeskContext, Person, require_operator
from interlock.desk.reading.views import View
from interlock.settings import Settings
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.identities import people
from interlock.store.mailboxes import queues
from interlock.store.runs import sessions
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx
from interlock.tools.secrets import Vault


async def import_session(
    context: DeskContext,
    person: Person,
    personas: PersonaSet,
    data: bytes,
    source: str,
    *,
    replace: bool = False,
    mine: bool = False,
) -> View:
    """Makes a file's session the history of the agent with its descriptor, which is spawned if necessary.

    {agent_id, persona, project, runs, messages, notes}. With `mine`, this person's own chat agent is used instead.
    The agent's permissions are those of its local persona, whatever the file says; `notes` list the differences.

    Raises ConfigError with each fault as `file:line: problem`, Refused for a viewer, NotFound for an unknown
    project or persona, and Conflict if the agent has pending messages, or a history that should not be replaced.
    """
    require_operator(person, "import a conversation")
    found = session_file.read(data, source)
    wanted = found.header.descriptor
    persona = personas.personas.get(wanted.persona)
    if persona is None:
        message = f"there is no persona `{wanted.persona}` here, whose session it is: add it first"
        raise NotFound("persona", wanted.persona, message=message)
    mask = Mask(Vault.of(context.settings))
    return await context.store.write(
        _take, person, persona, _clean(found, mask), context.settings, replace, mine, context.clock.now()
    )  # fmt: skip


def _clean(found: SessionFile, mask: Mask) -> SessionFile:
    """A session with secrets masked."""
    runs = []
    for columns, rows in found.runs:
        cleaned = {name: mask.text(value) if isinstance(value, str) else value for name, value in columns.items()}
        runs.append((cleaned, [_clean_row(row, mask) for row in rows]))
    return SessionFile(found.header, runs)


def _clean_row(row: Mapping[str, Any], mask: Mask) -> dict[str, Any]:
    return {
        **row, "content": mask.text(row["content"]), "tool_input": mask.value(row["tool_input"]),
        "blocks": mask.blocks(row["blocks"]),
    }  # fmt: skip


def _take(
    tx: Tx, person: Person, persona: Persona, found: SessionFile, settings: Settings, replace: bool, mine: bool,
    now: datetime,
) -> View:  # fmt: skip
    header = found.header
    project = settings.project if mine else header.descriptor.project
    if project != settings.project and squad.project(tx, project) is None:
        message = f"there is no project `{project}` here, of which the session is: add `--mine` to make it yours"
        raise NotFound("project", project, message=message)
    squad.ensure_project(tx, project, settings.timezone, now)
    agent = _agent(tx, _descriptor(person, header.descriptor, project, mine=mine), persona, now)
    if sum(queues.counts(tx, agent.id).values()):
        raise Conflict(f"agent `{agent.id}` has messages to answer: wait, or see `interlock queue {agent.id}`")
    if not replace and sessions.current(tx, agent.id).runs:
        raise Conflict(f"agent `{agent.id}` has a history of its own: add `--replace` to put this one in its place")
    marker = next(iter(header.markers), None)
    past = sessions.ImportedSession(
        runs=found.runs, summary=marker.summary if marker else None, labels=marker.labels if marker else (),
        tokens_before=marker.tokens_before if marker else None,
    )  # fmt: skip
    about = agent.descriptor.get("user")
    marker_id = sessions.replace_history(tx, agent, past, f"person:{person.id}", about, now)
    audit.note(
        tx, "SESSION_IMPORTED", person.actor, now, project_id=project, subject=agent.id, persona=persona.name,
        runs=len(found.runs), marker=marker_id, surface=person.surface, name=person.name, replaced=replace,
    )  # fmt: skip
    return {
        "agent_id": agent.id, "persona": persona.name, "project": project, "runs": len(found.runs),
        "messages": sum(len(rows) for _, rows in found.runs), "notes": _notes(tx, agent, persona, found),
    }  # fmt: skip


def _descriptor(person: Person, named: FileDescriptor, project: str, *, mine: bool) -> Descriptor:
    if mine:
        parts = {"connector": person.surface, "channel": "direct", "user": person.id}
        return Descriptor("user", project, named.persona, parts)
    return Descriptor(named.kind, project, named.persona, named.parts)


def _agent(tx: Tx, wanted: Descriptor, persona: Persona, now: datetime) -> Any:
    """The agent with a descriptor; its canonical spelling must be unambiguous."""
    found = squad.ensure_agent(tx, wanted, persona.to_json(), persona.trust, now)
    if found.descriptor != {"kind": wanted.kind, **wanted.parts} or found.persona != wanted.persona:
        raise UsageError("the descriptor in the file is none that an agent can have")
    return found


def _notes(tx: Tx, agent: Any, persona: Persona, found: SessionFile) -> Sequence[str]:
    """Differences between the file and the local settings."""
    header, notes = found.header, []
    if more := sorted(set(header.permissions.tools) - persona.offered_tools):
        shown = ", ".join(more[:5]) + (f" and {len(more) - 5} others" if len(more) > 5 else "")
        notes.append(f"the file names tools that `{persona.name}` has not here, and it gets none of them: {shown}")
    member: Any = squad.member(tx, agent.member_id)
    trust = member.trust
    if header.permissions.trust != trust:
        notes.append(f"the file says the trust level {header.permissions.trust}: here it is {trust}, and stays so")
    if header.persona.digest != digest(agent.persona_json):
        notes.append(f"`{persona.name}` is not the same here as where the session was")
    who = header.descriptor.parts.get("user") if agent.descriptor.get("user") else None
    if who is not None and agent.descriptor.get("user") == who and not people.names(tx, [who]):
        notes.append(f"nobody here is `{who}`, with whom it talked: import it with `--mine` to go on with it yourself")
    return notes
