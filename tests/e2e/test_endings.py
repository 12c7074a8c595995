"""Being told to stop at any moment, and people who do the same thing twice: clean ends, and nothing is lost."""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from interlock.desk.context import DeskContext, Person
from interlock.desk.reading.details import deliverable
from interlock.desk.signoff import signing
from interlock.store.mailboxes import leases
from interlock.store.schema import Run
from interlock.testing.messages_script import Ending, Scripted
from tests import processes
from tests.e2e.books import at_rest, check_books, check_rest, questions, rows
from tests.e2e.conftest import World
from tests.e2e.home import Home, Started, until
from tests.e2e.story import GOAL, Asked, answer

STOPS_WITHIN_S = 30.0
"""Much longer than it takes, much shorter than what hangs: a busy machine is not what is looked at."""
HEARS = "signal.signal(signal.SIGHUP, signal.SIG_DFL)"
"""Also if the tests were started by nohup, whose children ignore it."""
TAKES_TERMINAL = f"{HEARS}; fcntl.ioctl(0, termios.TIOCSCTTY, 0)"
ADDRESSES = ("ana@example.com", "ben@example.com")


async def test_up_ends_cleanly_while_a_model_call_streams(world: World) -> None:
    hanging = hang(world, "facts:0")
    mission = await begin(world.home)
    up = await world.home.up()
    await hanging()
    await told_to_stop(up, signal.SIGTERM)
    await goes_on_to_its_end(world, mission)


async def test_up_whose_terminal_is_closed_hands_back_what_it_has_in_hand(world: World) -> None:
    hanging = [hang(world, name) for name in ("facts:0", "code:0")]
    mission = await begin(world.home)
    terminal, its = os.openpty()
    with open(its, "r+b", buffering=0) as other, up_of_its_own(world.home, TAKES_TERMINAL, other) as up:
        other.close()
        await asyncio.gather(*(each() for each in hanging))
        os.close(terminal)
        assert await asyncio.to_thread(up.wait, STOPS_WITHIN_S) == 0
    async with world.home.desk() as (context, _):
        assert {row.status for row in await rows(context, Run) if row.kind == "task"} == {"created"}
        assert await context.store.read(leases.live) == []
    await goes_on_to_its_end(world, mission)


async def test_up_that_is_not_to_mind_its_terminal_goes_on_without_it(world: World) -> None:
    mission = await begin(world.home)
    with up_of_its_own(world.home, "signal.signal(signal.SIGHUP, signal.SIG_IGN)") as up:
        await world.api.until(lambda api: bool(api.requests))
        up.send_signal(signal.SIGHUP)
        async with world.home.desk() as (context, _):
            await questions(context, 2)
        up.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(up.wait, STOPS_WITHIN_S) == 0
    await goes_on_to_its_end(world, mission)


def up_of_its_own(
    home: Home, first: str, terminal: processes.Standard = subprocess.DEVNULL
) -> contextlib.AbstractContextManager[processes.Process]:
    """`interlock up` in a session of its own, which does something first; killed at the end if necessary."""
    code = (
        f"import fcntl, os, runpy, signal, sys, termios\nos.setsid()\n{first}\nsys.argv[1:] = ['up']\n"
        "runpy.run_module('interlock.cli', run_name='__main__', alter_sys=True)"
    )
    up = processes.start(
        ("-c", code), folder=home.folder, environment=home.env, stdin=terminal, stdout=terminal, stderr=terminal
    )
    return processes.closing(up)


async def test_up_ends_cleanly_while_a_run_waits_for_a_person(world: World) -> None:
    mission = await begin(world.home)
    up = await world.home.up()
    async with world.home.desk() as (context, _):
        await questions(context, 2)
    await told_to_stop(up, signal.SIGINT)
    await goes_on_to_its_end(world, mission)


async def test_effect_that_is_under_way_when_up_is_stopped_is_brought_to_its_end(world: World) -> None:
    sending, stopped = asyncio.Event(), asyncio.Event()

    async def before() -> bool:
        sending.set()
        await stopped.wait()
        return True

    world.post.before[ADDRESSES[0]] = before
    mission = await begin(world.home)
    up = await world.home.up()
    async with world.home.desk() as (context, person):
        await answer_letters(context, person)
        await sending.wait()
        up.signal(signal.SIGTERM)
        stopped.set()
        assert (await up.ended(STOPS_WITHIN_S)).code == 0
        assert [card["kind"] for card in await signing.approvals(context)] == []
    await goes_on_to_its_end(world, mission, letters_are_answered=True)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
async def test_stopped_run_says_in_one_line_how_to_go_on(world: World, how: signal.Signals) -> None:
    hanging = hang(world, "plan:0")
    run = await world.home.start("run", GOAL)
    await hanging()
    run.signal(how)
    ended = await run.ended(STOPS_WITHIN_S)
    [line] = ended.err.splitlines()
    assert ended.code == 4
    assert "`interlock up`" in line
    mission = next(word.rstrip(":") for word in line.split() if word.startswith("mis_"))
    await goes_on_to_its_end(world, mission)


@pytest.mark.parametrize("loading", ["typer", "interlock.settings", "sqlmodel", "langgraph.graph"])
async def test_stopped_while_it_loads_no_command_shows_a_traceback(world: World, loading: str) -> None:
    started = await world.home.start("up", PYTHONVERBOSE="1")
    await until(
        lambda: f"import '{loading}" in started.err or started.process.returncode is not None, f"{loading} to be loaded"
    )
    said = [line for line in started.err.splitlines() if not line.startswith(("#", "import "))]
    assert started.process.returncode is None, said
    started.signal(signal.SIGINT)
    assert (await started.ended(STOPS_WITHIN_S)).code in (0, 130, -signal.SIGINT)


async def test_second_up_on_a_home_says_that_another_one_executes_it(world: World) -> None:
    await world.home.up()
    second = await world.home.run("up")
    [line] = second.err.splitlines()
    assert second.code == 1
    assert "another process executes" in line


async def test_up_of_another_home_with_the_same_database_says_so_too(world: World, tmp_path: Path) -> None:
    shared = {"INTERLOCK_DATABASE_URL": f"sqlite:///{tmp_path / 'shared.db'}"}
    await world.home.up(**shared)
    second = await world.home.run("up", **shared, INTERLOCK_HOME=str(tmp_path / "other"))
    [line] = second.err.splitlines()
    assert second.code == 1
    assert "another process executes" in line
    assert "shared.db" in line


async def test_of_two_terminals_that_answer_at_once_one_wins_and_the_other_is_told_who(world: World) -> None:
    await begin(world.home)
    await world.home.up()
    async with world.home.desk() as (context, _):
        ident = (await questions(context, 2))[0]
    both = await asyncio.gather(
        world.home.run("approve", ident), world.home.run("deny", ident, "--reason", "not this one")
    )  # fmt: skip
    winner, loser = sorted(both, key=lambda ran: ran.code)
    assert (winner.code, loser.code) == (0, 1)
    [line] = loser.err.splitlines()
    assert ident in line
    async with world.home.desk() as (context, person):
        card = await signing.approval(context, ident)
        assert card["decided_by_name"] == person.name
        assert person.name in line


async def test_parked_run_goes_on_soon_after_its_last_answer_from_another_process(world: World) -> None:
    await begin(world.home)
    await world.home.up()
    async with world.home.desk() as (context, person):
        await answer_letters(context, person)
        await until(lambda: len(world.post.letters) == 2, "the letters to leave", within_s=20)


def hang(world: World, name: str) -> Callable[[], Awaitable[None]]:
    """Lets one stream stop on its way; the result waits until it has."""
    numbers: list[int] = []

    async def interfere(asked: Asked) -> Scripted:
        numbers.append(asked.number)
        whole = answer(asked)
        return type(whole)(whole.blocks, usage=whole.usage, ending=Ending.HANG, events_before_ending=6)

    world.story.interferences[name] = interfere

    async def hanging() -> None:
        await world.api.until(lambda api: bool(numbers) and numbers[0] in api.hanging)

    return hanging


async def begin(home: Home) -> str:
    """Starts the mission without executing it; returns its id."""
    return str((await home.run("run", GOAL, "--no-wait", "--json")).json["mission_id"])


async def told_to_stop(up: Started, how: signal.Signals) -> None:
    """Ends `up` as it should end."""
    up.signal(how)
    ended = await up.ended(STOPS_WITHIN_S)
    assert (ended.code, ended.err) == (0, "")
    assert "goes on at the next start" in ended.out.splitlines()[-1]


async def answer_letters(context: DeskContext, person: Person) -> None:
    """Approves both letters."""
    for ident in await questions(context, 2):
        await signing.approve(context, person, ident)


async def goes_on_to_its_end(world: World, mission: str, *, letters_are_answered: bool = False) -> None:
    """The next start ends the mission, with each effect once and the books right."""
    up = await world.home.up()
    async with world.home.desk() as (context, person):
        if not letters_are_answered:
            await answer_letters(context, person)
        [review] = await questions(context)
        assert (await signing.approve(context, person, review))["kind"] == "TASK_REVIEW"
        await at_rest(context, mission)
        assert (await deliverable(context, mission)).content.decode().startswith("# Decision")
        await told_to_stop(up, signal.SIGTERM)
        await check_rest(context)
        await check_books(context, killed=False)
    assert [world.post.taken(address) for address in ADDRESSES] == [1, 1]
