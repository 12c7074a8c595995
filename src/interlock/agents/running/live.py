"""The live events of a run: its start, the model's text, tool calls, its end.

Listeners subscribe in `agents.events`; what has to last is in rows.
"""

from typing import Any

from interlock.agents.running.session import Session
from interlock.agents.running.underway import CallState
from interlock.agents.runtime import Runtime
from interlock.core.events import ASSISTANT, COMPACTION, DONE, LIFECYCLE, TOOL, TYPING, Event
from interlock.store.mailboxes.mailbox import Claim
from interlock.tools.execute import Done

PHASES = {"completed": "end", "failed": "error", "cancelled": "abort"}
"""Of a run's lifecycle, by the status that it ends with. Source: S4 "Streaming Events"."""


def began(session: Session) -> None:
    """Publishes that a run starts, continues, or calls its model once more; text streamed by the last call is void."""
    _publish(session.runtime, session.claim, LIFECYCLE, phase="start", session_key=session.claim.run.agent_id)
    if session.claim.run.channel_id is not None:
        _publish(
            session.runtime, session.claim, TYPING, persona=session.persona.name, channel_id=_channel(session.claim)
        )


class Words:
    """Publishes the streamed text of one model call without the values of secrets.

    What may be the beginning of one is kept back until the rest shows what it is.
    """

    __slots__ = ("_kept", "_session")

    def __init__(self, session: Session) -> None:
        self._session, self._kept = session, ""

    def said(self, delta: str) -> None:
        """Publishes a piece of the model's text."""
        session = self._session
        if not session.runtime.events.has_listeners or not delta:
            self._kept = ""
            return
        text, self._kept = session.runtime.vault.parted(self._kept + delta)
        if text:
            _publish(session.runtime, session.claim, ASSISTANT, delta=text)

    def end(self) -> None:
        """Publishes what was kept back, as no more text comes."""
        text, self._kept = self._kept, ""
        if text:
            _publish(self._session.runtime, self._session.claim, ASSISTANT, delta=text)


def compacted(session: Session, tokens_before: int, summary: str) -> None:
    """Publishes that a summary replaced the earlier conversation."""
    _publish(session.runtime, session.claim, COMPACTION, tokens_before=tokens_before, summary=summary)


def calls(session: Session, call: CallState) -> None:
    """Publishes the start of a tool call."""
    if session.runtime.events.has_listeners:
        _publish(session.runtime, session.claim, TOOL, name=call.tool, call_id=call.id, args=call.args)


def called(session: Session, call: CallState, outcome: Done) -> None:
    """Publishes the end of a tool call."""
    if session.runtime.events.has_listeners:
        result, failed = outcome.content, outcome.is_error
        _publish(session.runtime, session.claim, TOOL, name=call.tool, call_id=call.id, result=result, is_error=failed)


def ended(runtime: Runtime, claim: Claim, status: str, stop_reason: str, session: Session | None) -> None:
    """Publishes that a run has ended, or is no longer executed here."""
    if not runtime.events.has_listeners:
        return
    more: dict[str, Any] = {"session_key": claim.run.agent_id, "stop_reason": stop_reason}
    if session is not None:
        more |= {"tokens": session.usage.as_dict(), "duration_ms": round(session.worked_s * 1000)}
    _publish(runtime, claim, LIFECYCLE, phase=PHASES[status], **more)
    if claim.run.channel_id is not None:
        persona = session.persona.name if session is not None else None
        _publish(runtime, claim, DONE, persona=persona, channel_id=_channel(claim))


def _channel(claim: Claim) -> str:
    return str(claim.run.channel_id)


def _publish(runtime: Runtime, claim: Claim, what: str, **payload: Any) -> None:
    if runtime.events.has_listeners:
        run = claim.run
        event = {"run_id": run.id, **payload}
        runtime.events.tell(
            Event(
                name=what, payload=event, project_id=run.project_id, run_id=run.id, agent_id=run.agent_id,
                channel_id=run.channel_id or run.payload.get("within"), mission_id=run.mission_id,
                person_id=run.cause_id if run.cause_kind == "message" else None,
            )
        )  # fmt: skip
