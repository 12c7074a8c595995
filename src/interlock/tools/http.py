"""One request to an outside service, with every kind of failure distinguished.

Responses are interpreted by the tools.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from interlock.tools.errors import NotNow, ToolError

CONNECT_S = 10.0
_NOT_SENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.InvalidURL,
    httpx2.LocalProtocolError,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
    UnicodeEncodeError,
)


_PERHAPS_LATER = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)


class NoAnswer(ToolError):
    """The request may have arrived, but no complete response came back."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response with any status."""

    service: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> dict[str, Any]:
        """The body as a JSON object.

        Raises NoAnswer for anything else, such as a web page.
        """
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise NoAnswer(f"{self.service} answered with something that is not JSON") from error
        if not isinstance(value, dict):
            raise NoAnswer(f"{self.service} answered with JSON of an unknown form")
        return value

    def refuse(self, key_name: str) -> None:
        """Checks the status; does nothing for a success.

        Raises ToolError with a line for people and models, NotNow for too many requests, NoAnswer for server errors.
        """
        if 200 <= self.status < 300:
            return
        if self.status in (401, 403):
            raise ToolError(f"{self.service} refused the key: the operator must check {key_name}")
        if self.status == 429:
            wait = self.headers.get("retry-after", "")
            seconds = int(wait) if wait.isascii() and wait.isdigit() and len(wait) < 7 else None
            when = "later" if seconds is None else f"in {seconds} s"
            raise NotNow(f"{self.service} takes no more requests now: try again {when}", seconds)
        if self.status >= 500:
            raise NoAnswer(f"{self.service} failed with status {self.status}")
        if 300 <= self.status < 400:
            raise ToolError(f"{self.service} has moved (status {self.status}): the operator must check its base URL")
        raise ToolError(f"{self.service} refused the request with status {self.status}")


async def exchange(
    service: str,
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    params: Mapping[str, str] | None = None,
    body: Any = None,
    timeout_s: float,
    most_bytes: int,
) -> Answer:
    """One request and its response; no retries, no redirects. `body` is sent as JSON.

    Raises ToolError if the request did not arrive, NotNow if a later one may, NoAnswer if it may have arrived. Messages
    contain no headers.
    """
    limits = httpx2.Timeout(timeout_s, connect=min(CONNECT_S, timeout_s))
    try:
        async with (
            asyncio.timeout(timeout_s),
            httpx2.AsyncClient(timeout=limits) as client,
            client.stream(method, url, headers=dict(headers), params=params, json=body) as response,
        ):
            received = bytearray()
            async for chunk in response.aiter_bytes():
                received += chunk
                if len(received) > most_bytes:
                    raise NoAnswer(f"{service} answered with more than {most_bytes:,} bytes")
            found = {name.lower(): value for name, value in response.headers.items()}
            return Answer(service, response.status_code, found, bytes(received))
    except _NOT_SENT as error:
        fault = NotNow if isinstance(error, _PERHAPS_LATER) else ToolError
        raise fault(f"{service} cannot be reached: {_cause(error)}: check the network and its base URL") from error
    except (TimeoutError, httpx2.TimeoutException) as error:
        raise NoAnswer(f"{service} did not answer within {timeout_s:g} s") from error
    except httpx2.HTTPError as error:
        raise NoAnswer(f"the connection to {service} broke: {_cause(error)}") from error


def _cause(error: Exception) -> str:
    """The reason, without any request data: only errors whose text comes from the operating system are quoted."""
    if isinstance(error, httpx2.ConnectError):
        return " ".join(str(error).split())[:200] or "no connection"
    return {
        httpx2.ConnectTimeout: "no connection in time",
        httpx2.ProxyError: "the proxy refused",
        UnicodeEncodeError: "its key or URL has characters that cannot be sent",
        httpx2.LocalProtocolError: "its key or URL has characters that cannot be sent",
    }.get(type(error), type(error).__name__)
