"""What a run does that was under way when its database was restored from a backup: nothing twice without a person."""

from pathlib import Path

import pytest

from interlock.core.values import SYSTEM
from interlock.store.upkeep import epochs
from interlock.store.upkeep.epochs import Beginning
from interlock.testing.scripted import ScriptedModel, calls
from tests.contract.runner.stage import CountingStore, Stage, staged
from tests.contract.runner.test_effects import Effect, Killed, killed, result_of


async def restored(stage: Stage) -> None:
    """As if the database had been restored from a backup of this moment."""
    now = stage.clock.now()
    await stage.store.write(epochs.begin, Beginning(now, now, SYSTEM, "default", False), (0, 0))


@pytest.mark.parametrize("verdict", ["approve", "deny"])
async def test_call_that_was_under_way_is_a_person_s_to_decide(
    store: CountingStore, tmp_path: Path, verdict: str
) -> None:
    effect = Effect(Killed(), "did it")
    stage = await staged(store, tmp_path, ScriptedModel(calls("act", "1", n=1), "done"), [effect.tool])
    run = await stage.think()
    await killed(stage)
    await restored(stage)
    assert await stage.statuses(run) == ["unknown"]
    await stage.work()
    question = await stage.the_question()
    assert (question.kind, len(effect.seen)) == ("UNKNOWN_OUTCOME", 1)
    assert "restored from a backup" in question.request["summary"]
    await (stage.approve(question.id) if verdict == "approve" else stage.deny(question.id, "it arrived"))
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    assert len(effect.seen) == (2 if verdict == "approve" else 1)
    assert len({token for _, token, _ in effect.seen}) == 1


async def test_call_that_can_be_repeated_is_repeated_with_the_same_token(store: CountingStore, tmp_path: Path) -> None:
    effect = Effect(Killed(), "did it", idempotent=True)
    stage = await staged(store, tmp_path, ScriptedModel(calls("act", n=1), "done"), [effect.tool])
    run = await stage.think()
    await killed(stage)
    await restored(stage)
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    assert (await result_of(stage)).content == "did it"
    assert len({token for _, token, _ in effect.seen}) == 1


async def test_approval_that_was_given_before_the_backup_is_not_good_for_the_effect_any_more(
    store: CountingStore, tmp_path: Path
) -> None:
    effect = Effect("did it", risk="RED")
    stage = await staged(store, tmp_path, ScriptedModel(calls("act", "1", n=1), "done"), [effect.tool])
    run = await stage.think()
    await stage.work()
    await stage.approve((await stage.the_question()).id)
    await restored(stage)
    await stage.work()
    assert effect.seen == []
    question = await stage.the_question()
    assert question.kind == "UNKNOWN_OUTCOME"
    await stage.approve(question.id)
    await stage.work()
    assert len(effect.seen) == 1
    assert await stage.ended(run) == ("completed", "end_turn")
