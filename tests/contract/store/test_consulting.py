"""Questions that models are asked first: nobody sees or answers them, and they go to people or are refused."""

import pytest

from interlock.agents.running.asking import park_unless_answered
from interlock.core.errors import Conflict
from interlock.oversight import expiry
from interlock.store.engine import Store
from interlock.store.mailboxes import mailbox
from interlock.store.runs import traces
from interlock.store.signoff import approvals, consulting
from interlock.store.tx import Tx
from interlock.store.work import tasks
from tests.contract.store.furniture import T0, after, agent, answer, ask, claimed, in_progress


def consult(tx: Tx, /, ident: str, **more: object) -> None:
    ask(tx, ident, **{"status": "consulting", **more})


async def test_question_that_models_are_asked_is_neither_listed_nor_answerable(store: Store) -> None:
    await store.write(consult, "q", expires_at=after(9))
    assert await store.read(lambda tx: approvals.approvals(tx)) == []
    with pytest.raises(Conflict, match="the models are being asked first"):
        await store.write(approvals.answer, answer("q"), T0)
    assert [row.id for row in await store.read(consulting.consulted)] == ["q"]


async def test_run_waits_for_the_models_and_then_for_a_person(store: Store) -> None:
    claim = await store.write(claimed, await store.write(agent, "a", "task"), "run")
    job = await store.write(in_progress)
    await store.write(consult, "q", run_id="run", task_id=job.task_id)
    assert await store.write(park_unless_answered, claim, T0)
    assert (await store.read(tasks.task, job.task_id)).status == "IN_PROGRESS"  # type: ignore[union-attr]
    row = await store.write(consulting.release, "q", after(1), ["two of three models agree"])
    assert row is not None
    assert (row.status, row.reasons[-1]) == ("pending", "two of three models agree")
    assert (await store.read(tasks.task, job.task_id)).status == "NEEDS_APPROVAL"  # type: ignore[union-attr]
    assert await store.write(consulting.release, "q", after(1)) is None
    assert not await store.write(consulting.refuse_by_consensus, "q", "too late", after(1))
    assert "run" not in [c.run.id for c in await store.write(mailbox.claim, "w", 9, after(1))]
    await store.write(approvals.answer, answer("q"), after(2))
    assert "run" in [c.run.id for c in await store.write(mailbox.claim, "w", 9, after(3))]


async def test_models_refuse_and_the_run_goes_on_with_their_reasons(store: Store) -> None:
    claim = await store.write(claimed, await store.write(agent, "a", "task"), "run")
    await store.write(consult, "q", run_id="run")
    await store.write(park_unless_answered, claim, T0)
    assert await store.write(consulting.refuse_by_consensus, "q", "it cannot be undone", after(1))
    row = await store.read(approvals.approval, "q")
    assert row is not None
    assert (row.status, row.decided_by, row.note) == ("denied", consulting.CONSENSUS, "it cannot be undone")
    assert [c.run.id for c in await store.write(mailbox.claim, "w", 9, after(2))] == ["run"]


async def test_expiry_counts_from_the_question_and_not_from_its_release(store: Store) -> None:
    claim = await store.write(claimed, await store.write(agent, "a", "task"), "run")
    await store.write(consult, "q", run_id="run", expires_at=after(5))
    await store.write(park_unless_answered, claim, T0)
    assert await store.read(approvals.overdue, after(6)) == ["q"]
    await store.write(expiry.expire, "q", after(60), after(6))
    run = await store.read(traces.run, "run")
    assert run is not None
    assert (run.status, run.stop_reason) == ("cancelled", "approval_expired")
    assert await store.write(consulting.release, "q", after(7)) is None
