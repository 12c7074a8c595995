"""What each command of a chat does, and what is said back."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from interlock import Interlock
from interlock.desk.chats.command_table import COMMANDS, in_chat, named, suggestion
from interlock.desk.chats.commands import HANDLERS
from interlock.desk.reading import listings
from interlock.desk.reading.views import View
from interlock.desk.signoff import signing
from interlock.store.auditing import audit
from interlock.store.messages import conversations, outbox
from tests.contract.desk.front import ANA, BEN, HELD, VIC, Front, request, text_of


async def held(box: Interlock) -> View:
    """A question about a held call."""
    await box.run(HELD)
    (card,) = await signing.approvals(box.runtime)
    return card


async def answers(box: Interlock, card: View) -> list[Any]:
    """What is on record of its answers."""
    rows = await box.runtime.store.read(audit.activities, action="APPROVAL_ANSWERED")
    return [row for row in rows if row.subject == card["id"]]


async def stands(box: Interlock, card: View) -> View:
    return await signing.approval(box.runtime, card["id"])


def test_every_command_of_the_table_is_carried_out_and_no_other() -> None:
    assert list(HANDLERS) == list(COMMANDS)


def test_every_spelling_means_one_command() -> None:
    spellings = [s for c in COMMANDS.values() for s in (c.name, *c.aliases)]
    assert len(spellings) == len(set(spellings))
    assert [named(s) for s in spellings] == [c for c in COMMANDS.values() for _ in (c.name, *c.aliases)]


@pytest.mark.parametrize(("written", "is_meant"), [("aprove", "approve"), ("/STATUSS", "status"), ("tsks", "tasks")])
def test_what_a_typo_means(written: str, is_meant: str) -> None:
    found = suggestion(written)
    assert found is not None
    assert found.name == is_meant


async def test_a_goal_becomes_a_mission_with_its_thread_where_it_was_said(front: Front) -> None:
    said = text_of(await front.say("run Compare A and B"))
    (mission,) = await listings.missions(front.box.runtime)
    assert (mission["goal"], mission["id"] in said) == ("Compare A and B", True)
    root = await front.box.runtime.store.read(outbox.by_key, f"mission:{mission['id']}@slack:C1/{mission['id']}")
    assert root is not None
    assert (root.kind, root.subject) == ("mission", f"mission:{mission['id']}")


async def test_a_mission_that_is_started_while_the_squad_is_paused_says_so(front: Front) -> None:
    await front.say("pause")
    assert "It waits: the squad was paused by Ana" in text_of(await front.say("run Compare A and B"))


async def test_what_was_stopped_is_not_let_go_by_a_word_from_before_that_came_late(front: Front) -> None:
    runtime = front.box.runtime
    now = runtime.clock.now().timestamp()
    assert text_of(await front.say("stop", said_at=now - 3_600)).startswith("The squad is stopped")
    for late in ("resume", "release research"):
        told = text_of(await front.say(late, BEN, said_at=now - 1_200))
        assert f"you said `{late.split()[0]}` 20 minutes ago, and it only came now" in told
    assert (await listings.status(runtime))["squad"]["mode"] == "stopped"
    assert text_of(await front.say("resume", BEN, said_at=now)).startswith("The squad works")


async def test_what_was_stopped_is_not_let_go_by_a_word_from_before_the_stop(front: Front) -> None:
    runtime = front.box.runtime
    now = runtime.clock.now().timestamp()
    await front.say("stop", ANA, said_at=now)
    await front.say("quarantine research", ANA, said_at=now)
    for before in ("resume", "release research"):
        told = text_of(await front.say(before, BEN, said_at=now - 60))
        assert "since you said" in told
        assert f"`{before.split()[0]}`" in told
    status = await listings.status(runtime)
    assert (status["squad"]["mode"], status["quarantined"]) == ("stopped", ["research"])
    assert "research is at work again" in text_of(await front.say("release research", BEN, said_at=now - 1))
    assert text_of(await front.say("resume", BEN, said_at=now - 1)).startswith("The squad works")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("run", "write `/interlock run GOAL`"),
        ("run    ", "write `/interlock run GOAL`"),
        ("task", "write `/interlock task ID`"),
        ("task mis_1 and more", "write `/interlock task ID`"),
        ("cancel", "write `/interlock cancel ID`"),
        ("approve", "write `/interlock approve ID [NOTE]`"),
        ("deny", "write `/interlock deny ID REASON`"),
        ("deny apr_12345", "a denial needs a reason that the agent can act on: `/interlock deny apr_12345 REASON`"),
        ("approve apr_12345", "no approval `apr_12345`"),
        ("task nowhere", "no task `nowhere`"),
        ("tasks FLYING", "`FLYING` is not a state: use one of INBOX"),
        ("quarantine nobody", "no agent `nobody`"),
        ("release", "write `/interlock release AGENT`"),
        ("stop mis_12345", "takes nothing more: to end one thing, `/interlock cancel ID`"),
        ("pause please", "is for the whole squad and takes nothing more"),
        ("aprove apr_1", "no command `aprove`, did you mean `/interlock approve ID [NOTE]`"),
        ("xyzzy", "no command `xyzzy`: `/interlock help` lists what there is"),
        ("`;DROP`", "no command `;DROP`: `/interlock help`"),
    ],
)
async def test_what_cannot_be_is_said_in_one_line(front: Front, text: str, says: str) -> None:
    card = await front.say(text)
    assert card is not None
    (passage,) = card.passages
    assert says in passage.text
    assert "\n" not in passage.text
    assert (await listings.status(front.box.runtime))["squad"]["mode"] == "running"


async def test_an_unknown_command_of_any_length_is_answered_shortly(front: Front) -> None:
    assert len(text_of(await front.say("x" * 50_000))) < 200


async def test_help_lists_every_command_as_it_is_typed_there(front: Front) -> None:
    slack, telegram = text_of(await front.say("help")), text_of(await front.say("", BEN))
    for command in COMMANDS.values():
        assert f"/interlock {command.usage} – " in slack
        assert f"\n/{command.usage} – " in telegram
    assert "approve ID [NOTE]" in text_of(await front.say("help approve"))


async def test_a_command_is_understood_in_any_case_and_with_a_slash(front: Front) -> None:
    assert text_of(await front.say("/STATUS")).startswith("How things stand")


async def test_looking_shows_missions_tasks_agents_money_and_the_queue(front: Front) -> None:
    card = await held(front.box)
    status = text_of(await front.say("status", VIC))
    assert f"{card['mission_id']} · " in status
    assert "Wait for a person: 1" in status
    assert "Squad: running" in status
    assert "NEEDS_APPROVAL · operations" in text_of(await front.say("tasks", VIC))
    assert "no tasks in this state" in text_of(await front.say("tasks canceled", VIC))
    assert "Goal\nCompare A and B" in text_of(await front.say(f"task {card['mission_id']}", VIC))
    assert " · operations · " in text_of(await front.say("agents", VIC))
    assert f"mission:{card['mission_id']} · $0.00 of $20.00" in text_of(await front.say("budget", VIC))
    queue = text_of(await front.say("approvals", VIC))
    assert f"{card['id']} · RED · operations" in queue
    whole = await front.say(f"approvals {card['id'][-8:]}", VIC)
    assert "board@example.com" in text_of(whole)
    assert whole is not None
    assert whole.actions == ()


async def test_long_listings_are_cut_and_say_how_much_is_missing(front: Front) -> None:
    for number in range(13):
        await front.box.submit(f"Goal {number}")
    said = text_of(await front.say("status"))
    assert "Goal 12" in said
    assert "Goal 1\n" not in said
    assert "and 3 more" in said


async def test_canceling_ends_a_mission(front: Front) -> None:
    mission_id = await front.box.submit("Compare A and B")
    assert text_of(await front.say(f"cancel {mission_id}")).startswith("mission canceled")
    assert text_of(await front.say(f"cancel {mission_id}")).startswith("mission was canceled already")


@pytest.mark.parametrize(
    ("text", "mode", "says"),
    [("pause", "paused", "The squad is paused"), ("drain", "draining", "finishes"), ("stop", "stopped", "is stopped")],
)
async def test_the_squad_is_controlled_from_a_chat(front: Front, text: str, mode: str, says: str) -> None:
    assert says in text_of(await front.say(text))
    assert (await listings.status(front.box.runtime))["squad"]["mode"] == mode
    assert text_of(await front.say("resume", BEN)).startswith("The squad works")
    assert (await listings.status(front.box.runtime))["squad"]["mode"] == "running"


async def test_one_agent_is_set_apart_and_let_go_on(front: Front) -> None:
    assert "research is in quarantine" in text_of(await front.say("quarantine research it made things up"))
    assert (await listings.status(front.box.runtime))["quarantined"] == ["research"]
    assert "research is at work again" in text_of(await front.say("release research"))
    assert (await listings.status(front.box.runtime))["quarantined"] == []


async def test_the_learner_is_sent_to_look_back(front: Front) -> None:
    assert text_of(await front.say("learn")).startswith("The Learner has ")


async def test_a_tap_approves_and_needs_no_reply_since_the_card_says_it(front: Front) -> None:
    card = await held(front.box)
    assert await front.tap("approve", card["id"], BEN) is None
    found = await stands(front.box, card)
    assert found["decided_by_name"] == "Ben"
    (answered,) = await answers(front.box, card)
    assert answered.data["surface"] == "telegram"


async def test_words_approve_with_a_note_and_are_replied_to(front: Front) -> None:
    card = await held(front.box)
    said = text_of(await front.say(f"approve `{card['id']}` go ahead"))
    assert said.startswith("approved: ")
    assert (await stands(front.box, card))["note"] == "go ahead"


async def test_words_deny_with_all_of_the_reason(front: Front) -> None:
    card = await held(front.box)
    assert text_of(await front.say(f"deny {card['id']} not this\naddress")).startswith("denied: ")
    assert (await stands(front.box, card))["note"].split() == ["not", "this", "address"]


@pytest.mark.parametrize("verb", ["approve", "deny"])
async def test_a_tap_means_a_whole_id_and_no_other(front: Front, verb: str) -> None:
    card = await held(front.box)
    for part in (card["id"][:-1], card["id"][-8:], "apr_"):
        assert text_of(await front.tap(verb, part, reason="x")).startswith("That did not work\n\nno approval `")
    assert (await stands(front.box, card))["status"] == "pending"


async def test_a_tap_denies_with_the_reason_of_its_form(front: Front) -> None:
    card = await held(front.box)
    assert await front.tap("deny", card["id"], reason="not this address") is None
    assert (await stands(front.box, card))["note"] == "not this address"


async def test_a_form_approves_with_other_arguments(front: Front) -> None:
    card = await held(front.box)
    args = {**card["args"], "to": ["chair@example.com"]}
    assert await front.tap("approve", card["id"], args=args, note="the chair instead") is None
    found = await stands(front.box, card)
    assert (found["edited"], found["edited_args"]["to"]) == (True, ["chair@example.com"])


async def test_arguments_that_are_none_are_refused_and_nothing_is_answered(front: Front) -> None:
    card = await held(front.box)
    assert text_of(await front.tap("approve", card["id"], args=["not", "an object"])).startswith("That did not work")
    assert (await stands(front.box, card))["status"] == "pending"
    assert await front.tap("approve", card["id"]) is None


async def test_the_losing_tap_is_told_who_answered(front: Front) -> None:
    card = await held(front.box)
    await front.tap("approve", card["id"], ANA)
    said = text_of(await front.tap("deny", card["id"], BEN, reason="too late"))
    assert "was already approved by Ana at " in said
    assert (await stands(front.box, card))["decided_by_name"] == "Ana"


async def test_of_two_taps_on_two_surfaces_at_once_one_counts_and_the_other_is_told(front: Front) -> None:
    card = await held(front.box)
    taps = [
        request("approve", "a", ANA, {"id": card["id"]}),
        request("deny", "b", BEN, {"id": card["id"], "reason": "no"}),
    ]
    await asyncio.gather(*(front.reception.accept(tap) for tap in taps))
    await front.quiet(ANA)
    await front.quiet(BEN)
    found = await stands(front.box, card)
    lost = taps[1] if found["decided_by_name"] == "Ana" else taps[0]
    assert f"by {found['decided_by_name']} at" in text_of(await front.told(lost.key))
    (won,) = [tap for tap in taps if tap is not lost]
    assert await front.told(won.key) is None
    assert len(await answers(front.box, card)) == 1


async def test_a_double_click_answers_once_and_is_not_scolded(front: Front) -> None:
    card = await held(front.box)
    assert [await front.tap("approve", card["id"]) for _ in range(2)] == [None, None]
    assert len(await answers(front.box, card)) == 1


async def test_an_answer_has_the_card_edited_everywhere(front: Front) -> None:
    runtime, now = front.box.runtime, datetime.now(UTC)
    await runtime.store.write(conversations.room, "telegram", "-100", "default", now)
    await front.say(f"run {HELD}")
    (mission,) = await listings.missions(runtime)
    await front.box.start()
    await front.box.settled(mission["id"])
    (card,) = await signing.approvals(runtime)
    keys = [f"approval:{card['id']}@{where}/{mission['id']}" for where in ("slack:C1", "telegram:-100")]
    before = [await runtime.store.read(outbox.by_key, key) for key in keys]
    await front.tap("approve", card["id"])
    after = [await runtime.store.read(outbox.by_key, key) for key in keys]
    assert [new.revision > old.revision for old, new in zip(before, after, strict=True)] == [True, True]  # type: ignore[union-attr]


async def test_what_to_do_next_is_spelled_as_one_types_it_there(front: Front) -> None:
    assert "`/interlock approvals` lists" in text_of(await front.say("approve nothing"))
    assert "`/approvals` lists" in text_of(await front.say("approve nothing", BEN))
    assert in_chat(
        "slack", "`interlock budget raise ID USD`, `interlock approve ID --args JSON`, `interlock doctor`"
    ) == ("`interlock budget raise ID USD`, `interlock approve ID --args JSON`, `interlock doctor`"), (
        "what only a shell has stays"
    )
