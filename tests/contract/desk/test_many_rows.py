"""What a list asks of the database does not grow with how many rows it has: nothing is asked for each of them."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from interlock import Interlock
from interlock.desk.agents import memories
from interlock.desk.budgets import money
from interlock.desk.chats import outgoing
from interlock.desk.operations import schedules
from interlock.desk.reading import listings
from interlock.desk.signoff import grants
from interlock.desk.workspace_chat import rooms
from interlock.memory.words import words_of
from interlock.oversight import expiry
from interlock.scheduler.timetable import stored
from interlock.store import squad
from interlock.store.duties import schedules as schedule_store
from interlock.store.knowledge import memory_writes
from interlock.store.messages import dispatch
from interlock.store.money import ledger
from interlock.store.money.ledger import Opening
from interlock.store.schema import (
    BlockHolder,
    Channel,
    ChannelMember,
    Conversation,
    Firing,
    Grant,
    Memory,
    MemoryBlock,
    Outgoing,
    Person,
    Schedule,
)
from interlock.store.tx import Tx
from tests.contract.store.furniture import PROJECT, T0, after, agents, ask
from tests.contract.store.watching import watched

FEW, MANY = 2, 9
DeskContext = Any


def persons(tx: Tx, first: int, count: int) -> None:
    for n in range(first, first + count):
        tx.add(Person, id=f"per_{n}", name=f"Person {n}", role="operator", created_at=T0)


def give(tx: Tx, first: int, count: int) -> None:
    given = {"tool": "file_write", "tool_digest": "d", "scope": "hour", "persona": "coder", "approval_id": "apr"}
    for n in range(first, first + count):
        tx.add(Grant, id=f"gra_{n}", project_id=PROJECT, given_by=f"per_{n}", created_at=T0, expires_at=T0, **given)


def settle_rooms(tx: Tx, first: int, count: int) -> None:
    for n in range(first, first + count):
        common = {"project_id": PROJECT, "kind": "channel", "created_by": "person:per_1", "created_at": T0}
        tx.add(Channel, id=f"chn_{n}", key=f"room-{n}", name=f"room-{n}", **common)
        tx.add(ChannelMember, channel_id=f"chn_{n}", kind="person", who=f"per_{n}", joined_at=T0)


def schedule(tx: Tx, first: int, count: int) -> None:
    for n in range(first, first + count):
        tx.add(
            Schedule, id=f"sch_{n}", project_id=PROJECT, name=f"s{n}", kind="goal", text="go", cron="0 9 * * *",
            timezone="UTC", anchor_at=T0, next_at=after(9), last_at=T0, created_by=f"per_{n}", created_at=T0,
            updated_at=T0,
        )  # fmt: skip
        name = schedule_store.job(f"sch_{n}")
        tx.add(Firing, job=name, fire_at=T0, fence=1, status="done", created_at=T0, ended_at=T0)


def spend(tx: Tx, first: int, count: int) -> None:
    for n in range(first, first + count):
        member = squad.ensure_member(tx, PROJECT, f"persona{n}", "specialist", T0).id
        opening = [
            Opening(f"agent_day:{member}:2026-01-01", "agent_day", member, PROJECT, 5),
            Opening(f"mission:mis_{n}", "mission", f"mis_{n}", PROJECT, 5),
        ]
        ledger.open_accounts(tx, opening, T0)


def remember(tx: Tx, first: int, count: int) -> None:
    for n in range(first, first + count):
        times = {"created_at": T0, "updated_at": T0}
        tx.add(MemoryBlock, id=f"blk_{n}", project_id=PROJECT, label=f"notes {n}", content="words", **times)
        tx.add(BlockHolder, block_id=f"blk_{n}", persona=f"persona{n}", project_id=PROJECT, label=f"notes {n}")
        tx.add(
            Memory, id=f"mem_{n}", project_id=PROJECT, persona=f"persona{n}", scope=f"persona{n}", type="fact",
            text=f"words {n}", length=2, importance=0.5, digest=f"{n}", created_at=T0, used_at=T0, decayed_at=T0,
        )  # fmt: skip


LISTS: dict[str, tuple[Callable[[Tx, int, int], None], Callable[[DeskContext, Any], Awaitable[list[Any]]]]] = {
    "grants": (give, lambda context, _: grants.grants(context, every=True)),
    "channels": (settle_rooms, lambda context, person: rooms.channels(context, person, project=PROJECT)),
    "schedules": (schedule, lambda context, _: schedules.listing(context, stored, project=PROJECT)),
    "memories": (remember, lambda context, person: memories.search(context, person, project=PROJECT, most=100)),
    "budget": (spend, lambda context, _: money.budget(context)),
}


@pytest.mark.parametrize("what", LISTS)
async def test_list_of_many_takes_as_many_statements_as_one_of_few(box: Interlock, what: str) -> None:
    fill, listed = LISTS[what]
    store = box.runtime.store
    await store.write(squad.ensure_project, PROJECT, "UTC", T0)
    await store.write(persons, 0, FEW + MANY)
    asked = []
    for first, count in ((0, FEW), (FEW, MANY)):
        await store.write(fill, first, count)
        seen_as, seen = watched(store)
        rows = await listed(replace(box.runtime, store=seen_as), box.person)
        asked.append((len(rows), len(seen.reads)))
    assert asked[1][0] > asked[0][0] >= FEW
    assert asked[1][1] == asked[0][1]


async def test_memories_of_many_personas_are_searched_in_one_round_trip(box: Interlock) -> None:
    store, trips = box.runtime.store, []
    await store.write(squad.ensure_project, PROJECT, "UTC", T0)
    for first, count in ((0, FEW), (FEW, MANY)):
        await store.write(remember, first, count)
        await store.write(_index, first, count)
        seen_as, seen = watched(store)
        found = await memories.search(
            replace(box.runtime, store=seen_as), box.person, "words", project=PROJECT, most=99
        )
        assert {each["id"] for each in found} == {
            f"{kind}_{n}" for kind in ("mem", "blk") for n in range(first + count)
        }
        trips.append(seen.trips)
    assert trips[0] == trips[1]


async def test_missions_are_listed_without_reading_every_question(box: Interlock) -> None:
    fetched = []
    for count in (FEW, MANY):
        await box.runtime.store.write(_ask_many, count)
        seen_as, seen = watched(box.runtime.store)
        await listings.missions(replace(box.runtime, store=seen_as))
        fetched.append(seen.fetched)
    assert fetched[0] == fetched[1]


def _index(tx: Tx, first: int, count: int) -> None:
    for n in range(first, first + count):
        memory_writes.index(tx, f"mem_{n}", PROJECT, f"persona{n}", words_of(f"words {n}"))


def _ask_many(tx: Tx, count: int) -> None:
    squad.ensure_project(tx, PROJECT, "UTC", T0)
    for n in range(count):
        ask(tx, f"apr_{count}_{n}", mission_id=f"mis_{n}")


async def test_agent_is_found_behind_any_number_of_others(box: Interlock) -> None:
    first, *_ = await box.runtime.store.write(agents, listings.MOST_AGENTS + 1)
    listed = {row["id"] for row in await listings.agents(box.runtime)}
    everyone = await box.runtime.store.write(agents, listings.MOST_AGENTS + 1)
    [hidden] = set(everyone) - listed
    found = await listings.agent(box.runtime, hidden)
    assert found is not None
    assert found["id"] == hidden
    assert await listings.agent(box.runtime, hidden, project="another") is None
    assert await listings.is_of_project(box.runtime, PROJECT, hidden)
    assert await listings.is_of_project(box.runtime, PROJECT, "coder")
    assert not await listings.is_of_project(box.runtime, "another", hidden)
    assert first in everyone


async def test_members_without_money_are_not_written_to_until_there_is_some(box: Interlock) -> None:
    now = box.runtime.clock.now()

    def pause(tx: Tx) -> None:
        squad.ensure_project(tx, PROJECT, "UTC", T0)
        for n in range(MANY):
            member = squad.ensure_member(tx, PROJECT, f"persona{n}", "specialist", T0).id
            account = f"agent_day:{member}:{now:%Y-%m-%d}"
            ledger.open_accounts(tx, [Opening(account, "agent_day", member, PROJECT, 5)], now)
            squad.pause_for_budget(tx, member, account, 5 if n == 0 else 50)

    await box.runtime.store.write(pause)
    asked = []
    for written in (1, 0):
        seen_as, seen = watched(box.runtime.store)
        await expiry.sweep(replace(box.runtime, store=seen_as))
        assert seen.units == written
        asked.append(len(seen.reads))
    assert asked[0] == asked[1]
    states = {row.persona: row.state for row in await box.runtime.store.read(squad.members, PROJECT)}
    assert states == {f"persona{n}": "ACTIVE" if n == 0 else "PAUSED" for n in range(MANY)}


async def test_all_dead_messages_are_tried_again_behind_any_number_that_may_have_arrived(box: Interlock) -> None:
    common = {"surface": "slack", "conversation_id": "slack:C1", "kind": "text", "created_at": T0, "status": "dead"}
    lost = [{"key": f"k{n}", "holder": dispatch.UNCERTAIN, **common} for n in range(outgoing.MOST)]
    lost += [{"key": f"certain{n}", "holder": None, **common} for n in range(outgoing.MOST + FEW)]

    def fill(tx: Tx) -> None:
        squad.ensure_project(tx, PROJECT, "UTC", T0)
        place = {"surface": "slack", "role": "room", "channel": "C1", "project_id": PROJECT, "created_at": T0}
        tx.add(Conversation, id="slack:C1", **place)
        tx.add_many(Outgoing, lost)

    await box.runtime.store.write(fill)
    assert len(await outgoing.retry_all(box.runtime, box.person)) == outgoing.MOST + FEW
    assert await outgoing.retry_all(box.runtime, box.person) == []
