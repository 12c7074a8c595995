"""The process that executes the chaos mission, with a clerk who answers its questions: `python -m`.

It is killed from outside: by `doomed` at its commits, by the servers at its requests.
"""

import asyncio
import http.client
import json
import os
import signal
import sys
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from interlock.app.box import Interlock
from interlock.app.local import local_person, make_home
from interlock.app.parts import load_parts
from interlock.core.clock import SystemClock
from interlock.desk.reading.progress import progress
from interlock.desk.signoff import signing
from interlock.settings import load_settings
from interlock.store import squad
from interlock.store.drivers.postgres import PostgresDriver
from interlock.store.errors import StoreUnavailable
from interlock.store.runs import traces
from interlock.store.upkeep import migrate
from interlock.tools.contract import ToolContext
from interlock.tools.decorated import tool
from interlock.tools.registry import OutcomeUnknown
from tests.chaos.doomed import DoomedStore, Fate
from tests.chaos.script import CHECKS, GOAL

LOOK_S = 0.2
"""Between looks that no commit of its own brings about; each is several reads."""
KEY = "the one order"


class JumpingClock(SystemClock):
    """A clock that jumps forward an hour at SIGUSR1, and back at SIGUSR2; monotonic time is unaffected."""

    def __init__(self) -> None:
        self._ahead = timedelta()

    def listen(self) -> None:
        """Installs the signal handlers in the running event loop."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGUSR1, self.jump, 1)
        loop.add_signal_handler(signal.SIGUSR2, self.jump, -1)

    def now(self) -> datetime:
        """The wall clock with its jumps."""
        return super().now() + self._ahead

    def jump(self, hours: int) -> None:
        """Sets the wall clock, forward or back."""
        self._ahead += timedelta(hours=hours)


@dataclass(frozen=True)
class Orders:
    """The orders of the process."""

    overrides: dict[str, Any]
    journal: str
    effects_port: int
    dooms: list[dict[str, Any]]
    with_clerk: bool
    standstill_ms: int | None
    """After which PostgreSQL breaks off the transaction of a process that stands still; None for as long as usual."""


def tools(port: int) -> list[Any]:
    """The tools with effects at a server of the tests."""

    def ask(method: str, path: str, token: str = "", **args: Any) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            headers = {"idempotency-key": token, "process": str(os.getpid())}
            connection.request(method, path, json.dumps(args), headers)
            answer = connection.getresponse()
            if answer.status != http.HTTPStatus.OK:
                raise OutcomeUnknown(f"the service said {answer.status}")
            return json.loads(answer.read())
        except (OSError, http.client.HTTPException) as error:
            raise OutcomeUnknown(f"the service did not answer: {error}") from error
        finally:
            connection.close()

    @tool(risk="GREEN", idempotent=True)
    def set_stock(ctx: ToolContext, item: str, count: int) -> str:
        """Sets how many of an item are set aside."""
        return str(ask("POST", "/do/set_stock", ctx.idempotency_token, item=item, count=count))

    @tool(risk="RED")
    def pay(ctx: ToolContext, to: str, cents: int) -> str:
        """Pays somebody."""
        return str(ask("POST", "/do/pay", ctx.idempotency_token, to=to, cents=cents))

    @tool(risk="GREEN")
    def ship(ctx: ToolContext, item: str, count: int) -> str:
        """Sends items on their way."""
        return str(ask("POST", "/do/ship", ctx.idempotency_token, item=item, count=count))

    return [set_stock, pay, ship]


def done_outside(port: int, name: str) -> int:
    """How many effects of a tool the server has counted."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", f"/done/{name}")
        return int(json.loads(connection.getresponse().read())["done"])
    finally:
        connection.close()


async def clerk(box: Interlock, port: int) -> None:
    """Approves questions once their run is parked; looks up the outcome of uncertain calls."""
    for card in await signing.approvals(box.runtime):
        run = await box.runtime.store.read(traces.run, card["run_id"]) if card["kind"] == "TOOL_CALL" else None
        if run is not None and run.status != "waiting":
            continue
        if card["kind"] == "UNKNOWN_OUTCOME" and await asyncio.to_thread(done_outside, port, card["tool"]):
            await signing.deny(box.runtime, box.person, card["id"], reason="it has happened")
        else:
            await signing.approve(box.runtime, box.person, card["id"])


async def live(orders: Orders) -> None:
    """Executes the mission to its end, as `interlock up` does, or until this process is killed.

    If the number of a commit is its doom, it continues until then: heartbeats are commits, too.
    """
    settings = load_settings(Path.cwd(), os.environ, orders.overrides)
    make_home(settings.home)
    await migrate.upgrade(settings.database_url)
    parts = load_parts(settings, tools(orders.effects_port))
    store = DoomedStore(settings.database_url, Fate(orders.dooms, Path(orders.journal)))
    if isinstance(store.driver, PostgresDriver) and orders.standstill_ms is not None:
        store.driver.standstill_ms = orders.standstill_ms
    async with store:
        clock = JumpingClock()
        clock.listen()
        runtime = parts.runtime(settings, clock, store)
        person = await local_person(settings, store, runtime.clock, "python")
        await store.write(squad.ensure_project, settings.project, settings.timezone, runtime.clock.now())
        box = Interlock(runtime, person)
        mission = await box.submit(GOAL, idempotency_key=KEY, checks=CHECKS)
        assert await box.start(), "another process executes this home"
        changed = store.listener()
        while True:
            box.check()
            try:
                if orders.with_clerk:
                    await clerk(box, orders.effects_port)
                found = await progress(runtime, mission)
            except StoreUnavailable:
                continue
            if found.status == "DONE" and not found.busy and not any("number" in doom for doom in orders.dooms):
                break
            await changed.wait(LOOK_S)
        await box.stop()
        await runtime.models.close()


if __name__ == "__main__":
    asyncio.run(live(Orders(**json.loads(sys.argv[1]))))
