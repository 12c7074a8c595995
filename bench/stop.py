"""From an emergency stop to the last aborted call: many model calls in flight, stopped through another desk.

On SQLite by one box, on PostgreSQL by four that share the calls; measured at the provider's server.
"""

import asyncio
import contextlib
import statistics
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.databases import databases
from bench.peers.environment import work_folder
from interlock.app.box import Interlock
from interlock.desk.operations import emergency
from interlock.store import squad
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Post
from interlock.testing.messages_api import MessagesApi
from interlock.testing.messages_script import Answer, Ending, text

NAME = "emergency stop to the last call aborted"
GOAL_S = 2.0
BOXES = {"sqlite": 1, "postgresql": 4}


def run(quick: bool) -> dict[str, Any]:
    """Seconds until the last call in flight has disappeared from the server, for several stops."""
    rounds, width = (3, 8) if quick else (10, 32)
    figures: dict[str, Any] = {"calls_in_flight": width, "goal_s": GOAL_S}
    with work_folder() as folder, databases(folder) as made:
        for engine, boxes in BOXES.items():
            took = asyncio.run(_stops(folder / engine, made.url(engine), rounds, width, boxes))
            figures[engine] = {
                "executing_boxes": boxes,
                "last_aborted_s_median": round(statistics.median(took), 3),
                "last_aborted_s_range": [round(min(took), 3), round(max(took), 3)],
            }
    return figures


async def _stops(folder: Path, url: str, rounds: int, width: int, boxes: int) -> list[float]:
    """Each executing box and the stopping one have stores of their own, as processes have."""
    folder.mkdir()
    hang = Answer([text("on its way " * 50)], ending=Ending.HANG, events_before_ending=4)
    took = []
    async with MessagesApi(lambda *_: hang) as api:
        env = {"ANTHROPIC_API_KEY": "bench", "ANTHROPIC_BASE_URL": api.base_url}
        common: dict[str, Any] = {
            "cwd": folder, "env": env, "home": folder / "home", "model": "anthropic/claude-haiku-5-5",
            "database_url": url, "project_day_usd": 1e6, "concurrency": width // boxes,
        }  # fmt: skip
        async with contextlib.AsyncExitStack() as stack:
            stops, *works = [await stack.enter_async_context(Interlock.open(**common)) for _ in range(1 + boxes)]
            await stops.runtime.store.write(_post, width, stops.runtime)
            for box in works:
                await box.start()
            for number in range(1, rounds + 1):
                await api.until(lambda api, least=number * width: len(api.hanging) >= least)  # type: ignore[misc]
                begun = perf_counter()
                stopping = asyncio.create_task(emergency.stop(stops.runtime, stops.person))
                await api.until(lambda api: len(api.abandoned) >= len(api.hanging))
                took.append(perf_counter() - begun)
                await stopping
                await emergency.resume(stops.runtime, stops.person)
            await emergency.stop(stops.runtime, stops.person)
    return took


def _post(tx: Any, width: int, runtime: Any) -> None:
    """One run for each of so many agents."""
    now, persona = runtime.clock.now(), runtime.personas.personas["research"]
    limits = persona.budget.model_copy(update={"daily_usd": 1e5, "run_usd": 1e4, "chat_run_usd": 1e4})
    roomy = persona.model_copy(update={"budget": limits})
    for number in range(width):
        descriptor = squad.Descriptor("think", "default", "research", {"bench": str(number)})
        agent = squad.ensure_agent(tx, descriptor, roomy.to_json(), "specialist", now)
        message = Post(
            project_id="default", agent_id=agent.id, kind="think", payload={"prompt": "go on"},
            idempotency_key=f"bench:{number}", cause_kind="message",
        )  # fmt: skip
        mailbox.post(tx, message, now)
