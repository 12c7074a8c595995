"""A local server that speaks the Messages API with streaming, answering from a script.

For tests: `async with MessagesApi(script) as api:` and `api.base_url`; or as a process of its own, for tests
that kill what talks to it: `python -m interlock.testing.messages_api --script module:function`. What it can
answer is in `messages_script`.
"""

import json

from interlock.testing.messages_script import Answer, Raw, Refusal, sse
from interlock.testing.scripted_api import Request, ScriptedApi, run

__all__ = ["MessagesApi", "Request", "main"]


class MessagesApi(ScriptedApi):
    """The server; an async context manager.

    With `api_key` only that key is let in, by bearer token or x-api-key; else any. `requests` holds all that
    was asked, `connection_count` how many connections were made, `hanging` the numbers of requests whose stream has
    stopped on the way (`Ending.HANG`), `answered` of those that were answered whole, `abandoned` of those whose client
    went away before the end. With `journal` each request and its outcome becomes a line of JSON.
    """

    path = "/v1/messages"

    @property
    def base_url(self) -> str:
        """What `ANTHROPIC_BASE_URL` must be."""
        return self.address

    def whole(self, answer: Answer, request: Request) -> bytes:
        """The message in one piece."""
        return json.dumps(answer.message(request.body, request.number)).encode()

    def events(self, answer: Answer, request: Request) -> list[bytes]:
        """The message as events."""
        return [sse(event) for event in answer.events(request.body, request.number)]

    def refused(self, refusal: Refusal) -> Raw:
        """An error as the Messages API tells it."""
        body = {"type": "error", "error": {"type": refusal.kind, "message": refusal.message}}
        return Raw(json.dumps(body).encode(), "application/json", refusal.status, refusal.headers)


def main(argv: list[str] | None = None) -> None:
    """Serves as the command line says, until it is killed."""
    run(MessagesApi, argv)


if __name__ == "__main__":
    main()
