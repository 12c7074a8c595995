"""Chats with personas: posting a message to the mailbox of the person's agent, and reading the reply."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from interlock.agents.persona import Persona
from interlock.agents.prompts.quoting import LONGEST_INPUT
from interlock.agents.runtime import Runtime
from interlock.core.errors import UsageError
from interlock.core.ids import new_id
from interlock.core.values import ENDED_RUNS
from interlock.desk.chats.attachments import Attachment, keep
from interlock.desk.chats.requests import Place
from interlock.desk.context import DeskContext, Person, require_operator
from interlock.desk.reading.finding import NoPersona
from interlock.desk.reading.views import View, dollars, view
from interlock.desk.work.goals import model_for
from interlock.store import squad
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Post
from interlock.store.messages import conversations
from interlock.store.runs import traces
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx

LOOK_S = 0.05
"""How often to look for a reply, in seconds."""
MOST_CHARS = 100_000
SETTLED = frozenset({*ENDED_RUNS, "waiting"})


@dataclass(frozen=True, slots=True)
class Reply:
    """The outcome of a message.

    Source: row J6.
    """

    response: str
    tool_calls: list[View]
    iterations: int
    """Model calls."""
    run_id: str
    stop_reason: str
    """`waiting` while a call of the run is held for a person."""
    cost_usd: float


async def say(
    runtime: Runtime,
    person: Person,
    persona: str,
    text: str,
    *,
    project: str | None = None,
    model: str | None = None,
    idempotency_key: str | None = None,
    files: Sequence[Attachment] = (),
    place: Place | None = None,
    run_id: str | None = None,
    extra: str | None = None,
) -> str:
    """Posts a message to this person's agent of a persona; returns the run's id.

    With a `place`, the answer goes there, and the place has a conversation of its own. `run_id` is the id for the run
    of a new message, for callers that stream it from the start. `extra` is additional context in the prompt of this
    run only. Source: row F1.

    Raises UsageError for an empty or too long text or an invalid model, NoPersona, Refused.
    """
    require_operator(person, "talk to agents")
    message_of(text)
    if extra is not None and len(extra) > LONGEST_INPUT:
        raise UsageError(
            f"what is told beside the message has {len(extra):,} characters: {LONGEST_INPUT:,} are the most"
        )
    found = runtime.personas.personas.get(persona)
    if found is None:
        raise NoPersona(persona, runtime.personas.personas)
    spoken = str(model_for(runtime, model)) if model else None
    return await runtime.store.write(
        post, person, found, project or runtime.settings.project, runtime.settings.timezone, text, spoken,
        idempotency_key or new_id("say"), run_id or new_id("run"), runtime.clock.now(), files, place,
        extra=extra,
    )  # fmt: skip


def message_of(text: str) -> str:
    """Validates a message's text, and returns it unchanged.

    Raises UsageError for an empty or too long text.
    """
    if not text.strip():
        raise UsageError("the message is empty: write what you want to say")
    if len(text) > MOST_CHARS:
        raise UsageError(f"the message has {len(text):,} characters: {MOST_CHARS:,} are the most")
    return text


def post(
    tx: Tx,
    person: Person,
    persona: Persona,
    project: str,
    timezone: str,
    text: str,
    model: str | None,
    key: str,
    run_id: str,
    now: datetime,
    files: Sequence[Attachment],
    place: Place | None,
    routed: Mapping[str, Any] | None = None,
    extra: str | None = None,
) -> str:
    """Posts a message for the agent of a persona and a person, in the caller's transaction; returns the run's id.

    `routed` records the routing decision, if the message had no addressee; `extra` is additional context.
    """
    squad.ensure_project(tx, project, timezone, now)
    who = descriptor(person, persona.name, project, place)
    agent = squad.ensure_agent(tx, who, persona.to_json(), persona.trust, now)
    there = None
    if place is not None:
        there = conversations.chat_place(tx, place.surface, place.channel, place.thread, persona.name, project, now)
    payload: dict[str, Any] = {"text": text, "from": person.name, "attachments": keep(tx, project, files, now)}
    if routed is not None:
        payload["routed"] = dict(routed)
    if extra:
        payload["extra"] = extra
    message = Post(
        project_id=project, agent_id=agent.id, kind="chat", payload=payload,
        idempotency_key=key, cause_kind="message", cause_id=person.id, model=model, run_id=run_id,
        dm_conversation_id=there,
    )  # fmt: skip
    return mailbox.post(tx, message, now)[0]


def descriptor(person: Person, persona: str, project: str, place: Place | None) -> Descriptor:
    """The descriptor of a person's chat agent: by person and place. Source: row E1."""
    channel = "direct" if place is None else place.channel
    return Descriptor("user", project, persona, {"connector": person.surface, "channel": channel, "user": person.id})


async def reply_of(context: DeskContext, run_id: str) -> Reply | None:
    """The reply to a message, or what its run waits for; None while it is executing."""
    return await context.store.read(_reply, run_id)


def _reply(tx: Tx, run_id: str) -> Reply | None:
    run: Any = traces.run(tx, run_id)
    if run.status not in SETTLED:
        return None
    calls = traces.calls(tx, run_id)
    return Reply(
        response=run.result or run.error or "",
        tool_calls=[view(c, "tool", "args", "risk", "status", "result", "approval_id") for c in calls],
        iterations=run.step_count,
        run_id=run_id,
        stop_reason=run.status if run.status == "waiting" else run.stop_reason or run.status,
        cost_usd=dollars(run.cost_microusd),
    )
