"""Whatever comes in, from providers, files, databases or people: a clear line, and nothing is lost."""

import asyncio
import contextlib
import functools
import signal
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from interlock.cli.main import run as command_line
from interlock.desk.context import DeskContext
from interlock.desk.reading.listings import alerts
from interlock.desk.signoff import signing
from interlock.testing.messages_api import MessagesApi
from interlock.testing.messages_script import Ending, HangUp, Refusal, Scripted
from tests.e2e.books import at_rest, check_books, check_rest, questions
from tests.e2e.conftest import World
from tests.e2e.home import Home
from tests.e2e.story import GOAL, Asked, answer

UNKNOWN = "zzz_nowhere"
DEEP = "[" * 2000 + "]" * 2000
BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{after}: &{after} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, after in zip("abcdefgh", "bcdefghi", strict=True)
)
FAULTS = {
    "typo": b"versoin: 1\nmodle: x\n",
    "duplicate key": b"version: 1\nversion: 1\n",
    "alias bomb": BOMB.encode(),
    "python tag": b"version: !!python/object/apply:os.system ['true']\n",
    "deep nesting": f"version: {DEEP}\n".encode(),
    "not UTF-8": b"version: \xff\xfe\n",
}


@pytest.fixture
async def offline(tmp_path: Path) -> AsyncIterator[Home]:
    home = Home(tmp_path / "work", INTERLOCK_MODEL="rehearsal/offline")
    yield home
    await home.close()


async def finish(world: World, mission: str) -> None:
    """Executes a mission to its end, and checks the books."""
    up = await world.home.up()
    async with world.home.desk() as (context, person):
        for ident in await questions(context, 2):
            await signing.approve(context, person, ident)
        [review] = await questions(context)
        await signing.approve(context, person, review)
        await at_rest(context, mission)
        await check_rest(context)
        await check_books(context, killed=False)
    assert [len(world.post.letters), up.err] == [2, ""]


async def test_mission_refused_for_a_wrong_key_is_kept_and_ends_with_the_right_one(world: World) -> None:
    refused = await world.home.run("run", GOAL, ANTHROPIC_API_KEY="wrong")
    assert refused.code == 1
    [line] = [line for line in refused.out.splitlines() if line.startswith("failed:")]
    assert "check ANTHROPIC_API_KEY" in line
    assert "wrong" not in line
    [mission] = (await world.home.run("missions", "--json")).json
    await finish(world, mission["id"])


async def test_mission_ends_in_whatever_weather_its_provider_has(world: World) -> None:
    weather: dict[str, Scripted | Ending] = {
        "plan:0": Refusal(429, "rate_limit_error", "slow down", {"retry-after": "0"}),
        "facts:0": Refusal(529, "overloaded_error", "overloaded"),
        "facts:1": Ending.RESET,
        "code:0": Ending.CUT_JSON,
        "code:1": Ending.NO_STOP,
        "code:2": HangUp(),
        "mail:0": Refusal(500),
        "compile:0": Ending.RESET,
    }

    for name, kind in weather.items():
        world.story.interferences[name] = functools.partial(storm, kind)
    mission = (await world.home.run("run", GOAL, "--no-wait", "--json")).json["mission_id"]
    await finish(world, mission)
    assert {name: world.story.count(name) for name in weather} == dict.fromkeys(weather, 2)


async def storm(kind: Scripted | Ending, asked: Asked) -> Scripted:
    """What a request meets once: another answer, or the right one that ends badly."""
    if not isinstance(kind, Ending):
        return kind
    whole = answer(asked)
    return type(whole)(whole.blocks, usage=whole.usage, ending=kind)


async def test_mission_outlives_an_outage_and_goes_on_at_the_next_start(world: World) -> None:
    home = world.home
    mission = (await home.run("run", GOAL, "--no-wait", "--json")).json["mission_id"]
    async with MessagesApi(world.story) as gone:
        nowhere = gone.base_url
    up = await home.up(ANTHROPIC_BASE_URL=nowhere)
    async with home.desk() as (context, _):
        assert "cannot reach" in await first_alert(context)
    up.signal(signal.SIGTERM)
    await up.ended()
    await finish(world, mission)


async def first_alert(context: DeskContext) -> str:
    """The words of the first alert."""
    found: list[str] = []
    while not found:
        found = [alert["text"] for alert in await alerts(context)]
    return found[0]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("file", ["interlock.yaml", "policy.yaml"])
async def test_fault_in_settings_or_policy_stops_the_start_with_its_place(offline: Home, file: str, fault: str) -> None:
    (offline.folder / file).write_bytes(FAULTS[fault])
    ran = await offline.run("run", GOAL)
    assert (ran.code, ran.out) == (2, "")
    assert all(line.startswith(f"interlock: {file}:") for line in ran.err.splitlines())
    assert ran.err.splitlines()[0].split(":")[2].isdigit()
    assert not (offline.folder / "home" / "interlock.db").exists()


async def test_personas_with_faults_are_refused_with_their_places_and_the_others_work(offline: Home) -> None:
    folder = offline.folder / "personas"
    folder.mkdir()
    for fault, content in FAULTS.items():
        (folder / f"{fault.replace(' ', '-')}.yaml").write_bytes(content)
    checked = await offline.run("persona", "check")
    assert checked.code == 2
    ran = await offline.run("run", "Compare A and B", "--json")
    assert ran.json["standing"] in ("done", "waiting")
    for fault in FAULTS:
        place = f"{fault.replace(' ', '-')}.yaml:"
        for told in (checked.err, ran.err):
            [line, *_] = [line for line in told.splitlines() if place in line]
            assert line.partition(place)[2].partition(":")[0].isdigit()


async def test_every_command_that_takes_an_id_tells_in_a_line_that_there_is_none(
    offline: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    await offline.run("run", "Compare A and B", "--no-wait")
    monkeypatch.setenv("INTERLOCK_HOME", offline.env["INTERLOCK_HOME"])
    for args in (
        ("task", UNKNOWN), ("trace", UNKNOWN), ("cancel", UNKNOWN), ("deliverable", UNKNOWN), ("approve", UNKNOWN),
        ("deny", UNKNOWN, "--reason", "x"), ("approvals", "--mission", UNKNOWN), ("tasks", "--mission", UNKNOWN),
        ("runs", "--mission", UNKNOWN), ("alerts", "ack", UNKNOWN), ("budget", "raise", UNKNOWN, "5"),
    ):  # fmt: skip
        code = await asyncio.to_thread(command_line, args)
        told = capsys.readouterr()
        assert (code, told.out, len(told.err.splitlines())) == (1, "", 1), (args, told)
        assert f"`{UNKNOWN}`" in told.err
        assert "`interlock " in told.err


async def test_second_answer_is_told_in_a_line_who_was_first(offline: Home) -> None:
    await offline.run("run", "Compare A and B and e-mail the result to ann@example.com", "--json")
    [card, *_] = (await offline.run("approvals", "--json")).json
    assert (await offline.run("approve", card["id"])).code == 0
    second = await offline.run("deny", card["id"], "--reason", "too late")
    assert (second.code, second.out, len(second.err.splitlines())) == (1, "", 1)
    assert card["id"] in second.err


async def test_database_that_another_program_locks_is_told_in_a_line(offline: Home) -> None:
    await offline.run("run", "Compare A and B", "--no-wait")
    with contextlib.closing(sqlite3.connect(offline.folder / "home" / "interlock.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        ran = await offline.run("run", "Compare C and D", "--no-wait")
        assert (ran.code, ran.out, len(ran.err.splitlines())) == (1, "", 1)
        assert "is locked by another process" in ran.err
    assert (await offline.run("run", "Compare C and D", "--no-wait")).code == 0


async def test_database_of_a_newer_version_is_told_in_a_line(offline: Home) -> None:
    await offline.run("run", "Compare A and B", "--no-wait")
    path = offline.folder / "home" / "interlock.db"
    with contextlib.closing(sqlite3.connect(path)) as file:
        file.execute("UPDATE alembic_version SET version_num = '9999'")
        file.execute("UPDATE meta SET value = '9999' WHERE key = 'minimum_reader'")
        file.commit()
    ran = await offline.run("run", "Compare C and D", "--no-wait")
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (1, "", 1)
    assert "`9999`" in ran.err


@pytest.mark.parametrize("command", [("run", GOAL, "--no-wait"), ("up",), ("approvals",), ("doctor",)])
async def test_postgresql_that_cannot_be_reached_is_told_in_a_line_without_its_password(
    offline: Home, command: tuple[str, ...]
) -> None:
    ran = await offline.run(*command, INTERLOCK_DATABASE_URL="postgresql://me:hush@127.0.0.1:1/interlock")
    assert ran.code == 1
    assert len(ran.err.splitlines()) == (0 if command == ("doctor",) else 1)
    assert "127.0.0.1" in ran.err + ran.out
    assert "hush" not in ran.err + ran.out
