"""Stopping from a second process what another one executes: at once, past a kill, and on from there."""

import asyncio
from typing import Any

from interlock.desk.context import DeskContext, Person
from interlock.desk.operations import emergency
from interlock.desk.reading.details import deliverable
from interlock.desk.signoff import signing
from interlock.desk.work.controls import cancel
from interlock.store.schema import Control, LedgerEntry, Run
from interlock.testing.messages_script import Ending, Scripted
from tests.e2e.books import at_rest, check_books, check_rest, rows
from tests.e2e.conftest import World
from tests.e2e.home import LONGEST_S, LOOK_S
from tests.e2e.story import GOAL, Asked, answer


async def hanging(asked: Asked) -> Scripted:
    """The reply to a request, which stops on its way."""
    whole = answer(asked)
    return type(whole)(whole.blocks, usage=whole.usage, ending=Ending.HANG, events_before_ending=6)


async def started(world: World, *requests: str) -> str:
    """A mission in which these requests hang, once each; returns it as soon as they all do."""
    for name in requests:
        world.story.interferences[name] = hanging
    mission_id = (await world.home.run("run", GOAL, "--no-wait")).out.strip()
    await world.api.until(lambda api: len(api.hanging) == len(requests))
    return mission_id


async def finished(context: DeskContext, person: Person, mission_id: str) -> None:
    """Signs off whatever is asked until the mission is done."""
    ended = asyncio.create_task(at_rest(context, mission_id))
    while not ended.done():
        for card in await signing.approvals(context):
            await signing.approve(context, person, card["id"])
        await asyncio.wait({ended}, timeout=0.05)
    await ended


async def runs(context: DeskContext) -> dict[str, list[Any]]:
    """The runs of agents by their states."""
    found: dict[str, list[Any]] = {}
    for row in await rows(context, Run):
        if row.kind != "mission":
            found.setdefault(row.status, []).append(row)
    return found


async def none_running(context: DeskContext) -> None:
    """Waits until no worker has a run in hand; a command waits for that too, but for three seconds at most."""
    async with asyncio.timeout(LONGEST_S):
        while "running" in await runs(context):
            await asyncio.sleep(LOOK_S)


async def test_stop_ends_every_call_and_outlives_a_kill(world: World) -> None:
    up = await world.home.up()
    mission_id = await started(world, "facts:0", "code:0")
    told = (await world.home.run("stop", "--reason", "fire", "--json")).json
    assert sorted(run["persona"] for run in told["runs"]) == ["coder", "research"]
    assert (told["mode"], told["uncertain"]) == ("stopped", [])
    await world.api.until(lambda api: set(api.hanging) <= set(api.abandoned))
    async with world.home.desk() as (context, person):
        await none_running(context)
        (control,) = await rows(context, Control)
        assert control.mode == "stopped"
        cut = [line.created_at for line in await rows(context, LedgerEntry) if line.kind == "settle" and line.estimated]
        assert len(cut) == 2

        await up.killed()
        asked = len(world.api.requests)
        await world.home.up()
        watched = await world.home.run("run", "Another goal", "--approve", "queue")
        assert watched.code == 4
        assert "(fire): `interlock resume` lets it go on" in watched.out
        assert len(world.api.requests) == asked
        assert len((await runs(context))["created"]) == 2

        await cancel(context, person, watched.out.split()[1])
        await emergency.resume(context, person)
        await finished(context, person, mission_id)
        assert (await deliverable(context, mission_id)).content.startswith(b"# Decision")
        await check_books(context, killed=False)
        await check_rest(context)


async def test_quarantine_ends_one_agent_s_calls_and_lets_the_others_work(world: World) -> None:
    await world.home.up()
    mission_id = await started(world, "facts:0")
    told = (await world.home.run("quarantine", "research", "--json")).json
    assert ([run["persona"] for run in told["runs"]], len(told["tasks"])) == (["research"], 1)
    await world.api.until(lambda api: set(api.hanging) <= set(api.abandoned))
    watched = await world.home.run("tasks", "--status", "blocked")
    assert "OPERATOR: research was quarantined by" in watched.out
    async with world.home.desk() as (context, _):
        await none_running(context)
    assert (await world.home.run("release", "research")).out.strip() == "research works again, 1 task back at work"
    async with world.home.desk() as (context, person):
        await finished(context, person, mission_id)
        await check_books(context, killed=False)
