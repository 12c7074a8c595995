"""A home served over a real socket, with a scripted model; the tests send the requests."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2

from interlock.app.box import Interlock
from interlock.app.local import local_person
from interlock.core.clock import SystemClock
from interlock.desk.identities import tokens
from interlock.testing.runtime import open_runtime
from interlock.testing.scripted import ScriptedModel
from interlock.web.api import Gate, Live, Services, api
from interlock.web.http import BODY_S, MOST_BYTES, application, listen, serving
from interlock.web.page.site import Site


@dataclass
class House:
    box: Interlock
    services: Services
    page_services: Services
    port: int
    token: str
    client: httpx2.AsyncClient

    @property
    def live(self) -> Live:
        return self.services.live

    async def token_of(self, role: str = "operator", project: str | None = None) -> str:
        made = await tokens.create(self.box.runtime, self.box.person, f"test {uuid4()}", role=role, project=project)
        return str(made["token"])

    async def get(self, path: str, **more: Any) -> Any:
        found = await self.client.get(path, **more)
        assert found.status_code == 200, found.text
        return found.json()

    async def post(self, path: str, body: dict[str, Any], status: int = 200) -> Any:
        found = await self.client.post(path, json=body)
        assert found.status_code == status, found.text
        return found.json()


@asynccontextmanager
async def house(folder: Path, *replies: Any, executes: bool = True, **settings: Any) -> AsyncIterator[House]:
    async with open_runtime(folder, ScriptedModel(*replies), clock=SystemClock(), **settings) as runtime:
        person = await local_person(runtime.settings, runtime.store, runtime.clock, "python")
        box = Interlock(runtime, person)
        services = Services(Live(runtime), box.answers, Gate(runtime))
        listening = listen("127.0.0.1", 0)
        port = listening.getsockname()[1]

        async def ready() -> None:
            return

        token = str((await tokens.create(runtime, person, f"tests {uuid4()}"))["token"])
        within = api(services, version="0", most_bytes=MOST_BYTES, body_s=BODY_S)
        for_page = Services(services.live, box.answers, services.gate.beside("web"))
        app = application([], ready, api=within, page=Site(for_page).routes())
        client = httpx2.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", headers={"Authorization": f"Bearer {token}"}, timeout=60
        )
        box.relay(listens=True)
        if executes:
            await box.start()
        try:
            async with serving(app, listening), client:
                yield House(box, services, for_page, port, token, client)
                await services.close()
        finally:
            await box.stop()


@dataclass
class Sse:
    """One event as received by a client."""

    name: str
    data: Any
    id: int | None = None


class Stream:
    """An SSE client on a socket of its own, which reads on request."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer, self.head = reader, writer, b""
        self._text = b""
        self.comments = 0

    @classmethod
    async def open(
        cls,
        port: int,
        path: str,
        token: str,
        *,
        last: int | None = None,
        body: dict[str, Any] | None = None,
        more: str = "",
    ) -> "Stream":
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        data = json.dumps(body).encode() if body is not None else b""
        lines = [
            f"{'POST' if body is not None else 'GET'} {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {token}",
            f"Content-Length: {len(data)}", "Content-Type: application/json",
        ]  # fmt: skip
        if more:
            lines.append(more)
        if last is not None:
            lines.append(f"Last-Event-ID: {last}")
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + data)
        stream = cls(reader, writer)
        stream.head = await reader.readuntil(b"\r\n\r\n")
        assert b" 200 " in stream.head, stream.head
        return stream

    async def next(self) -> Sse | None:
        """The next event, None at the end."""
        while True:
            while b"\n\n" not in self._text:
                try:
                    size = int((await self.reader.readuntil(b"\r\n")).strip(), 16)
                except asyncio.IncompleteReadError:
                    return None
                if size == 0:
                    return None
                self._text += (await self.reader.readexactly(size + 2))[:-2]
            block, _, self._text = self._text.partition(b"\n\n")
            fields = dict(line.split(": ", 1) for line in block.decode().splitlines() if ": " in line)
            if "event" in fields:
                ident = int(fields["id"]) if "id" in fields else None
                return Sse(fields["event"], json.loads(fields["data"]), ident)
            self.comments += 1

    async def until(self, name: str) -> list[Sse]:
        """All events up to the first of that name."""
        found = []
        while (event := await self.next()) is not None:
            found.append(event)
            if event.name == name:
                return found
        raise AssertionError(f"it ended without {name}: {found}")

    def close(self) -> None:
        self.writer.close()
