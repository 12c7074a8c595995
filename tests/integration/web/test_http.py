"""The HTTP door takes what services post, no more than it should, and says in one line where it cannot listen."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

import httpx2
import pytest

from interlock.core.errors import InterlockError
from interlock.web.http import KEEP_ALIVE_S, MOST_BYTES, Hook, application, listen, serving


@dataclass
class Answer:
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "text/plain"})
    body: bytes = b"taken"


@dataclass
class World:
    client: httpx2.AsyncClient
    taken: list[tuple[bytes, Mapping[str, str]]]
    faults: list[str]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    taken: list[tuple[bytes, Mapping[str, str]]] = []
    faults: list[str] = []

    async def take(body: bytes, headers: Mapping[str, str]) -> Answer:
        taken.append((body, headers))
        return Answer()

    async def ready() -> None:
        if faults:
            raise InterlockError(faults[0])

    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]
    app = application([Hook("/slack/events", take)], ready)
    async with serving(app, listening), httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        yield World(client, taken, faults)


async def test_hook_gets_the_body_and_the_headers_as_they_came(world: World) -> None:
    found = await world.client.post("/slack/events", content=b"a=%41", headers={"X-Slack-Signature": "v0=1"})
    assert (found.status_code, found.text) == (200, "taken")
    [(body, headers)] = world.taken
    assert body == b"a=%41"
    assert headers["x-slack-signature"] == "v0=1"


async def test_body_that_is_too_large_is_refused_unread(world: World) -> None:
    found = await world.client.post("/slack/events", content=b"x" * (MOST_BYTES + 1))
    assert found.status_code == 413
    assert world.taken == []


async def test_body_that_does_not_come_holds_no_connection() -> None:
    listening = listen("127.0.0.1", 0)
    port = listening.getsockname()[1]

    async def take(body: bytes, headers: Mapping[str, str]) -> Answer:
        raise AssertionError(body)

    async def ready() -> None:
        return

    app = application([Hook("/slack/events", take)], ready, body_s=0.05)
    async with serving(app, listening):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST /slack/events HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
        assert b" 408 " in await reader.readline()
        writer.close()


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nHost: x\r\n"])
async def test_head_that_does_not_come_holds_no_connection(sent: bytes) -> None:
    async def ready() -> None:
        return

    listening = listen("127.0.0.1", 0)
    async with serving(application([], ready), listening, head_s=0.05):
        reader, writer = await asyncio.open_connection(*listening.getsockname()[:2])
        writer.write(sent)
        assert await reader.read() == b"", "it is closed, or this waits for ever"
        writer.close()


async def test_connection_that_a_proxy_keeps_is_not_closed_under_it() -> None:
    async def ready() -> None:
        return

    assert KEEP_ALIVE_S > 60, "as long as nginx and the load balancers of clouds keep theirs"
    listening = listen("127.0.0.1", 0)
    async with serving(application([], ready), listening, keep_alive_s=0.2):
        reader, writer = await asyncio.open_connection(*listening.getsockname()[:2])
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        began = asyncio.get_running_loop().time()
        await reader.read()
        assert asyncio.get_running_loop().time() - began < 4.0, "it is kept as long as is said, and no default"
        writer.close()


async def test_nothing_is_read_from_a_get_or_another_path(world: World) -> None:
    assert (await world.client.get("/slack/events")).status_code == 405
    assert (await world.client.post("/slack/other")).status_code == 404
    assert world.taken == []


async def test_readiness_says_what_is_missing(world: World) -> None:
    assert (await world.client.get("/healthz")).json() == {"status": "ok"}
    assert (await world.client.get("/readyz")).status_code == 200
    world.faults.append("the database cannot be reached")
    found = await world.client.get("/readyz")
    assert found.status_code == 503
    assert found.headers["content-type"] == "application/problem+json"
    assert found.json()["detail"] == "the database cannot be reached"
    assert (await world.client.get("/healthz")).status_code == 200


def test_port_that_is_taken_is_told_in_one_line() -> None:
    first = listen("127.0.0.1", 0)
    port = first.getsockname()[1]
    with pytest.raises(InterlockError, match=rf"cannot listen on 127.0.0.1:{port}: .*--port"):
        listen("127.0.0.1", port)
    first.close()
