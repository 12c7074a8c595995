"""Whatever agents and people do, a mission never waits for nothing and comes to an end, over both databases."""

import random

import pytest

from interlock.store.signoff import approvals
from interlock.store.work import tasks
from tests.contract.graph.driving import Driver, driven, plan, step

PLAN = plan(
    step("facts", "research", "research"),
    step("rules", "compliance", "docs"),
    step("text", "storyteller", "content", depends_on=["facts", "rules"]),
    step("look", "qa", "other", depends_on=["text"], reviews="text"),
    step("after", "finance", "other", depends_on=["look"]),
)
MOST_STEPS = 120
WAITING = frozenset({"BLOCKED", "NEEDS_APPROVAL"})


async def act(mission: Driver, dice: random.Random) -> bool:
    """Ends a run or answers a question at random; False if there is nothing to end, to answer or to wait for."""
    keys = {row.id: row.key for row in await mission.rows()}
    work = sorted((keys[c.run.task_id], c.run.id) for c in mission.held.values() if c.run.task_id)
    thoughts = sorted(key for key in mission.held if key.startswith("think:"))
    asked = await mission.store.read(approvals.approvals)
    chances = [*work, *thoughts, *asked]
    if not chances:
        mission.clock.advance(30)
        await mission.settle()
        return bool(mission.held)
    chosen = dice.choice(chances)
    if isinstance(chosen, str):
        good = PLAN if ":plan:" in chosen else "All of it."
        purpose = chosen.split(":", 2)[2].rpartition(":")[0]
        await mission.think(purpose, dice.choice([good, good, "?"]), dice.choice([None, None, "gone"]))
    elif chosen in work:
        key = chosen[0]
        if dice.random() < 0.35:
            await mission.fail(key)
        else:
            await mission.deliver(key, verdict=dice.choice(["pass", "changes"]) if key == "look" else None)
    else:
        await mission.answer_one(chosen.id, dice.choice(["approve", "approve", "deny"]))
    return True


@pytest.mark.parametrize("seed", range(6))
async def test_mission_never_waits_for_nothing(database_url: str, seed: int) -> None:
    dice = random.Random(seed)
    async with driven(database_url) as mission:
        await mission.begin("Research the rules and write a story")
        for _ in range(MOST_STEPS):
            questions = {q.id for q in await mission.store.read(approvals.approvals)}
            for row in await mission.rows():
                if row.status in WAITING:
                    assert row.wait_for.removeprefix("approval:") in questions, (row.key, row.status, row.wait_for)
            if (await mission.task("root")).status in ("DONE", "CANCELED"):
                break
            assert await act(mission, dice), await mission.statuses()
        states = await mission.statuses()
        assert states["root"] in ("DONE", "CANCELED"), states
        assert set(states.values()) <= {"DONE", "CANCELED"}
        for row in await mission.rows():
            if row.status == "DONE":
                assert row.approval_id is not None
                assert await mission.store.read(tasks.deliverable, row.deliverable_id) is not None
