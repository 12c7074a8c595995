"""What telemetry is told of transactions: what was committed, once; nothing of what was not."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from interlock.core.telemetry import Fact, Silent
from interlock.core.values import SYSTEM
from interlock.store import squad
from interlock.store.engine import Store
from interlock.store.knowledge import lessons
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Claim, Post
from interlock.store.runs import traces
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx, observe

NOW = datetime(2026, 3, 1, tzinfo=UTC)
PLACE = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"


class Ear(Silent):
    """Keeps what it is told."""

    listens = True

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self.where: str | None = None

    def committed(self, facts: Sequence[Fact], seconds: float, /) -> None:
        assert seconds >= 0
        self.facts += facts

    def place(self) -> str | None:
        return self.where

    def told(self, kind: str) -> list[Any]:
        """The fields of each fact of a kind."""
        return [fact.fields for fact in self.facts if fact.kind == kind]


@pytest.fixture
def ear() -> Ear:
    return Ear()


@pytest.fixture
async def heard(migrated_url: str, ear: Ear) -> AsyncIterator[Store]:
    """An open store that the ear is told of."""
    async with Store(migrated_url, ear) as opened:
        yield opened


def _said(tx: Tx, number: int, *, fails: bool = False) -> int:
    observe(tx, "said", number=number)
    if fails:
        raise ValueError(f"{number} fails")
    return number


def _mail(tx: Tx, key: str) -> str:
    squad.ensure_project(tx, "default", "UTC", NOW)
    descriptor = Descriptor("think", "default", "operations", {"name": "one"})
    agent = squad.ensure_agent(tx, descriptor, {"name": "operations"}, "specialist", NOW)
    message = Post(
        project_id="default", agent_id=agent.id, kind="think", payload={"prompt": "secret"}, idempotency_key=key,
        cause_kind="message",
    )  # fmt: skip
    return mailbox.post(tx, message, NOW)[0]


def _begin(tx: Tx, claim: Claim) -> None:
    mailbox.begin(tx, claim, model="m", simulated=False, policy_hash="p", deadline_at=None)


async def _place_of(store: Store, run_id: str) -> Any:
    row: Any = await store.read(traces.run, run_id)
    return row.traceparent


async def test_facts_are_told_with_the_result_unchanged(heard: Store, ear: Ear) -> None:
    assert await heard.write(_said, 7) == 7
    assert ear.told("said") == [{"number": 7}]


async def test_units_of_a_group_in_which_one_fails_are_told_once(heard: Store, ear: Ear) -> None:
    """On PostgreSQL the others are done again, each alone."""
    units = [asyncio.create_task(heard.write(_said, n, fails=n == 3)) for n in range(6)]
    outcomes = await asyncio.gather(*units, return_exceptions=True)
    assert [isinstance(outcome, ValueError) for outcome in outcomes] == [False, False, False, True, False, False]
    assert [fields["number"] for fields in ear.told("said")] == [0, 1, 2, 4, 5]


async def test_facts_are_told_also_where_nobody_waits_any_more(heard: Store, ear: Ear) -> None:
    left = asyncio.create_task(heard.write(_said, 1))
    await asyncio.sleep(0)
    left.cancel()
    with pytest.raises(asyncio.CancelledError):
        await left
    await heard.write(_said, 2)
    assert [fields["number"] for fields in ear.told("said")] == [1, 2]


async def test_runs_say_where_in_their_trace_they_were_posted_and_begun(heard: Store, ear: Ear) -> None:
    ear.where = PLACE
    run_id = await heard.write(_mail, "one")
    assert (await heard.write(_mail, "one")) == run_id
    assert [fields["run"].run_id for fields in ear.told("run_posted")] == [run_id]
    assert await _place_of(heard, run_id) == PLACE
    (claim,) = await heard.write(mailbox.claim, "w", 1, NOW)
    ear.where = PLACE.replace("b", "c")
    await heard.write(_begin, claim)
    assert await _place_of(heard, run_id) == PLACE.replace("b", "c")
    ear.where = None
    await heard.write(_begin, claim)
    assert await _place_of(heard, run_id) == PLACE.replace("b", "c")


async def test_claims_parkings_and_ends_are_told(heard: Store, ear: Ear) -> None:
    run_id = await heard.write(_mail, "one")
    (claim,) = await heard.write(mailbox.claim, "w", 1, NOW)
    await heard.write(mailbox.requeue, claim, NOW, due_at=None, error=None, failed=False)
    (claim,) = await heard.write(mailbox.claim, "w", 1, NOW)
    await heard.write(mailbox.finish, claim, "failed", "error", NOW, result="r", error="e")
    assert [fields["run"].id for fields in ear.told("run_claimed")] == [run_id, run_id]
    assert ear.told("run_claimed")[0]["waited_s"] == 0
    (back,), (end,) = ear.told("run_put_back"), ear.told("run_ended")
    assert (back["status"], end["status"], end["stop_reason"]) == ("created", "failed", "error")


async def test_each_version_of_a_lesson_is_a_memory_update(heard: Store, ear: Ear) -> None:
    values = {
        "id": "les_1", "project_id": None, "kind": "win", "rule": "secret", "rule_digest": "d", "confidence": 0.5,
        "evidence": ["run_1"], "status": "probation",
    }  # fmt: skip
    await heard.write(lessons.add, values, SYSTEM, "secret", NOW)
    (told,) = ear.told("lesson_written")
    assert told == {
        "lesson_id": "les_1", "version": 1, "lesson_kind": "win", "confidence": 0.5, "status": "probation",
    }  # fmt: skip
