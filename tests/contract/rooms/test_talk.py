"""What people do in channels: who may see and say what, threads, pages, signs, keys, bounds. Row J4."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interlock.core.errors import Conflict, NotFound, Refused, UsageError
from interlock.desk.context import Person
from interlock.desk.reading.finding import Unknown
from interlock.desk.workspace_chat import rooms
from interlock.store.engine import Store
from interlock.store.identities import personal
from interlock.store.identities.personal import ERASED, Known
from interlock.store.mailboxes import mailbox
from interlock.store.messages import feed, rounds
from interlock.store.messages import rooms as rows
from tests.contract.rooms.house import House, housed, silent

SECRET = "sk-ant-api03-abcdefghijklmnop0123456789"


@pytest.fixture
async def house(store: Store, tmp_path: Path) -> House:
    """Agents that have nothing to say."""
    return await housed(store, tmp_path, lambda persona, _: silent())


@pytest.fixture
def vic(house: House) -> Person:
    """One who looks."""
    return replace(house.bob, name="Vic", role="viewer")


async def test_everybody_reads_open_channels_and_members_alone_private_ones(house: House, vic: Person) -> None:
    runtime = house.stage.runtime
    await house.channel("launch", "coder")
    hidden = await house.channel("money", "finance", kind="private")
    assert [each["name"] for each in await rooms.channels(runtime, house.ada)] == ["launch", "money"]
    assert [each["name"] for each in await rooms.channels(runtime, vic)] == ["launch"]
    with pytest.raises(Unknown):
        await rooms.history(runtime, house.bob, hidden)
    with pytest.raises(Unknown):
        await house.say(hidden, "let me in", house.bob)
    said = await house.say(hidden, "ours")
    with pytest.raises(Unknown):
        await rooms.react(runtime, house.bob, said["id"], "👀")
    await rooms.join(runtime, house.ada, hidden, "Bob")
    assert [each["text"] for each in await rooms.history(runtime, house.bob, hidden)] == ["ours"]
    see = [await runtime.store.read(rooms.may_see, who, hidden) for who in (house.ada.id, house.bob.id, "per_nobody")]
    assert see == [True, True, False]


async def test_viewers_change_nothing(house: House, vic: Person) -> None:
    runtime = house.stage.runtime
    channel = await house.channel("launch", "coder")
    said = await house.say(channel, "hello")
    for act in (
        rooms.say(runtime, vic, channel, "hi"),
        rooms.create(runtime, vic, "mine"),
        rooms.dm(runtime, vic, "coder"),
        rooms.react(runtime, vic, said["id"], "👀"),
        rooms.join(runtime, vic, channel),
        rooms.leave(runtime, vic, channel, "coder"),
        rooms.archive(runtime, vic, channel),
        rooms.edit(runtime, vic, said["id"], "bye"),
    ):
        with pytest.raises(Refused):
            await act
    assert [each["text"] for each in await rooms.history(runtime, vic, channel)] == ["hello"]


async def test_names_are_taken_once_and_are_names(house: House) -> None:
    await house.channel("launch")
    with pytest.raises(Conflict, match="launch"):
        await rooms.create(house.stage.runtime, house.bob, "#Launch")
    for odd in ("", "two words", "dm:a,b", "-", "x" * 61, "ümlaut"):
        with pytest.raises(UsageError, match="not a valid channel name"):
            await rooms.create(house.stage.runtime, house.ada, odd)
    with pytest.raises(NotFound, match="neither a persona nor a person"):
        await rooms.create(house.stage.runtime, house.ada, "other", members=["nobody"])


async def test_direct_conversation_is_of_the_two_and_there_is_one(house: House) -> None:
    runtime = house.stage.runtime
    first, again = await rooms.dm(runtime, house.ada, "coder"), await rooms.dm(runtime, house.ada, "coder")
    others = await rooms.dm(runtime, house.bob, "coder")
    assert first["id"] == again["id"] != others["id"]
    with pytest.raises(Unknown):
        await rooms.history(runtime, house.bob, first["id"])
    with pytest.raises(UsageError, match="of the two who have it"):
        await rooms.join(runtime, house.ada, first["id"], "qa")
    said = await house.say(first["id"], "hello")
    row = await house.stage.run(said["runs"][0])
    assert (row.channel_id, row.dm_conversation_id, row.trigger_message_id) == (first["id"], first["id"], said["id"])
    assert (row.kind, row.cause_kind, row.cause_id) == ("chat", "room", house.ada.id)


async def test_run_says_where_it_was_woken(house: House) -> None:
    channel = await house.channel("launch", "coder")
    said = await house.say(channel, "hello")
    row = await house.stage.run(said["runs"][0])
    assert (row.channel_id, row.dm_conversation_id, row.trigger_message_id) == (channel, None, said["id"])
    assert {"text": "hello", "from": "Ada", "channel": channel, "message": said["id"]}.items() <= row.payload.items()


async def test_thread_wakes_those_who_are_in_it(house: House) -> None:
    channel = await house.channel("launch", "coder", "qa")
    root = await house.say(channel, "a question")
    assert (await house.say(channel, "anybody?", parent_id=root["id"]))["turns"] == []
    reply = await house.say(channel, "@qa?", parent_id=root["id"])
    assert reply["turns"] == ["qa"]
    deeper = await house.say(channel, "still there", house.bob, parent_id=reply["id"])
    assert (deeper["parent_id"], deeper["turns"]) == (root["id"], [])
    assert await house.said(channel) == [("Ada", "a question")]
    thread = await rooms.history(house.stage.runtime, house.ada, channel, thread=reply["id"])
    assert [each["text"] for each in thread] == ["a question", "anybody?", "@qa?", "still there"]
    assert thread[0]["replies"] == 3
    elsewhere = await house.channel("other")
    with pytest.raises(NotFound, match="in this channel"):
        await house.say(elsewhere, "lost", parent_id=root["id"])


async def test_history_comes_in_pages(house: House) -> None:
    channel, runtime = await house.channel("launch"), house.stage.runtime
    for number in range(7):
        await house.say(channel, f"m{number}")
    last = await rooms.history(runtime, house.ada, channel, most=3)
    before = await rooms.history(runtime, house.ada, channel, most=3, before=last[0]["id"])
    first = await rooms.history(runtime, house.ada, channel, most=3, before=before[0]["seq"])
    assert [[each["text"] for each in page] for page in (first, before, last)] == [
        ["m0"], ["m1", "m2", "m3"], ["m4", "m5", "m6"],
    ]  # fmt: skip
    root = last[0]["id"]
    for number in range(5):
        await house.say(channel, f"r{number}", parent_id=root)
    page = await rooms.history(runtime, house.ada, channel, thread=root, most=2)
    assert [each["text"] for each in page] == ["m4", "r3", "r4"]
    page = await rooms.history(runtime, house.ada, channel, thread=root, most=2, before=page[1]["seq"])
    assert [each["text"] for each in page] == ["r1", "r2"]
    page = await rooms.history(runtime, house.ada, channel, thread=root, most=2, before=page[0]["seq"])
    assert [each["text"] for each in page] == ["m4", "r0"]
    shown = await runtime.store.read(rows.context, channel, root, 2)
    assert [row.text for row in shown] == ["m4", "r3", "r4"]


async def test_same_key_says_it_once(house: House) -> None:
    channel = await house.channel("launch", "coder")
    first = await house.say(channel, "hello", idempotency_key="k")
    again = await house.say(channel, "hello", idempotency_key="k")
    others = await house.say(channel, "hello", house.bob, idempotency_key="k")
    with pytest.raises(UsageError, match="another channel"):
        await house.say(await house.channel("elsewhere"), "hello", idempotency_key="k")
    assert (again["id"], again["runs"]) == (first["id"], first["runs"])
    assert others["id"] != first["id"]
    assert len(await house.said(channel)) == 2


async def test_signs_are_put_on_and_taken_off(house: House) -> None:
    runtime, channel = house.stage.runtime, await house.channel("launch")
    said = await house.say(channel, "done")
    await rooms.react(runtime, house.ada, said["id"], "🎉")
    await rooms.react(runtime, house.ada, said["id"], "🎉")
    shown = await rooms.react(runtime, house.bob, said["id"], ":eyes:")
    assert [(sign["emoji"], len(sign["by"])) for sign in shown["reactions"]] == [("🎉", 1), (":eyes:", 1)]
    shown = await rooms.react(runtime, house.ada, said["id"], "🎉", on=False)
    assert [sign["emoji"] for sign in shown["reactions"]] == [":eyes:"]
    for odd in ("", "x", "no words", "🎉 🎉", "<b>", "é" * 40):
        with pytest.raises(UsageError, match="not an emoji"):
            await rooms.react(runtime, house.ada, said["id"], odd)


async def test_only_who_said_it_changes_it(house: House) -> None:
    runtime, channel = house.stage.runtime, await house.channel("launch", "coder")
    said = await house.say(channel, "helo")
    with pytest.raises(Refused):
        await rooms.edit(runtime, house.bob, said["id"], "mine")
    changed = await rooms.edit(runtime, house.ada, said["id"], "hello")
    assert (changed["text"], changed["edited_at"] is not None) == ("hello", True)
    assert len(await house.runs()) == 1


async def test_words_have_bounds_and_no_secrets(house: House) -> None:
    channel = await house.channel("launch")
    for odd in ("", "  \n", "x" * (rooms.MOST_CHARS + 1)):
        with pytest.raises(UsageError):
            await house.say(channel, odd)
    said = await house.say(channel, f"the key is {SECRET} \x00")
    assert SECRET not in said["text"]
    for _ in range(rooms.MOST_A_MINUTE - 1):
        await house.say(channel, "again")
    with pytest.raises(Refused, match="within a minute"):
        await house.say(channel, "too much")
    await house.say(channel, "not of his", house.bob)
    house.stage.clock.advance(61)
    await house.say(channel, "rested")


async def test_archived_channel_is_read_and_not_written(house: House) -> None:
    runtime, channel = house.stage.runtime, await house.channel("launch")
    said = await house.say(channel, "hello")
    await rooms.archive(runtime, house.ada, channel)
    with pytest.raises(UsageError, match="archived"):
        await house.say(channel, "more")
    with pytest.raises(UsageError, match="archived"):
        await rooms.edit(runtime, house.ada, said["id"], "more")
    assert await rooms.channels(runtime, house.ada) == []
    assert await house.said(channel) == [("Ada", "hello")]
    await rooms.archive(runtime, house.ada, channel, on=False)
    await house.say(channel, "more")


async def test_watchers_are_notified_and_of_private_channels_only_members(house: House) -> None:
    runtime = house.stage.runtime
    opened, hidden = await house.channel("launch"), await house.channel("money", kind="private")
    said = await house.say(opened, "hello")
    await house.say(hidden, "ours")
    await rooms.react(runtime, house.ada, said["id"], "🎉")
    await rooms.edit(runtime, house.ada, said["id"], "hello!")
    told = [row for row in await runtime.store.read(feed.after, 0, 100) if row.payload.get("channel_id")]
    assert [(row.name, row.channel_id, row.payload.get("text")) for row in told] == [
        ("message_created", None, "hello"), ("message_created", hidden, "ours"), ("reaction_added", None, None),
        ("message_updated", None, "hello!"),
    ]  # fmt: skip


async def test_64_at_once_have_places_of_their_own_and_turns_in_that_order(house: House) -> None:
    channel = await house.channel("launch", "coder")
    said = await asyncio.gather(*(house.say(channel, f"m{number}") for number in range(64)))
    assert sorted(each["seq"] for each in said) == list(range(1, 65))
    assert sum(len(each["runs"]) for each in said) == 1
    while claims := await house.stage.claim():
        assert len(claims) == 1
        await house.stage.store.write(_end, claims[0], house.stage.clock.now())
    assert [run.trigger_message_id for run in await house.runs()] == [
        each["id"] for each in sorted(said, key=lambda each: each["seq"])
    ]


def _end(tx: Any, claim: Any, now: Any) -> None:
    mailbox.finish(tx, claim, "completed", "end_turn", now, result="", error=None)
    rounds.ended(tx, claim.run, now)


async def test_erased_person_is_gone_from_channels(house: House) -> None:
    store, channel = house.stage.store, await house.channel("launch", "coder", people=["Bob"])
    said = await house.say(channel, "my illness", house.bob)
    await rooms.react(house.stage.runtime, house.bob, said["id"], "🎉")
    await house.say(channel, "@coder what do you think of that?")
    await house.stage.work()
    known = Known(house.bob.id, "Bob", ("test:bob",))
    found = await store.read(personal.gathered, known)
    assert [row.text for row in found["room_messages"]] == ["my illness"]
    assert [row.emoji for row in found["reactions"]] == ["🎉"]
    assert len(await store.read(personal.chats, known)) == 2, "its own run, and the one whose prompt shows the words"
    await store.write(personal.erase_words, known)
    assert await house.said(channel) == [("Bob", ERASED), ("Ada", "@coder what do you think of that?")]
    assert [row for row in await store.read(feed.after, 0, 100) if "illness" in str(row.payload)] == []
    shown = await rooms.channel(house.stage.runtime, house.ada, channel)
    assert [each["name"] for each in shown["members"]] == ["Ada", "coder"]
