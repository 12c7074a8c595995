"""Changes of state that are one too many: the coordinator blocks the task before anything follows from the last one."""

from interlock.state_machine.table import TaskState
from interlock.store.knowledge import incidents
from tests.contract.graph.driving import Driver, driven, plan, step


async def sent_back(mission: Driver, times: int) -> None:
    """Work that a person sends back again and again."""
    await mission.begin()
    await mission.think("plan", plan(step("text", "compliance", "docs")))
    for _ in range(times):
        await mission.deliver("text")
        await mission.answer("TASK_REVIEW", "deny", "name the clause")


async def test_no_run_is_posted_for_the_cycle_that_makes_a_loop(database_url: str) -> None:
    async with driven(database_url) as mission:
        await sent_back(mission, 4)
        task = await mission.task("text")
        assert (task.status, task.block_kind) == ("BLOCKED", "LOOP")
        assert task.block_reason == "a loop: it was sent back 4 times, more than 3 are a loop"
        runs = [run for run in await mission.runs() if run.task_id == task.id and run.kind == "task"]
        assert [run.status for run in runs] == ["completed"] * 4
        assert [row.kind for row in await mission.store.read(incidents.of_task, task.id)] == ["LOOP"]
        assert await mission.pending() == ["ESCALATION"]


async def test_note_of_the_person_reaches_the_run_that_may_continue(database_url: str) -> None:
    async with driven(database_url) as mission:
        await sent_back(mission, 4)
        await mission.answer("ESCALATION", "approve")
        task = await mission.task("text")
        assert (task.status, task.feedback, task.attempt) == ("IN_PROGRESS", "name the clause", 0)
        for _ in range(3):
            await mission.deliver("text")
            await mission.answer("TASK_REVIEW", "deny", "still not")
        assert (await mission.task("text")).status == "IN_PROGRESS"
        await mission.deliver("text")
        await mission.answer("TASK_REVIEW", "deny", "still not")
        assert (await mission.task("text")).block_kind == "LOOP"


async def test_task_that_only_goes_to_and_fro_is_blocked_at_the_change_that_makes_it_so(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", plan(step("text", "research", "research")))
        for _ in range(3):
            await mission.block("text")
            assert (await mission.task("text")).block_kind == "OPERATOR"
            await mission.as_person("text", TaskState.ASSIGNED, "go on")
        task = await mission.task("text")
        assert (task.status, task.block_kind) == ("BLOCKED", "LOOP")
        assert task.block_reason == (
            "a loop: its state changed 7 times in 60 min, 6 times between ASSIGNED and BLOCKED"
        )  # fmt: skip
        await mission.answer("ESCALATION", "approve")
        assert (await mission.task("text")).status == "ASSIGNED"
        await mission.deliver("text")
        assert (await mission.task("text")).status == "DONE"


async def test_changes_hours_apart_are_no_loop(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", plan(step("text", "research", "research")))
        for _ in range(6):
            await mission.block("text")
            mission.clock.advance(3_601)
            await mission.as_person("text", TaskState.ASSIGNED, "go on")
        assert (await mission.task("text")).status == "ASSIGNED"
