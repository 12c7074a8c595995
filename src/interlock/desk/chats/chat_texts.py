"""Chat texts that are not commands: messages to the persona that they name, or that was last talked with there.

The answer is delivered to the same place; commands are executed in `commands`.
"""

from dataclasses import replace
from datetime import timedelta

from interlock.agents.persona import COORDINATOR
from interlock.agents.runtime import Runtime
from interlock.agents.special.routing import corrected
from interlock.desk.agents import conversation
from interlock.desk.chats import replies, routing
from interlock.desk.chats.addressing import Addressed, addressed
from interlock.desk.chats.cards import Card
from interlock.desk.chats.command_table import in_chat, suggestion
from interlock.desk.chats.requests import Place, Request
from interlock.desk.context import Person, require_operator
from interlock.desk.operations.emergency import hindrance
from interlock.store.messages import conversations

MISSPELLED = 2
"""The maximum number of words of a text that may be a misspelled command."""
GOES_ON = timedelta(hours=12)
"""How long a conversation with a persona continues without naming it again."""


async def talk(runtime: Runtime, person: Person, request: Request) -> Card | None:
    """Passes a text on to the right agent; returns a card, or None if the agent's answer suffices.

    One or two words that resemble a command are treated as a misspelled command.

    Raises Refused, UsageError.
    """
    text, place = f"{request.command} {request.words}".strip(), _there(request.place)
    found, count = addressed(text, runtime.personas.personas), len(text.split(maxsplit=2))
    if found is None and (other := corrected(text, runtime.personas.personas)) is not None:
        return await _corrected(runtime, person, other, place, request.key)
    if found is None and count <= MISSPELLED and suggestion(request.command) is not None:
        return replies.unknown(place.surface, request.command)
    persona = await _latest(runtime, place) if found is None else None
    if persona is not None and not await routing.is_known(runtime, f"chat:{request.key}"):
        found = Addressed(persona, text)
    if found is None and count < MISSPELLED:
        return replies.unknown(place.surface, text)
    if found is None:
        became = await routing.route(runtime, person, text, place=place, idempotency_key=f"chat:{request.key}")
        return await _waiting(runtime, place, became.target or COORDINATOR)
    require_operator(person, "talk to agents")
    if not found.text:
        return replies.fault(f"say something to {found.persona}: `@{found.persona} …`")
    await conversation.say(
        runtime, person, found.persona, found.text, idempotency_key=f"chat:{request.key}", place=place
    )  # fmt: skip
    return await _waiting(runtime, place, found.persona)


async def _waiting(runtime: Runtime, place: Place, who: str) -> Card | None:
    """Why the squad is not working now; None if it is."""
    waits = await runtime.store.read(hindrance)
    return replies.notice(f"{who} has it and waits", in_chat(place.surface, waits)) if waits else None


async def _corrected(
    runtime: Runtime, person: Person, other: tuple[str, str], place: Place, key: str
) -> Card | None:  # fmt: skip
    persona, text = other
    if await routing.correct(runtime, person, persona, text, place=place, key=key) is None:
        return replies.fault(f"nothing was said here that {persona} could be given: `@{persona} …`")
    return None


async def here(runtime: Runtime, place: Place) -> str | None:
    """The persona of the recent conversation at a place; None if there is none."""
    return await _latest(runtime, _there(place))


def _there(place: Place) -> Place:
    """The place of a new conversation: a message in a channel starts a thread, if possible."""
    beneath = place.reply.get("beneath")
    return place if place.thread is not None or beneath is None else replace(place, thread=str(beneath))


async def _latest(runtime: Runtime, place: Place) -> str | None:
    """The persona that was recently talked with here."""
    since = runtime.clock.now() - GOES_ON
    found = await runtime.store.read(
        conversations.talked_with, place.surface, place.channel, place.thread, since
    )  # fmt: skip
    return found if found in runtime.personas.personas else None
