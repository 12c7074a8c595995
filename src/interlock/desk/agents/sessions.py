"""Agents' sessions for people: resetting and exporting them.

Importing is in `session_import`.
"""

from datetime import datetime
from typing import Any

from interlock.agents.history.session_file import Mask, line
from interlock.agents.history.session_records import FORMAT, VERSION
from interlock.agents.persona import Persona
from interlock.core.errors import NotFound, UsageError
from interlock.core.values import digest
from interlock.desk.context import DeskContext, Person, require_operator
from interlock.desk.reading.finding import as_id, find
from interlock.desk.reading.views import View
from interlock.llm.messages import ModelRef
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.mailboxes import queues
from interlock.store.runs import sessions
from interlock.store.squad import CONVERSES
from interlock.store.tx import Tx
from interlock.tools.secrets import Vault


async def reset(context: DeskContext, person: Person, agent: str, *, project: str | None = None) -> View:
    """Resets sessions: {persona, agents: [{agent_id, marker, pending, running}]}.

    `agent` is the id of an agent, or a persona: then this person's chats with it are reset. Ids are kept, pending
    messages stay in the mailbox, and executing runs continue with their history. Source: row E13.

    Raises Refused for a viewer, NotFound.
    """
    require_operator(person, "begin a conversation anew")
    where = project or context.settings.project
    return await context.store.write(_reset, person, where, agent, context.clock.now())


def _reset(tx: Tx, person: Person, project_id: str, named: str, now: datetime) -> View:
    done = []
    agents = _meant(tx, project_id, person, named)
    for agent in sorted(agents, key=lambda each: each.id):
        marker_id, counted = sessions.reset(tx, agent.id, f"person:{person.id}", now), queues.counts(tx, agent.id)
        audit.note(
            tx, "SESSION_RESET", person.actor, now, project_id=project_id, subject=agent.id, persona=agent.persona,
            marker=marker_id, surface=person.surface, name=person.name,
        )  # fmt: skip
        pending, running = counted.get("created", 0), counted.get("running", 0)
        done.append({"agent_id": agent.id, "marker": marker_id, "pending": pending, "running": running})
    return {"persona": agents[0].persona, "agents": done}


def _meant(tx: Tx, project_id: str, person: Person, named: str) -> list[Any]:
    """The agents with a session that a name refers to: at least one."""
    name = as_id(named)
    if squad.member_of(tx, project_id, name) is not None:
        found = sessions.talks(tx, project_id, name, person.id)
        here = [row for row in found if row.descriptor.get("connector") == person.surface] or found
        if not here:
            message = f"you have not talked with `{name}`: give the id of an agent, `interlock agents` lists them"
            raise NotFound("conversation", name, message=message)
        return [squad.agent(tx, row.id) for row in here]
    try:
        agent: Any = squad.agent(tx, find(tx, "agent", name))
    except NotFound:
        agent = None
    if agent is None or agent.project_id != project_id:
        message = f"no agent `{named}` has worked here: give a persona or an id, `interlock agents` lists them"
        raise NotFound("agent", named, message=message)
    if agent.descriptor.get("kind") not in CONVERSES:
        raise UsageError(f"agent `{agent.id}` works for a mission: it has no conversation that goes on")
    return [agent]


async def export(context: DeskContext, person: Person, agent: str, *, project: str | None = None) -> list[str]:
    """The current session as lines of JSON: a header, then its ended runs; secrets are masked.

    Raises Refused for a viewer, NotFound, UsageError for an ambiguous name.
    """
    require_operator(person, "export a conversation")
    where = project or context.settings.project
    return await context.store.write(
        _export, person, where, agent, Mask(Vault.of(context.settings)), context.clock.now()
    )


def _export(tx: Tx, person: Person, project_id: str, named: str, mask: Mask, now: datetime) -> list[str]:
    agent, *others = _meant(tx, project_id, person, named)
    if others:
        shown = ", ".join(f"`{each.id}`" for each in (agent, *others))
        raise UsageError(f"`{named}` could be any of {shown}: give one of these")
    kept = sessions.current(tx, agent.id)
    lines = [line(_header(agent, squad.member(tx, agent.member_id), kept, mask))]
    for run, rows in kept.runs:
        lines.append(line(_run(run, mask)))
        lines += [line(_message(row, mask)) for row in rows]
    audit.note(
        tx, "SESSION_EXPORTED", person.actor, now, project_id=project_id, subject=agent.id, persona=agent.persona,
        runs=len(kept.runs), surface=person.surface, name=person.name,
    )  # fmt: skip
    return lines


def _header(agent: Any, member: Any, kept: sessions.CurrentSession, mask: Mask) -> dict[str, Any]:
    persona = Persona.from_json(agent.persona_json)
    parts = {name: value for name, value in agent.descriptor.items() if name != "kind"}
    last = next((run.model for run, _ in reversed(kept.runs) if run.model), None)
    model = ModelRef.parse(last) if last is not None else None
    marker, markers = kept.marker, []
    if marker is not None and marker.summary:
        markers = [{
            "kind": "compaction", "summary": mask.text(marker.summary), "tokens_before": marker.tokens_before,
            "labels": sorted(marker.labels),
        }]  # fmt: skip
    return {
        "format": FORMAT, "version": VERSION,
        "descriptor": {
            "kind": agent.descriptor["kind"], "project": agent.project_id, "persona": agent.persona, "parts": parts,
        },
        "persona": {"name": persona.name, "digest": digest(agent.persona_json)},
        "model": None if model is None else {"provider": model.provider, "model": model.model},
        "permissions": {"tools": sorted(persona.offered_tools), "trust": member.trust},
        "markers": markers,
    }  # fmt: skip


def _run(run: Any, mask: Mask) -> dict[str, Any]:
    times = {"created_at": run.created_at.isoformat(), "completed_at": run.completed_at.isoformat()}
    if run.cause_kind == sessions.IMPORTED:
        times = dict(run.payload.get("imported") or times)
    return {
        "record": "run", "kind": run.kind, "status": run.status, "stop_reason": run.stop_reason, "model": run.model,
        "simulated": run.simulated, "labels": sorted(run.labels),
        "result": None if run.result is None else mask.text(run.result),
        "error": None if run.error is None else mask.text(run.error), **times,
    }  # fmt: skip


def _message(row: Any, mask: Mask) -> dict[str, Any]:
    blocks = row.blocks or [{"type": "text", "text": row.content}]
    return {
        "record": row.message_type, "position": row.position, "content": mask.text(row.content),
        "tool_name": row.tool_name, "tool_input": mask.value(row.tool_input),
        "blocks": mask.blocks(blocks),
    }  # fmt: skip
