"""An agent's side of the workspace chat: who speaks to it and where, its tools to answer, and a sweep of its turns.

Whose turn it is, and in which transaction the next one begins, is `store.messages.rounds`' matter.
"""

from collections.abc import Mapping
from typing import Any

from interlock.agents.prompts.quoting import one_line
from interlock.agents.prompts.system_words import system_words
from interlock.agents.runtime import Runtime
from interlock.llm.messages import Text
from interlock.policy.audience import DM, PERSON
from interlock.store.messages import mention_notices, rounds

SPEAKS = frozenset({"send_message", "react_to_message"})
"""Offered in every run that something said in a channel has begun, whatever the persona's file says."""
LONGEST_NAME = 80


def tools(run: Any) -> frozenset[str]:
    """The tools that a run is offered because of where it was woken."""
    return SPEAKS if run.channel_id is not None else frozenset()


def is_delivered(run: Any) -> bool:
    """Whether somebody reads the final text of a chat run: not in a channel, nor in a task's thread. Source: row J4."""
    return run.channel_id is None and run.cause_kind != mention_notices.CAUSE


def speaker_of(payload: Mapping[str, Any]) -> tuple[Text, ...]:
    """Who speaks, and where, to stand before their words; empty outside channels and tasks' threads."""
    name = one_line(str(payload.get("from", "")), limit=LONGEST_NAME)
    who = f"{name}, a person," if payload.get("by") == PERSON else f"{name}, another agent,"
    if "room" in payload:
        thread = f", in the thread of {payload['thread']}" if payload.get("thread") else ""
        heading = f"{who} says {_where(payload)}{thread} (message {payload['message']}):"
    elif "thread_of" in payload:
        title = one_line(str(payload.get("title", "")))
        heading = (
            f"{who} names you in the thread of the task “{title}” ({payload['thread_of']}). Nobody reads what you "
            "write here: act on it where you can, or call do_nothing."
        )
    else:
        return ()
    return (system_words("system", heading),)


def _where(payload: Mapping[str, Any]) -> str:
    if payload.get("room_kind") == DM:
        return "in your direct conversation"
    return f"in #{one_line(str(payload['room']), limit=LONGEST_NAME)}"


async def sweep(runtime: Runtime) -> str:
    """Passes on the turns of agents that cannot take them now, such as quarantined ones; may be repeated.

    What goes on by itself is left alone, and nothing is written where there is nothing to pass on.
    """
    now = runtime.clock.now()
    if not await runtime.store.read(rounds.has_stalled, now):
        return "0 turns passed on"
    return f"{await runtime.store.write(rounds.resume_stalled, now)} turns passed on"
