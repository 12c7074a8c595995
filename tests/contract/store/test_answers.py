"""Attacks on the door of sign-off: races between surfaces, forged answers, roles that changed, edits that raise."""

import asyncio
import contextlib
import threading
from datetime import datetime
from typing import Any

import pytest

from interlock.core.errors import Conflict, InterlockError, NotFound, Refused
from interlock.core.values import ActorKind
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.engine import Store
from interlock.store.identities import people
from interlock.store.signoff import approvals
from interlock.store.signoff.approvals import Answer, Answered, Edit, mark_of
from interlock.store.signoff.late_answers import AlreadyAnswered, Changed
from interlock.store.tx import Tx
from tests.contract.store.furniture import T0, after, agent, answer, ask, claimed

ROUNDS = 50


async def give(store: Store, approval_id: str, person: str = "ada", verdict: str = "approve", **more: Any) -> Answered:
    return await store.write(approvals.answer, answer(approval_id, person, verdict, **more), T0)


async def row_of(store: Store, approval_id: str) -> Any:
    return await store.read(approvals.approval, approval_id)


class Surface(threading.Thread):
    """A process's worth of surface: its own loop, its own store, answers when the barrier falls."""

    def __init__(self, url: str, person: str, verdict: str, barrier: threading.Barrier) -> None:
        super().__init__(daemon=True)
        self.url, self.person, self.verdict, self.barrier = url, person, verdict, barrier
        self.results: list[Answered | InterlockError] = []

    def run(self) -> None:
        asyncio.run(self._answers())

    async def _answers(self) -> None:
        async with Store(self.url) as store:
            for i in range(ROUNDS):
                await asyncio.to_thread(self.barrier.wait, 30)
                try:
                    self.results.append(await give(store, f"q{i}", self.person, self.verdict))
                except InterlockError as error:
                    self.results.append(error)


@pytest.mark.parametrize("second", ["approve", "deny"])
def test_of_two_surfaces_in_the_same_moment_one_wins_and_the_other_is_told(migrated_url: str, second: str) -> None:
    async def asked() -> None:
        async with Store(migrated_url) as store:
            await store.write(claimed, await store.write(agent, "a"), "run")
            for i in range(ROUNDS):
                await store.write(ask, f"q{i}", run_id="run" if i % 2 else None)

    asyncio.run(asked())
    barrier = threading.Barrier(2)
    surfaces = [Surface(migrated_url, "ada", "approve", barrier), Surface(migrated_url, "bob", second, barrier)]
    for each in surfaces:
        each.start()
    for each in surfaces:
        each.join(60)
        assert len(each.results) == ROUNDS
    for pair in zip(surfaces[0].results, surfaces[1].results, strict=True):
        (won,) = [result for result in pair if isinstance(result, Answered)]
        (lost,) = [result for result in pair if isinstance(result, AlreadyAnswered)]
        winner = won.approval.decided_by
        assert pair[0 if winner == "ada" else 1] is won
        assert (lost.by, lost.status) == (winner, won.approval.status)
        assert f"by {winner.title()} at 2026-01-01 12:00:00 UTC" in str(lost)


async def test_nobody_who_is_not_a_person_here_can_answer(store: Store) -> None:
    machine = await store.write(agent, "a")
    await store.write(ask, "q")
    for forged in (machine, "system:policy", "xoxb-a-token", "run_1", ""):
        with pytest.raises(Refused, match="nobody known here"):
            await give(store, "q", forged, role="admin")
    assert (await row_of(store, "q")).status == "pending"
    assert await store.read(lambda tx: audit.activities(tx, action="APPROVAL_ANSWERED")) == []


async def test_role_counts_as_it_is_at_the_answer_and_not_as_the_surface_remembers_it(store: Store) -> None:
    await store.write(ask, "q")
    await store.write(people.set_role, "ada", "viewer")
    with pytest.raises(Refused, match="Ada is a viewer"):
        await give(store, "q", "ada", role="admin")
    await store.write(people.set_role, "ada", "operator")
    assert (await give(store, "q", "ada")).approval.status == "approved"


async def test_person_who_is_known_on_two_surfaces_counts_once(store: Store) -> None:
    await store.write(ask, "q", people=2)
    await store.write(people.link, "slack:UADA", "ada", T0)
    await store.write(people.link, "local:1000", "ada", T0)
    found = [await store.read(squad.person, identity) for identity in ("slack:UADA", "local:1000")]
    assert {each.id for each in found if each} == {"ada"}
    await give(store, "q", "ada", surface="slack")
    with pytest.raises(Refused, match="another person must"):
        await give(store, "q", "ada", surface="cli")
    assert (await row_of(store, "q")).status == "pending"


async def test_edited_call_of_a_higher_risk_stays_a_question_with_the_edit_in_it(store: Store) -> None:
    await store.write(ask, "q", risk="YELLOW", alike="same")
    edit = Edit(args={"to": "x"}, subject="other", risk="RED", rules=("r",), reasons=("why",), asks_anew=True)
    given = await give(store, "q", edit=edit)
    assert (given.asks_anew, given.approval.status, given.approval.risk) == (True, "pending", "RED")
    assert (given.approval.edited_args, given.approval.subject, given.approval.rules) == ({"to": "x"}, "other", ["r"])
    assert given.approval.alike is None
    assert [e.data["name"] for e in await store.read(lambda tx: audit.activities(tx, action="APPROVAL_EDITED"))]
    with pytest.raises(Changed):
        await give(store, "q")
    approved = (await give(store, "q", mark=mark_of(given.approval))).approval
    assert (approved.status, approved.edited_args, approved.subject) == ("approved", {"to": "x"}, "other")


async def test_edit_of_the_first_of_two_people_is_what_the_second_one_approves(store: Store) -> None:
    await store.write(ask, "q", people=2)
    first = await give(store, "q", "ada", edit=Edit(args={"to": "x"}, subject="other", risk="RED"))
    assert (first.still_needed, first.approval.edited_args) == (1, {"to": "x"})
    with pytest.raises(Changed, match="somebody changed the arguments of `q`"):
        await give(store, "q", "bob")
    second = (await give(store, "q", "bob", mark=mark_of(first.approval))).approval
    assert (second.status, second.edited_args, second.subject) == ("approved", {"to": "x"}, "other")


async def test_edit_brings_what_the_edited_call_asks_of_people(store: Store) -> None:
    await store.write(ask, "q", on_behalf_of="ada")
    await store.write(ask, "p")
    edit = Edit(args={"to": "x"}, subject="other", risk="RED", not_requester=True)
    assert (await give(store, "q", "ada", edit=edit)).asks_anew
    mark = mark_of(await row_of(store, "q"))
    with pytest.raises(Refused, match="asked in the name of Ada"):
        await give(store, "q", "ada", mark=mark)
    assert (await give(store, "q", "bob", mark=mark)).approval.status == "approved"
    two = Edit(args={"to": "x"}, subject="other", risk="RED", people=2)
    assert (await give(store, "p", "ada", edit=two)).still_needed == 1


async def test_whoever_edits_a_call_is_not_the_other_person_who_must_approve_it(store: Store) -> None:
    await store.write(ask, "q", on_behalf_of="ada", not_requester=True)
    given = await give(
        store, "q", "bob", edit=Edit(args={"to": "bob"}, subject="other", risk="RED", not_requester=True)
    )
    assert (given.asks_anew, given.approval.status, given.approval.on_behalf_of) == (True, "pending", "bob")
    mark = mark_of(given.approval)
    for again in ({"mark": mark}, {"edit": Edit(args={"to": "me"}, subject="third", risk="RED")}):
        with pytest.raises(Refused, match="asked in the name of Bob"):
            await give(store, "q", "bob", **again)
    assert (await give(store, "q", "ada", mark=mark)).approval.status == "approved"


async def test_answer_after_the_expiry_is_refused_whatever_the_sweep_has_done(store: Store) -> None:
    await store.write(ask, "q", expires_at=after(5))
    late = answer("q")
    with pytest.raises(Conflict, match="expired at"):
        await store.write(approvals.answer, late, after(5))
    with pytest.raises(NotFound):
        await give(store, "q-of-another-home")


async def test_every_answer_names_the_person_and_not_what_the_caller_says(store: Store) -> None:
    await store.write(ask, "q")
    forged = Answer(
        approval_id="q", person_id="ada", name="Bob", role="operator", surface="slack", verdict="deny", note="no"
    )
    await store.write(approvals.answer, forged, T0)
    (entry,) = await store.read(lambda tx: audit.activities(tx, action="APPROVAL_ANSWERED"))
    assert (entry.actor_kind, entry.actor_id, entry.data["name"]) == (str(ActorKind.HUMAN), "ada", "Ada")


async def test_approval_that_has_expired_cannot_be_used(store: Store) -> None:
    await store.write(ask, "q", expires_at=after(5))
    await give(store, "q")
    with pytest.raises(Conflict):
        await store.write(approvals.use, "q", after(5))
    await store.write(approvals.use, "q", after(4))


async def test_approval_is_used_once_by_two_workers_at_once(store: Store) -> None:
    def use(tx: Tx, ident: str, now: datetime) -> bool:
        approvals.use(tx, ident, now)
        return True

    async with contextlib.AsyncExitStack() as stack:
        other = store if store.dialect == "sqlite" else await stack.enter_async_context(Store(store.url))
        for i in range(10):
            await store.write(ask, f"q{i}")
            await give(store, f"q{i}")
            both = await asyncio.gather(
                store.write(use, f"q{i}", T0), other.write(use, f"q{i}", T0), return_exceptions=True
            )
            assert sorted(isinstance(each, Conflict) for each in both) == [False, True]
