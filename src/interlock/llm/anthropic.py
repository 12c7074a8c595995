"""Claude through the official SDK, or a server that speaks its Messages API.

The only module that imports `anthropic`. The format of requests is in `anthropic_request`, that of answers in
`anthropic_events`; deadlines, connections and errors are handled in `sdk_model`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from interlock.llm.anthropic_events import MessageAssembly, events_of
from interlock.llm.anthropic_request import request_body
from interlock.llm.messages import ModelRequest
from interlock.llm.sdk_model import Assembly, Endpoint, SdkModel


class AnthropicModel(SdkModel):
    """A `Model` over the Messages API of Anthropic or of a server that speaks it.

    Constructing one imports the SDK, which takes over a second the first time.

    Raises UsageError for an invalid key or base URL.
    """

    def __init__(
        self,
        api_key: str,
        base_url: str | None = None,
        *,
        name: str = "anthropic",
        key_variable: str = "ANTHROPIC_API_KEY",
        headers: Mapping[str, str] | None = None,
        connect_timeout_s: float = 10.0,
    ) -> None:
        import anthropic

        self.sdk = anthropic
        super().__init__(Endpoint(name, api_key, key_variable, base_url, headers or {}, connect_timeout_s))

    def _make_client(self, key: str, connections: Any) -> Any:
        given = dict(self.endpoint.headers)
        client = self.sdk.AsyncAnthropic(
            api_key=key,
            base_url=self.endpoint.base_url,
            max_retries=0,
            http_client=connections,
            default_headers=given or None,
        )
        if client.base_url.host == "api.anthropic.com":
            return client
        # The SDK sends the key as a bearer token; what stands in for the API may look only at x-api-key.
        return client.with_options(default_headers={"x-api-key": key, **given})

    async def _send(self, client: Any, request: ModelRequest, limits: Any) -> Any:
        return await client.messages.create(**request_body(request, self.provider), stream=True, timeout=limits)

    def _assembly(self) -> Assembly:
        return MessageAssembly(self.provider)

    def _events_of(self, answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
        return events_of(answer) if answer.get("type") == "message" else iter((answer,))
