"""Missions that go by a workflow: no plan is made, its limits hold, and crashes change nothing."""

from dataclasses import replace
from typing import Any

from interlock.graph.applying import Waits
from interlock.graph.launch import Launch, launch
from interlock.graph.workflow import Step, Workflow
from tests.contract.graph import test_crashes
from tests.contract.graph.driving import PERSONAS, Driver, driven, plan
from tests.contract.graph.driving import step as planned

FLOW = Workflow(
    name="tidy", title="Tidy up", source="workflows/tidy.yaml", digest="d1", inputs={"depth": "all of it"},
    steps=(
        Step(key="look", title="Look", persona="research", task="Look at {{goal}}, {{inputs.depth}}",
             expected="a list", type="research", retries=0, timeout_s=900),
        Step(key="do", title="Do it", persona="storyteller", task="Do {{steps.look}}", expected="the text",
             type="content", depends_on=("look",), retries=3, review="qa", review_type="engineering"),
    ),
)  # fmt: skip


async def begin(mission: Driver, flow: Workflow = FLOW) -> None:
    """Launches a mission that goes by a workflow."""
    wish = Launch(
        project_id="default", goal="the cellar", requested_by=mission.person, coordinator=PERSONAS["coordinator"],
        budget_microusd=20_000_000, idempotency_key="k", workflow=flow,
    )  # fmt: skip
    mission.mission = await mission.store.write(launch, wish, mission.clock.now())
    await mission.settle()


async def test_the_steps_become_the_tasks_without_a_plan_of_a_model(database_url: str) -> None:
    async with driven(database_url) as mission:
        checked = replace(FLOW.steps[1], checks=({"kind": "contains", "text": "done"},))
        await begin(mission, replace(FLOW, steps=(FLOW.steps[0], checked)))
        assert await mission.statuses() == {
            "root": "IN_PROGRESS", "look": "ASSIGNED", "do": "INBOX", "do-review": "INBOX"
        }  # fmt: skip
        assert [run.kind for run in await mission.runs()] == ["task"]
        look, do = await mission.task("look"), await mission.task("do")
        assert (look.description, look.deliverable_spec) == ("Look at the cellar, all of it", "a list")
        assert do.checks == [{"kind": "contains", "text": "done", "by": "workflow:tidy"}]
        (decided,) = await mission.decisions("plan")
        assert decided["reason"] == "the workflow `tidy` stands in place of a plan"
        assert {k: decided["inputs"][k] for k in ("source", "workflow", "file", "digest")} == {
            "source": "workflow", "workflow": "tidy", "file": "workflows/tidy.yaml", "digest": "d1"
        }  # fmt: skip


async def test_a_mission_by_a_workflow_ends_with_one_compiled_deliverable(database_url: str) -> None:
    async with driven(database_url) as mission:
        await journey(mission)
        assert (await mission.statuses())["root"] == "DONE"
        assert (await mission.deliverable()).text == "All of it."


async def journey(mission: Driver, *, crashes: bool = False) -> dict[str, Any]:
    """From the start to the end, and what there is then."""
    if crashes:
        mission.before = test_crashes._crash
    await begin(mission)
    await mission.deliver("look")
    await mission.deliver("do", "it is done")
    await mission.deliver("do-review", verdict="pass")
    await mission.think("compile:0", "All of it.")
    return {
        "tasks": await mission.statuses(),
        "runs": [run.kind for run in await mission.runs()],
        "decisions": len(await mission.decisions("plan")),
    }


async def test_crashes_before_every_commit_change_nothing(database_url: str, sqlite_url: str) -> None:
    async with driven(database_url) as mission:
        crashed = await journey(mission, crashes=True)
    async with driven(sqlite_url + ".calm") as mission:
        assert await journey(mission) == crashed


async def test_a_step_is_tried_as_often_as_its_workflow_says(database_url: str) -> None:
    async with driven(database_url) as mission:
        await begin(mission)
        await mission.fail("look")
        assert (await mission.task("look")).block_kind == "FAILURE"
        await mission.answer("ESCALATION", "approve")
        await mission.deliver("look")
        for _ in range(3):
            await mission.fail("do")
            mission.clock.advance(60)
            await mission.settle()
            assert (await mission.task("do")).block_kind is None
        await mission.fail("do")
        assert (await mission.task("do")).block_kind == "FAILURE"


async def test_a_run_is_told_how_long_its_step_may_take(database_url: str) -> None:
    async with driven(database_url) as mission:
        await begin(mission)
        assert [run.payload.get("timeout_s") for run in await mission.runs()] == [900]
        await mission.deliver("look")
        assert (await mission.runs())[-1].payload.get("timeout_s") is None


async def test_a_workflow_is_put_before_a_person_where_plans_are_and_a_denial_has_a_model_plan(
    database_url: str,
) -> None:
    async with driven(database_url) as mission:
        mission.waits = Waits(plan="ask")
        await begin(mission)
        assert await mission.statuses() == {"root": "NEEDS_APPROVAL"}
        await mission.answer("PLAN", "deny", "leave the look out")
        prompt = mission.held[f"think:{mission.mission}:plan:1"].run.payload["prompt"]
        assert "leave the look out" in prompt
        await mission.think("plan", plan(planned("look", "finance", "other")))
        await mission.answer("PLAN", "approve")
        await mission.fail("look")
        assert (await mission.task("look")).block_kind is None
        assert [run.payload.get("timeout_s") for run in await mission.runs() if run.kind == "task"] == [None, None]


async def test_an_approved_workflow_is_gone_by(database_url: str) -> None:
    async with driven(database_url) as mission:
        mission.waits = Waits(plan="ask")
        await begin(mission)
        await mission.answer("PLAN", "approve")
        assert (await mission.statuses())["look"] == "ASSIGNED"
        assert [run.kind for run in await mission.runs()] == ["task"]
