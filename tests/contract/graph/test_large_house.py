"""What a step of the coordinator asks of the database does not grow with how many personas there are."""

from interlock.agents.persona import Persona
from interlock.graph.loading import Loaded, load
from interlock.store import squad
from interlock.store.mailboxes.mailbox import Claim
from interlock.store.money import estimates
from tests.contract.graph.driving import PERSONAS, Driver, driven, plan, step
from tests.contract.store.watching import Watched, watched

ONE = plan(step("facts", "research", "research"), step("rules", "compliance", "docs", depends_on=["facts"]))


def crowd(count: int) -> dict[str, Persona]:
    """The personas there are, and so many others."""
    others = {f"helper{n}": PERSONAS["research"].model_copy(update={"name": f"helper{n}"}) for n in range(count)}
    return {**PERSONAS, **others}


async def loaded(mission: Driver, count: int = 0) -> tuple[Loaded, Watched]:
    """The mission as it is, with so many more personas, and what was asked for it."""
    store, seen = watched(mission.store)
    return await store.read(load, mission.mission, crowd(count), mission.clock.now()), seen


async def test_members_are_read_with_as_many_statements_however_many_there_are(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        now = mission.clock.now()
        for name in crowd(30):
            await mission.store.write(squad.ensure_member, "default", name, "specialist", now)
        steps = []

        async def seen(mission: Driver, claim: Claim) -> Claim:
            steps.append((await loaded(mission), await loaded(mission, 30)))
            return claim

        mission.before = seen
        await mission.think("plan", ONE)
        (few, fewer_asked), (many, asked) = next(pair for pair in steps if pair[0][0].view.candidates)
        assert len(many.view.candidates) == len(few.view.candidates) + 30
        assert len(asked.reads) == len(fewer_asked.reads)


async def test_members_are_left_alone_where_nothing_is_to_be_given_out(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", ONE)
        found, asked = await loaded(mission)
        assert [(task.key, task.status) for task in found.view.tasks] == [("facts", "ASSIGNED"), ("rules", "INBOX")]
        assert found.view.candidates == ()
        assert squad._ACTIVE_TASKS not in asked.reads


async def test_what_a_plan_will_cost_is_looked_up_beside_the_writer(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        mission.store, asked = watched(mission.store)
        await mission.think("plan", ONE)
        assert estimates._COSTS in asked.reads
        assert estimates._COSTS not in asked.writes
