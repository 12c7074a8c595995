"""A router for a FastAPI host application, whose users can chat with personas. Source: row J6.

Authentication is a dependency of the host's.
"""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Annotated, Any, Protocol

from fastapi import APIRouter, Body, Depends, HTTPException, Path, Request
from fastapi.responses import Response

from interlock.agents.runtime import Runtime
from interlock.core.errors import InterlockError, NotFound, Refused, UsageError
from interlock.desk.agents import conversation
from interlock.desk.context import Person, is_outage, outage_message
from interlock.desk.events import sse
from interlock.desk.events.answering import Answers, stream_reply
from interlock.desk.identities import guests
from interlock.desk.work import controls

_log = logging.getLogger(__name__)


class Box(Protocol):
    """An open home: `interlock.Interlock`."""

    @property
    def runtime(self) -> Runtime:
        """Its runtime."""

    @property
    def answers(self) -> Answers:
        """The replies of runs."""

    async def start(self) -> bool:
        """Starts a worker in this process, unless another process executes runs."""


class _Stream(Response):
    """Streams frames until they end or the client disconnects."""

    media_type = "text/event-stream"

    def __init__(
        self, frames: AsyncGenerator[bytes, None], run_id: str, gone: Callable[[], Awaitable[object]] | None
    ) -> None:
        super().__init__()
        self.frames, self.run_id, self.gone = frames, run_id, gone

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await sse.stream(self.frames, {"x-run-id": self.run_id}, receive, send, gone=self.gone)


def chat_router(
    box: Box | Callable[[], Box],
    *,
    authorize: Callable[..., Any],
    project: str | None = None,
    personas: tuple[str, ...] | None = None,
    cancel_when_gone: bool = False,
) -> APIRouter:
    """A router with `POST /{persona}/chat`, to be included in the host's application.

    `box` is an open home, or a function that returns it, for a host that opens it when it starts.

    `authorize` is a dependency of the host's: it returns its user, an id or something with an `id` and perhaps a
    `name`, and raises where nobody is signed in; nothing is done before it has let a request pass. Each user has one
    conversation with each persona. `personas` are those that users may talk to, all by default.

    The body is `{message, stream?}`. The answer is {response, tool_calls, iterations, run_id, stop_reason, cost_usd};
    with `stream` it is the last of the server-sent events, `done`. A client that leaves does not end the run, unless
    `cancel_when_gone` and it was streamed.
    """
    router = APIRouter(dependencies=[Depends(_require_json)])

    async def chat(
        persona: Annotated[str, Path(max_length=200)],
        user: Annotated[Any, Depends(authorize)],
        message: Annotated[str, Body()],
        stream: Annotated[bool, Body()] = False,
    ) -> Any:
        """Sends a message to a persona, and returns its reply, or what it waits for; as events if `stream`."""
        try:
            if personas is not None and persona not in personas:
                raise UsageError(f"no persona `{persona}`: there are {', '.join(personas)}")
            home = box() if callable(box) else box
            person = await guests.guest(home.runtime, user)
            return await _said(home, person, persona, message, project, stream, cancel_when_gone)
        except InterlockError as error:
            if is_outage(error):
                _log.warning("a message could not be taken: %s", error)
            detail = outage_message(error) if is_outage(error) else str(error)
            raise HTTPException(_status(error), " ".join(detail.split())) from error

    router.add_api_route("/{persona}/chat", chat, methods=["POST"], response_model=None)
    return router


async def _require_json(request: Request) -> None:
    """INVARIANT: only what says that it is JSON is read, whatever the host's FastAPI would take.

    A page of another site cannot have a browser send that, with the cookies of whoever is signed in, without asking
    the host first.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, "the body is JSON: send `Content-Type: application/json`")


async def _said(
    box: Box, person: Person, persona: str, message: str, project: str | None, stream: bool, cancels: bool
) -> Any:
    async def post(run_id: str | None) -> str:
        posted = await conversation.say(box.runtime, person, persona, message, project=project, run_id=run_id)
        await box.start()
        return posted

    if not stream:
        return sse.answer(await box.answers.of(await post(None)))
    said = stream_reply(box.runtime, box.answers, post)
    run_id = str(await anext(said))

    async def gone() -> None:
        try:
            await controls.cancel(box.runtime, person, run_id, reason="the client has left", wait_s=0)
        except InterlockError as error:
            _log.info("run %s goes on without its client: %s", run_id, error)

    return _Stream(
        sse.conversation_frames(said, box.runtime.settings.http.keep_alive_s), run_id, gone if cancels else None
    )


def _status(error: InterlockError) -> int:
    if is_outage(error):
        return 503
    if isinstance(error, NotFound):
        return 404
    if isinstance(error, Refused):
        return 403
    return 422 if isinstance(error, UsageError) else 409
