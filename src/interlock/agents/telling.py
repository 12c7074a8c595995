"""Whom the last words of a run are told: who talks with its agent in a connector, or the people of a schedule.

Nothing is said here of what they are: that is drawn up when it is delivered.
"""

from datetime import datetime
from typing import Any

from interlock.agents import scheduled
from interlock.store import outbox, traces
from interlock.store.posting import CHILD_END
from interlock.store.tx import Tx

REPLY = "reply"
"""The kind of subject of what an agent answers in a connector: `reply:RUN`."""


def ended(tx: Tx, run: Any, status: str, error: str | None, result: str | None, now: datetime) -> None:
    """Tells people what a run has said, or that it failed, in the transaction that ends it.

    Nothing is said of one that had no words: an empty answer is one. Source: rows E15, J4.
    """
    scheduled.ended(tx, run, status, error, result, now)
    if (there := _place(tx, run)) is None:
        return
    if status != "completed" or ((result or "").strip() and not scheduled.kept_quiet(tx, run.id)):
        outbox.tell_there(tx, "text", f"{REPLY}:{run.id}", there, now)


def _place(tx: Tx, run: Any) -> str | None:
    """Where the person is who waits for a run's words; of what woke an agent later, where it last was talked with."""
    if run.dm_conversation_id is not None:
        return str(run.dm_conversation_id) if run.channel_id is None else None
    return traces.last_place(tx, run.agent_id) if run.kind == CHILD_END or run.cause_kind == "agent" else None
