"""The outbox under load: messages of many conversations to a service that limits rates and drops connections.

Two processes deliver from one PostgreSQL database; in the second round they are killed at random and restarted. The
service checks that each message arrives once, and those of one conversation in order.
"""

import asyncio
import os
import random
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import sqlalchemy as sa
from aiohttp import web

from bench.databases import databases
from interlock.core.clock import SystemClock
from interlock.desk.chats.cards import Card
from interlock.integrations.contract import DeliveryUnknown, Later, Message
from interlock.integrations.delivery import Deliverer, duty
from interlock.policy.rules import Policy
from interlock.scheduler.leadership import Leadership
from interlock.settings import load_settings
from interlock.store.duties import leaders
from interlock.store.engine import Store
from interlock.store.messages import conversations, outbox
from interlock.store.messages.outbox import OUTBOX
from interlock.store.tx import Tx
from interlock.store.upkeep import migrate

NAME = "outbox: 2,000 messages of 50 conversations, two deliverers on PostgreSQL, a service that limits and drops"
SURFACE = "wire"
MESSAGES, CONVERSATIONS = 2_000, 50
KILLS = 12
"""Of whichever process delivers, at random times."""
LONGEST_S = 240.0
TAKEOVER_S = 5.0


@dataclass
class Service:
    """A chat service for the outbox: it accepts messages, limits rates, drops connections, and can be queried."""

    limited: float = 0.02
    """Share of posts that are told to come again later."""
    dropped: float = 0.02
    """Share that lose their connection, half of them once the message is there."""
    posted: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Keys by channel, as they came."""
    asked: int = 0
    refused: int = 0
    count: int = 0
    _random: random.Random = field(default_factory=lambda: random.Random(7))

    async def post(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if self._random.random() < self.limited:
            self.refused += 1
            return web.Response(status=429, headers={"Retry-After": "0.2"})
        fate = self._random.random()
        if fate >= self.dropped / 2:
            self.posted[body["channel"]].append(body["key"])
            self.count += 1
        if fate < self.dropped and request.transport is not None:
            request.transport.close()
        return web.json_response({"ref": body["key"]})

    async def find(self, request: web.Request) -> web.Response:
        self.asked += 1
        key, channel = request.query["key"], request.query["channel"]
        return web.json_response({"ref": key if key in self.posted[channel] else None})

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """Its address, as long as the context lasts."""
        app = web.Application()
        app.add_routes([web.post("/post", self.post), web.get("/find", self.find)])
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()


class Wire:
    """The sender for it."""

    surface = SURFACE
    repeats = True

    def __init__(self, url: str) -> None:
        self._url, self._session = url, aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5))

    async def post(self, message: Message) -> str:
        try:
            async with self._session.post(
                f"{self._url}/post", json={"key": message.key, "channel": message.channel}
            ) as answer:
                if answer.status == 429:
                    raise Later("too many", float(answer.headers["Retry-After"]))
                return str((await answer.json())["ref"])
        except aiohttp.ClientConnectorError as error:
            raise Later("not there") from error
        except aiohttp.ClientError as error:
            raise DeliveryUnknown(type(error).__name__) from error

    async def edit(self, message: Message) -> None:
        raise AssertionError("nothing is edited here")

    async def find(self, message: Message) -> str | None:
        wanted = {"key": message.key, "channel": message.channel}
        try:
            async with self._session.get(f"{self._url}/find", params=wanted) as answer:
                found = (await answer.json())["ref"]
                return None if found is None else str(found)
        except aiohttp.ClientError as error:
            raise Later(type(error).__name__) from error

    async def close(self) -> None:
        await self._session.close()


@dataclass
class Desk:
    """The parts of a context that deliveries need."""

    settings: Any
    clock: SystemClock
    store: Store
    policy: Policy


async def deliver(database_url: str, service_url: str, home: str) -> None:
    """Delivers until SIGTERM."""
    asked = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asked.set)
    settings = load_settings(Path(home), {}, {"home": home, "database_url": database_url})
    async with Store(database_url) as store:
        desk = Desk(settings, SystemClock(), store, Policy.builtin())

        def claim(name: str) -> Leadership:
            return Leadership(store, desk.clock, name, takeover_s=TAKEOVER_S)

        deliverer = Deliverer(desk, [Wire(service_url)], claim, draw=_nothing)
        task = asyncio.create_task(deliverer.run())
        await asked.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _nothing(context: object, subject: str) -> Card | None:
    raise AssertionError(subject)


def pile_up(tx: Tx, first: int, count: int, channels: int, now: datetime) -> None:
    """A unit: messages for each conversation in turn."""
    for number in range(first, first + count):
        where = conversations.reply_place(tx, SURFACE, f"C{number % channels}", None, None, "demo", now)
        outbox.enqueue(tx, where, {"card": Card(title=f"message {number}").to_json()}, f"m{number:06}", now)


def still_open(tx: Tx) -> int:
    """How many messages are undelivered."""
    found: int = tx.rows(_STILL_OPEN)[0].n
    return found


def by_status(tx: Tx) -> dict[str, int]:
    """The number of messages by status."""
    return {row.status: row.n for row in tx.rows(_BY_STATUS)}


_N = sa.func.count().label("n")
_STILL_OPEN = sa.select(_N).where(OUTBOX.c.status.in_(("pending", "sending")))
_BY_STATUS = sa.select(OUTBOX.c.status, _N).group_by(OUTBOX.c.status)


class Fleet:
    """Two processes that deliver; a killed one is restarted."""

    def __init__(self, argv: tuple[str, ...]) -> None:
        self._argv, self._members, self.killed = argv, list[asyncio.subprocess.Process](), 0

    async def begin(self) -> None:
        self._members = [await asyncio.create_subprocess_exec(*self._argv) for _ in range(2)]

    async def kill_leader(self, store: Store) -> bool:
        """Kills the one that delivers; False if none is delivering."""
        row = await store.read(leaders.leader, duty(SURFACE))
        for at, member in enumerate(self._members):
            if row is not None and row.holder is not None and row.pid == member.pid:
                member.kill()
                await member.wait()
                self._members[at] = await asyncio.create_subprocess_exec(*self._argv)
                self.killed += 1
                return True
        return False

    async def end(self) -> None:
        for member in self._members:
            member.terminate()
            await member.wait()

    def cpu_s(self) -> float:
        """Processor seconds of both so far."""
        fields = [Path(f"/proc/{member.pid}/stat").read_text().rpartition(")")[2].split() for member in self._members]
        return sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")


async def round_of(
    database_url: str,
    home: str,
    service: Service,
    messages: int,
    channels: int,
    *,
    kills: bool,
    kill_count: int = KILLS,
) -> dict[str, Any]:
    """Delivers everything, and returns the figures.

    Raises TimeoutError if something is stuck.
    """
    await migrate.upgrade(database_url)
    async with service.listening() as url, Store(database_url) as store, asyncio.timeout(LONGEST_S):
        for first in range(0, messages, 500):
            await store.write(pile_up, first, min(500, messages - first), channels, datetime.now(UTC))
        fleet = Fleet((sys.executable, "-m", "bench.outbox", database_url, url, home))
        chance = random.Random(11)
        due = sorted(chance.sample(range(1, messages), kill_count), reverse=True) if kills else []
        await fleet.begin()
        try:
            while not service.posted:
                await asyncio.sleep(0.01)
            began, cpu_s = time.perf_counter(), fleet.cpu_s()
            while (await store.read(still_open)) > 0:
                if due and service.count >= due[-1] and await fleet.kill_leader(store):
                    due = [each for each in due if each > service.count]
                await asyncio.sleep(0.02)
            took_s, cpu_s = time.perf_counter() - began, fleet.cpu_s() - cpu_s
        finally:
            await fleet.end()
        left = await store.read(by_status)
    given = [key for keys in service.posted.values() for key in keys]
    return {
        "messages": messages,
        "killed": fleet.killed,
        "by status": left,
        "twice": len(given) - len(set(given)),
        "missing": messages - len(set(given)),
        "conversations out of order": sum(keys != sorted(keys) for keys in service.posted.values()),
        "told to wait": service.refused,
        "asked after": service.asked,
        "seconds": round(took_s, 2),
        "messages per second": round(messages / took_s, 1),
        "cpu ms per message": None if kills else round(1000 * cpu_s / messages, 2),
    }


async def measured(messages: int, channels: int) -> dict[str, Any]:
    """The figures of both rounds, each on its own database."""
    with tempfile.TemporaryDirectory(prefix="interlock-outbox-") as home, databases(Path(home)) as found:
        figures: dict[str, Any] = {}
        rounds = (("calm", Service(limited=0, dropped=0), False), ("limits, drops and kills", Service(), True))
        for name, service, kills in rounds:
            url = found.url("postgresql")
            figures[name] = await round_of(url, home, service, messages, channels, kills=kills)
        return figures


def run(quick: bool) -> dict[str, Any]:
    """The figures."""
    return asyncio.run(measured(200 if quick else MESSAGES, 10 if quick else CONVERSATIONS))


if __name__ == "__main__":
    asyncio.run(deliver(*sys.argv[1:]))
