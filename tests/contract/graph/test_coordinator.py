"""A mission from its goal to its end, over both databases; failures and reviews have files of their own."""

from interlock.graph.launch import Launch, launch
from interlock.store.work import missions
from tests.contract.graph.driving import PERSONAS, driven, plan, step

PLAN = plan(
    step("facts", "research", "research"),
    step("costs", "finance", "other"),
    step("text", "storyteller", "content", depends_on=["facts", "costs"]),
)


async def test_goal_becomes_one_compiled_deliverable(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        assert (await mission.task("root")).status == "IN_PROGRESS"
        await mission.think("plan", PLAN)
        await mission.deliver("facts", "the facts")
        await mission.deliver("costs", "the costs")
        await mission.deliver("text", "the text")
        prompt = mission.held[f"think:{mission.mission}:compile:0:1"].run.payload["prompt"]
        assert "the facts" in prompt
        assert "the text" in prompt
        await mission.think("compile:0", "All of it.")
        assert set((await mission.statuses()).values()) == {"DONE"}
        made = await mission.deliverable()
        assert (made.text, made.run_id is not None) == ("All of it.", True)
        assert (await mission.task("root")).approval_id is not None


async def test_independent_tasks_run_at_once_and_a_dependent_one_waits(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", PLAN)
        assert await mission.statuses() == {
            "root": "IN_PROGRESS", "facts": "ASSIGNED", "costs": "ASSIGNED", "text": "INBOX"
        }  # fmt: skip
        await mission.deliver("facts")
        assert (await mission.task("text")).status == "INBOX"
        await mission.deliver("costs")
        assert (await mission.task("text")).status == "ASSIGNED"


async def test_every_decision_is_on_record_with_inputs_and_reason(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", PLAN)
        planned = await mission.decisions("plan")
        assert [d["inputs"]["source"] for d in planned] == ["model"]
        given = await mission.decisions("delegation")
        assert {d["inputs"]["persona"] for d in given} == {"research", "finance"}
        assert all(d["reason"] and d["inputs"]["score"]["total"] > 0 for d in given)


async def test_tasks_get_their_share_of_the_money_and_an_account(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", PLAN)
        assert (await mission.task("facts")).budget_microusd == 4_000_000
        planned = await mission.row()
        assert (planned.summary, planned.estimate_microusd) == ("a plan", 12_000_000)


async def test_same_idempotency_key_never_makes_two_missions(database_url: str) -> None:
    async with driven(database_url) as mission:
        first = await mission.begin(key="same")
        wish = Launch(
            project_id="default", goal="another", requested_by=mission.person, coordinator=PERSONAS["coordinator"],
            budget_microusd=1, idempotency_key="same",
        )  # fmt: skip
        assert await mission.store.write(launch, wish, mission.clock.now()) == first
        assert len(await mission.store.read(missions.missions)) == 1


async def test_invalid_plan_goes_back_once_with_the_exact_errors_then_trigger_words_plan(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin("Research the three vendors and write a story about them")
        await mission.think("plan", plan(step("a", "nobody", "research")))
        again = mission.held[f"think:{mission.mission}:plan:2"].run.payload["prompt"]
        assert "`nobody`" in again
        await mission.think("plan", "no json at all")
        found = await mission.decisions("plan")
        assert [d["inputs"].get("source") for d in found] == [None, "fallback"]
        assert "`nobody`" in str(found[0]["inputs"]["errors"])
        assert "research" in await mission.statuses()


async def test_dead_provider_counts_as_an_unusable_plan(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin("Research the three vendors")
        await mission.think("plan", None, error="no answer")
        await mission.think("plan", None, error="no answer")
        assert "no answer" in str((await mission.decisions("plan"))[-1]["inputs"]["errors"])
        assert await mission.statuses() == {"root": "IN_PROGRESS", "research": "ASSIGNED"}


async def test_results_are_put_together_without_a_model_when_compiling_fails_twice(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", plan(step("facts", "research", "research")))
        await mission.deliver("facts", "the facts")
        await mission.think("compile:0", None, error="no answer")
        await mission.think("compile:0", " ")
        assert "the facts" in (await mission.deliverable()).text
        assert "without a model" in (await mission.decisions("resolution"))[-1]["reason"]
        assert (await mission.task("root")).status == "DONE"


async def test_learner_looks_at_each_task_then_at_the_mission_and_nothing_waits_for_it(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", plan(step("facts", "research", "research")))
        await mission.fail("facts", "the disk was full")
        mission.clock.advance(5)
        await mission.settle()
        await mission.deliver("facts", "the facts")
        await mission.think("compile:0", "All of it.")
        assert (await mission.task("root")).status == "DONE"
        looks = [run.payload for run in await mission.runs() if run.kind == "learn"]
        assert [(look["scope"], look["about"]) for look in looks] == [
            ("task", await mission.id_of("facts")), ("mission", mission.mission),
        ]  # fmt: skip
        assert (await mission.member("research")).done_count == 1


async def test_coordinators_own_thinking_keeps_to_its_own_lane(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        found = await mission.row()
        thought = (await mission.runs())[0]
        assert (thought.agent_id, thought.kind) == (found.thinker_agent_id, "think")
        assert found.coordinator_agent_id != found.thinker_agent_id


async def test_what_people_add_while_it_runs_reaches_the_compiling(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", plan(step("facts", "research", "research")))
        told = {"text": "prices in euros"}
        await mission.store.write(missions.notify, mission.mission, "note", told, mission.clock.now())
        await mission.settle()
        await mission.deliver("facts")
        prompt = mission.held[f"think:{mission.mission}:compile:0:1"].run.payload["prompt"]
        assert "prices in euros" in prompt


async def test_cancelled_mission_stops_its_runs_and_leaves_nothing_open(database_url: str) -> None:
    async with driven(database_url) as mission:
        await mission.begin()
        await mission.think("plan", PLAN)
        await mission.store.write(missions.mark_canceled, mission.mission, mission.clock.now())
        await mission.store.write(missions.notify, mission.mission, "cancel_requested", {}, mission.clock.now())
        await mission.settle()
        assert set((await mission.statuses()).values()) == {"CANCELED"}
        asked = [await mission.run(claim.run.id) for claim in mission.held.values()]
        assert {run.control for run in asked} == {"cancel"}
        assert await mission.store.read(missions.pending, mission.mission) == []
