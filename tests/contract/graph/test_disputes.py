"""Conflict between author and reviewers: three models are asked once and two decide, the dissent on record."""

import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from interlock.desk.reading.details import task as details
from interlock.graph.applying import Waits
from interlock.graph.coordinator import Coordinator
from interlock.settings import load_settings
from interlock.store.errors import LeaseLost
from interlock.store.mailboxes import leases
from interlock.store.signoff import votes
from interlock.testing import ScriptedModel
from interlock.testing.runtime import runtime_over
from tests.contract.graph.driving import PERSONAS, Driver, driven, plan, step

MODELS = ("anthropic/claude-a", "anthropic/claude-b", "anthropic/claude-c")
REVIEWED = plan(
    step("text", "storyteller", "content"),
    step("look", "qa", "other", depends_on=["text"], reviews="text"),
)
TWICE = plan(
    step("text", "storyteller", "content"),
    step("look", "qa", "other", depends_on=["text"], reviews="text"),
    step("law", "compliance", "other", depends_on=["text"], reviews="text"),
)


class Disputed(Driver):
    """A mission in which models may be asked."""

    models: Sequence[str] = MODELS

    @property
    def coordinator(self) -> Coordinator:
        """One that is set up to ask them."""
        return Coordinator(self.store, self.clock, PERSONAS, Waits(models=self.models))

    async def disagree(self) -> None:
        """Author and reviewer do not agree after the third cycle."""
        await self.begin()
        await self.think("plan", REVIEWED)
        for number in range(4):
            await self.deliver("text", f"version {number}")
            await self.deliver("look", "the second figure is wrong", verdict="changes")

    async def contradict(self) -> None:
        """One reviewer passes what another sends back."""
        await self.begin()
        await self.think("plan", TWICE)
        await self.deliver("text")
        await self.deliver("look", "fine", verdict="pass")
        await self.deliver("law", "this may not be said", verdict="changes", risk="GREEN")

    async def vote(self, seat: int, verdict: str | None) -> None:
        """One model answers; None: its run fails."""
        claim = self.held_for(f":{seat}:1")
        text = None if verdict is None else json.dumps({"verdict": verdict, "reason": f"seat {seat} says {verdict}"})
        await self._end(claim, text, None if verdict else "the provider is down")

    async def votes(self, *verdicts: str | None) -> None:
        """All three answer."""
        for seat, verdict in enumerate(verdicts, start=1):
            await self.vote(seat, verdict)

    @property
    def asked(self) -> list[str]:
        """The keys of the runs that are to vote."""
        return sorted(key for key in self.held if key.startswith("vote:"))


@pytest.fixture
async def mission(database_url: str) -> AsyncIterator[Disputed]:
    async with driven(database_url) as plain:
        yield Disputed(plain.store, person=plain.person)


@pytest.fixture
async def small(migrated_sqlite_url: str) -> AsyncIterator[Disputed]:
    """The same on one engine, for what does not depend on it."""
    async with driven(migrated_sqlite_url) as plain:
        yield Disputed(plain.store, person=plain.person)


async def test_three_models_are_asked_once_after_the_third_cycle_and_see_work_and_objections(small: Disputed) -> None:
    await small.disagree()
    text = await small.task("text")
    assert (text.status, await small.pending()) == ("REVIEW", [])
    assert small.asked == [f"vote:task:{text.id}:3:{seat}:1" for seat in (1, 2, 3)]
    runs = [small.held[key].run for key in small.asked]
    assert [run.model for run in runs] == list(MODELS)
    assert all(run.task_id is None and run.mission_id == small.mission for run in runs)
    asked = runs[0].payload["prompt"]
    assert "version 3" in asked
    assert "the second figure is wrong" in asked
    await small.vote(1, "yes")
    await small.vote(2, "yes")
    assert (await small.task("text")).status == "REVIEW"


async def test_two_for_the_author_lead_to_the_sign_off_with_the_dissent_on_record(mission: Disputed) -> None:
    await mission.disagree()
    await mission.votes("yes", "no", "yes")
    assert (await mission.statuses())["text"] == "DONE"
    found = [each for each in await mission.decisions("resolution") if "votes" in each["inputs"]]
    assert len(found) == 1
    inputs = found[0]["inputs"]
    assert (inputs["outcome"], [vote["verdict"] for vote in inputs["votes"]]) == ("yes", ["yes", "no", "yes"])
    assert [(vote["model"], vote["reason"]) for vote in inputs["dissent"]] == [(MODELS[1], "seat 2 says no")]


async def test_models_never_stand_in_for_a_person_that_the_risk_asks_for(small: Disputed) -> None:
    await small.begin()
    await small.think("plan", REVIEWED)
    for number in range(4):
        await small.deliver("text", f"version {number}", risk="RED")
        await small.deliver("look", "wrong", verdict="changes")
    await small.votes("yes", "yes", "yes")
    assert ((await small.task("text")).status, await small.pending()) == ("NEEDS_APPROVAL", ["TASK_REVIEW"])


@pytest.mark.parametrize("verdicts", [("no", "yes", "no"), ("yes", "no", None), (None, None, "yes")])
async def test_otherwise_the_operator_is_asked_and_shown_the_votes(
    small: Disputed, verdicts: tuple[str | None, ...]
) -> None:
    await small.disagree()
    await small.votes(*verdicts)
    assert ((await small.task("text")).status, await small.pending()) == ("NEEDS_APPROVAL", ["ESCALATION"])
    reason = (await small.task("text")).block_reason or (await small.decisions("escalation"))[-1]["reason"]
    assert "the second figure is wrong" in reason
    assert f"Model {MODELS[0]}: {verdicts[0] or 'lost'}" in reason
    await small.answer("ESCALATION", "approve")
    assert (await small.statuses())["text"] == "DONE"
    assert small.asked == []


async def test_contradicting_reviewers_are_a_conflict_at_once(small: Disputed) -> None:
    await small.contradict()
    assert len(small.asked) == 3
    await small.votes("no", "no", "yes")
    row = await small.task("text")
    assert (row.status, row.review_cycles) == ("IN_PROGRESS", 1)
    assert "this may not be said" in row.feedback


async def test_without_models_contradicting_reviewers_are_a_persons_matter_who_may_send_it_back(
    small: Disputed,
) -> None:
    small.models = ()
    await small.contradict()
    assert (await small.pending(), small.asked) == (["TASK_REVIEW"], [])
    await small.answer("TASK_REVIEW", "deny", "leave that sentence out")
    row = await small.task("text")
    assert (row.status, row.review_cycles, row.feedback) == ("IN_PROGRESS", 1, "leave that sentence out")


async def test_votes_are_counted_once_whatever_dies_in_between(mission: Disputed) -> None:
    await mission.disagree()
    early = mission.held_for(":1:1")
    mission.held[early.run.idempotency_key] = early
    await mission.vote(1, "yes")
    await mission.store.write(leases.take_back, "worker", mission.clock.now())
    mission.held.clear()
    await mission.settle()
    with pytest.raises(LeaseLost):
        await mission._end(early, '{"verdict": "no", "reason": "again"}', None)
    await mission.vote(2, "yes")
    await mission.vote(3, "no")
    kept = await mission.store.read(votes.about_task, await mission.id_of("text"))
    assert [vote.verdict for vote in kept] == ["yes", "yes", "no"]
    assert len([each for each in await mission.decisions("resolution") if "votes" in each["inputs"]]) == 1


async def test_people_see_the_votes_on_the_task(small: Disputed, tmp_path: Path) -> None:
    await small.disagree()
    await small.votes("yes", "no", None)
    settings = load_settings(tmp_path, {}, {"home": tmp_path, "database_url": small.store.url})
    context: Any = runtime_over(small.store, settings, ScriptedModel(), clock=small.clock)
    shown = (await details(context, await small.id_of("text")))["votes"]
    assert [(vote["seat"], vote["model"], vote["verdict"]) for vote in shown] == [
        (1, MODELS[0], "yes"), (2, MODELS[1], "no"), (3, MODELS[2], "lost")
    ]  # fmt: skip
