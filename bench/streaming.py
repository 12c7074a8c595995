"""The latency of a model's deltas to clients over server-sent events, also with a thousand readers.

Real HTTP on loopback. The readers are in a process of their own; each event contains its time of sending, by the clock
that all processes of the machine share.
"""

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock.app.box import Interlock
from interlock.app.local import local_person
from interlock.core.clock import SystemClock
from interlock.core.events import ASSISTANT, Event
from interlock.desk.identities import tokens
from interlock.llm.messages import Delta, ModelRequest, StreamItem
from interlock.testing.runtime import open_runtime
from interlock.testing.scripted import ScriptedModel, reply_of
from interlock.web.api import Gate, Live, Services, api
from interlock.web.http import BODY_S, MOST_BYTES, application, listen, serving

NAME = "Streaming: first delta to an SSE client, 1,000 readers of which one is stalled, SQLite"
READERS = 1_000
FLOOD = 1_000
"""Events of 16 kB for the stalled reader alone, to fill its buffers before the others are measured."""
EVERY_S = 0.25
"""Between two events to all readers."""
REST_S = 0.02
"""Between a model's first delta and the rest."""
CLIENT = """
import asyncio, json, resource, statistics, sys, time
port, token, readers, stalled = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
lags = []
async def read(number, ready):
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 16)
    path = "/api/events" if number < stalled else "/api/events?run=run_1"
    writer.write(f"GET {path} HTTP/1.1\\r\\nHost: x\\r\\nAuthorization: Bearer {token}\\r\\n\\r\\n".encode())
    await reader.readuntil(b"\\r\\n\\r\\n")
    ready.append(number)
    if number < stalled:
        await asyncio.sleep(3600)
    while True:
        line = await reader.readline()
        if not line:
            return
        if line.startswith(b"data: "):
            text = json.loads(line[6:])["delta"]
            if text == "end":
                return
            lags.append(time.perf_counter() - float(text.split()[0]))
async def main():
    ready, tasks = [], []
    for number in range(readers):
        tasks.append(asyncio.create_task(read(number, ready)))
        if number % 50 == 0:
            await asyncio.sleep(0.01)
    while len(ready) < readers:
        await asyncio.sleep(0.01)
    print("ready", flush=True)
    await asyncio.wait(tasks[stalled:])
    lags.sort()
    print(json.dumps({"events": len(lags), "p50_ms": lags[len(lags) // 2] * 1e3,
                      "p99_ms": lags[int(len(lags) * 0.99)] * 1e3}), flush=True)
    for task in tasks:
        task.cancel()
asyncio.run(main())
"""


class Stamped(ScriptedModel):
    """A model whose first delta is the time at which it is yielded; the rest follows a little later."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamItem]:
        """The delta, and the reply."""
        text = repr(time.perf_counter())
        yield Delta("text", text)
        await asyncio.sleep(REST_S)
        yield reply_of(text, model=request.model)


@dataclass(frozen=True, slots=True)
class Home:
    """A home with a server."""

    box: Interlock
    port: int
    token: str


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[Home]:
    """A home that executes, with HTTP on a port of its own."""
    async with open_runtime(folder, Stamped(), clock=SystemClock()) as runtime:
        box = Interlock(runtime, await local_person(runtime.settings, runtime.store, runtime.clock, "python"))
        services = Services(Live(runtime), box.answers, Gate(runtime))
        token = str((await tokens.create(runtime, box.person, "bench"))["token"])
        listening = listen("127.0.0.1", 0)

        async def ready() -> None:
            return

        app = application([], ready, api=api(services, version="0", most_bytes=MOST_BYTES, body_s=BODY_S))
        await box.start()
        async with serving(app, listening):
            yield Home(box, listening.getsockname()[1], token)
            await services.close()
            await box.stop()


async def first_deltas(home: Home, chats: int) -> list[float]:
    """Seconds from the model yielding its first delta until the client has read it."""
    lags = []
    for number in range(chats):
        reader, writer = await asyncio.open_connection("127.0.0.1", home.port)
        body = json.dumps({"message": f"question {number}", "stream": True}).encode()
        writer.write(
            b"POST /api/agents/research/chat HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            + f"Authorization: Bearer {home.token}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        )  # fmt: skip
        while not (line := await reader.readline()).startswith(b'data: {"run_id"') or b'"delta"' not in line:
            assert line, "the stream ended without a delta"
        lags.append(time.perf_counter() - float(json.loads(line[6:])["delta"]))
        while b"event: done" not in await reader.readline():
            continue
        writer.close()
    return lags


async def many(home: Home, readers: int, stalled: int, events: int) -> dict[str, Any]:
    """The latencies of all events at all readers but the stalled ones, measured by their process."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CLIENT, str(home.port), home.token, str(readers), str(stalled), stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    assert (await child.stdout.readline()).strip() == b"ready"
    for number in range(FLOOD if stalled else 0):
        home.box.runtime.events.tell(_piece("x" * 16_000, run=f"run_of_the_stalled_{number}"))
        await asyncio.sleep(0)
    held_up = 0.0
    for _ in range(events):
        begun = time.perf_counter()
        home.box.runtime.events.tell(_piece(f"{begun!r} {'x' * 4_000}"))
        held_up = max(held_up, time.perf_counter() - begun)
        await asyncio.sleep(EVERY_S)
    home.box.runtime.events.tell(_piece("end"))
    found: dict[str, Any] = json.loads(await child.stdout.readline())
    await child.wait()
    assert found["events"] == events * (readers - stalled)
    return {**found, "teller_held_up_us": held_up * 1e6}


async def per_delta(home: Home, deltas: int) -> dict[str, float]:
    """Microseconds for an agent to publish a delta."""
    events, event = home.box.runtime.events, _piece("word ")
    begun = time.perf_counter()
    for _ in range(deltas):
        events.tell(event)
    nobody = (time.perf_counter() - begun) / deltas
    with events.listening() as listener:
        begun = time.perf_counter()
        for _ in range(deltas):
            events.tell(event)
        one = (time.perf_counter() - begun) / deltas
        listener.ready()
    return {"tell_nobody_us": round(nobody * 1e6, 3), "tell_one_us": round(one * 1e6, 3)}


def _piece(text: str, run: str = "run_1") -> Event:
    return Event(name=ASSISTANT, payload={"run_id": run, "delta": text}, project_id="default", run_id=run)


async def measured(folder: Path, quick: bool) -> dict[str, Any]:
    """All figures."""
    events = 8 if quick else 40
    async with served(folder) as home:
        await first_deltas(home, 10)
        lags = sorted(await first_deltas(home, 50 if quick else 300))
        figures: dict[str, Any] = {
            "first_delta_p50_ms": round(statistics.median(lags) * 1e3, 2),
            "first_delta_p99_ms": round(lags[int(len(lags) * 0.99)] * 1e3, 2),
            **await per_delta(home, 20_000),
        }
        for name, stalled in (("all_read", 0), ("one_stalled", 1)):
            found = await many(home, READERS, stalled, events)
            figures |= {f"{READERS}_readers_{name}_{key}": round(value, 1) for key, value in found.items()}
    return figures


def run(quick: bool) -> dict[str, Any]:
    """The figures; raises if an event did not reach a reader that reads."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(measured(Path(folder), quick))
