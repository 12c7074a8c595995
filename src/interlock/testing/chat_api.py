"""A local server that speaks chat completions with streaming, answering from a script.

For tests: `async with ChatApi(script) as api:` and `api.base_url`; or as a process of its own, for tests that kill
what talks to it: `python -m interlock.testing.chat_api --script module:function`. What it can answer is in
`chat_script`.
"""

import json

from interlock.testing.chat_script import ChatAnswer, line
from interlock.testing.messages_script import Raw, Refusal
from interlock.testing.scripted_api import Request, ScriptedApi, run

__all__ = ["ChatApi", "Request", "main"]


class ChatApi(ScriptedApi):
    """The server; an async context manager. Its attributes are those of `MessagesApi`."""

    path = "/v1/chat/completions"

    @property
    def base_url(self) -> str:
        """What the base URL of a provider must be."""
        return f"{self.address}/v1"

    def whole(self, answer: ChatAnswer, request: Request) -> bytes:
        """The completion in one piece."""
        return json.dumps(answer.completion(request.body, request.number)).encode()

    def events(self, answer: ChatAnswer, request: Request) -> list[bytes]:
        """The completion in chunks, with the line that ends them where the answer has one."""
        chunks = [line(chunk) for chunk in answer.chunks(request.body, request.number)]
        return [*chunks, line("[DONE]")] if answer.done else chunks

    def refused(self, refusal: Refusal) -> Raw:
        """An error as most providers tell it."""
        body = {"error": {"message": refusal.message, "type": refusal.kind, "param": None, "code": None}}
        return Raw(json.dumps(body).encode(), "application/json", refusal.status, refusal.headers)

    def headers(self, request: Request) -> dict[str, str]:
        """Of an answer that is a stream."""
        return {"x-request-id": f"req_{request.number}"}


def main(argv: list[str] | None = None) -> None:
    """Serves as the command line says, until it is killed."""
    run(ChatApi, argv)


if __name__ == "__main__":
    main()
