"""A run that kills its worker each time is set aside after the limit; what was in hand beside it goes on, unharmed."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from interlock.core.clock import SystemClock
from interlock.core.ids import new_id
from interlock.desk.context import Person
from interlock.desk.operations import queues
from interlock.settings import load_settings
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.engine import Store
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Post
from interlock.store.runs import traces
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx
from interlock.testing.runtime import runtime_over
from interlock.testing.scripted import ScriptedModel
from tests import processes
from tests.contract.store.furniture import unsettled

ENVIRONMENT = {"PYTHONPATH": processes.SOURCES, "PATH": os.environ["PATH"]}
DIED, INNOCENT = 7, 6
WORK = """
import asyncio, os, sys
from pathlib import Path
from interlock.core.clock import SystemClock
from interlock.core.values import OPEN_RUNS
from interlock.store.mailboxes import leases
from interlock.store.runs import traces
from interlock.testing.runtime import open_runtime
from interlock.testing.scripted import ScriptedModel, calls
from interlock.tools.decorated import tool
from interlock.worker.loop import Worker

@tool(risk="GREEN", idempotent=True, outside=False)
async def swallow(what: str) -> str:
    '''Swallows something.'''
    if not (Path(sys.argv[2]) / "antidote").exists():
        os._exit(7)
    return "it went down"

async def reply(request):
    said = str(request.messages)
    if "poison" not in said:
        await asyncio.sleep(0.2)
        return "done"
    return "survived" if "it went down" in said else calls("swallow", what="poison")

async def main(url, home, limit):
    model = ScriptedModel(otherwise=reply)
    settings = {"database_url": url, "crash_limit": int(limit)}
    async with open_runtime(Path(home), model, clock=SystemClock(), tools=[swallow], **settings) as runtime:
        worker = Worker(runtime, concurrency=4)
        working = asyncio.create_task(worker.run())
        while any([run.status in OPEN_RUNS for run in await runtime.store.read(traces.runs)]):
            await runtime.store.listener().wait(0.05)
        worker.stop()
        await working

asyncio.run(main(*sys.argv[1:]))
"""


def put(tx: Tx, persona: dict[str, Any], name: str, prompt: str, now: Any) -> str:
    """A thought for an agent of its own."""
    found = squad.ensure_agent(tx, Descriptor("think", "default", "operations", {"name": name}), persona, "lead", now)
    message = Post(
        project_id="default", agent_id=found.id, kind="think", payload={"prompt": prompt}, cause_kind="message",
        idempotency_key=new_id("key"),
    )  # fmt: skip
    return mailbox.post(tx, message, now)[0]


async def work_until_it_ends(url: str, home: Path, limit: int) -> int:
    """How many workers died before one came to the end of the work."""
    for died in range(10):
        with processes.running(
            ("-c", WORK, url, str(home), str(limit)), folder=home, environment=ENVIRONMENT
        ) as process:
            async with asyncio.timeout(60):
                code = await process.ended()
        if code == 0:
            return died
        assert code == DIED, code
    raise AssertionError("the workers go on dying")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    return made


@pytest.mark.parametrize("limit", [1, 3])
async def test_poisoned_run_is_set_aside_and_the_rest_goes_on(
    migrated_sqlite_url: str, home: Path, limit: int
) -> None:  # fmt: skip
    settings = load_settings(home, {}, {"home": home, "database_url": migrated_sqlite_url})
    now = SystemClock().now()
    async with Store(migrated_sqlite_url) as store:
        runtime = runtime_over(store, settings, ScriptedModel(), clock=SystemClock())
        usual = runtime.personas.personas["operations"].to_json()
        persona = {**usual, "tools": [*usual["tools"], "swallow"]}
        await store.write(squad.ensure_project, "default", "UTC", now)
        poison = await store.write(put, persona, "eater", "swallow the poison", now)
        behind = await store.write(put, persona, "eater", "say hello", now)
        beside = [await store.write(put, persona, f"innocent {n}", "say hello", now) for n in range(INNOCENT)]
        assert await work_until_it_ends(migrated_sqlite_url, home, limit) == limit + 1
        rows = {run.id: run for run in await store.read(traces.runs)}
        assert (rows[poison].status, rows[poison].stop_reason, rows[poison].crashes) == (
            "failed",
            "dead_letter",
            limit + 1,
        )
        assert {rows[run].status for run in (behind, *beside)} == {"completed"}
        [alert] = [each for each in await store.read(audit.alerts) if each.kind == "DEAD_LETTER"]
        assert (alert.severity, alert.subject) == ("critical", poison)
        assert f"interlock runs requeue {poison}" in alert.text
        assert await store.read(unsettled, poison) == []
        [call] = await store.read(traces.calls, poison)
        assert call.status in ("unknown", "skipped")
        (home / "antidote").touch()
        row = await store.write(squad.ensure_person, "test:ada", "Ada", "operator", now)
        await queues.requeue(runtime, Person(row.id, row.name, row.role, "test"), poison)
        assert await work_until_it_ends(migrated_sqlite_url, home, limit) == 0
        revived = await store.read(traces.run, poison)
        assert revived is not None
        assert (revived.status, revived.stop_reason, revived.result) == ("completed", "end_turn", "survived")
        assert [each.kind for each in await store.read(audit.alerts)] == []
