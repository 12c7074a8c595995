"""Questions on cards: approving and denying by a tap, words and other arguments by a form, once and by who may."""

import asyncio
import json
from typing import Any

from interlock.desk.reading import listings
from interlock.desk.reading.details import task, trace
from interlock.testing import slack_payloads as payloads
from interlock.testing.slack_api import Fault
from tests.integration.slack.stage import GOAL, Stage, eventually


async def test_a_command_starts_a_mission_whose_thread_gets_its_questions(stage: Stage) -> None:
    card, view = await stage.held()
    root = next(m for m in stage.api.messages if m.thread is None)
    assert (card.channel, card.thread) == ("C0GENERAL", root.ts)
    assert view["args"]["to"] == ["board@example.com"]
    for said in ("send_email", "board@example.com", GOAL, "RED", "operations"):
        assert said in card.text()
    assert await stage.missions() == 1


async def test_a_tap_approves_and_the_card_says_who_it_was(stage: Stage) -> None:
    card, view = await stage.held()
    assert (await stage.post(stage.tap("Approve", card))).status == 200
    await stage.api.until(lambda _: not card.buttons())
    assert "by Ana on slack" in card.text()
    answered = await stage.settled(view["id"], "used")
    assert answered["decided_by_name"] == "Ana"


async def test_a_denial_asks_for_its_reason_in_a_form_and_the_agent_is_told(stage: Stage) -> None:
    card, view = await stage.held()
    form = await stage.form("Deny", card)
    answer = await stage.post(payloads.sent_form(form, "not this <address>"))
    assert (answer.status, answer.body) == (200, b"")
    denied = await stage.settled(view["id"], "denied")
    assert (denied["note"], denied["decided_by_name"]) == ("not this <address>", "Ana")

    async def call() -> Any:
        calls = (await trace(stage.box.runtime, view["run_id"]))["tool_calls"]
        return next(c for c in calls if c["approval_id"] == view["id"])

    denied_call = await eventually(call, lambda found: found["status"] == "denied")
    assert "not this <address>" in denied_call["result"]
    await stage.api.until(lambda _: "not this &lt;address&gt;" in card.text())


async def test_an_empty_reason_is_pointed_out_in_the_form(stage: Stage) -> None:
    card, view = await stage.held()
    form = await stage.form("Deny", card)
    errors = {form["blocks"][1]["block_id"]: "Say why: the agent can act on it."}
    for said in ("", "   ", None):
        answer = await stage.post(payloads.sent_form(form, said))
        assert json.loads(answer.body) == {"response_action": "errors", "errors": errors}
    assert (await stage.settled(view["id"], "pending"))["status"] == "pending"


async def test_edited_arguments_are_what_runs(stage: Stage) -> None:
    card, view = await stage.held()
    form = await stage.form("Edit…", card)
    given = json.loads(form["blocks"][1]["element"]["initial_value"])
    assert given == view["args"]
    edited = {**given, "to": ["chair@example.com"]}
    assert (await stage.post(payloads.sent_form(form, json.dumps(edited)))).body == b""
    answered = await stage.settled(view["id"], "used")
    assert answered["edited_args"]["to"] == ["chair@example.com"]
    calls = (await trace(stage.box.runtime, view["run_id"]))["tool_calls"]
    assert next(c for c in calls if c["approval_id"] == view["id"])["args"]["to"] == ["chair@example.com"]


WRONG = {
    "{": "The arguments are not JSON",
    "[1]": "The arguments are not a JSON object",
    '{"to": 1, "to": 2}': "stands in the arguments twice",
    '{"n": NaN}': "`NaN` is not a number",
    "[" * 2_900: "The arguments",
}


async def test_arguments_that_are_none_are_pointed_out_in_the_form(stage: Stage) -> None:
    card, view = await stage.held()
    form = await stage.form("Edit…", card)
    for said, wrong in WRONG.items():
        answer = json.loads((await stage.post(payloads.sent_form(form, said))).body)
        assert answer["response_action"] == "errors"
        assert wrong in next(iter(answer["errors"].values()))
    assert (await stage.settled(view["id"], "pending"))["edited"] is False


async def test_arguments_that_do_not_fit_are_refused_in_words_and_the_question_stays(stage: Stage) -> None:
    card, view = await stage.held()
    form = await stage.form("Edit…", card)
    await stage.post(payloads.sent_form(form, '{"to": "nobody"}'))
    assert "do not fit `send_email`" in await stage.reply(2)
    assert (await stage.settled(view["id"], "pending"))["status"] == "pending"


async def test_two_taps_at_once_and_a_tap_again_answer_once(stage: Stage) -> None:
    card, view = await stage.held()
    first, second = stage.tap("Approve", card), stage.tap("Approve", card)
    answers = await asyncio.gather(stage.post(first), stage.post(second), stage.post(first, retry=1))
    assert [answer.status for answer in answers] == [200, 200, 200]
    await stage.settled(view["id"], "used")
    await stage.idle()
    mission = await task(stage.box.runtime, view["mission_id"])
    assert mission["status"] != "CANCELED"
    await stage.api.until(lambda _: "by Ana on slack" in card.text())
    assert card.text().count("by Ana on slack") == 1


async def test_a_form_that_is_sent_twice_answers_once(stage: Stage) -> None:
    card, view = await stage.held()
    form = await stage.form("Deny", card)
    sent = payloads.sent_form(form, "too expensive")
    assert [(await stage.post(sent)).status, (await stage.post(sent)).status] == [200, 200]
    await stage.settled(view["id"], "denied")
    await stage.idle()
    assert len(stage.api.private) == 1, "only the reply to `run`"


async def test_a_viewer_may_look_and_not_answer(stage: Stage) -> None:
    card, view = await stage.held()
    for label in ("Approve", "Deny", "Edit…"):
        await stage.post(stage.tap(label, card, user="U0VIC"))
    for number in (2, 3, 4):
        assert "Vic is a viewer" in await stage.reply(number)
    assert stage.api.views == []
    assert (await stage.settled(view["id"], "pending"))["status"] == "pending"


async def test_a_stranger_gets_one_refusal_and_no_form_whatever_they_tap(stage: Stage) -> None:
    card, view = await stage.held()
    for label in ("Deny", "Approve", "Edit…", "Approve"):
        assert (await stage.post(stage.tap(label, card, user="U0EVE"))).status == 200
    await stage.said("run me too", user="U0EVE")
    refusal = await stage.reply(2)
    assert "slack:U0EVE" in refusal
    await stage.idle()
    assert (await stage.settled(view["id"], "pending"))["status"] == "pending"
    assert (stage.api.views, await stage.missions()) == ([], 1)
    await stage.said("status")
    assert "slack:U0EVE" not in await stage.reply(3)


async def test_a_form_that_slack_does_not_open_is_explained_to_who_tapped(stage: Stage) -> None:
    card, _ = await stage.held()
    stage.api.fail("views.open", Fault(error="expired_trigger_id"))
    await stage.post(stage.tap("Deny", card))
    assert "that took too long. Tap the button again." in await stage.reply(2)
    form = await stage.form("Deny", card)
    assert form["callback_id"] == "interlock:words"


async def test_a_tap_that_comes_twice_opens_one_form(stage: Stage) -> None:
    card, _ = await stage.held()
    tap = stage.tap("Deny", card)
    await asyncio.gather(stage.post(tap), stage.post(tap))
    await stage.api.until(lambda slack: len(slack.asked("views.open")) == 2)
    assert len(stage.api.views) == 1
    assert len(stage.api.private) == 1


async def test_forms_and_buttons_that_are_not_of_this_app_are_acknowledged_and_do_nothing(stage: Stage) -> None:
    card, view = await stage.held()
    form = await stage.form("Deny", card)
    assert (await stage.post(payloads.sent_form({**form, "callback_id": "another"}, "no"))).status == 200
    for name in ("another", "do:stop:all", "do:approve:", "ask:run:x"):
        other = stage.tap("Approve", card)
        other["actions"][0]["action_id"] = name
        assert (await stage.post(other)).status == 200
    await stage.idle()
    assert (await listings.status(stage.box.runtime))["squad"]["mode"] == "running"
    assert stage.api.views == [form]
    assert (await stage.settled(view["id"], "pending"))["status"] == "pending"
