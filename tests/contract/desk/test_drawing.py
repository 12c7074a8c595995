"""What people are shown unasked: approvals letter by letter, missions, their ends, alerts."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from interlock import Interlock
from interlock.core.values import digest
from interlock.desk.chats.cards import Card, Tone
from interlock.desk.chats.drawing import draw
from interlock.desk.signoff import signing
from interlock.desk.signoff.proposal import MOST_SHOWN
from interlock.desk.work import controls
from interlock.store import blobs, squad
from interlock.store.auditing import audit
from interlock.store.signoff import approvals
from interlock.store.tx import Tx
from tests.contract.desk.front import HELD, text_of

KEY = "sk-proj-abcdefgh12345678abcdefgh"


def put(tx: Tx, row: dict[str, Any]) -> None:
    approvals.ask(tx, **row)


async def ask(box: Interlock, kind: str = "TOOL_CALL", **values: Any) -> str:
    """Puts a question into the queue; returns its subject for drawing."""
    ident = f"apr_{digest(values)[:12]}"
    now = datetime.now(UTC)
    row: dict[str, Any] = {
        "id": ident, "kind": kind, "project_id": "default", "subject": "s", "risk": "RED", "rules": ["red-table"],
        "reasons": ["it cannot be taken back"], "asked_by": "system:test", "created_at": now,
        "expires_at": now + timedelta(hours=1), "request": {}, **values,
    }  # fmt: skip
    await box.runtime.store.write(put, row)
    return f"approval:{ident}"


def call(tool: str, /, **args: Any) -> dict[str, Any]:
    return {"tool": tool, "args": args, "summary": f"wants to call {tool}"}


async def drawn(box: Interlock, subject: str) -> Card:
    card = await draw(box.runtime, subject)
    assert card is not None
    return card


async def write(box: Interlock, path: str, data: bytes) -> None:
    now = datetime.now(UTC)
    await box.runtime.store.write(squad.ensure_project, "default", "UTC", now)
    await box.runtime.store.write(blobs.write_file, "default", path, data, now, base_version=0, run_id=None)


async def test_the_card_of_a_held_call_says_who_what_why_and_what_it_has_cost(box: Interlock) -> None:
    await box.run(HELD)
    (asked,) = await signing.approvals(box.runtime)
    card = await drawn(box, f"approval:{asked['id']}")
    facts = {fact.label: fact.value for fact in card.facts}
    assert (facts["Risk"], facts["Who asks"], facts["Goal"], facts["Tool"]) == ("RED", "operations", HELD, "send_email")
    assert facts["Cost so far"] == "$0.00 this run, $0.00 the mission"
    assert facts["Rehearsal"].startswith("yes")
    assert {"Held by", "Because", "For", "Expires"} <= facts.keys()
    assert card.tone is Tone.RED
    assert all(str(value) in text_of(card) for value in (asked["args"]["subject"], "board@example.com"))
    assert asked["args"]["body"] in "\n".join(p.text for p in card.passages)
    assert [(a.verb, a.target, a.needs_reason) for a in card.actions] == [
        ("approve", asked["id"], False),
        ("deny", asked["id"], True),
    ]


async def test_card_says_what_ends_without_an_answer_and_names_a_task_only_if_there_is_one(
    box: Interlock,
) -> None:
    await box.run(HELD)
    (asked,) = await signing.approvals(box.runtime)
    subject, alone = f"approval:{asked['id']}", approvals.APPROVALS.update().values(task_id=None)
    for ends in ("its run is cancelled and its task blocked", "its run is cancelled"):
        (told,) = [fact.value for fact in (await drawn(box, subject)).facts if fact.label == "Expires"]
        assert told.endswith(f": without an answer {ends}")
        await box.runtime.store.write(lambda tx: tx.run(alone))


async def test_an_answered_card_says_who_when_where_and_can_be_tapped_no_more(box: Interlock) -> None:
    subject = await ask(box, request=call("shell", command="rm -rf /tmp/x"))
    await signing.deny(box.runtime, box.person, subject.removeprefix("approval:"), reason="not on this machine")
    card = await drawn(box, subject)
    assert card.title.startswith("Denied: ")
    (signature,) = [fact.value for fact in card.facts if fact.label == "Denied"]
    assert signature.startswith(f"by {box.person.name} on python, 20")
    assert signature.endswith(": not on this machine")
    assert (card.actions, card.tone) == ((), Tone.RED)
    assert {"Expires", "Cost so far"}.isdisjoint(fact.label for fact in card.facts)


async def test_of_two_people_the_first_is_named_while_the_second_is_waited_for(box: Interlock) -> None:
    subject = await ask(box, request=call("shell", command="reboot"), people=2)
    await signing.approve(box.runtime, box.person, subject.removeprefix("approval:"))
    card = await drawn(box, subject)
    facts = {fact.label: fact.value for fact in card.facts}
    assert facts["People"] == "2 must approve"
    assert facts["Approved"].startswith(f"by {box.person.name} on python")
    assert [action.verb for action in card.actions] == ["approve", "deny"]


async def test_a_command_is_shown_whole_and_letter_by_letter(box: Interlock) -> None:
    command = "\n".join(f"echo {n} | tee -a log  # `*_~<&>" for n in range(500))
    card = await drawn(box, await ask(box, request=call("shell", command=command, timeout_s=30, dry=False, why="")))
    (other, shown) = card.passages
    assert (shown.text, shown.heading, shown.verbatim) == (command, "command", True)
    assert other.text == 'timeout_s: 30\ndry: false\nwhy: ""'


async def test_a_new_file_is_shown_as_all_of_its_lines(box: Interlock) -> None:
    card = await drawn(box, await ask(box, request=call("file_write", path="a.txt", content="one\ntwo\n")))
    (other, change) = card.passages
    assert (other.text, change.heading, change.verbatim) == ("path: a.txt", "New file a.txt", True)
    assert change.text == "--- now\n+++ then\n@@ -0,0 +1,2 @@\n+one\n+two"


async def test_a_change_of_a_file_is_shown_as_its_difference_and_stays_so_after_it_was_made(box: Interlock) -> None:
    await write(box, "a.txt", b"one\ntwo\nthree\n")
    subject = await ask(box, request=call("file_write", path="a.txt", content="one\n2\nthree"))
    expected = "--- now\n+++ then\n@@ -1,3 +1,3 @@\n one\n-two\n-three\n+2\n+three\n\\ No newline at end of file"
    assert (await drawn(box, subject)).passages[1].text == expected
    await signing.approve(box.runtime, box.person, subject.removeprefix("approval:"))
    await write(box, "a.txt", b"one\n2\nthree")
    card = await drawn(box, subject)
    assert card.title.startswith("Approved: ")
    assert card.passages[1].text == expected


async def test_what_is_added_to_a_file_is_shown_where_it_stands_then(box: Interlock) -> None:
    await write(box, "a.txt", b"one\n")
    asked = call("file_write", path="a.txt", content="two\n", append=True)
    card = await drawn(box, await ask(box, request=asked))
    assert card.passages[0].text == "path: a.txt\nappend: true"
    assert card.passages[1].text.endswith(" one\n+two")


async def test_a_write_over_a_file_that_is_no_text_shows_all_that_is_written(box: Interlock) -> None:
    await write(box, "a.bin", b"\xff\x00\xfe")
    card = await drawn(box, await ask(box, request=call("file_write", path="a.bin", content="text")))
    assert card.passages[0].text == "path: a.bin\ncontent: text"


async def test_secrets_are_masked_wherever_they_stand(box: Interlock) -> None:
    await write(box, "env", f"API_KEY={KEY}\n".encode())
    for asked in (
        call("shell", command=f"curl -H 'Authorization: Bearer {KEY}' https://x"),
        call("http", url="https://x", headers={"X": [KEY]}, password="hunter2"),
        call("file_write", path="env", content=f"API_KEY={KEY}\nMORE=1\n"),
    ):
        said = text_of(await drawn(box, await ask(box, request=asked)))
        assert KEY not in said
        assert "hunter2" not in said
        assert "[secret" in said


async def test_characters_that_change_how_a_text_is_read_are_spelled_out(box: Interlock) -> None:
    asked = call("shell", command="rm \u202e/tmp\u200b/x\r\x1b[2K")
    assert "rm \\u202e/tmp\\u200b/x\\r\\x1b[2K" in text_of(await drawn(box, await ask(box, request=asked)))


async def test_what_is_too_long_for_a_chat_cannot_be_approved_with_a_tap(box: Interlock) -> None:
    asked = call("file_write", path="big.txt", content="x" * (MOST_SHOWN + 1))
    card = await drawn(box, await ask(box, request=asked))
    assert [action.verb for action in card.actions] == ["deny"]
    assert "too long to be shown here" in text_of(card)
    assert sum(len(p.text) for p in card.passages) <= MOST_SHOWN


async def test_a_question_asks_for_words(box: Interlock) -> None:
    asked = call("ask_operator", question="Which year?", options=["2025", "2026"])
    card = await drawn(box, await ask(box, "QUESTION", request=asked, risk="GREEN"))
    assert next((a.verb, a.label, a.needs_reason) for a in card.actions) == ("approve", "Answer", True)
    assert 'options: ["2025", "2026"]' in text_of(card)


async def test_a_deliverable_is_signed_off_with_its_whole_text_in_sight(box: Interlock) -> None:
    await box.run(HELD)
    (first,) = await signing.approvals(box.runtime)
    await signing.approve(box.runtime, box.person, first["id"])
    mission = await box.settled(first["mission_id"])
    card = await drawn(box, f"approval:{mission.approvals[0]}")
    (deliverable,) = [p for p in card.passages if p.heading == "Deliverable"]
    asked = await signing.approval(box.runtime, mission.approvals[0])
    assert asked["kind"] == "TASK_REVIEW"
    assert len(deliverable.text) > 50
    assert deliverable.verbatim, "what is signed off is shown letter by letter"
    assert "it goes back with your reason" in text_of(card)
    facts = {fact.label: fact.value for fact in card.facts}
    assert (facts["Who asks"], facts["Rehearsal"]) == ("coordinator", "yes")


async def test_a_plan_is_shown_task_by_task(box: Interlock) -> None:
    tasks = [
        {"key": "a", "title": "Facts", "persona": "research", "description": "Find\nthem", "budget_microusd": 2_000_000,
         "depends_on": []},
        {"key": "b", "title": "Text", "persona": "writer", "description": "Write", "budget_microusd": 500_000,
         "depends_on": ["a"]},
    ]  # fmt: skip
    request = {"summary": "work by a plan of 2 tasks", "question": "Is this the plan to work by?", "plan": tasks}
    card = await drawn(box, await ask(box, "PLAN", request=request, risk="YELLOW"))
    (plan,) = [p for p in card.passages if p.heading == "Plan"]
    assert plan.text.splitlines() == [
        "a: Facts (research, $2.00)", "    Find them", "b: Text (writer, $0.5000, after a)", "    Write",
    ]  # fmt: skip
    assert "Is this the plan to work by?" in text_of(card)
    assert [action.verb for action in card.actions] == ["approve", "deny"]


async def test_money_is_asked_for_in_dollars(box: Interlock) -> None:
    subject = await ask(box, "BUDGET", request={"account": "mission:m", "amount_microusd": 2_500_000})
    assert "amount: $2.50" in text_of(await drawn(box, subject))


async def test_the_root_of_a_thread_tells_how_far_a_mission_is_and_the_end_what_came_of_it(box: Interlock) -> None:
    mission_id = await box.submit("Compare A and B")
    root = await drawn(box, f"mission:{mission_id}")
    assert root.title == "Mission: Compare A and B"
    assert "Tasks: being planned" in text_of(root)
    assert await draw(box.runtime, f"ended:{mission_id}") is None
    await box.start()
    await box.settled(mission_id)
    root, ended = await drawn(box, f"mission:{mission_id}"), await drawn(box, f"ended:{mission_id}")
    assert "State: DONE" in text_of(root)
    assert (root.tone, ended.tone) == (Tone.GREEN, Tone.GREEN)
    assert ended.title == "Done: Compare A and B"
    assert len(ended.passages[0].text) > 50
    assert "Rehearsal: yes, about $" in text_of(ended)


async def test_a_canceled_mission_ends_with_the_reason(box: Interlock) -> None:
    mission_id = await box.submit("Compare A and B")
    await controls.cancel(box.runtime, box.person, mission_id, reason="changed my mind")
    assert "Why: changed my mind" in text_of(await drawn(box, f"ended:{mission_id}"))


async def test_an_alert_says_who_has_seen_it(box: Interlock) -> None:
    now = datetime.now(UTC)
    await box.runtime.store.write(
        audit.alert, now, project_id="default", severity="critical", kind="AGENT_LOST", text=f"lost with {KEY}", key="k"
    )
    (row,) = await box.runtime.store.read(audit.alerts)
    card = await drawn(box, f"alert:{row.id}")
    assert (card.title, card.tone) == ("Critical: agent lost", Tone.RED)
    assert KEY not in text_of(card)
    await controls.acknowledge(box.runtime, box.person, row.id)
    card = await drawn(box, f"alert:{row.id}")
    assert f"Seen: by {box.person.name}, 20" in text_of(card)
    assert card.tone is Tone.PLAIN


async def test_an_alert_that_has_passed_by_itself_says_so(box: Interlock) -> None:
    now = datetime.now(UTC)
    await box.runtime.store.write(
        audit.alert, now, project_id="default", severity="critical", kind="K", text="t", key="k", subject="x"
    )
    (row,) = await box.runtime.store.read(audit.alerts)
    await box.runtime.store.write(audit.settle, "K", "x", now)
    assert "Over: by itself, " in text_of(await drawn(box, f"alert:{row.id}"))


@pytest.mark.parametrize("subject", ["approval:apr_none", "mission:mis_none", "ended:mis_none", "alert:alt_none"])
async def test_nothing_is_drawn_of_what_is_gone(box: Interlock, subject: str) -> None:
    assert await draw(box.runtime, subject) is None


async def test_a_card_is_the_same_after_it_was_kept(box: Interlock) -> None:
    card = await drawn(box, await ask(box, request=call("shell", command="ls")))
    assert Card.from_json(card.to_json()) == card
