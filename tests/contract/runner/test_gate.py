"""What the output gate turns back goes to the agent within its run: it mends it, and nobody is asked."""

from pathlib import Path

from interlock.store import evidence
from interlock.testing.scripted import ScriptedModel
from tests.contract.runner.stage import CountingStore, hand_in, staged, told

SECRET = "sk-ant-REDACTED0"


async def test_agent_mends_what_was_turned_back_and_nobody_is_asked(store: CountingStore, tmp_path: Path) -> None:
    model = ScriptedModel(
        hand_in("TODO"), hand_in(f"the key is {SECRET}"), hand_in("```\ncut"), hand_in("the result"), "done"
    )
    stage = await staged(store, tmp_path, model)
    run = await stage.task()
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    assert await stage.questions(run) == []
    answers = [str(told(model, number)) for number in (1, 2, 3, 4)]
    assert "only keeps the place" in answers[0]
    assert "looks like a secret (provider key)" in answers[1]
    assert "was cut off" in answers[2]
    assert "handed in `Result`" in answers[3]
    assert [call.status for call in await stage.calls(run)] == ["failed", "refused", "failed", "done"]
    task = await stage.task_of(run)
    assert task.status == "REVIEW"
    turned_back = [row.name for row in await store.read(evidence.results, task.id)]
    assert turned_back == ["not a placeholder", "format"]


async def test_run_that_never_hands_in_anything_else_ends_without_a_deliverable(
    store: CountingStore, tmp_path: Path
) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(hand_in("TODO"), "done", "really"))
    run = await stage.task()
    await stage.work()
    assert await stage.ended(run) == ("failed", "no_tool_call")
    assert (await stage.task_of(run)).deliverable_id is None
