"""The approval queue with 10,000 pending questions: a page of cards at any position, on both databases.

Each question has its own mission, task, run with reservations, agent and arguments; a card shows them all.
"""

import asyncio
import statistics
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter
from typing import Any

import psycopg

from bench.databases import databases
from interlock.core.clock import Clock, SystemClock
from interlock.desk.signoff import signing
from interlock.policy.rules import Policy
from interlock.settings import Settings, load_settings
from interlock.store import squad
from interlock.store.engine import Store
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Post
from interlock.store.money import ledger
from interlock.store.money.ledger import Opening
from interlock.store.schema import Mission
from interlock.store.signoff import approvals
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx
from interlock.store.upkeep import migrate
from interlock.store.work import tasks

NAME = "approvals: a page of 50 cards out of 10,000 pending"
PAGE, EACH, GOAL_MS = 50, 20, 20.0
"""Questions of a page, of a mission; milliseconds for a page."""
T0 = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}}


@dataclass(frozen=True, slots=True)
class DeskContext:
    """A desk over one database."""

    settings: Settings
    clock: Clock
    store: Store
    policy: Policy


def run(quick: bool) -> dict[str, Any]:
    """Milliseconds per page, by engine and position in the queue."""
    count, rounds = (2_000, 10) if quick else (10_000, 40)
    with tempfile.TemporaryDirectory() as folder, databases(Path(folder)) as found:
        figures: dict[str, Any] = {"pending": count, "page": PAGE, "goal_ms": GOAL_MS}
        for engine in ("sqlite", "postgresql"):
            figures |= asyncio.run(_measured(engine, found.url(engine), Path(folder), count, rounds))
    return figures


async def _measured(engine: str, url: str, home: Path, count: int, rounds: int) -> dict[str, Any]:
    await migrate.upgrade(url)
    async with Store(url) as store:
        context = DeskContext(load_settings(home, {}, {"database_url": url}), SystemClock(), store, Policy.builtin())
        await store.write(squad.ensure_project, "default", "UTC", T0)
        for mission in range(count // EACH):
            await store.write(_fill, mission)
        _analyse(url)
        places = {"first": None, "middle": f"apr_{count // 2:06}", "last": f"apr_{count - PAGE - 1:06}"}
        figures: dict[str, Any] = {}
        for place, after in places.items():
            took = []
            for _ in range(rounds):
                begun = perf_counter()
                page = await signing.approvals(context, limit=PAGE, after=after)
                took.append((perf_counter() - begun) * 1_000)
                assert len(page) == PAGE
            figures[f"{engine}_{place}_ms_p50"] = round(statistics.median(took), 2)
            figures[f"{engine}_{place}_ms_max"] = round(max(took), 2)
        return figures


def _analyse(url: str) -> None:
    """Updates the statistics, as PostgreSQL's autovacuum does a minute after so many inserts."""
    if url.startswith("postgresql"):
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute("ANALYZE")


def _fill(tx: Tx, number: int) -> None:
    """A mission with a task, a run, and questions about it."""
    mission, task, run = f"mis_{number:05}", f"tsk_{number:05}", f"run_{number:05}"
    agent = squad.ensure_agent(tx, Descriptor("task", "default", "coder", {"task": task}), {}, "intern", T0)
    common = {"project_id": "default", "mission_id": mission, "type": "ops", "created_at": T0, "updated_at": T0}
    tasks.add(tx, id=mission, key="root", title="Root", description="all", idempotency_key=mission, **common)
    tx.add(
        Mission, id=mission, project_id="default", goal=f"goal {number}", graph_version=1,
        coordinator_agent_id=agent.id, thinker_agent_id=agent.id, requested_by="per_none", created_at=T0,
    )  # fmt: skip
    tasks.add(
        tx, id=task, key="one", parent_id=mission, title=f"Task {number}", description="x", idempotency_key=task,
        **common,
    )  # fmt: skip
    ledger.open_accounts(tx, [Opening(f"mission:{mission}", "mission", mission, "default", 1_000_000)], T0)
    posted = Post(
        project_id="default", agent_id=agent.id, kind="task", payload={"purpose": "work"}, idempotency_key=run,
        cause_kind="task", mission_id=mission, task_id=task,
    )  # fmt: skip
    run_id = mailbox.post(tx, posted, T0)[0]
    for each in range(EACH):
        place = number * EACH + each
        request = {
            "tool": "file_write", "args": {"path": f"{place}.md", "content": "line\n" * 40}, "tool_digest": "d",
            "summary": "wants to call file_write", "persona": "coder", "call_id": str(place), "grantable": True,
            "definition": {"description": "Writes.", "input_schema": SCHEMA},
        }  # fmt: skip
        approvals.ask(
            tx, id=f"apr_{place:06}", kind="TOOL_CALL", project_id="default", mission_id=mission, task_id=task,
            run_id=run_id, subject=str(place), request=request, risk="YELLOW", reasons=["YELLOW is held for interns"],
            asked_by=agent.id, created_at=T0 + timedelta(seconds=place), alike=str(place % 7),
            expires_at=T0 + timedelta(days=1),
        )  # fmt: skip
