"""Streaming calls through a vendor's SDK: deadlines, connection pools, and every failure as a ModelError.

The formats of requests and answers are defined by the adapters that build on this; retrying is the runner's job.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any, Protocol

from interlock.core.errors import UsageError
from interlock.llm.http_faults import ReportedError, body_of, fault_of, retry_after_s, summary
from interlock.llm.messages import Delta, ModelError, ModelFault, ModelRequest, Reply, StreamItem, Usage
from interlock.llm.sse import EventReader
from interlock.llm.tokens import estimate_prompt_tokens

_DRAIN_S = 0.25
"""How long a finished answer may take to end its HTTP body, so that the connection can be used again."""

_AT_ONCE = 32
"""Calls that share a pool of connections. A pool goes through all it has at the start and the end of each call: with a
thousand of them the event loop stood still for seconds."""

_NOT_FOUND = 404
_KEY_CHARS = 8
"""Shorter keys, such as `local`, are words and no secrets."""

_NO_WORDS = b" \t\r\n\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A provider's address and credentials. `key_variable` is named in the error if the key is rejected."""

    provider: str
    key: str = field(repr=False)
    key_variable: str
    base_url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    connect_timeout_s: float = 10.0


class Assembly(Protocol):
    """An answer while it is received, as an adapter assembles it."""

    finished: bool
    begun: bool
    """Whether anything of an answer has come."""

    @property
    def usage(self) -> Usage | None:
        """The usage that was reported last."""

    def accept(self, event: dict[str, Any]) -> Iterator[Delta]:
        """Adds an event; yields the deltas in it.

        Raises ReportedError for an error event, EOFError for a premature end, and KeyError, TypeError, AttributeError
        or ValueError for a malformed event.
        """

    def is_whole(self) -> bool:
        """Whether the answer is complete without a final event."""

    def reply(self, request_id: str | None, unreported: Usage) -> Reply:
        """The complete answer; if no usage was reported, it is `unreported` plus an estimate of the output."""

    def streamed_tokens(self) -> int:
        """An estimate of the output tokens received so far."""


@dataclass(slots=True)
class _Pool:
    """A pool of connections, and how many calls use it now."""

    client: Any
    calls: int = 0


class SdkModel(ABC):
    """A `Model` over a vendor's SDK.

    Raises UsageError for an invalid key or base URL.
    """

    simulated = False
    sdk: ModuleType

    def __init__(self, endpoint: Endpoint) -> None:
        import httpx2

        self.provider = endpoint.provider
        self.endpoint = endpoint
        self._httpx = httpx2
        self._key = endpoint.key.strip()
        variable = endpoint.key_variable
        if not self._key.isascii() or not self._key.isprintable() or not self._key or " " in self._key:
            raise UsageError(f"{variable} does not hold a key: copy it again, without quotes or line breaks")
        try:
            self._client = self._make_client(self._key, self._connections())
        except httpx2.InvalidURL as error:
            wrong = f"`{endpoint.base_url}` is not a base URL for {self.provider}: write `https://host`"
            raise UsageError(wrong) from error
        self._pools = [_Pool(self._client)]

    @abstractmethod
    def _make_client(self, key: str, connections: Any) -> Any:
        """The SDK's client, without its own retries."""

    @abstractmethod
    async def _send(self, client: Any, request: ModelRequest, limits: Any) -> Any:
        """The SDK's stream, as soon as the answer's headers have arrived."""

    @abstractmethod
    def _assembly(self) -> Assembly:
        """A new, empty answer."""

    @abstractmethod
    def _events_of(self, answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The events of an answer that was received in one piece, as if it had been streamed."""

    async def close(self) -> None:
        """Closes connections."""
        for pool in self._pools:
            await pool.client.close()

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamItem]:
        """Deltas, then exactly one `Reply`.

        Closing the iterator ends the HTTP call.

        Raises ModelError. Its usage is the last that was reported; if the provider received the request but reported
        none, an estimate of the input and of what was received.
        """
        deadline = asyncio.get_running_loop().time() + request.timeout_s
        assembly = self._assembly()
        stream: Any = None
        pool = self._pool()
        pool.calls += 1
        try:
            async with asyncio.timeout_at(deadline):
                connect_s = min(self.endpoint.connect_timeout_s, request.timeout_s)
                limits = self._httpx.Timeout(request.timeout_s, connect=connect_s)
                stream = await self._send(pool.client, request, limits)
            async with aclosing(self._batches(stream.response, assembly)) as batches:
                while not assembly.finished:
                    async with asyncio.timeout_at(deadline):
                        batch = await anext(batches, None)
                    if batch is None:
                        break
                    for event in batch:
                        for delta in assembly.accept(event):
                            yield delta
                        if assembly.finished:
                            break
                if not (assembly.finished or assembly.is_whole()):
                    raise EOFError("the answer ended before its final event")
                reply = assembly.reply(_request_id(stream.response.headers), _input_of(request))
                await _drain(batches)
            yield reply
        except (self.sdk.APIError, ReportedError, TimeoutError, EOFError, *self._broken) as error:
            raise self._fault(error, assembly, request) from error
        finally:
            try:
                if stream is not None:
                    await stream.close()
            finally:
                pool.calls -= 1

    @property
    def _broken(self) -> tuple[type[Exception], ...]:
        """The exceptions that a broken connection or a malformed answer raises."""
        senseless = (KeyError, TypeError, AttributeError, ValueError, RecursionError)
        return (self._httpx.HTTPError, self._httpx.StreamError, OSError, *senseless)

    async def _batches(self, response: Any, assembly: Assembly) -> AsyncGenerator[list[dict[str, Any]], None]:
        """The events of each piece of the body.

        Raises EOFError for an HTML page, and what a broken connection raises.
        """
        reader = EventReader()
        begun: bytes | None = b""
        kind = response.headers.get("content-type", "").lower()
        in_one_piece: list[bytes] | None = None
        try:
            async for piece in response.aiter_bytes():
                if in_one_piece is not None:
                    in_one_piece.append(piece)
                    continue
                if begun is not None:
                    begun += piece
                    start = begun.lstrip(_NO_WORDS)[:1]
                    if not start:
                        continue
                    if start == b"<":
                        raise EOFError("an HTML page came instead of an answer; check the base URL")
                    piece, begun = begun, None
                    if start in (b"{", b"[") and "event-stream" not in kind and "ndjson" not in kind:
                        in_one_piece = [piece]
                        continue
                if batch := reader.feed(piece):
                    yield batch
                if reader.fault is not None:
                    raise reader.fault
        except (self._httpx.HTTPError, self._httpx.StreamError, OSError):
            if not assembly.is_whole():
                raise
            return
        if in_one_piece is not None:
            answer = body_of(b"".join(in_one_piece).lstrip(_NO_WORDS))
            if isinstance(answer, list) and len(answer) == 1:
                answer = answer[0]
            if not isinstance(answer, dict):
                raise ValueError("an answer that is not an object")
            yield list(self._events_of(answer))
            return
        if batch := reader.end():
            yield batch
        if reader.fault is not None:
            raise reader.fault

    def _pool(self) -> _Pool:
        """The first pool with room, so that few calls reuse few connections."""
        for pool in self._pools:
            if pool.calls < _AT_ONCE:
                return pool
        self._pools.append(_Pool(self._client.with_options(http_client=self._connections())))
        return self._pools[-1]

    def _connections(self) -> Any:
        return self.sdk.DefaultAsyncHttpxClient(verify=_trusted())

    def _fault(self, error: Exception, assembly: Assembly, request: ModelRequest) -> ModelError:
        match error:
            case self.sdk.APIStatusError():
                return self._refused(error)
            case ReportedError(body=body):
                usage = assembly.usage or (self._usage_so_far(assembly, request) if assembly.begun else None)
                return self._error_of(200, body, {}, usage, None)
            case self.sdk.APIConnectionError():
                return self._unreached(error, request)
            case TimeoutError():
                return self._cut(ModelFault.TIMEOUT, f"no answer within {request.timeout_s:g} s", assembly, request)
            case EOFError():
                return self._cut(ModelFault.DROPPED, str(error), assembly, request)
            case self._httpx.HTTPError() | self._httpx.StreamError() | OSError():
                detail = f"the connection broke in the middle of the answer ({type(error).__name__})"
                return self._cut(ModelFault.DROPPED, detail, assembly, request)
        detail = f"the answer stopped making sense ({type(error).__name__})"
        return self._cut(ModelFault.DROPPED, detail, assembly, request)

    def _refused(self, error: Any) -> ModelError:
        headers = error.response.headers
        try:
            body = body_of(error.response.content)
        except (self._httpx.StreamError, RuntimeError):
            body = error.body
        return self._error_of(error.status_code, body, headers, None, _request_id(headers) or _request_id_in(body))

    def _error_of(
        self, status: int, body: object, headers: Mapping[str, str], usage: Usage | None, request_id: str | None
    ) -> ModelError:
        fault, said = fault_of(status, body), summary(body)
        detail = f"{said} (status {status})" if status >= 400 else f"{said} (in the middle of an answer)"
        if fault is ModelFault.AUTH:
            detail = f"the key was refused: {detail}; check {self.endpoint.key_variable}"
        elif fault is ModelFault.BILLING:
            detail = f"no credit left: {detail}; top up the account behind {self.endpoint.key_variable}"
        elif status == _NOT_FOUND:
            detail = f"{detail}; check the name of the model, and the base URL where one is set"
        return ModelError(
            fault,
            self._without_key(detail),
            provider=self.provider,
            status=status,
            retry_after_s=retry_after_s(headers, body),
            usage=usage,
            request_id=request_id,
        )

    def _unreached(self, error: Any, request: ModelRequest) -> ModelError:
        """The error for a call without an answer; its usage is None only if the request cannot have arrived."""
        cause, host = error.__cause__, self._client.base_url.netloc.decode("ascii", "replace").rpartition("@")[2]
        if isinstance(cause, self._httpx.UnsupportedProtocol | self._httpx.InvalidURL):
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

    def _cut(self, fault: ModelFault, detail: str, assembly: Assembly, request: ModelRequest) -> ModelError:
        usage = assembly.usage or self._usage_so_far(assembly, request)
        return ModelError(fault, self._without_key(detail), provider=self.provider, usage=usage)

    def _usage_so_far(self, assembly: Assembly, request: ModelRequest) -> Usage:
        return _input_of(request).plus(Usage(output_tokens=assembly.streamed_tokens()))

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "[key]") if len(self._key) >= _KEY_CHARS else text


@cache
def _trusted() -> Any:
    """The trusted certificates, loaded once, since that takes longer than a call."""
    import httpx2

    return httpx2.create_ssl_context()


def _input_of(request: ModelRequest) -> Usage:
    return Usage(input_tokens=estimate_prompt_tokens(request))


def _request_id(headers: Mapping[str, str]) -> str | None:
    return headers.get("request-id") or headers.get("x-request-id")


def _request_id_in(body: object) -> str | None:
    request_id = body.get("request_id") if isinstance(body, dict) else None
    return request_id if isinstance(request_id, str) else None


async def _drain(batches: AsyncIterator[list[dict[str, Any]]]) -> None:
    try:
        async with asyncio.timeout(_DRAIN_S):
            async for _ in batches:
                pass
    except Exception:  # noqa: BLE001 - the answer is whole; what follows it changes nothing
        return
