"""A yes is good for the arguments that were shown: who looks at an old card has not approved what was edited since."""

import asyncio
from typing import Any

import pytest

from interlock.desk.chats.cards import Card
from interlock.desk.reading.views import View
from interlock.desk.signoff import asking, signing
from interlock.store.signoff.approvals import APPROVALS
from interlock.store.signoff.late_answers import Changed
from tests.contract.desk.front import BEN, HELD, Front, text_of


async def asked_of_two(front: Front) -> View:
    """A question about a held e-mail that two people must approve."""
    await front.box.run(HELD)
    (card,) = await signing.approvals(front.box.runtime)
    two = APPROVALS.update().where(APPROVALS.c.id == card["id"]).values(people=2)
    await front.box.runtime.store.write(lambda tx: tx.run(two))
    return card


def target(card: Card) -> str:
    return next(each.target for each in card.actions if each.label == "Approve")


def to(card: View, address: str) -> dict[str, Any]:
    return {**card["args"], "to": [address]}


async def edited(front: Front, card: View, address: str = "eve@example.com") -> View:
    """The card once the one at the terminal has approved it with another recipient."""
    found = await signing.approve(front.box.runtime, front.box.person, card["id"], args=to(card, address))
    assert (found["status"], found["still_needed"]) == ("pending", 1)
    return found


async def status(front: Front, card: View) -> str:
    return str((await signing.approval(front.box.runtime, card["id"]))["status"])


async def test_tap_on_a_card_from_before_an_edit_approves_nothing_and_the_new_card_does(front: Front) -> None:
    card = await asked_of_two(front)
    old = await asking.approval_card(front.box.runtime, card["id"])
    await edited(front, card)
    told = text_of(await front.tap("approve", target(old), BEN))
    assert "somebody changed the arguments" in told
    assert await status(front, card) == "pending"
    new = await asking.approval_card(front.box.runtime, card["id"])
    assert "eve@example.com" in text_of(new)
    await front.tap("approve", target(new), BEN)
    assert await status(front, card) in ("approved", "used")


async def test_who_types_approves_an_edited_call_by_the_mark_that_its_card_shows(front: Front) -> None:
    card = await asked_of_two(front)
    mark = (await edited(front, card))["mark"]
    for words in (card["id"], f"{card['id']}:e-0000000000", f"{card['id']}:e-"):
        assert "somebody changed the arguments" in text_of(await front.say(f"approve {words}", BEN))
    assert f"approve {card['id']}:{mark}" in text_of(await asking.approval_card(front.box.runtime, card["id"]))
    await front.say(f"approve {card['id']}:{mark} fine", BEN)
    assert await status(front, card) in ("approved", "used")


async def test_old_card_still_denies(front: Front) -> None:
    card = await asked_of_two(front)
    await edited(front, card)
    await front.tap("deny", card["id"], BEN, reason="no mail at all")
    assert await status(front, card) == "denied"


async def test_yes_and_edit_at_once_never_approve_what_nobody_has_seen(front: Front) -> None:
    card = await asked_of_two(front)
    people = front.box.runtime, front.box.person
    done = await asyncio.gather(
        signing.approve(*people, card["id"], args=to(card, "eve@example.com")),
        front.tap("approve", card["id"], BEN),
        return_exceptions=True,
    )
    found = await signing.approval(front.box.runtime, card["id"])
    assert found["status"] == "pending", done
    assert len([each for each in done if isinstance(each, Exception) or "changed" in str(each)]) == 1


async def test_mark_of_an_edit_before_the_last_one_approves_nothing(front: Front) -> None:
    card = await asked_of_two(front)
    now = front.box.runtime.clock.now()
    first = (await edited(front, card))["mark"]
    again = APPROVALS.update().where(APPROVALS.c.id == card["id"]).values(subject="of another edit", answered_at=now)
    await front.box.runtime.store.write(lambda tx: tx.run(again))
    for mark in (first, None):
        with pytest.raises(Changed):
            await signing.approve(front.box.runtime, front.box.person, card["id"], mark=mark)
