"""Signing off: the first valid answer decides, by who may, once; what waited for it goes on."""

import asyncio
import contextlib
from dataclasses import replace
from typing import Any

import pytest

from interlock.agents.running.asking import park_unless_answered
from interlock.core.errors import Conflict, NotFound, Refused
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.engine import Store
from interlock.store.identities import people
from interlock.store.mailboxes import mailbox
from interlock.store.money import ledger
from interlock.store.runs import traces
from interlock.store.signoff import approvals
from interlock.store.signoff.approvals import Answered, Edit
from interlock.store.signoff.late_answers import AlreadyAnswered
from interlock.store.work import missions, tasks
from tests.contract.store.furniture import (
    T0,
    account,
    after,
    agent,
    answer,
    ask,
    ask_for_review,
    claimed,
    hand_in,
    in_progress,
    wait_for,
)

EDIT = Edit(args={"to": "bob"}, subject="other digest", risk="RED")


async def give(store: Store, approval_id: str, person: str = "ada", verdict: str = "approve", **more: Any) -> Answered:
    return await store.write(approvals.answer, answer(approval_id, person, verdict, **more), T0)


async def status(store: Store, approval_id: str) -> str:
    row = await store.read(approvals.approval, approval_id)
    assert row is not None
    return str(row.status)


@pytest.mark.parametrize("run", [None, "run"])
@pytest.mark.parametrize("second", ["approve", "deny"])
async def test_of_two_who_answer_at_once_one_wins_and_the_other_hears_who(
    store: Store, run: str | None, second: str
) -> None:
    await store.write(claimed, await store.write(agent, "a"), "run")
    people = [(await store.write(squad.ensure_person, f"local:{n}", n, "operator", T0)).id for n in ("Ada", "Bob")]
    async with contextlib.AsyncExitStack() as stack:
        other = store if store.dialect == "sqlite" else await stack.enter_async_context(Store(store.url))
        for i in range(10):
            await store.write(ask, f"q{i}", run_id=run)
            results = await asyncio.gather(
                give(store, f"q{i}", people[0]), give(other, f"q{i}", people[1], second), return_exceptions=True
            )
            [lost] = [r for r in results if isinstance(r, AlreadyAnswered)]
            [won] = [r for r in results if isinstance(r, Answered)]
            winner = "Ada" if results[0] is won else "Bob"
            assert (
                str(lost) == f"approval `q{i}` was already {won.approval.status} by {winner} at 2026-01-01 12:00:00 UTC"
            )
            assert lost.by == won.approval.decided_by == people[0 if winner == "Ada" else 1]


async def test_answer_is_on_record_with_who_where_and_when(store: Store) -> None:
    await store.write(ask, "q")
    given = await give(store, "q", verdict="deny", note="too early", surface="slack")
    row = given.approval
    assert (row.status, row.decided_by, row.note, row.answered_at) == ("denied", "ada", "too early", T0)
    [entry] = await store.read(lambda tx: audit.activities(tx, action="APPROVAL_ANSWERED"))
    assert (entry.actor_kind, entry.actor_id, entry.subject) == ("human", "ada", "q")
    assert (entry.data["verdict"], entry.data["surface"], entry.data["note"]) == ("deny", "slack", "too early")


async def test_two_people_are_needed_where_the_policy_says_so(store: Store) -> None:
    await store.write(ask, "q", people=2)
    first = await give(store, "q", "ada")
    assert (first.approval.status, first.still_needed) == ("pending", 1)
    with pytest.raises(Refused, match="Ada has answered `q` already: another person must"):
        await give(store, "q", "ada")
    second = await give(store, "q", "bob")
    assert (second.approval.status, second.still_needed) == ("approved", 0)


async def test_of_two_people_one_who_has_lost_the_role_counts_no_more(store: Store) -> None:
    await store.write(squad.ensure_person, "test:cleo", "Cleo", "operator", T0)
    cleo = await store.read(people.owner, "test:cleo")
    await store.write(ask, "q", people=2)
    await give(store, "q", "ada")
    await store.write(people.set_role, "ada", "viewer")
    second = await give(store, "q", "bob")
    assert (second.approval.status, second.still_needed) == ("pending", 1)
    assert cleo is not None
    third = await store.write(approvals.answer, replace(answer("q", "bob"), person_id=cleo.id), T0)
    assert (third.approval.status, third.still_needed) == ("approved", 0)


async def test_two_who_approve_at_once_are_two(store: Store) -> None:
    async with contextlib.AsyncExitStack() as stack:
        other = store if store.dialect == "sqlite" else await stack.enter_async_context(Store(store.url))
        for i in range(10):
            await store.write(ask, f"q{i}", people=2)
            await asyncio.gather(give(store, f"q{i}", "ada"), give(other, f"q{i}", "bob"))
            assert await status(store, f"q{i}") == "approved"


async def test_one_deny_outweighs_an_approval(store: Store) -> None:
    await store.write(ask, "q", people=2)
    await give(store, "q", "ada")
    assert (await give(store, "q", "bob", "deny")).approval.status == "denied"


async def test_arguments_are_not_edited_under_somebody_elses_approval(store: Store) -> None:
    await store.write(ask, "q", people=2)
    await give(store, "q", "ada")
    with pytest.raises(Refused, match="approved this as it stands"):
        await give(store, "q", "bob", edit=EDIT)


async def test_requester_cannot_approve_where_a_second_person_is_asked_for_but_can_deny(store: Store) -> None:
    await store.write(ask, "q", not_requester=True, on_behalf_of="ada")
    with pytest.raises(Refused, match="asked in the name of Ada, who cannot approve it"):
        await give(store, "q", "ada")
    assert (await give(store, "q", "ada", "deny")).approval.status == "denied"


async def test_viewer_may_not_answer(store: Store) -> None:
    await store.write(ask, "q")
    with pytest.raises(Refused, match="Ada is a viewer and may not answer approvals"):
        await give(store, "q", role="viewer")
    assert await status(store, "q") == "pending"
    assert await store.read(lambda tx: audit.activities(tx, action="APPROVAL_ANSWERED")) == []


async def test_unknown_approval_is_not_found(store: Store) -> None:
    with pytest.raises(NotFound, match="no approval `q`"):
        await give(store, "q")


async def test_expired_question_cannot_be_answered(store: Store) -> None:
    await store.write(ask, "q", expires_at=T0)
    with pytest.raises(Conflict, match="expired at 2026-01-01 12:00 UTC"):
        await give(store, "q")
    assert await store.read(approvals.overdue, T0) == ["q"]
    assert (await store.write(approvals.expire, "q", T0)).status == "expired"  # type: ignore[union-attr]
    assert await store.write(approvals.expire, "q", T0) is None
    with pytest.raises(AlreadyAnswered, match="expired at 2026-01-01 12:00 UTC"):
        await give(store, "q")


async def test_answered_question_does_not_expire(store: Store) -> None:
    await store.write(ask, "q", expires_at=after(1))
    await give(store, "q")
    assert await store.write(approvals.expire, "q", after(2)) is None
    assert await status(store, "q") == "approved"


async def test_approval_is_good_for_one_use(store: Store) -> None:
    await store.write(ask, "q")
    with pytest.raises(Conflict, match="cannot be used again"):
        await store.write(approvals.use, "q", T0)
    await give(store, "q")
    await store.write(approvals.use, "q", T0)
    with pytest.raises(Conflict, match="cannot be used again"):
        await store.write(approvals.use, "q", T0)
    assert await status(store, "q") == "used"


async def test_voided_approval_cannot_be_used(store: Store) -> None:
    await store.write(ask, "q")
    await give(store, "q")
    await store.write(approvals.void, "q", "the file has changed")
    with pytest.raises(Conflict):
        await store.write(approvals.use, "q", T0)


async def test_edited_arguments_are_what_is_approved(store: Store) -> None:
    await store.write(ask, "q")
    row = (await give(store, "q", edit=EDIT)).approval
    assert (row.edited, row.edited_args, row.subject) == (True, {"to": "bob"}, "other digest")


async def test_edits_of_a_denial_change_nothing(store: Store) -> None:
    await store.write(ask, "q")
    row = (await give(store, "q", verdict="deny", edit=EDIT)).approval
    assert (row.edited, row.edited_args, row.subject) == (False, None, "digest")


async def test_parked_run_wakes_with_its_last_answer(store: Store) -> None:
    claim = await store.write(claimed, await store.write(agent, "a", "task"), "run")
    for name in ("q1", "q2"):
        await store.write(ask, name, run_id="run")
    assert await store.write(park_unless_answered, claim, T0)
    await give(store, "q1")
    assert not await store.read(mailbox.has_ready, after(1))
    await give(store, "q2", verdict="deny")
    assert [c.run.id for c in await store.write(mailbox.claim, "w", 9, after(1))] == ["run"]


async def test_task_goes_back_to_where_it_came_from_with_its_last_answer(store: Store) -> None:
    job = await store.write(in_progress)
    for name in ("q1", "q2"):
        await store.write(ask, name, task_id=job.task_id)
    await store.write(wait_for, job, "q1")
    await give(store, "q1")
    assert (await store.read(tasks.task, job.task_id)).status == "NEEDS_APPROVAL"  # type: ignore[union-attr]
    await give(store, "q2", note="go on")
    row = await store.read(tasks.task, job.task_id)
    assert row is not None
    assert (row.status, row.held_from, row.wait_for) == ("IN_PROGRESS", None, None)
    assert "answered" in [event.kind for event in await store.read(missions.pending, job.mission_id)]


async def test_last_two_answers_at_once_release_the_task(store: Store) -> None:
    async with contextlib.AsyncExitStack() as stack:
        other = store if store.dialect == "sqlite" else await stack.enter_async_context(Store(store.url))
        job = await store.write(in_progress)
        for i in range(10):
            for name in (f"a{i}", f"b{i}"):
                await store.write(ask, name, task_id=job.task_id)
            await store.write(wait_for, job, f"a{i}")
            await asyncio.gather(give(store, f"a{i}"), give(other, f"b{i}"))
            assert (await store.read(tasks.task, job.task_id)).status == "IN_PROGRESS"  # type: ignore[union-attr]


async def test_approved_review_ends_its_task_with_the_approval_on_record(store: Store) -> None:
    job = await store.write(in_progress)
    await store.write(ask_for_review, job, "q", await store.write(hand_in, job))
    await give(store, "q")
    row = await store.read(tasks.task, job.task_id)
    assert row is not None
    assert (row.status, row.approval_id, row.ended_at) == ("DONE", "q", T0)


async def test_denied_review_sends_its_task_back_with_the_feedback(store: Store) -> None:
    job = await store.write(in_progress)
    await store.write(ask_for_review, job, "q", await store.write(hand_in, job))
    await give(store, "q", verdict="deny", note="name your sources")
    row = await store.read(tasks.task, job.task_id)
    assert row is not None
    assert (row.status, row.feedback, row.review_cycles, row.approval_id) == (
        "IN_PROGRESS", "name your sources", 1, None,
    )  # fmt: skip


@pytest.mark.parametrize(("verdict", "limit"), [("approve", 150), ("deny", 100)])
async def test_approved_budget_raises_the_limit(store: Store, verdict: str, limit: int) -> None:
    await store.write(account, "run:r", 100)
    await store.write(ask, "q", kind="BUDGET", request={"account": "run:r", "amount_microusd": 50})
    await give(store, "q", verdict=verdict)
    assert (await store.read(ledger.account, "run:r")).limit_microusd == limit  # type: ignore[union-attr]


async def test_budget_is_raised_by_what_the_person_says(store: Store) -> None:
    await store.write(account, "run:r", 100)
    await store.write(ask, "q", kind="BUDGET", request={"account": "run:r", "amount_microusd": 50})
    await give(store, "q", changes={"amount_microusd": 20})
    assert (await store.read(ledger.account, "run:r")).limit_microusd == 120  # type: ignore[union-attr]


async def test_open_questions_of_an_ended_run_are_void(store: Store) -> None:
    await store.write(claimed, await store.write(agent, "a"), "run")
    await store.write(ask, "q", run_id="run")
    await store.write(approvals.void_of_run, "run", T0, "its run ended")
    with pytest.raises(AlreadyAnswered, match="no longer asked: its run ended"):
        await give(store, "q")
    assert (await store.read(traces.run, "run")).status == "running"  # type: ignore[union-attr]
