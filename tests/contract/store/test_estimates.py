"""What a plan is likely to cost follows from what finished tasks of its types really cost."""

from typing import Any

import sqlalchemy as sa

from interlock.store import squad
from interlock.store.engine import Store
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import RUNS
from interlock.store.money import estimates
from interlock.store.tx import Tx
from interlock.store.work import tasks
from tests.contract.store.furniture import PROJECT, T0, after, agent, message

SONNET, OPUS = "anthropic/claude-sonnet-5-5", "anthropic/claude-opus-5-5"


def finished(tx: Tx, /, name: str, kind: str, model: str, *costs: int, **more: Any) -> None:
    """A task with a run for each cost; DONE unless told otherwise."""
    squad.ensure_project(tx, PROJECT, "UTC", T0)
    run = {"simulated": more.pop("simulated", False)}
    task: dict[str, Any] = {
        "id": name, "project_id": PROJECT, "mission_id": "m", "parent_id": "m", "key": name, "title": name,
        "description": name, "type": kind, "status": "DONE", "budget_microusd": 1_000_000, "idempotency_key": name,
        "created_at": T0, "updated_at": T0, **more,
    }  # fmt: skip
    tasks.add(tx, **task)
    for number, cost in enumerate(costs):
        key = f"{name}:{number}"
        mailbox.post(tx, message(agent(tx, name), key, task_id=name), T0)
        tx.run(sa.update(RUNS).where(RUNS.c.id == key).values(cost_microusd=cost, model=model, **run))


async def test_mean_of_finished_tasks_counts_by_type_and_model(store: Store) -> None:
    for number, costs in enumerate([(100_000,), (150_000, 50_000), (300_000,)]):
        await store.write(finished, f"r{number}", "research", SONNET, *costs)
    await store.write(finished, "dear", "research", OPUS, 900_000)
    await store.write(finished, "open", "research", SONNET, 5_000_000, status="IN_PROGRESS")
    await store.write(finished, "played", "research", SONNET, 5_000_000, simulated=True)
    await store.write(finished, "root", "research", SONNET, 5_000_000, parent_id=None)
    known = {(a.type, a.model): a for a in await store.read(estimates.actuals, PROJECT, after(1))}
    assert set(known) == {("research", SONNET), ("research", OPUS)}
    sonnet = known["research", SONNET]
    assert (sonnet.tasks, sonnet.mean_microusd, sonnet.most_microusd) == (3, 200_000, 300_000)

    async def plan(model: str | None, *given: tuple[str, int]) -> int:
        return await store.read(estimates.of_plan, PROJECT, given, model, after(1))

    assert await plan(SONNET, ("research", 1_000_000)) == 200_000
    assert await plan(OPUS, ("research", 1_000_000)) == 375_000, "too few with that model: all of the type"
    assert await plan(None, ("research", 300_000)) == 300_000, "never more than its budget"
    assert await plan(SONNET, ("research", 1_000_000), ("docs", 40_000)) == 240_000, "nothing is known of docs"


async def test_what_is_older_than_the_look_back_is_forgotten(store: Store) -> None:
    for number in range(3):
        await store.write(finished, f"r{number}", "research", SONNET, 100)
    later = T0 + estimates.LOOK_BACK
    given = [("research", 1_000_000)]
    assert await store.read(estimates.of_plan, PROJECT, given, None, later) == estimates.LEAST_MICROUSD
    assert await store.read(estimates.of_plan, PROJECT, given, None, later.replace(year=2027)) == 1_000_000
