"""What somebody says in a chat that is no command: a message for the persona they name, or last talked with there.

What a run answers is delivered to where it was said; how commands are carried out is in `commands`.
"""

from dataclasses import replace
from datetime import timedelta

from interlock.agents.context import Runtime
from interlock.desk import conversation, replies
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
    """Passes a text on to the agent that it is for; None where its answer will be all that there is to say.

    One word or two that look like a command are taken for one that was misspelled.

    Raises Refused, UsageError.
    """
    text, place = f"{request.command} {request.words}".strip(), _there(request.place)
    found, count = addressed(text, runtime.personas.personas), len(text.split(maxsplit=2))
    if found is None and count <= MISSPELLED and meant(request.command) is not None:
        return replies.unknown(place.surface, request.command)
    if found is None and (persona := await _latest(runtime, place)) is not None:
        found = Addressed(persona, text)
    if found is None:
        few = count < MISSPELLED
        return replies.unknown(place.surface, text) if few else replies.addressless(runtime.personas.personas)
    require_operator(person, "talk to agents")
    if not found.text:
        return replies.fault(f"say something to {found.persona}: `@{found.persona} …`")
    await conversation.say(
        runtime, person, found.persona, found.text, idempotency_key=f"chat:{request.key}", place=place
    )  # fmt: skip
    waits = await runtime.store.read(hindrance)
    return replies.said(f"{found.persona} has it and waits", in_chat(place.surface, waits)) if waits else None


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
