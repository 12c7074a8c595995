"""Answers that come too late, or where something else is in the way: one clear line, and no state that is wrong."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from interlock import Interlock
from interlock.core.errors import Conflict, UsageError
from interlock.desk.budgets import money
from interlock.desk.operations import emergency
from interlock.desk.reading.views import View
from interlock.desk.signoff import asking, signing
from interlock.desk.work.controls import cancel
from interlock.store import squad
from interlock.store.signoff import approvals
from interlock.store.signoff.approvals import APPROVALS
from interlock.store.signoff.late_answers import AlreadyAnswered
from interlock.testing import FakeClock
from tests.contract.desk.front import HELD, Front, text_of


async def held(box: Interlock) -> View:
    """A question about a held call of a mission."""
    await box.run(HELD)
    (card,) = await signing.approvals(box.runtime)
    return card


async def test_two_surfaces_at_once_give_one_answer_and_tell_the_other_who_was_first(box: Interlock) -> None:
    card = await held(box)
    people = [replace(box.person, surface=surface) for surface in ("cli", "http", "slack", "telegram")]
    found = await asyncio.gather(
        signing.approve(box.runtime, people[0], card["id"]),
        signing.deny(box.runtime, people[1], card["id"], reason="no"),
        signing.approve(box.runtime, people[2], card["id"], args=card["args"]),
        signing.deny(box.runtime, people[3], card["id"], reason="no"),
        return_exceptions=True,
    )
    refused = [each for each in found if isinstance(each, AlreadyAnswered)]
    assert len(refused) == 3
    assert all(f"by {box.person.name} at " in str(each) for each in refused)
    assert (await signing.approval(box.runtime, card["id"]))["status"] in ("approved", "used", "denied")


async def test_question_of_a_cancelled_run_is_no_longer_asked_whatever_is_tried(box: Interlock) -> None:
    card = await held(box)
    await cancel(box.runtime, box.person, card["run_id"])
    ways: list[Any] = [
        signing.approve(box.runtime, box.person, card["id"]),
        signing.approve(box.runtime, box.person, card["id"], args={"to": ["x@y.z"]}),
        signing.deny(box.runtime, box.person, card["id"], reason="late"),
        signing.alike(box.runtime, card["id"]),
    ]
    for way in ways:
        with pytest.raises(AlreadyAnswered, match="is no longer asked: canceled by an operator"):
            await way
    assert text_of(await asking.approval_card(box.runtime, card["id"])).startswith("No longer asked")


async def test_question_past_its_time_shows_as_expired_before_anything_has_swept_it(box: Interlock) -> None:
    card = await held(box)
    context = replace(box.runtime, clock=FakeClock(card["expires_at"] + timedelta(seconds=1)))
    drawn = await asking.approval_card(context, card["id"])
    assert (drawn.title.startswith("Expired"), drawn.actions) == (True, ())
    for args in (None, {"to": ["x@y.z"], "subject": "s", "body": "b"}):
        with pytest.raises(Conflict, match=f"without an answer: `interlock task {card['task_id']}` shows what waits"):
            await signing.approve(context, box.person, card["id"], args=args)
    row: Any = await box.runtime.store.read(approvals.approval, card["id"])
    assert row.status == "pending"


async def test_who_approves_in_a_pause_is_told_that_nothing_goes_on_yet(front: Front) -> None:
    box = front.box
    card = await held(box)
    await emergency.pause(box.runtime, box.person, reason="lunch")
    said = text_of(await front.say(f"approve {card['id']}"))
    assert "Nothing goes on yet: the squad was paused by" in said
    assert "interlock resume`" in said
    raised = await money.raise_budget(box.runtime, box.person, card["mission_id"], 1)
    assert "the squad was paused" in raised["hindrance"]


async def test_raise_for_an_agent_in_quarantine_says_so_and_leaves_it_there(box: Interlock) -> None:
    card = await held(box)
    await emergency.quarantine(box.runtime, box.person, card["asked_by"], reason="by hand")
    raised = await money.raise_budget(box.runtime, box.person, card["asked_by"], 1)
    assert raised["hindrance"] == "operations is in quarantine: `interlock release operations` lets it work again"
    member: Any = await box.runtime.store.read(squad.member_of, "default", card["asked_by"])
    assert member.state == "QUARANTINED"
    await emergency.release(box.runtime, box.person, card["asked_by"])
    assert (await money.raise_budget(box.runtime, box.person, card["asked_by"], 1))["hindrance"] is None


async def test_grant_for_a_question_that_is_no_call_is_refused_in_its_own_words(box: Interlock) -> None:
    card = await held(box)
    await box.runtime.store.write(
        lambda tx: tx.run(APPROVALS.update().where(APPROVALS.c.id == card["id"]).values(kind="TASK_REVIEW"))
    )
    with pytest.raises(UsageError, match="is a TASK_REVIEW question, and a grant is for calls"):
        await signing.approve(box.runtime, box.person, card["id"], grant="hour")
