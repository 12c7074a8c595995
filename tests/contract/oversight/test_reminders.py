"""Reminders of open approvals: once for each period, and never after the answer."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from interlock.oversight import reminders
from interlock.store.auditing import audit
from interlock.store.schema import Approval, table
from interlock.store.signoff import approvals
from interlock.store.signoff import reminders as store_reminders
from interlock.store.tx import Tx
from interlock.testing.scripted import ScriptedModel, calls
from interlock.tools.registry import tool
from tests.contract.runner.stage import CountingStore, Stage, staged

PERIOD_S = 1800
MANY = store_reminders.MOST_EACH + 5


@tool(risk="RED")
async def danger(where: str) -> str:
    """Needs a person."""
    return f"done {where}"


async def asked(store: CountingStore, home: Path, questions: int = 1) -> Stage:
    """A stage on which people were asked something just now."""
    model = ScriptedModel([calls("danger", where=str(n)) for n in range(questions)], otherwise="fine")
    stage = await staged(store, home, model, [danger])
    await stage.think()
    await stage.work()
    return stage


async def reminded(stage: Stage) -> list[Any]:
    """The open reminders after a sweep."""
    await reminders.sweep(stage.runtime)
    return [row for row in await stage.alerts() if row.kind == "APPROVAL_WAITS"]


async def test_reminder_comes_once_a_period_and_replaces_the_last(store: CountingStore, tmp_path: Path) -> None:
    stage = await asked(store, tmp_path)
    question = await stage.the_question()
    stage.clock.advance(PERIOD_S - 1)
    assert await reminded(stage) == []
    stage.clock.advance(1)
    (first,) = await reminded(stage)
    assert (first.subject, first.severity) == (question.id, "warning")
    assert "has waited 30 min" in first.text
    stage.clock.advance(PERIOD_S - 1)
    assert [row.id for row in await reminded(stage)] == [first.id]
    stage.clock.advance(1)
    (second,) = await reminded(stage)
    assert second.id != first.id
    assert "has waited 60 min" in second.text


async def test_nobody_is_reminded_of_what_was_answered(store: CountingStore, tmp_path: Path) -> None:
    stage = await asked(store, tmp_path, questions=2)
    stage.clock.advance(PERIOD_S + 1)
    assert len(await reminded(stage)) == 2
    first, second = await stage.pending()
    await stage.approve(first.id)
    assert [row.subject for row in await reminded(stage)] == [second.id]
    await stage.deny(second.id)
    stage.clock.advance(PERIOD_S)
    assert await reminded(stage) == []


async def test_answer_between_the_look_and_the_reminder_wins(store: CountingStore, tmp_path: Path) -> None:
    stage = await asked(store, tmp_path)
    question = await stage.the_question()
    stage.clock.advance(PERIOD_S)
    now = stage.clock.now()
    await stage.approve(question.id)
    assert not await store.write(reminders.remind, question.id, now - timedelta(seconds=PERIOD_S), now)
    assert await store.read(audit.alerts) == []


@pytest.mark.parametrize("hours", [-1, 1])
async def test_wall_clock_that_jumps_brings_no_flood(store: CountingStore, tmp_path: Path, hours: int) -> None:
    stage = await asked(store, tmp_path)
    stage.clock.jump_to(stage.clock.now() + timedelta(hours=hours))
    for _ in range(10):
        assert len(await reminded(stage)) <= 1
        stage.clock.advance(60)
    every = await store.read(lambda tx: audit.alerts(tx, open_only=False))
    assert len(every) <= 1


async def test_of_very_many_one_reminder_a_period_tells_of_all(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(otherwise="fine"), [danger])
    project, began = stage.runtime.settings.project, stage.clock.now()

    def ask(tx: Tx) -> None:
        for n in range(MANY):
            approvals.ask(
                tx, id=f"apr_{n:02}", kind="QUESTION", project_id=project, subject="x", request={"summary": "x"},
                risk="GREEN", asked_by="system:test", created_at=began + timedelta(minutes=n),
            )  # fmt: skip

    await store.write(ask)
    stage.clock.advance(PERIOD_S + 60 * MANY)
    (first,) = await reminded(stage)
    assert f"{MANY} approvals wait for an answer, the oldest for {30 + MANY} min" in first.text
    stage.clock.advance(PERIOD_S - 60)
    assert [row.id for row in await reminded(stage)] == [first.id]
    stage.clock.advance(60)
    (second,) = await reminded(stage)
    assert second.id != first.id
    answered = table(Approval).update().where(table(Approval).c.id >= "apr_20").values(status="approved")
    await store.write(lambda tx: tx.run(answered))
    assert await reminded(stage) == [], "few enough are left for each to be told of by itself"
    stage.clock.advance(PERIOD_S)
    assert len(await reminded(stage)) == 20
