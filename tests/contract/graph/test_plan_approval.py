"""Plans that a person approves before work begins, where the settings say so."""

from datetime import timedelta

from interlock.graph.applying import Waits
from interlock.oversight import expiry
from interlock.store.signoff import approvals
from tests.contract.graph.driving import driven, plan, step

PLAN = plan(step("facts", "research", "research"), step("text", "storyteller", "content", depends_on=["facts"]))
OTHER = plan(step("sums", "finance", "other"))
ASKED = Waits(plan="ask")


async def test_no_work_begins_before_a_person_has_approved_the_plan(database_url: str) -> None:
    async with driven(database_url) as mission:
        mission.waits = ASKED
        await mission.begin()
        await mission.think("plan", PLAN)
        assert await mission.statuses() == {"root": "NEEDS_APPROVAL"}
        (asked,) = await mission.store.read(approvals.approvals)
        assert (asked.kind, asked.risk, asked.on_behalf_of) == ("PLAN", "YELLOW", mission.person)
        assert [(task["key"], task["persona"], task["depends_on"]) for task in asked.request["plan"]] == [
            ("facts", "research", []), ("text", "storyteller", ["facts"])
        ]  # fmt: skip
        assert (await mission.task("root")).wait_for == f"approval:{asked.id}"
        await mission.settle()
        await mission.answer("PLAN", "approve")
        assert await mission.statuses() == {"root": "IN_PROGRESS", "facts": "ASSIGNED", "text": "INBOX"}


async def test_denied_plan_is_made_anew_with_the_reason_and_asked_about_again(database_url: str) -> None:
    async with driven(database_url) as mission:
        mission.waits = ASKED
        await mission.begin()
        await mission.think("plan", PLAN)
        await mission.answer("PLAN", "deny", "leave the story out, only sums")
        assert (await mission.task("root")).status == "IN_PROGRESS"
        prompt = mission.held[f"think:{mission.mission}:plan:2"].run.payload["prompt"]
        assert "leave the story out, only sums" in prompt
        await mission.think("plan", OTHER)
        assert (await mission.task("root")).status == "NEEDS_APPROVAL"
        await mission.answer("PLAN", "approve")
        assert await mission.statuses() == {"root": "IN_PROGRESS", "sums": "ASSIGNED"}


async def test_a_plan_that_cannot_be_used_is_still_asked_for_twice_after_a_denial(database_url: str) -> None:
    async with driven(database_url) as mission:
        mission.waits = ASKED
        await mission.begin()
        await mission.think("plan", PLAN)
        await mission.answer("PLAN", "deny", "no")
        await mission.think("plan", "no plan at all")
        await mission.think("plan", OTHER)
        await mission.answer("PLAN", "approve")
        assert (await mission.statuses())["sums"] == "ASSIGNED"


async def test_plan_that_nobody_answers_blocks_the_mission(database_url: str) -> None:
    async with driven(database_url) as mission:
        mission.waits = ASKED
        await mission.begin()
        await mission.think("plan", PLAN)
        (asked,) = await mission.store.read(approvals.approvals)
        late = asked.expires_at + timedelta(seconds=1)
        await mission.store.write(expiry.expire, asked.id, late, late)
        root = await mission.task("root")
        assert (root.status, root.block_kind) == ("BLOCKED", "EXPIRED")


async def test_missions_plan_by_themselves_unless_the_settings_say_otherwise(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", PLAN)
        assert await mission.store.read(approvals.approvals) == []
        assert (await mission.statuses())["facts"] == "ASSIGNED"
