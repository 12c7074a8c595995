"""Claude through the official SDK: one streaming call, every fault as a ModelError.

The only module that imports `anthropic`. What a request or an answer looks like belongs to `anthropic_request`
and `anthropic_events`; trying again belongs to the runner.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from interlock.core.errors import UsageError
from interlock.llm.anthropic_events import MessageAssembly, events_of
from interlock.llm.anthropic_request import request_body
from interlock.llm.http_faults import fault_of, retry_after_s, summary
from interlock.llm.messages import ModelError, ModelFault, ModelRequest, StreamItem, Usage
from interlock.llm.tokens import estimate_prompt_tokens

if TYPE_CHECKING:
    from anthropic import APIConnectionError, APIStatusError, AsyncAnthropic, AsyncStream, DefaultAsyncHttpxClient
    from anthropic._streaming import ServerSentEvent
    from anthropic.types import RawMessageStreamEvent

_DRAIN_S = 0.25
"""How long a finished answer may take to end its HTTP body, so that the connection can be used again."""

_AT_ONCE = 32
"""Calls that share a pool of connections. A pool goes through all it has at the start and the end of each call: with a
thousand of them the event loop stood still for seconds."""

_KEY_CHARS = 8
"""Shorter keys, such as `local`, are words and no secrets."""


@dataclass(slots=True)
class _Pool:
    """Connections of their own, and how many calls are made over them now."""

    client: "AsyncAnthropic"
    calls: int = 0


class AnthropicModel:
    """A `Model` over the Messages API of Anthropic or of a server that speaks it.

    Building one imports the SDK (over a second the first time). Raises UsageError for a key or a base URL
    that cannot be one.
    """

    simulated = False

    def __init__(
        self,
        api_key: str,
        base_url: str | None = None,
        *,
        name: str = "anthropic",
        key_variable: str = "ANTHROPIC_API_KEY",
        connect_timeout_s: float = 10.0,
    ) -> None:
        import anthropic
        import httpx2

        self.provider = name
        self._sdk = anthropic
        self._httpx = httpx2
        self._key, self._key_variable = api_key.strip(), key_variable
        self._connect_timeout_s = connect_timeout_s
        if not self._key.isascii() or not self._key.isprintable() or not self._key or " " in self._key:
            raise UsageError(f"{key_variable} does not hold a key: copy it again, without quotes or line breaks")
        self._trust = httpx2.create_ssl_context()
        try:
            self._client = anthropic.AsyncAnthropic(
                api_key=self._key, base_url=base_url, max_retries=0, http_client=self._connections()
            )  # fmt: skip
        except httpx2.InvalidURL as error:
            raise UsageError(f"`{base_url}` is not a base URL for {name}: write `https://host`") from error
        if self._client.base_url.host != "api.anthropic.com":
            # The SDK sends the key as a bearer token; what stands in for the API may look only at x-api-key.
            self._client = self._client.with_options(default_headers={"x-api-key": self._key})
        self._pools = [_Pool(self._client)]

    async def close(self) -> None:
        """Closes connections."""
        for pool in self._pools:
            await pool.client.close()

    def _pool(self) -> "_Pool":
        """The first pool with room, so that few calls use few connections, again and again."""
        for pool in self._pools:
            if pool.calls < _AT_ONCE:
                return pool
        self._pools.append(_Pool(self._client.with_options(http_client=self._connections())))
        return self._pools[-1]

    def _connections(self) -> "DefaultAsyncHttpxClient":
        return self._sdk.DefaultAsyncHttpxClient(verify=self._trust)

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamItem]:
        """Deltas, then exactly one `Reply`.

        Raises ModelError. Its usage is the last that was reported; where the provider had the request but
        reported nothing, an estimate of the input. Closing the iterator ends the HTTP call.
        """
        deadline = asyncio.get_running_loop().time() + request.timeout_s
        assembly = MessageAssembly(self.provider)
        stream: AsyncStream[RawMessageStreamEvent] | None = None
        pool = self._pool()
        pool.calls += 1
        try:
            async with asyncio.timeout_at(deadline):
                stream = await self._open(request, pool.client)
            async with aclosing(self._events(stream)) as events:
                while not assembly.finished:
                    async with asyncio.timeout_at(deadline):
                        event = await anext(events, None)
                    if event is None:
                        raise EOFError("the answer ended before its final event")
                    for delta in assembly.accept(event):
                        yield delta
                reply = assembly.reply(stream.response.headers.get("request-id"), _input_of(request))
                await _drain(events)
            yield reply
        except self._sdk.APIStatusError as error:
            raise self._refused(error, assembly) from error
        except self._sdk.APIConnectionError as error:
            raise self._unreached(error, request) from error
        except TimeoutError as error:
            raise self._error(ModelFault.TIMEOUT, f"no answer within {request.timeout_s:g} s", assembly, request) from (
                error
            )
        except EOFError as error:
            raise self._error(ModelFault.DROPPED, str(error), assembly, request) from error
        except (self._httpx.HTTPError, self._httpx.StreamError, OSError) as error:
            detail = f"the connection broke in the middle of the answer ({type(error).__name__})"
            raise self._error(ModelFault.DROPPED, detail, assembly, request) from error
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            detail = f"the answer stopped making sense ({type(error).__name__})"
            raise self._error(ModelFault.DROPPED, detail, assembly, request) from error
        finally:
            try:
                if stream is not None:
                    await stream.close()
            finally:
                pool.calls -= 1

    async def _open(
        self, request: ModelRequest, client: "AsyncAnthropic"
    ) -> "AsyncStream[RawMessageStreamEvent]":  # fmt: skip
        connect_s = min(self._connect_timeout_s, request.timeout_s)
        stream: AsyncStream[RawMessageStreamEvent] = await client.messages.create(
            **request_body(request, self.provider),
            stream=True,
            timeout=self._httpx.Timeout(request.timeout_s, connect=connect_s),
        )
        return stream

    async def _events(self, stream: "AsyncStream[RawMessageStreamEvent]") -> AsyncGenerator[dict[str, Any], None]:
        """The events as plain dicts: a third of the price of the SDK's typed ones, and nothing unknown is lost."""
        content_type = stream.response.headers.get("content-type", "")
        if "html" in content_type:
            raise EOFError("an HTML page came instead of an answer; check the base URL")
        if "json" in content_type:
            answer = json.loads(await stream.response.aread())
            for event in events_of(answer) if answer.get("type") == "message" else [answer]:
                yield self._checked(event, stream)
            return
        raw = cast("AsyncGenerator[ServerSentEvent, None]", self._sdk.AsyncStream.raw_events(stream.response))
        async with aclosing(raw) as sse_events:
            async for sse in sse_events:
                if sse.data and sse.event != "ping":
                    yield self._checked(json.loads(sse.data), stream)

    def _checked(self, event: dict[str, Any], stream: "AsyncStream[RawMessageStreamEvent]") -> dict[str, Any]:
        if event.get("type") != "error" and "error" not in event:
            return event
        raise self._sdk.APIStatusError(summary(event), response=stream.response, body=event)

    def _refused(self, error: "APIStatusError", assembly: MessageAssembly) -> ModelError:
        status, body = error.status_code, error.body
        fault, said = fault_of(status, body), summary(body)
        detail = f"{said} (status {status})" if status >= 400 else f"{said} (in the middle of an answer)"
        if fault is ModelFault.AUTH:
            detail = f"the key was refused: {detail}; check {self._key_variable}"
        elif fault is ModelFault.BILLING:
            detail = f"no credit left: {detail}; top up the account behind {self._key_variable}"
        return ModelError(
            fault,
            self._without_key(detail),
            provider=self.provider,
            status=status,
            retry_after_s=retry_after_s(error.response.headers),
            usage=assembly.usage,
            request_id=error.request_id or _told_id(body),
        )

    def _unreached(self, error: "APIConnectionError", request: ModelRequest) -> ModelError:
        """A call without an answer: nothing is owed only where nothing can have arrived."""
        cause, host = error.__cause__, self._client.base_url.netloc.decode("ascii", "replace").rpartition("@")[2]
        if isinstance(cause, self._httpx.UnsupportedProtocol):
            detail = "the base URL must start with http:// or https://"
            return ModelError(ModelFault.INVALID, detail, provider=self.provider)
        if isinstance(cause, self._httpx.ConnectError | self._httpx.ConnectTimeout | self._httpx.ProxyError):
            detail = f"cannot reach {host} ({type(cause).__name__}); check the network and the base URL"
            return ModelError(ModelFault.CONNECTION, detail, provider=self.provider)
        if isinstance(cause, self._httpx.TimeoutException):
            owed = None if isinstance(cause, self._httpx.PoolTimeout) else _input_of(request)
            detail = f"no answer from {host} in time"
            return ModelError(ModelFault.TIMEOUT, detail, provider=self.provider, usage=owed)
        detail = f"{host} closed the connection without an answer"
        return ModelError(ModelFault.DROPPED, detail, provider=self.provider, usage=_input_of(request))

    def _error(self, fault: ModelFault, detail: str, assembly: MessageAssembly, request: ModelRequest) -> ModelError:
        usage = assembly.usage or _input_of(request)
        return ModelError(fault, self._without_key(detail), provider=self.provider, usage=usage)

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "[key]") if len(self._key) >= _KEY_CHARS else text


def _input_of(request: ModelRequest) -> Usage:
    return Usage(input_tokens=estimate_prompt_tokens(request))


def _told_id(body: object) -> str | None:
    told = body.get("request_id") if isinstance(body, dict) else None
    return told if isinstance(told, str) else None


async def _drain(events: AsyncIterator[dict[str, Any]]) -> None:
    try:
        async with asyncio.timeout(_DRAIN_S):
            async for _ in events:
                pass
    except Exception:  # noqa: BLE001 - the answer is whole; what follows it changes nothing
        return
