"""Conversations with agents over HTTP, streamed or not, and the workspace chat; messages are not interpreted here."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from interlock.desk.agents import conversation
from interlock.desk.events import sse
from interlock.desk.events.answering import stream_reply
from interlock.desk.identities.gate import Caller, NotKnown
from interlock.desk.reading.views import View
from interlock.desk.workspace_chat import room_views, rooms
from interlock.web.dependencies import Here, Services, Who, project_of, require_within, token_of
from interlock.web.events import EventStream, while_good
from interlock.web.pages import Limit, page

Ident = Annotated[str, Path(max_length=200)]
Key = Annotated[str | None, Field(default=None, min_length=1, max_length=200)]


class Body(BaseModel):
    """The body of a request; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class ChatBody(Body):
    """A message to an agent."""

    message: str
    stream: bool = False
    project: str | None = None
    model: str | None = None
    idempotency_key: Key = None


class MessageBody(Body):
    """A message in a channel or thread."""

    channel_id: str
    text: str
    parent_id: str | None = None
    idempotency_key: Key = None


class EditBody(Body):
    """The new text of a message."""

    text: str


class ChannelBody(Body):
    """A new channel, open or private, or a direct conversation with a persona."""

    name: str | None = None
    kind: str = "channel"
    members: list[str] = []
    topic: str = ""
    project: str | None = None
    persona: str | None = None
    """Only for a direct conversation."""


class ReactionBody(Body):
    """A reaction to a message."""

    emoji: str


def add_to(router: APIRouter) -> None:
    """Adds the paths. Source: interfaces, "HTTP"."""
    for method, path, endpoint, status in (
        ("POST", "/api/agents/{persona}/chat", chat, 200),
        ("POST", "/api/messages", say, 201),
        ("PATCH", "/api/messages/{message_id}", edit, 200),
        ("POST", "/api/messages/{message_id}/reactions", react, 200),
        ("DELETE", "/api/messages/{message_id}/reactions/{emoji}", unreact, 200),
        ("GET", "/api/channels", channels, 200),
        ("POST", "/api/channels", create, 201),
        ("GET", "/api/channels/{channel_id}", channel, 200),
        ("GET", "/api/channels/{channel_id}/messages", history, 200),
        ("POST", "/api/channels/{channel_id}/join", join, 200),
        ("POST", "/api/channels/{channel_id}/leave", leave, 200),
    ):
        router.add_api_route(path, endpoint, methods=[method], status_code=status, response_model=None)


async def chat(
    request: Request, persona: Ident, body: ChatBody, here: Here, who: Who
) -> Response | dict[str, Any]:  # fmt: skip
    """Sends a message to an agent; returns its reply, or what it waits for; with `stream`, as server-sent events.

    Each person has one conversation with each persona. The run continues if the client disconnects, or if its token is
    revoked: then the response is 401, and a stream ends.
    """
    token = token_of(request) or ""
    runtime, project = here.live.runtime, await project_of(here, who, body.project)
    where = project or runtime.settings.project
    key = f"http:{who.person.id}:{where}:{persona}:{body.idempotency_key}" if body.idempotency_key else None

    async def post(run_id: str | None) -> str:
        return await conversation.say(
            runtime, who.person, persona, body.message, project=project, model=body.model, idempotency_key=key,
            run_id=run_id,
        )  # fmt: skip

    if not body.stream:
        reply = await here.answers.of(await post(None))
        if not await here.gate.lasts(token):
            raise NotKnown("the token is no longer good: `interlock token create` makes another")
        return sse.answer(reply)
    said = stream_reply(runtime, here.answers, post)
    run_id = str(await anext(said))
    frames = sse.conversation_frames(said, runtime.settings.http.keep_alive_s)
    return EventStream(while_good(here, token, frames), {"x-run-id": run_id})


async def say(body: MessageBody, here: Here, who: Who) -> View:
    """Posts a message to a channel or thread, in the name of the token's person."""
    await _within(here, who, body.channel_id)
    key = f"http:{body.idempotency_key}" if body.idempotency_key else None
    return await rooms.say(
        here.live.runtime, who.person, body.channel_id, body.text, parent_id=body.parent_id, idempotency_key=key
    )


async def edit(message_id: Ident, body: EditBody, here: Here, who: Who) -> View:
    """Edits a message of the caller."""
    await _of_message(here, who, message_id)
    return await rooms.edit(here.live.runtime, who.person, message_id, body.text)


async def react(message_id: Ident, body: ReactionBody, here: Here, who: Who) -> View:
    """Adds a reaction to a message."""
    await _of_message(here, who, message_id)
    return await rooms.react(here.live.runtime, who.person, message_id, body.emoji)


async def unreact(message_id: Ident, emoji: Ident, here: Here, who: Who) -> View:
    """Removes a reaction of the caller from a message."""
    await _of_message(here, who, message_id)
    return await rooms.react(here.live.runtime, who.person, message_id, emoji, on=False)


async def channels(
    here: Here, who: Who, response: Response, project: str | None = None, archived: bool = False, limit: Limit = 200
) -> list[View]:  # fmt: skip
    """Lists the channels that the caller may read, by name; direct conversations come last."""
    wanted = await project_of(here, who, project)
    found = await rooms.channels(here.live.runtime, who.person, project=wanted, archived=archived, most=limit + 1)
    return page(response, found, limit)


async def channel(channel_id: Ident, here: Here, who: Who) -> View:
    """Returns a channel."""
    return await _within(here, who, channel_id)


async def create(body: ChannelBody, here: Here, who: Who) -> View:
    """Creates a channel, or a direct conversation with `persona`."""
    runtime, project = here.live.runtime, await project_of(here, who, body.project)
    if body.persona is not None:
        return await rooms.dm(runtime, who.person, body.persona, project=project)
    return await rooms.create(
        runtime, who.person, body.name or "", kind=body.kind, members=body.members, topic=body.topic, project=project
    )


async def history(
    channel_id: Ident,
    here: Here,
    who: Who,
    response: Response,
    thread: str | None = None,
    before: str | None = None,
    limit: Annotated[int, Query(ge=1, le=rooms.MOST_SHOWN)] = 50,
) -> list[View]:
    """Lists the messages of a channel or thread, oldest first: the latest, or those before the id `before`."""
    await _within(here, who, channel_id)
    found = await rooms.history(
        here.live.runtime, who.person, channel_id, thread=thread, before=before, most=limit + 1
    )  # fmt: skip
    return page(response, found, limit, newest_last=True)


async def join(channel_id: Ident, here: Here, who: Who) -> View:
    """Adds the caller to an open channel."""
    await _within(here, who, channel_id)
    return await rooms.join(here.live.runtime, who.person, channel_id)


async def leave(channel_id: Ident, here: Here, who: Who) -> View:
    """Removes the caller from a channel."""
    await _within(here, who, channel_id)
    return await rooms.leave(here.live.runtime, who.person, channel_id)


async def _within(here: Services, who: Caller, channel_id: str) -> View:
    found = await rooms.channel(here.live.runtime, who.person, channel_id)
    require_within(who, found["project_id"], "channel", channel_id)
    return found


async def _of_message(here: Services, who: Caller, message_id: str) -> None:
    row = await here.live.runtime.store.read(room_views.message, who.person, message_id)
    await _within(here, who, row.channel_id)
