"""Reviews, rework and sign-off by risk, over both databases."""

from typing import Any

from tests.contract.graph.driving import Driver, driven, plan, step

REVIEWED = plan(
    step("text", "storyteller", "content"),
    step("look", "qa", "other", depends_on=["text"], reviews="text"),
    step("after", "research", "research", depends_on=["look"]),
)


async def reviewed(mission: Driver, verdict: str, words: str = "the second figure is wrong") -> None:
    await mission.deliver("look", words, verdict=verdict)


async def test_review_looks_at_work_in_review_and_a_pass_ends_both(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", REVIEWED)
        await mission.deliver("text")
        assert (await mission.task("text")).status == "REVIEW"
        assert (await mission.task("look")).status == "ASSIGNED"
        await reviewed(mission, "pass")
        assert await mission.statuses() == {
            "root": "IN_PROGRESS", "text": "DONE", "look": "DONE", "after": "ASSIGNED"
        }  # fmt: skip


async def test_changes_send_the_work_back_with_the_findings_and_it_is_reviewed_again(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", REVIEWED)
        await mission.deliver("text")
        await reviewed(mission, "changes")
        task = await mission.task("text")
        assert (task.status, task.review_cycles) == ("IN_PROGRESS", 1)
        assert "the second figure is wrong" in task.feedback
        first, second = [run for run in await mission.runs() if run.task_id == task.id]
        assert first.agent_id == second.agent_id
        assert second.payload == {"purpose": "rework", "task_id": task.id}
        await mission.deliver("text", "better")
        look = await mission.task("look")
        assert (look.status, look.review_cycles) == ("IN_PROGRESS", 1)
        await reviewed(mission, "pass")
        assert (await mission.statuses())["text"] == "DONE"


async def disagree(mission: Driver) -> None:
    await mission.begin()
    await mission.think("plan", REVIEWED)
    for _ in range(3):
        await mission.deliver("text")
        await reviewed(mission, "changes")
    await mission.deliver("text")
    await reviewed(mission, "changes")


async def test_after_the_third_cycle_the_operator_is_asked_and_may_take_the_work_as_it_is(database_url: str) -> None:
    async with driven(database_url) as mission:
        await disagree(mission)
        assert ((await mission.task("text")).status, await mission.pending()) == ("NEEDS_APPROVAL", ["ESCALATION"])
        dissent = (await mission.decisions("resolution"))[-1]["inputs"]
        assert (len(dissent["against"]), dissent["for"]) == (1, [])
        await mission.answer("ESCALATION", "approve")
        assert (await mission.statuses())["text"] == "DONE"
        assert (await mission.statuses())["after"] == "ASSIGNED"


async def test_operator_may_go_on_without_disputed_work(database_url: str) -> None:
    async with driven(database_url) as mission:
        await disagree(mission)
        await mission.answer("ESCALATION", "deny")
        assert await mission.statuses() == {
            "root": "BLOCKED", "text": "CANCELED", "look": "CANCELED", "after": "CANCELED"
        }  # fmt: skip


async def test_fourth_cycle_is_a_loop_that_only_a_person_ends(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", plan(step("text", "compliance", "docs")))
        for _ in range(4):
            await mission.deliver("text")
            await mission.answer("TASK_REVIEW", "deny", "not yet")
        task = await mission.task("text")
        assert (task.status, task.block_kind, task.review_cycles) == ("BLOCKED", "LOOP", 4)
        await mission.answer("ESCALATION", "approve")
        await mission.deliver("text")
        await mission.answer("TASK_REVIEW", "approve")
        assert (await mission.task("text")).status == "DONE"


async def signed(mission: Driver, persona: str, kind: str, risk: str = "GREEN") -> Any:
    await mission.begin()
    await mission.think("plan", plan(step("work", persona, kind)))
    await mission.deliver("work", risk=risk)
    return await mission.task("work")


async def test_green_work_is_approved_by_the_policy_with_a_record(database_url: str) -> None:
    async with driven(database_url) as mission:
        task = await signed(mission, "research", "research")
        record = await mission.approval(task.approval_id)
        assert (task.status, record.decided_by, record.status, record.risk) == (
            "DONE", "system:policy", "approved", "GREEN"
        )  # fmt: skip


async def test_yellow_work_of_a_specialist_needs_no_person(database_url: str) -> None:
    async with driven(database_url) as mission:
        assert (await signed(mission, "research", "research", "YELLOW")).status == "DONE"


async def test_red_work_is_done_only_when_a_person_signs_it_off(database_url: str) -> None:
    async with driven(database_url) as mission:
        task = await signed(mission, "compliance", "docs")
        assert (task.status, await mission.pending()) == ("NEEDS_APPROVAL", ["TASK_REVIEW"])
        await mission.answer("TASK_REVIEW", "approve")
        task = await mission.task("work")
        record = await mission.approval(task.approval_id)
        assert (task.status, record.decided_by) == ("DONE", mission.person)
        assert (await mission.member("compliance")).done_count == 1


async def test_denied_red_work_goes_back_with_the_persons_words(database_url: str) -> None:
    async with driven(database_url) as mission:
        await signed(mission, "compliance", "docs")
        await mission.answer("TASK_REVIEW", "deny", "name the clause")
        task = await mission.task("work")
        assert (task.status, task.review_cycles, task.feedback) == ("IN_PROGRESS", 1, "name the clause")
        await mission.deliver("work", "clause 7")
        assert (await mission.task("work")).status == "NEEDS_APPROVAL"


async def test_work_that_a_person_sent_back_is_reviewed_anew_before_its_next_sign_off(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think(
            "plan",
            plan(step("text", "compliance", "docs"), step("look", "qa", "other", depends_on=["text"], reviews="text")),
        )
        await mission.deliver("text")
        await reviewed(mission, "pass")
        await mission.answer("TASK_REVIEW", "deny", "too long")
        await mission.deliver("text", "shorter")
        assert ((await mission.task("look")).status, await mission.pending()) == ("IN_PROGRESS", [])
        await reviewed(mission, "pass")
        await mission.answer("TASK_REVIEW", "approve")
        assert await mission.statuses() == {"root": "IN_PROGRESS", "text": "DONE", "look": "DONE"}


async def test_reviewer_who_waits_for_what_comes_after_the_work_holds_nothing_up(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think(
            "plan",
            plan(
                step("text", "storyteller", "content"),
                step("look", "qa", "other", depends_on=["text"], reviews="text"),
                step("after", "research", "research", depends_on=["look"]),
                step("late", "qa", "other", depends_on=["text", "after"], reviews="text"),
            ),
        )
        await mission.deliver("text")
        await reviewed(mission, "pass")
        assert (await mission.statuses())["text"] == "DONE"
        await mission.deliver("after")
        await mission.deliver("late", "too late", verdict="changes")
        assert set((await mission.statuses()).values()) == {"IN_PROGRESS", "DONE"}
