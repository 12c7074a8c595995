"""What somebody says in a chat that is no command: a message for the persona they name, or last talked with there.

What a run answers is delivered to where it was said; how commands are carried out is in `commands`.
"""

from dataclasses import replace
from datetime import timedelta

from interlock.agents.context import Runtime
from interlock.agents.persona import COORDINATOR
from interlock.agents.routing import corrected
from interlock.desk import conversation, replies, routing
from interlock.desk.addressing import Addressed, addressed
from interlock.desk.cards import Card
from interlock.desk.command_table import in_chat, meant
from interlock.desk.emergency import hindrance
from interlock.desk.office import Person, require_operator
from interlock.desk.requests import Place, Request
from interlock.store import conversations

MISSPELLED = 2
"""So few words with one that is almost a command."""
GOES_ON = timedelta(hours=12)
"""For so long a conversation with a persona goes on without naming it again."""


async def talk(runtime: Runtime, person: Person, request: Request) -> Card | None:
    """Passes a text on to the agent that it is for; None if its answer will be all that there is to say.

    One word or two that look like a command are taken for one that was misspelled.

    Raises Refused, UsageError.
    """
    text, place = f"{request.command} {request.words}".strip(), _there(request.place)
    found, count = addressed(text, runtime.personas.personas), len(text.split(maxsplit=2))
    if found is None and (other := corrected(text, runtime.personas.personas)) is not None:
        return await _corrected(runtime, person, other, place, request.key)
    if found is None and count <= MISSPELLED and meant(request.command) is not None:
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
    """What keeps the squad from working now; None if nothing does."""
    waits = await runtime.store.read(hindrance)
    return replies.said(f"{who} has it and waits", in_chat(place.surface, waits)) if waits else None


async def _corrected(
    runtime: Runtime, person: Person, other: tuple[str, str], place: Place, key: str
) -> Card | None:  # fmt: skip
    persona, text = other
    if await routing.correct(runtime, person, persona, text, place=place, key=key) is None:
        return replies.fault(f"nothing was said here that {persona} could be given: `@{persona} …`")
    return None


async def here(runtime: Runtime, place: Place) -> str | None:
    """The persona that a conversation at a place is with; None if there is none, or not lately."""
    return await _latest(runtime, _there(place))


def _there(place: Place) -> Place:
    """Where a conversation is that begins here: what is said in the open of a channel begins a thread, if it can."""
    beneath = place.reply.get("beneath")
    return place if place.thread is not None or beneath is None else replace(place, thread=str(beneath))


async def _latest(runtime: Runtime, place: Place) -> str | None:
    """The persona that was last talked with here, not too long ago."""
    since = runtime.clock.now() - GOES_ON
    found = await runtime.store.read(
        conversations.talked_with, place.surface, place.channel, place.thread, since
    )  # fmt: skip
    return found if found in runtime.personas.personas else None
