"""What the coordinator does when tasks fail, lose their inputs, or find nobody, over both databases."""

from dataclasses import replace

import pytest

from interlock.state_machine.table import TaskState
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.mailboxes import leases
from interlock.store.signoff import approvals
from interlock.store.work import missions
from tests.contract.graph.driving import Driver, driven, plan, step

TWO = plan(
    step("facts", "research", "research"),
    step("text", "storyteller", "content", depends_on=["facts"]),
    step("costs", "finance", "other"),
)


async def use_up_tries(mission: Driver, key: str) -> None:
    await mission.fail(key)
    for backoff_s in (5, 30):
        task_id = await mission.id_of(key)
        assert not any(task_id in held for held in mission.held)
        mission.clock.advance(backoff_s)
        await mission.settle()
        await mission.fail(key)


async def test_failed_run_is_retried_twice_with_backoff_and_told_why(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", TWO)
        await mission.fail("facts", "the page was gone")
        task = await mission.task("facts")
        assert (task.status, task.attempt) == ("IN_PROGRESS", 1)
        assert "the page was gone" in task.feedback
        mission.clock.advance(5)
        await mission.settle()
        await mission.deliver("facts")
        assert (await mission.task("facts")).status == "DONE"


async def test_as_many_tries_are_made_as_the_settings_say(database_url: str) -> None:
    async with driven(database_url) as mission:
        mission.waits = replace(mission.waits, task_tries=1)
        await mission.begin()
        await mission.think("plan", TWO)
        await mission.fail("facts")
        task = await mission.task("facts")
        assert (task.status, task.block_kind, task.attempt) == ("BLOCKED", "FAILURE", 1)


async def test_third_failure_blocks_the_task_and_asks_the_operator(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", TWO)
        await use_up_tries(mission, "facts")
        task = await mission.task("facts")
        assert (task.status, task.block_kind, task.attempt) == ("BLOCKED", "FAILURE", 3)
        asked = (await mission.store.read(approvals.approvals))[0]
        assert (asked.kind, task.wait_for) == ("ESCALATION", f"approval:{asked.id}")
        assert "`Task text`" in asked.request["deny"]
        assert [d["reason"] for d in await mission.decisions("escalation")] == [task.block_reason]
        assert any(task.id == alert.subject for alert in await mission.store.read(audit.alerts))
        assert (await mission.member("research")).failed_count == 1


async def test_run_that_was_denied_money_is_not_tried_again_unasked(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", TWO)
        await mission.fail("facts", "a person did not raise the budget: enough", stop="budget")
        task = await mission.task("facts")
        assert (task.status, task.block_kind, task.attempt) == ("BLOCKED", "BUDGET", 1)
        [asked] = await mission.store.read(approvals.approvals)
        assert (asked.kind, "enough" in asked.reasons[0]) == ("ESCALATION", True)
        await mission.answer("ESCALATION", "deny")
        assert (await mission.task("facts")).status == "CANCELED"


@pytest.mark.parametrize("verdict", ["approve", "deny"])
async def test_mission_that_was_denied_money_asks_once_for_all_its_tasks(database_url: str, verdict: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", plan(step("facts", "research", "research"), step("rules", "compliance", "docs")))
        denied = f"a person did not raise the budget of `mission:{mission.mission}`: enough"
        for key in ("facts", "rules"):
            await mission.fail(key, denied, stop="budget")
        [asked] = await mission.store.read(approvals.approvals)
        root = await mission.task("root")
        assert (asked.kind, asked.task_id, root.status) == ("ESCALATION", root.id, "NEEDS_APPROVAL")
        for key in ("facts", "rules"):
            task = await mission.task(key)
            assert (task.status, task.wait_for) == ("NEEDS_APPROVAL", f"approval:{asked.id}")
        await mission.answer("ESCALATION", verdict)
        if verdict == "deny":
            assert set((await mission.statuses()).values()) == {"CANCELED"}
            return
        assert set((await mission.statuses()).values()) == {"IN_PROGRESS"}
        for key in ("facts", "rules"):
            await mission.deliver(key)
        assert [q.kind for q in await mission.store.read(approvals.approvals)].count("ESCALATION") == 0


async def test_plan_that_was_denied_money_is_made_without_a_model(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", None, "a person did not raise the budget: enough", stop="budget")
        [decision] = await mission.decisions("plan")
        assert "fallback" in decision["reason"]


async def test_operator_has_a_failed_task_tried_again(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", TWO)
        await use_up_tries(mission, "facts")
        await mission.answer("ESCALATION", "approve")
        assert (await mission.task("facts")).status == "IN_PROGRESS"
        await mission.deliver("facts")
        assert (await mission.statuses())["text"] == "ASSIGNED"


async def test_question_is_taken_back_when_a_person_moves_the_task_on_by_hand(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", TWO)
        await use_up_tries(mission, "facts")
        await mission.as_person("facts", TaskState.IN_PROGRESS, "the page is back")
        assert await mission.pending() == []
        await mission.deliver("facts")
        assert (await mission.task("facts")).status == "DONE"


async def test_operator_goes_on_without_a_failed_task_and_the_mission_ends_in_part(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", TWO)
        await use_up_tries(mission, "facts")
        await mission.answer("ESCALATION", "deny", "not worth it")
        assert await mission.statuses() == {
            "root": "IN_PROGRESS", "facts": "CANCELED", "text": "CANCELED", "costs": "ASSIGNED"
        }  # fmt: skip
        await mission.deliver("costs", "the costs")
        prompt = mission.held[f"think:{mission.mission}:compile:0:1"].run.payload["prompt"]
        assert "Task facts: it was cancelled" in prompt
        await mission.think("compile:0", "Only the costs.")
        assert (await mission.task("root")).status == "DONE"


async def test_mission_of_which_nothing_is_left_asks_how_to_end(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", plan(step("facts", "research", "research")))
        await mission.as_person("facts", TaskState.CANCELED, "no longer needed")
        assert ((await mission.task("root")).status, await mission.pending()) == ("BLOCKED", ["ESCALATION"])
        await mission.answer("ESCALATION", "approve")
        assert (await mission.task("root")).status == "DONE"
        assert "Task facts: it was cancelled" in (await mission.deliverable()).text


async def test_denying_that_question_cancels_the_mission(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", plan(step("facts", "research", "research")))
        await mission.as_person("facts", TaskState.CANCELED, "no longer needed")
        await mission.answer("ESCALATION", "deny")
        assert set((await mission.statuses()).values()) == {"CANCELED"}


async def test_task_whose_input_was_cancelled_waits_for_a_person_and_can_go_on_without_it(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", TWO)
        await mission.as_person("facts", TaskState.CANCELED, "no longer needed")
        task = await mission.task("text")
        assert (task.status, task.block_kind, await mission.pending()) == ("BLOCKED", "DEPENDENCY", ["ESCALATION"])
        await mission.answer("ESCALATION", "approve")
        assert (await mission.task("text")).status == "ASSIGNED"
        assert "as a person has decided" in (await mission.decisions("resolution"))[-1]["reason"]


async def test_cancelled_task_has_its_run_stopped(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", TWO)
        held = mission.held_for(await mission.id_of("facts"))
        await mission.as_person("facts", TaskState.CANCELED, "no longer needed")
        controlled = await mission.store.read(leases.controlled, "worker")
        assert [(row.id, row.control) for row in controlled] == [(held.run.id, "cancel")]


async def test_cancelled_run_of_an_open_task_is_the_operators_to_settle(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", TWO)
        await mission.fail("facts")
        waiting = next(run for run in await mission.runs() if run.status == "created" and run.task_id)
        await mission.store.write(leases.cancel, waiting.id, mission.clock.now(), "too dear")
        news = {"run_id": waiting.id, "status": "cancelled"}
        await mission.store.write(missions.notify, mission.mission, "run_ended", news, mission.clock.now())
        await mission.settle()
        task = await mission.task("facts")
        assert (task.status, task.block_kind) == ("BLOCKED", "OPERATOR")
        await mission.answer("ESCALATION", "approve")
        await mission.deliver("facts")
        assert (await mission.task("facts")).status == "DONE"


async def test_task_that_was_blocked_while_its_run_waited_gets_a_new_run_when_it_is_freed(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", TWO)
        await mission.fail("facts")
        waiting = next(run for run in await mission.runs() if run.status == "created" and run.task_id)
        await mission.block("facts")
        await mission.store.write(leases.cancel, waiting.id, mission.clock.now(), "its task is no longer open")
        await mission.as_person("facts", TaskState.IN_PROGRESS, "go on")
        assert await mission.pending() == []
        await mission.deliver("facts")
        assert (await mission.task("facts")).status == "DONE"


async def test_task_without_anybody_to_do_it_waits_with_an_alert_until_somebody_can(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        now = mission.clock.now()
        for persona in ("storyteller", "designer"):
            member = await mission.store.write(squad.ensure_member, "default", persona, "specialist", now)
            await mission.store.write(squad.set_state, member.id, "QUARANTINED", "odd calls")
        await mission.think("plan", plan(step("text", "storyteller", "content"), step("costs", "finance", "other")))
        task = await mission.task("text")
        assert (task.status, task.block_kind, await mission.pending()) == ("BLOCKED", "NO_AGENT", ["ESCALATION"])
        assert "quarantined" in task.block_reason
        member = await mission.member("storyteller")
        await mission.store.write(squad.set_state, member.id, "ACTIVE", None)
        await mission.deliver("costs")
        assert ((await mission.task("text")).status, await mission.pending()) == ("ASSIGNED", [])
        await mission.deliver("text")
        assert (await mission.task("text")).status == "DONE"


async def test_another_persona_that_may_take_the_type_stands_in(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        member = await mission.store.write(
            squad.ensure_member, "default", "research", "specialist", mission.clock.now()
        )  # fmt: skip
        await mission.store.write(squad.set_state, member.id, "PAUSED", "budget")
        await mission.think("plan", plan(step("facts", "research", "research")))
        decided = (await mission.decisions("delegation"))[0]
        assert decided["inputs"]["substitute"]
        assert "is paused" in decided["reason"]
        assert (await mission.task("facts")).status == "ASSIGNED"
