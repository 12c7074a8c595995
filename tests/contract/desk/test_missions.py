"""Starting, following, canceling, paying for and finding missions."""

import contextlib
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from interlock import Interlock
from interlock.core.errors import Conflict, NotFound, Refused, UsageError
from interlock.desk.budgets import money
from interlock.desk.context import Person
from interlock.desk.operations import audit
from interlock.desk.reading import listings
from interlock.desk.reading.details import deliverable, task, trace
from interlock.desk.reading.finding import Unknown
from interlock.desk.reading.progress import Standing, progress
from interlock.desk.signoff import signing
from interlock.desk.work import controls
from interlock.store.runs import traces
from interlock.store.schema import Run
from interlock.store.tx import Tx

GREEN = "Compare A and B"
HELD = "Compare A and B and e-mail the result to board@example.com"


async def test_the_same_idempotency_key_never_makes_two_missions(box: Interlock) -> None:
    first = await box.submit(GREEN, idempotency_key="k")
    assert await box.submit("Another goal", idempotency_key="k") == first
    assert await box.submit(GREEN, idempotency_key="k2") != first
    assert len(await listings.missions(box.runtime)) == 2


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"goal": " \n"}, "the goal is empty"),
        ({"goal": "x" * 20_001}, "20,001 characters"),
        ({"goal": "a\x00b"}, "NUL"),
        ({"goal": "x", "budget_usd": 0}, "`0` is not a budget"),
        ({"goal": "x", "budget_usd": -3}, "`-3` is not a budget"),
        ({"goal": "x", "budget_usd": float("nan")}, "`nan` is not a budget"),
        ({"goal": "x", "budget_usd": 0.0000001}, "buys nothing"),
        ({"goal": "x", "model": "nobody/x"}, "there is no provider `nobody`"),
        ({"goal": "x", "model": "anthropic/claude-sonnet-5-5"}, "ANTHROPIC_API_KEY"),
        ({"goal": "x", "deadline": datetime(2020, 1, 1, tzinfo=UTC)}, "is past"),
    ],
)
async def test_a_mission_that_cannot_be_is_refused_before_anything_is_written(
    box: Interlock, options: dict[str, object], says: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(says)):
        await box.submit(**options)  # type: ignore[arg-type]
    assert await listings.missions(box.runtime) == []


async def test_a_viewer_can_start_cancel_and_raise_nothing(box: Interlock, viewer: Person) -> None:
    box.person = viewer
    with pytest.raises(Refused, match="may not start missions"):
        await box.submit(GREEN)
    with pytest.raises(Refused, match="may not cancel"):
        await controls.cancel(box.runtime, viewer, "mis_any")
    with pytest.raises(Refused, match="may not raise a budget"):
        await money.raise_budget(box.runtime, viewer, "mission:any", 1)


async def test_progress_tells_each_activity_once(box: Interlock) -> None:
    mission_id = await box.submit(GREEN)
    await box.start()
    seen: list[int] = []
    async for found in box.follow(mission_id):
        seen += [activity["id"] for activity in found.activities]
        if found.standing is Standing.DONE and not found.busy:
            break
    assert seen == sorted(set(seen))
    assert [a["id"] for a in (await progress(box.runtime, mission_id)).activities] == seen


async def test_a_canceled_mission_ends_with_all_its_tasks_and_questions(box: Interlock) -> None:
    result = await box.run(HELD)
    ended = await controls.cancel(box.runtime, box.person, result.mission_id)
    assert (ended["kind"], ended["status"], ended["changed"]) == ("mission", "CANCELED", True)
    found = await box.settled(result.mission_id)
    assert (found.standing, found.status, found.approvals) == (Standing.STOPPED, "CANCELED", ())
    assert {t["status"] for t in found.tasks} <= {"DONE", "CANCELED"}
    assert await listings.runs(box.runtime, mission=result.mission_id, status="waiting") == []
    cards = await signing.approvals(box.runtime, status=None, mission=result.mission_id)
    assert "void" in {card["status"] for card in cards}


@pytest.mark.parametrize("what", ["task_id", "mission_id"])
async def test_canceling_reaches_the_oldest_of_very_many_runs(box: Interlock, what: str) -> None:
    result = await box.run(HELD)
    card = await signing.approval(box.runtime, result.approvals[0])

    def crowd(tx: Tx) -> None:
        parked = traces.run(tx, card["run_id"])
        assert parked is not None
        tx.add_many(
            Run,
            [
                {
                    **parked._asdict(), "id": f"run_{n}", "idempotency_key": f"run {n}", "status": "completed",
                    "seq": parked.seq + n, "created_at": parked.created_at + timedelta(seconds=n),
                }
                for n in range(1, 5_002)
            ],
        )  # fmt: skip

    await box.runtime.store.write(crowd)
    ended = await controls.cancel(box.runtime, box.person, card[what])
    assert card["run_id"] in ended["runs"]
    assert (await trace(box.runtime, card["run_id"]))["status"] == "cancelled"


async def test_canceling_twice_changes_nothing_and_says_so(box: Interlock) -> None:
    result = await box.run(HELD)
    await controls.cancel(box.runtime, box.person, result.mission_id)
    again = await controls.cancel(box.runtime, box.person, result.mission_id)
    assert (again["changed"], again["status"]) == (False, "CANCELED")


async def test_a_done_mission_cannot_be_canceled(box: Interlock) -> None:
    result = await box.run(GREEN)
    assert result.standing is Standing.DONE
    with pytest.raises(Conflict, match="DONE already"):
        await controls.cancel(box.runtime, box.person, result.mission_id)


async def test_canceling_a_parked_run_leaves_its_task_to_a_person(box: Interlock) -> None:
    result = await box.run(HELD)
    card = await signing.approval(box.runtime, result.approvals[0])
    ended = await controls.cancel(box.runtime, box.person, card["run_id"])
    assert (ended["kind"], ended["status"]) == ("run", "cancelled")
    await box.settled(result.mission_id)
    assert (await signing.approval(box.runtime, card["id"]))["status"] == "void"
    whole = await task(box.runtime, card["task_id"])
    assert whole["status"] != "NEEDS_APPROVAL"
    assert (await trace(box.runtime, card["run_id"]))["status"] == "cancelled"


async def test_a_step_of_the_coordinator_is_canceled_with_its_mission_only(box: Interlock) -> None:
    await box.submit(GREEN)
    queued = (await listings.runs(box.runtime, status="created"))[0]
    assert queued["kind"] == "mission"
    with pytest.raises(UsageError, match="cancel its mission"):
        await controls.cancel(box.runtime, box.person, queued["id"])


async def test_a_raised_budget_is_on_record_and_allows_more(box: Interlock) -> None:
    mission_id = await box.submit(GREEN, budget_usd=2)
    account = f"mission:{mission_id}"
    raised = await money.raise_budget(box.runtime, box.person, account, 1.5)
    assert (raised["limit_usd"], raised["left_usd"]) == (3.5, 3.5)
    listed = {a["id"]: a for a in await money.budget(box.runtime)}
    assert listed[account]["limit_usd"] == 3.5
    assert {a["kind"]: bool(a["whose"]) for a in listed.values()} == {a["kind"]: True for a in listed.values()}
    assert {a["whose"] for a in listed.values() if a["kind"] == "agent_day"} <= set(box.runtime.personas.personas)
    told = [a for a in (await progress(box.runtime, mission_id)).activities if a["action"] == "BUDGET_RAISED"]
    assert [(a["subject"], a["actor_id"], a["data"]["amount_microusd"]) for a in told] == [
        (account, box.person.id, 1_500_000)
    ]


@pytest.mark.parametrize("amount", [0, -1, float("inf"), float("nan")])
async def test_an_amount_that_is_none_is_refused(box: Interlock, amount: float) -> None:
    with pytest.raises(UsageError, match="is not an amount"):
        await money.raise_budget(box.runtime, box.person, "mission:any", amount)


async def test_an_id_can_be_shortened_to_a_unique_beginning_or_end(box: Interlock) -> None:
    one, two = await box.submit(GREEN), await box.submit(GREEN)
    assert (await task(box.runtime, one[-8:]))["id"] == one
    with pytest.raises(UsageError, match="could be any of"):
        await task(box.runtime, "mis_")
    with pytest.raises(Unknown, match=f"did you mean `{two}`: `interlock tasks` lists"):
        await task(box.runtime, two[:-1] + "~")


async def test_an_id_counts_as_it_was_meant_whatever_keyboard_or_document_it_came_from(box: Interlock) -> None:
    mission_id = await box.submit(GREEN)
    wide = "".join(chr(ord(letter) + 0xFEE0) for letter in mission_id)
    for given in (wide, mission_id.upper(), f"\u200b {mission_id}\ufeff\n", mission_id[:9].upper(), wide[-8:]):
        assert (await task(box.runtime, given))["id"] == mission_id
    with pytest.raises(Unknown, match="no task `ｎｏｐｅ`"):
        await task(box.runtime, "ｎｏｐｅ")


@pytest.mark.parametrize("ident", ["", "%", "____", "mis%", "' OR 1=1 --", "mis_nothing_at_all"])
async def test_an_unknown_id_is_one_clear_error(box: Interlock, ident: str) -> None:
    await box.submit(GREEN)
    with pytest.raises(Unknown, match="no task"):
        await task(box.runtime, ident)


async def test_what_has_handed_in_nothing_yet_says_so(box: Interlock) -> None:
    mission_id = await box.submit(GREEN)
    with pytest.raises(Conflict, match="has no deliverable yet"):
        await deliverable(box.runtime, mission_id)


async def test_a_rehearsal_stays_with_its_mission_and_costs_nothing(box: Interlock) -> None:
    result = await box.run(GREEN)
    mission = (await listings.missions(box.runtime))[0]
    assert (mission["simulated"], mission["model"], result.cost_usd) == (True, "rehearsal/offline", 0.0)


async def test_everything_that_is_listed_agrees(box: Interlock) -> None:
    result = await box.run(HELD)
    tasks = await listings.tasks(box.runtime, mission=result.mission_id)
    overview = await listings.status(box.runtime)
    assert overview["approvals_pending"] == len(result.approvals) == 1
    assert sum(overview["tasks"].values()) == len(tasks)
    assert overview["missions"] == {"IN_PROGRESS": 1}
    waiting = await listings.tasks(box.runtime, status="needs-approval")
    assert [t["persona"] for t in waiting] == ["operations"]
    agents = {agent["persona"] for agent in await listings.agents(box.runtime)}
    assert {t["persona"] for t in tasks} | {"coordinator"} <= agents


async def test_a_persona_answers_and_remembers_who_it_talks_to(box: Interlock) -> None:
    first = await box.chat("research", "What did you find?")
    second = await box.chat("research", "And now?")
    assert first.response
    assert (first.stop_reason, second.stop_reason) == ("end_turn", "end_turn")
    assert first.run_id != second.run_id
    runs = [run for run in await listings.runs(box.runtime) if run["kind"] == "chat"]
    assert len({run["agent_id"] for run in runs}) == 1
    with pytest.raises(NotFound, match="no persona `nobody`"):
        await box.chat("nobody", "hello")


async def test_a_rehearsal_costs_nothing_and_says_what_the_work_would_cost(box: Interlock) -> None:
    mission_id = (await box.run(GREEN)).mission_id
    async with contextlib.aclosing(box.follow(mission_id)) as news:
        rested = await anext(found async for found in news if not found.busy)
    result = await box.result(rested)
    whole = await task(box.runtime, mission_id)
    runs = await listings.runs(box.runtime, mission=mission_id)
    assert result.cost_usd == 0
    assert whole["estimate"] == result.estimate
    assert result.estimate is not None
    assert result.estimate["model"].startswith("anthropic/")
    assert 0 < result.estimate["cost_usd"] < 0.05 * len(runs)


async def test_candidates_are_chosen_by_the_points_of_the_settings(tmp_path: Path, database_url: str) -> None:
    zero = dict.fromkeys(("capabilities", "none_required", "track_record", "headroom", "triggers"), 0)
    opened = Interlock.open(
        cwd=tmp_path, env={}, database_url=database_url, model="rehearsal/offline",
        delegation={**zero, "specialist": 7},
    )  # fmt: skip
    async with opened as box:
        await box.run(GREEN)
        noted = await audit.activities(box.runtime, reader=box.person)
    reasons = [str(each["data"].get("reason")) for each in noted if each["action"] == "COORDINATOR_DECISION"]
    assert "`research` as planned, 7.0 points" in reasons


async def test_project_that_is_not_there_is_named_with_those_that_are(box: Interlock) -> None:
    with pytest.raises(NotFound, match="no project `nope`: there are `default`"):
        await listings.missions(box.runtime, project="nope")
