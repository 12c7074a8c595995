"""A mission whose executing process is killed again and again: the same deliverable, each effect once, every cent."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from interlock.desk.context import DeskContext, Person
from interlock.desk.reading.details import deliverable
from interlock.desk.signoff import signing
from interlock.store.schema import Run, ToolCall
from interlock.testing.messages_script import Ending, Scripted
from tests.e2e.books import at_rest, check_books, check_rest, questions, rows
from tests.e2e.conftest import World
from tests.e2e.home import Started
from tests.e2e.story import GOAL, Asked, answer

DELIVERABLE = "# Decision\n\n- Code: The code is in store.py.\n- Facts: Redis is fast.\n- Mail: People were told."
ANA, BEN = "ana@example.com", "ben@example.com"


@dataclass
class Siege:
    """A mission under fire. Its points are killed at once each, by what the outside sees or the database holds."""

    world: World
    points: list[str]
    repeats: bool = True
    """What the operator says where an outcome is not known: repeat it."""
    running: Started | None = None
    deaths: list[str] = field(default_factory=list)
    group: asyncio.TaskGroup = field(default_factory=asyncio.TaskGroup)
    uncertain: list[str] = field(default_factory=list)
    """Whom letters were for whose fate a person was asked about."""

    async def kill(self, point: str) -> None:
        """Kills the executing process, dead on return."""
        assert self.running is not None
        self.points.remove(point)
        await self.running.killed()
        self.deaths.append(point)

    def set_traps(self) -> None:
        """Makes the outside kill when its moment comes."""
        for point in self.points:
            kind, _, name = point.partition(" ")
            if kind in ("asked", "streaming", "answered"):
                self.world.story.interferences[name] = getattr(self, f"_{kind}")
            elif kind in ("sending", "sent"):
                self.world.post.before[f"{name}@example.com"] = self._letter(point, is_taken=kind == "sent")

    async def _asked(self, asked: Asked) -> None:
        await self.kill(f"asked {asked.name}")

    async def _streaming(self, asked: Asked) -> Scripted:
        whole = answer(asked)

        async def shoot() -> None:
            await self.world.api.until(lambda api: asked.number in api.hanging)
            await self.kill(f"streaming {asked.name}")

        self.group.create_task(shoot())
        return type(whole)(whole.blocks, usage=whole.usage, ending=Ending.HANG, events_before_ending=6)

    async def _answered(self, asked: Asked) -> None:
        async def shoot() -> None:
            await self.world.api.until(lambda api: asked.number in api.answered)
            await self.kill(f"answered {asked.name}")

        self.group.create_task(shoot())

    def _letter(self, point: str, *, is_taken: bool) -> Callable[[], Awaitable[bool]]:
        async def before() -> bool:
            await self.kill(point)
            return is_taken

        return before

    async def keep_up(self) -> None:
        """Starts the executing process, again whenever it was killed."""
        while True:
            self.running = await self.world.home.start("up")
            ended = await self.running.process.ended()
            assert ended == -signal.SIGKILL, self.running.err

    async def sign(self, context: DeskContext, person: Person) -> None:
        """Answers the questions as they come, and kills between them."""
        for number in range(1, 3):
            await questions(context, 3 - number)
            await self._at(f"asked-for-approval {number}")
            cards = [card for card in await signing.approvals(context) if card["kind"] == "TOOL_CALL"]
            await signing.approve(context, person, cards[0]["id"])
            await self._at(f"approved {number}")
        reviewed = False
        while not reviewed:
            card = await signing.approval(context, (await questions(context))[0])
            if card["kind"] == "UNKNOWN_OUTCOME":
                self.uncertain += card["args"]["to"]
                if self.repeats:
                    await signing.approve(context, person, card["id"])
                else:
                    await signing.deny(context, person, card["id"], reason="it has arrived")
                continue
            assert card["kind"] == "TASK_REVIEW"
            await self._at("review")
            await signing.approve(context, person, card["id"])
            await self._at("reviewed")
            reviewed = True

    async def _at(self, point: str) -> None:
        if point in self.points:
            await self.kill(point)


async def endure(siege: Siege) -> dict[str, int]:
    """Runs the mission through all its points to its end, checks what must hold, returns the money."""
    world = siege.world
    siege.set_traps()
    mission = (await world.home.run("run", GOAL, "--no-wait", "--json")).json["mission_id"]
    async with world.home.desk() as (context, person), asyncio.TaskGroup() as group:
        keeper = group.create_task(siege.keep_up())
        siege.group = group
        await siege.sign(context, person)
        await at_rest(context, mission)
        keeper.cancel()
        assert siege.points == []
        found = await deliverable(context, mission)
        assert found.content.decode() == DELIVERABLE
        await check_rest(context)
        await _check_no_work_twice(context)
        return await check_books(context)


async def _check_no_work_twice(context: DeskContext) -> None:
    runs = [run for run in await rows(context, Run) if run.kind != "mission"]
    assert sorted(run.kind for run in runs) == ["learn"] * 4 + ["task"] * 3 + ["think"] * 2
    handed_in = [call.run_id for call in await rows(context, ToolCall) if call.tool == "submit_deliverable"]
    assert len(handed_in) == len(set(handed_in)) == 3


MODEL_CALLS = [
    "asked plan:0", "streaming facts:0", "answered facts:1", "streaming compile:0", "asked learn:0",
]  # fmt: skip
PEOPLE = ["approved 1", "approved 2", "reviewed"]


async def test_mission_survives_the_death_of_its_process_during_model_calls(world: World) -> None:
    siege = Siege(world, list(MODEL_CALLS))
    money = await endure(siege)
    assert (world.post.taken(ANA), world.post.taken(BEN), siege.uncertain) == (1, 1, [])
    assert money["known"] > 0
    assert money["estimated"] > 0


async def test_mission_survives_the_death_of_its_process_around_answers_of_people(world: World) -> None:
    siege = Siege(world, list(PEOPLE))
    await endure(siege)
    assert (world.post.taken(ANA), world.post.taken(BEN), siege.uncertain) == (1, 1, [])


async def test_letter_that_had_left_when_its_process_died_is_put_before_a_person(world: World) -> None:
    siege = Siege(world, ["sent ana", "asked mail:1"], repeats=False)
    await endure(siege)
    assert (world.post.taken(ANA), world.post.taken(BEN), siege.uncertain) == (1, 1, [ANA])
    told = str(world.story.last("mail:1").body["messages"][-1]["content"][0])
    assert "it has arrived" in told


async def test_letter_that_had_not_left_when_its_process_died_goes_out_on_a_persons_word(world: World) -> None:
    siege = Siege(world, ["sending ana", "sending ben"], repeats=True)
    await endure(siege)
    assert (world.post.taken(ANA), world.post.taken(BEN), sorted(siege.uncertain)) == (1, 1, [ANA, BEN])


async def test_mission_on_postgresql_survives_the_death_of_its_process(world: World, postgres_url: str) -> None:
    world.home.env["INTERLOCK_DATABASE_URL"] = postgres_url
    siege = Siege(world, ["streaming facts:0", "approved 2", "sent ben"], repeats=False)
    await endure(siege)
    assert (world.post.taken(ANA), world.post.taken(BEN), siege.uncertain) == (1, 1, [BEN])
