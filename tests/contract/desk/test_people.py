"""Who is who: people, the ids by which surfaces know them, and their roles."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from interlock import Interlock
from interlock.core.errors import NotFound, Refused, UsageError
from interlock.desk.context import Person
from interlock.desk.identities import people
from interlock.desk.identities.people import LastAdmin, Stranger
from interlock.desk.reading.views import View
from interlock.store.auditing import audit
from interlock.store.engine import Store

Attempt = Callable[[], Awaitable[View]]


async def actions(box: Interlock) -> list[tuple[str, Any]]:
    rows = await box.runtime.store.read(audit.activities)
    return [(row.action, row.data.get("identity") or row.data.get("role")) for row in rows]


async def test_somebody_is_entered_linked_promoted_and_unlinked_on_record(box: Interlock) -> None:
    runtime, admin = box.runtime, box.person
    ana = await people.add(runtime, admin, "  Ana   Lee ")
    assert (ana["name"], ana["role"], ana["identities"]) == ("Ana Lee", "operator", [])
    linked = await people.link(runtime, admin, "ana lee", " Slack:u0123abcd ")
    assert (linked["identities"], linked["moved_from"], linked["changed"]) == (["slack:U0123ABCD"], None, True)
    assert (await people.set_role(runtime, admin, "slack:U0123ABCD", "ADMIN"))["before"] == "operator"
    assert (await people.unlink(runtime, admin, "slack:U0123ABCD"))["identities"] == []
    assert await actions(box) == [
        ("PERSON_ADDED", "operator"),
        ("IDENTITY_LINKED", "slack:U0123ABCD"),
        ("ROLE_CHANGED", "admin"),
        ("IDENTITY_UNLINKED", "slack:U0123ABCD"),
    ]


async def test_an_identity_belongs_to_one_person_and_moving_it_says_so(box: Interlock) -> None:
    for name in ("Ana", "Ben"):
        await people.add(box.runtime, box.person, name)
    await people.link(box.runtime, box.person, "Ana", "telegram:42")
    again = await people.link(box.runtime, box.person, "Ana", "telegram:42")
    assert (again["changed"], again["moved_from"]) == (False, None)
    moved = await people.link(box.runtime, box.person, "Ben", "telegram:42")
    assert (moved["moved_from"], moved["identities"]) == ("Ana", ["telegram:42"])
    assert {p["name"]: p["identities"] for p in await people.people(box.runtime)}["Ana"] == []


@pytest.mark.parametrize("role", ["viewer", "operator"])
async def test_only_admins_say_who_is_who(box: Interlock, role: str) -> None:
    person = replace(box.person, role=role)
    attempts: tuple[Attempt, ...] = (
        lambda: people.add(box.runtime, person, "Eve", role="admin"),
        lambda: people.link(box.runtime, person, box.person.id, "slack:UEVE"),
        lambda: people.unlink(box.runtime, person, "slack:UEVE"),
        lambda: people.set_role(box.runtime, person, box.person.id, "admin"),
    )
    for attempt in attempts:
        with pytest.raises(Refused, match="may not say who is who"):
            await attempt()
    assert len(await people.people(box.runtime)) == 1


async def test_the_last_admin_stays_one_and_stays_reachable(box: Interlock) -> None:
    runtime, me = box.runtime, box.person
    (identity,) = (await people.people(runtime))[0]["identities"]
    await people.add(runtime, me, "Ana", role="admin")
    await people.link(runtime, me, "Ana", "slack:UANA")
    await people.add(runtime, me, "Ben")
    attempts: tuple[Attempt, ...] = (
        lambda: people.set_role(runtime, me, me.id, "operator"),
        lambda: people.unlink(runtime, me, identity),
        lambda: people.link(runtime, me, "Ben", identity),
    )
    for attempt in attempts:
        with pytest.raises(LastAdmin, match="is the last admin at a terminal"):
            await attempt()
    await people.link(runtime, me, "Ana", "local:4242")
    assert (await people.set_role(runtime, me, me.id, "viewer"))["role"] == "viewer"


async def test_of_two_admins_who_demote_each_other_at_once_one_stays(box: Interlock) -> None:
    runtime, me = box.runtime, box.person
    ana = await people.add(runtime, me, "Ana", role="admin")
    await people.link(runtime, me, "Ana", "local:4242")
    other = Person(ana["id"], "Ana", "admin", "cli")
    done = await asyncio.gather(
        people.set_role(runtime, me, "Ana", "viewer"), people.set_role(runtime, other, me.id, "viewer"),
        return_exceptions=True,
    )  # fmt: skip
    assert sorted(isinstance(each, LastAdmin) for each in done) == [False, True]
    assert sorted(p["role"] for p in await people.people(runtime)) == ["admin", "viewer"]


async def test_of_two_who_are_entered_at_once_under_one_name_one_is_refused(box: Interlock) -> None:
    async with contextlib.AsyncExitStack() as stack:
        store = box.runtime.store
        other = store if store.dialect == "sqlite" else await stack.enter_async_context(Store(store.url))
        elsewhere = replace(box.runtime, store=other)
        for number in range(20):
            done = await asyncio.gather(
                people.add(box.runtime, box.person, f"Zoe {number}"),
                people.add(elsewhere, box.person, f"ZOE {number}"),
                return_exceptions=True,
            )
            assert sorted(isinstance(each, UsageError) for each in done) == [False, True]


@pytest.mark.parametrize(
    "identity",
    ["slack:C123", "slack:", "slack", "slack:U1 2", "telegram:-5", "telegram:x", "telegram:0", "local:-1", "mail:a@b",
     "slack:U1\nslack:U2", "telegram:٤٢", ""],
)  # fmt: skip
async def test_an_identity_that_cannot_be_is_refused(box: Interlock, identity: str) -> None:
    with pytest.raises(UsageError, match="is not an identity: write it like"):
        await people.link(box.runtime, box.person, box.person.id, identity)


@pytest.mark.parametrize("name", ["", " ", "x" * 61, "per_1", "slack:U1", "Ana\u202e", "A\x00"])
async def test_a_name_that_would_mislead_is_refused(box: Interlock, name: str) -> None:
    with pytest.raises(UsageError, match="name"):
        await people.add(box.runtime, box.person, name)


async def test_what_is_not_there_is_said_with_what_to_do(box: Interlock) -> None:
    runtime, me = box.runtime, box.person
    await people.add(runtime, me, "Ana")
    with pytest.raises(UsageError, match="somebody is called `Ana` already"):
        await people.add(runtime, me, "ANA")
    with pytest.raises(UsageError, match="somebody is called `Ana` already"):
        await people.add(runtime, me, "Ａna")
    with pytest.raises(UsageError, match="`boss` is not a role: use one of viewer, operator, admin"):
        await people.add(runtime, me, "Ben", role="boss")
    with pytest.raises(NotFound, match="is linked to nobody"):
        await people.unlink(runtime, me, "slack:U9X")
    with pytest.raises(Stranger, match="nobody is called `Zoe`"):
        await people.link(runtime, me, "Zoe", "slack:U12")
    with pytest.raises(Stranger):
        await people.set_role(runtime, me, "", "viewer")
