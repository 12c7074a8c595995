"""The outbox at the desk: what has not left, and a word that has a dead message tried again."""

import pytest

from interlock import Interlock
from interlock.core.errors import Conflict, NotFound, Refused
from interlock.desk.chats import outgoing
from interlock.desk.context import Person
from interlock.store.auditing import audit
from interlock.store.messages import conversations, dispatch, outbox
from interlock.store.tx import Tx
from tests.contract.store.furniture import PROJECT, T0, ask

LETTER = {"to": ["ann@example.com"], "cc": ["bob@example.com"], "subject": "Hello"}


def fill(tx: Tx) -> None:
    """A question that waits, a letter that was refused, one that may have arrived."""
    conversations.room(tx, "slack", "C1", PROJECT, T0)
    ask(tx, "apr_1")
    for key in ("refused", "uncertain"):
        outbox.letter(tx, key, LETTER, T0, PROJECT)
    for row in dispatch.take(tx, "email", "me", T0, 9):
        dispatch.bury(tx, row.id, "me", "no such user", uncertain=row.key == "letter:uncertain")


async def test_everything_that_has_not_left_is_listed_with_where_it_should_go(box: Interlock) -> None:
    await box.runtime.store.write(fill)
    rows = await outgoing.outgoing(box.runtime)
    assert [(row["surface"], row["to"], row["what"], row["state"]) for row in rows] == [
        ("slack", "C1", "approval:apr_1", "waits"),
        ("email", "ann@example.com, bob@example.com", "e-mail: Hello", "dead"),
        ("email", "ann@example.com, bob@example.com", "e-mail: Hello", "uncertain"),
    ]
    assert [row["state"] for row in await outgoing.outgoing(box.runtime, dead_only=True)] == ["dead", "uncertain"]


async def test_dead_message_is_tried_again_once_and_who_said_so_is_on_record(box: Interlock) -> None:
    await box.runtime.store.write(fill)
    ident = str((await outgoing.outgoing(box.runtime, dead_only=True))[0]["id"])
    revived = await outgoing.retry(box.runtime, box.person, ident)
    assert (str(revived["id"]), revived["state"]) == (ident, "waits")
    with pytest.raises(Conflict, match="is tried already: only a dead one can be retried"):
        await outgoing.retry(box.runtime, box.person, ident)
    [noted] = await box.runtime.store.read(audit.activities, action="MESSAGE_RETRIED")
    assert (noted.actor_id, noted.subject, noted.data["was"]) == (box.person.id, "letter:refused", "no such user")


@pytest.mark.parametrize("ident", ["", "x", "-1", "9" * 30, "²", "4711"])
async def test_what_is_no_message_is_told_in_a_line(box: Interlock, ident: str) -> None:
    with pytest.raises(NotFound, match=r"`interlock outbox` lists what there is"):
        await outgoing.retry(box.runtime, box.person, ident)


async def test_viewer_has_nothing_tried_again(box: Interlock, viewer: Person) -> None:
    await box.runtime.store.write(fill)
    [first, _] = await outgoing.outgoing(box.runtime, dead_only=True)
    with pytest.raises(Refused, match="ask an admin for the role operator"):
        await outgoing.retry(box.runtime, viewer, str(first["id"]))


def fill_chats(tx: Tx) -> None:
    """Beside what `fill` leaves: four dead messages to a chat, of which one may have arrived."""
    fill(tx)
    for number in range(4):
        tell = conversations.reply_place(tx, "slack", f"C{number}", "U1", None, PROJECT, T0)
        outbox.enqueue(tx, tell, {}, f"reply:{number}", T0)
    for row in dispatch.take(tx, "slack", "me", T0, 9):
        dispatch.bury(tx, row.id, "me", "Slack refuses the bot token", uncertain=row.key == "reply:3")


async def test_all_dead_messages_to_chats_are_tried_again_but_what_may_have_arrived(
    box: Interlock, viewer: Person
) -> None:
    await box.runtime.store.write(fill_chats)
    with pytest.raises(Refused):
        await outgoing.retry_all(box.runtime, viewer)
    assert len(await outgoing.retry_all(box.runtime, box.person)) == 4
    left = await outgoing.outgoing(box.runtime, dead_only=True)
    assert [(row["surface"], row["state"]) for row in left] == [
        ("email", "dead"), ("email", "uncertain"), ("slack", "uncertain"),
    ]  # fmt: skip
    assert await outgoing.retry_all(box.runtime, box.person) == []
