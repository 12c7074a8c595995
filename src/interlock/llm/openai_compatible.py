"""The adapter for all providers of the chat completions API, through the OpenAI SDK.

The only module that imports `openai`. The format of requests is in `openai_request`, that of answers in
`openai_events`, the differences between providers in `openai_dialects`; deadlines, connections and errors are handled
in `sdk_model`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from interlock.llm.messages import ModelRequest
from interlock.llm.openai_dialects import CUSTOM, DIALECTS
from interlock.llm.openai_events import ChatAssembly, events_of
from interlock.llm.openai_request import request_body
from interlock.llm.sdk_model import Assembly, Endpoint, SdkModel


class OpenAICompatibleModel(SdkModel):
    """A `Model` over the chat completions API of the provider `name`, or of a compatible server.

    Constructing one imports the SDK.

    Raises UsageError for an invalid key or base URL.
    """

    def __init__(
        self,
        api_key: str,
        base_url: str | None = None,
        *,
        name: str = "openai",
        key_variable: str = "OPENAI_API_KEY",
        headers: Mapping[str, str] | None = None,
        connect_timeout_s: float = 10.0,
    ) -> None:
        import openai

        self.sdk = openai
        self._dialect = DIALECTS.get(name, CUSTOM)
        where = base_url or self._dialect.base_url
        super().__init__(Endpoint(name, api_key, key_variable, where, headers or {}, connect_timeout_s))

    def _make_client(self, key: str, connections: Any) -> Any:
        return self.sdk.AsyncOpenAI(
            api_key=key,
            base_url=self.endpoint.base_url,
            max_retries=0,
            http_client=connections,
            default_headers={**self._nothing_of_openai(), **self.endpoint.headers},
        )

    def _nothing_of_openai(self) -> dict[str, Any]:
        """Hides the environment's settings of an OpenAI account from other providers."""
        if self.provider == "openai":
            return {}
        return {"OpenAI-Organization": self.sdk.Omit(), "OpenAI-Project": self.sdk.Omit()}

    async def _send(self, client: Any, request: ModelRequest, limits: Any) -> Any:
        body = request_body(request, self.provider, self._dialect)
        extra = {name: body.pop(name) for name in ("reasoning",) if name in body}
        return await client.chat.completions.create(**body, extra_body=extra or None, stream=True, timeout=limits)

    def _assembly(self) -> Assembly:
        return ChatAssembly(self.provider)

    def _events_of(self, answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
        return events_of(answer)
