"""A held call, from the queue to its answer."""

from dataclasses import replace
from typing import Any

import pytest

from interlock import Interlock, MissionResult
from interlock.core.errors import Refused, UsageError
from interlock.desk.context import Person
from interlock.desk.reading.details import deliverable, trace
from interlock.desk.reading.progress import Standing
from interlock.desk.reading.views import View
from interlock.desk.signoff import signing
from interlock.store.signoff.late_answers import AlreadyAnswered

GOAL = "Compare A and B and e-mail the result to board@example.com"


async def held(box: Interlock) -> tuple[MissionResult, View]:
    result = await box.run(GOAL)
    assert result.standing is Standing.WAITING
    cards = await signing.approvals(box.runtime, mission=result.mission_id)
    assert [card["id"] for card in cards] == list(result.approvals)
    return result, cards[0]


async def sign_everything(box: Interlock, mission_id: str) -> MissionResult:
    found = await box.settled(mission_id)
    while found.standing is Standing.WAITING:
        for ident in found.approvals:
            await signing.approve(box.runtime, box.person, ident)
        found = await box.settled(mission_id)
    return await box.result(found)


async def call_of(box: Interlock, card: View) -> dict[str, Any]:
    run = await trace(box.runtime, card["run_id"])
    return next(call for call in run["tool_calls"] if call["approval_id"] == card["id"])


async def test_a_card_says_who_asks_what_exactly_why_it_was_held_and_what_it_has_cost(box: Interlock) -> None:
    result, card = await held(box)
    assert (card["kind"], card["tool"], card["risk"]) == ("TOOL_CALL", "send_email", "RED")
    assert card["args"]["to"] == ["board@example.com"]
    assert (card["asked_by"], card["goal"], card["mission_id"]) == ("operations", GOAL, result.mission_id)
    assert any("RED" in reason for reason in card["reasons"])
    assert (card["run_cost_usd"], card["mission_cost_usd"]) == (0.0, 0.0)
    assert card["expires_at"] > card["created_at"]
    assert (await call_of(box, card))["status"] == "held"


async def test_a_mission_goes_on_after_the_approval_and_ends_with_its_deliverable(box: Interlock) -> None:
    first, card = await held(box)
    answered = await signing.approve(box.runtime, box.person, card["id"], note="go")
    assert (answered["status"], answered["still_needed"], answered["decided_by_name"]) == (
        "approved",
        0,
        box.person.name,
    )
    result = await sign_everything(box, first.mission_id)
    assert (result.standing, result.status, result.approvals) == (Standing.DONE, "DONE", ())
    assert result.deliverable is not None
    assert result.deliverable == (await deliverable(box.runtime, first.mission_id)).content.decode()
    assert (await call_of(box, card))["status"] == "done"


async def test_an_approval_is_answered_once_and_the_second_is_told_who_was_first(box: Interlock) -> None:
    _, card = await held(box)
    await signing.deny(box.runtime, box.person, card["id"], reason="not this address")
    other = replace(box.person, id="per_other", name="Olga", surface="elsewhere")
    with pytest.raises(AlreadyAnswered, match=f"already denied by {box.person.name}"):
        await signing.approve(box.runtime, other, card["id"])


async def test_a_denied_call_never_runs_and_its_reason_is_on_record(box: Interlock) -> None:
    first, card = await held(box)
    denied = await signing.deny(box.runtime, box.person, card["id"], reason="not this address")
    assert (denied["status"], denied["note"]) == ("denied", "not this address")
    await sign_everything(box, first.mission_id)
    call = await call_of(box, card)
    assert call["status"] == "denied"
    assert "not this address" in call["result"]


async def test_edited_arguments_are_what_runs(box: Interlock) -> None:
    first, card = await held(box)
    edited = {**card["args"], "to": ["chair@example.com"]}
    answered = await signing.approve(box.runtime, box.person, card["id"], args=edited)
    assert (answered["edited"], answered["edited_args"]["to"]) == (True, ["chair@example.com"])
    await sign_everything(box, first.mission_id)
    call = await call_of(box, card)
    assert (call["status"], call["args"]["to"]) == ("done", ["chair@example.com"])
    assert call["approval_id"] == card["id"]


async def test_arguments_that_do_not_fit_the_tool_are_refused_and_the_question_stays_open(box: Interlock) -> None:
    _, card = await held(box)
    with pytest.raises(UsageError, match="do not fit `send_email`"):
        await signing.approve(box.runtime, box.person, card["id"], args={"to": "ana@example.com"})
    assert (await signing.approval(box.runtime, card["id"]))["status"] == "pending"


async def test_only_a_call_has_arguments_to_edit(box: Interlock) -> None:
    first, card = await held(box)
    await signing.approve(box.runtime, box.person, card["id"])
    found = await box.settled(first.mission_id)
    review = await signing.approval(box.runtime, found.approvals[0])
    assert review["kind"] == "TASK_REVIEW"
    with pytest.raises(UsageError, match="TASK_REVIEW question without arguments"):
        await signing.approve(box.runtime, box.person, review["id"], args={"to": "x"})


async def test_a_viewer_cannot_answer(box: Interlock, viewer: Person) -> None:
    _, card = await held(box)
    with pytest.raises(Refused, match="Vic is a viewer"):
        await signing.approve(box.runtime, viewer, card["id"])
    assert (await signing.approval(box.runtime, card["id"]))["status"] == "pending"


@pytest.mark.parametrize("reason", ["", "   "])
async def test_a_denial_needs_a_reason(box: Interlock, reason: str) -> None:
    with pytest.raises(UsageError, match="needs a reason"):
        await signing.deny(box.runtime, box.person, "apr_any", reason=reason)
