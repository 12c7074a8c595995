"""What wakes an agent: never its own words, and the end of a run that reports to it exactly once, however it ends."""

from collections.abc import Callable
from typing import Any

import pytest

from interlock.core.errors import InterlockError
from interlock.store.engine import Store
from interlock.store.mailboxes import dead_letters, leases, lost_workers, mailbox, posting
from interlock.store.mailboxes.mailbox import Claim
from interlock.store.runs import traces
from interlock.store.tx import Tx
from tests.contract.store.furniture import T0, after, agent, claimed, message


class Power(InterlockError):
    """The machine was switched off."""


def finished(tx: Tx, claim: Claim) -> None:
    mailbox.finish(tx, claim, "completed", "end_turn", T0, result="forty-two", error=None)


def failed(tx: Tx, claim: Claim) -> None:
    mailbox.finish(tx, claim, "failed", "error", T0, result=None, error="no luck")


def dropped(tx: Tx, claim: Claim) -> None:
    mailbox.requeue(tx, claim, T0, due_at=None, error=None, failed=False)
    leases.cancel(tx, claim.run.id, T0, "not wanted")


def dropped_while_parked(tx: Tx, claim: Claim) -> None:
    mailbox.park(tx, claim, T0)
    leases.cancel(tx, claim.run.id, T0, "nobody answered", stop_reason="approval_expired")


def died_of(tx: Tx, claim: Claim) -> None:
    leases.take_back(tx, claim.worker_id, T0, crash_limit=0)


def lost(tx: Tx, claim: Claim) -> None:
    lost_workers.lose(tx, claim.run.id, "its worker fell silent", T0)


ENDINGS: dict[str, tuple[Callable[[Tx, Claim], None], str, str]] = {
    "finished": (finished, "completed", "end_turn"),
    "failed": (failed, "failed", "error"),
    "dropped": (dropped, "cancelled", "cancelled"),
    "dropped while parked": (dropped_while_parked, "cancelled", "approval_expired"),
    "dead letter": (died_of, "failed", "dead_letter"),
    "lost": (lost, "failed", "lost"),
}
EVERY = pytest.mark.parametrize("ending", list(ENDINGS))


async def family(store: Store, **more: Any) -> tuple[str, Claim]:
    """An agent, and a run of another one that reports to it."""
    parent = await store.write(agent, "parent", "user")
    child = await store.write(agent, "child", "think")
    return parent, await store.write(claimed, child, "child", report_to=parent, **more)


async def reports(store: Store, parent: str) -> list[Any]:
    found = [run for run in await store.read(traces.runs) if run.agent_id == parent and run.kind == posting.CHILD_END]
    return sorted(found, key=lambda run: run.seq)


@EVERY
async def test_end_is_told_once_with_what_came_of_it(store: Store, ending: str) -> None:
    end, status, stop_reason = ENDINGS[ending]
    parent, claim = await family(store, labels=("untrusted",))
    await store.write(end, claim)
    [told] = await reports(store, parent)
    assert (told.payload["run"], told.payload["status"], told.payload["stop_reason"]) == ("child", status, stop_reason)
    assert told.payload["result"] == ("forty-two" if ending == "finished" else None)
    assert (told.cause_kind, told.cause_id, told.parent_run_id, told.labels) == ("run", "child", "child", ["untrusted"])
    assert [c.run.id for c in await store.write(mailbox.claim, "w2", 9, after(1)) if c.run.agent_id == parent] == [
        told.id
    ]


@EVERY
async def test_end_that_did_not_commit_is_told_by_the_one_that_does(store: Store, ending: str) -> None:
    end, _, stop_reason = ENDINGS[ending]
    parent, claim = await family(store)

    def dying(tx: Tx) -> None:
        end(tx, claim)
        raise Power("off")

    for _ in range(2):
        with pytest.raises(Power):
            await store.write(dying)
        assert await reports(store, parent) == []
        row = await store.read(traces.run, "child")
        assert row is not None
        assert row.status == "running"
    await store.write(end, claim)
    for again in (finished, failed):
        with pytest.raises(InterlockError):
            await store.write(again, claim)
    await store.write(leases.cancel, "child", T0, "too late")
    await store.write(leases.take_back, claim.worker_id, T0, crash_limit=0)
    assert [told.payload["stop_reason"] for told in await reports(store, parent)] == [stop_reason]


@EVERY
async def test_parent_that_is_at_work_hears_it_next(store: Store, ending: str) -> None:
    parent = await store.write(agent, "parent", "user")
    at_work = await store.write(claimed, parent, "at work", "w2")
    child = await store.write(claimed, await store.write(agent, "child"), "child", report_to=parent)
    await store.write(ENDINGS[ending][0], child)
    [told] = await reports(store, parent)
    assert [c for c in await store.write(mailbox.claim, "w3", 9, T0) if c.run.agent_id == parent] == []
    await store.write(finished, at_work)
    [heard] = [c for c in await store.write(mailbox.claim, "w3", 9, T0) if c.run.agent_id == parent]
    assert heard.run.id == told.id


async def test_dead_letter_that_was_tried_again_tells_its_second_end_too_and_each_once(store: Store) -> None:
    parent, claim = await family(store)
    await store.write(died_of, claim)
    assert await store.write(dead_letters.revive, "child", T0)
    assert not await store.write(dead_letters.revive, "child", T0)
    [again] = [c for c in await store.write(mailbox.claim, "w2", 9, T0) if c.run.id == "child"]
    await store.write(finished, again)
    assert [told.payload["stop_reason"] for told in await reports(store, parent)] == ["dead_letter", "end_turn"]


async def test_dead_letter_that_is_cancelled_when_tried_again_tells_that(store: Store) -> None:
    parent, claim = await family(store)
    await store.write(died_of, claim)
    await store.write(dead_letters.revive, "child", T0)
    await store.write(leases.cancel, "child", T0, "not wanted after all")
    assert [told.payload["stop_reason"] for told in await reports(store, parent)] == ["dead_letter", "cancelled"]


async def test_run_whose_parent_is_gone_ends_all_the_same(store: Store) -> None:
    child = await store.write(claimed, await store.write(agent, "child"), "child", report_to="nobody")
    await store.write(finished, child)
    row = await store.read(traces.run, "child")
    assert row is not None
    assert row.status == "completed"


async def test_run_that_reports_to_nobody_tells_nobody(store: Store) -> None:
    await store.write(finished, await store.write(claimed, await store.write(agent, "child"), "child"))
    assert [run.id for run in await store.read(traces.runs)] == ["child"]


@pytest.mark.parametrize("cause", ["message", "comment"])
async def test_agents_own_words_do_not_wake_it(store: Store, cause: str) -> None:
    coder, other = await store.write(agent, "a"), await store.write(agent, "b")
    own = message(coder, "own", cause_kind=cause, by_agent=coder)
    assert await store.write(mailbox.post, own, T0) == ("", False)
    assert not await store.read(mailbox.has_ready, T0)
    to_another = message(other, "other", cause_kind=cause, by_agent=coder)
    assert await store.write(mailbox.post, to_another, T0) == ("other", True)


@pytest.mark.parametrize("cause", ["run", "schedule", "event", "task", "goal", "answer"])
async def test_what_is_not_an_agents_words_wakes_it(store: Store, cause: str) -> None:
    coder = await store.write(agent, "a")
    posted = message(coder, "run", cause_kind=cause, cause_id="c", by_agent=coder)
    assert await store.write(mailbox.post, posted, T0) == ("run", True)
    row = await store.read(traces.run, "run")
    assert row is not None
    assert (row.cause_kind, row.cause_id) == (cause, "c")
