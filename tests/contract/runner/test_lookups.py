"""Calls that change nothing: on record before they are made, as all are, though the disk is not waited for."""

from pathlib import Path
from typing import Any

import pytest

from interlock.testing.scripted import Scripted, ScriptedModel, calls
from interlock.tools.registry import tool
from tests.contract.runner.stage import CountingStore, Stage, staged
from tests.contract.runner.test_effects import Effect

LOOKS: dict[str, Any] = {"risk": "GREEN", "read_only": True, "outside": False}


@tool(risk="GREEN", read_only=True, outside=False)
async def look(what: str) -> str:
    """Looks something up."""
    return f"seen: {what}"


async def hurried(stage: Stage, store: CountingStore) -> int:
    """How many commits of a run did not wait for the disk, beyond its claims."""
    run = await stage.think()
    before = store.relaxed
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    assert await stage.statuses(run) == ["done"] * len(await stage.calls(run))
    claims = 2
    return store.relaxed - before - claims


async def test_disk_is_not_waited_for_before_calls_that_change_nothing(store: CountingStore, tmp_path: Path) -> None:
    effect = Effect("a", "b", **LOOKS)
    turns: list[Scripted] = [calls("act", "0"), [calls("look", "1", what="b"), calls("act", "2")], "done"]
    stage = await staged(store, tmp_path, ScriptedModel(*turns), [look, effect.tool])
    assert await hurried(stage, store) == 2, "one for each turn"
    assert [status for status, _, _ in effect.seen] == ["ready", "ready"], "on record before they are made"


@pytest.mark.parametrize("fields", [{"risk": "YELLOW"}, {"outside": True}, {"read_only": False, "idempotent": True}])
async def test_disk_is_waited_for_before_any_other_call(
    store: CountingStore, tmp_path: Path, fields: dict[str, Any]
) -> None:
    effect = Effect("did it", **{**LOOKS, **fields})
    stage = await staged(store, tmp_path, ScriptedModel(calls("act"), "done"), [effect.tool])
    assert await hurried(stage, store) == 0


async def test_disk_is_waited_for_where_one_call_of_a_turn_has_an_effect(store: CountingStore, tmp_path: Path) -> None:
    effect = Effect("did it", idempotent=True, risk="GREEN", outside=False)
    turn = [calls("look", "1", what="a"), calls("act", "2")]
    stage = await staged(store, tmp_path, ScriptedModel(turn, "done"), [look, effect.tool])
    assert await hurried(stage, store) == 0
