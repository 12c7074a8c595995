"""Runs that a schedule starts: how they are posted, what they are told, and where their answer goes.

When they are posted is the scheduler's job; otherwise they are chats, with the limits and tools of any chat.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from interlock.agents.persona import Persona
from interlock.agents.prompts.quoting import one_line
from interlock.agents.prompts.system_words import system_words
from interlock.core.ids import new_id
from interlock.llm.messages import Text
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.identities import principals
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Post
from interlock.store.messages import outbox
from interlock.store.runs import traces
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx

CAUSE, RUN_KIND = "schedule", "chat"
FAILED = "SCHEDULED_RUN_FAILED"
"""The kind of the alert about a schedule whose run failed; settled by the next one that does not."""
SAID = "said"
"""The kind of subject of what an agent said unasked: `said:RUN`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A message of a schedule to a persona. `kind` is cron or heartbeat, as in the agent's descriptor."""

    schedule_id: str
    name: str
    kind: str
    project_id: str
    timezone: str
    persona: Persona
    text: str
    key: str
    due_at: datetime
    ordered_by: str
    """The id of the person who created the schedule."""
    model: str | None = None
    run_id: str = field(default_factory=lambda: new_id("run"))


def post(tx: Tx, call: Call, now: datetime) -> tuple[str, bool]:
    """Posts the run; returns its id, and whether it is new.

    It is not while an earlier message of the schedule still waits in the mailbox: that one will do for both.
    """
    squad.ensure_project(tx, call.project_id, call.timezone, now)
    who = Descriptor(call.kind, call.project_id, call.persona.name, {"schedule": call.schedule_id})
    agent = squad.ensure_agent(tx, who, call.persona.to_json(), call.persona.trust, now)
    payload = {
        "text": call.text, "from": f"schedule {call.name}", "schedule": call.schedule_id, "name": call.name,
        "due_at": call.due_at.isoformat(), principals.ORDERED_BY: call.ordered_by,
    }  # fmt: skip
    message = Post(
        project_id=call.project_id, agent_id=agent.id, kind=RUN_KIND, payload=payload, idempotency_key=call.key,
        cause_kind=CAUSE, cause_id=call.schedule_id, model=call.model, coalesce=True, run_id=call.run_id,
    )  # fmt: skip
    return mailbox.post(tx, message, now)


def notice(payload: Mapping[str, Any]) -> tuple[Text, ...]:
    """A note that a schedule has woken the run; empty for other runs."""
    if "schedule" not in payload:
        return ()
    name = one_line(str(payload.get("name", "")))
    return (
        system_words(
            "schedule",
            f'Nobody is waiting in this chat: the schedule "{name}" woke you. Your last words are sent to the people '
            "of this project. Where there is nothing they need to know, call do_nothing, and nothing is sent.",
        ),
    )


def ended(tx: Tx, run: Any, status: str, error: str | None, result: str | None, now: datetime) -> None:
    """Sends people the answer of a run, or that it failed, in the transaction that ends it.

    Nothing is said of one that called do_nothing, or had no words.
    """
    if run.cause_kind != CAUSE or run.kind != RUN_KIND:
        return
    if status == "failed":
        name = one_line(str(run.payload.get("name", "")))
        audit.alert(
            tx, now, project_id=run.project_id, severity="warning", kind=FAILED, subject=run.cause_id,
            text=f"the run {run.id} of the schedule `{name}` failed: {error}", key=f"scheduled:{run.cause_id}",
        )  # fmt: skip
        return
    if status == "completed":
        audit.settle(tx, FAILED, run.cause_id, now)
    if status == "completed" and (result or "").strip() and not kept_quiet(tx, run.id):
        outbox.notify(tx, "text", f"{SAID}:{run.id}", now, project_id=run.project_id)


def kept_quiet(tx: Tx, run_id: str) -> bool:
    """Whether a run answered with the agreed words that nothing needs to be said."""
    return any(call.tool == "do_nothing" and call.status == "done" for call in traces.calls(tx, run_id))
