"""What the output gate turns back goes to the agent within its run: it mends it, and nobody is asked."""

from pathlib import Path
from typing import Any

from interlock.desk.reading import details
from interlock.store import blobs
from interlock.store.work import evidence, tasks
from interlock.testing.scripted import ScriptedModel, calls
from tests.contract.runner.stage import CountingStore, hand_in, staged, told

SECRET = "sk-ant-REDACTED0"


async def test_agent_corrects_a_rejected_deliverable_and_nobody_is_asked(store: CountingStore, tmp_path: Path) -> None:
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


async def test_what_the_gate_says_of_a_file_has_the_labels_of_that_file(store: CountingStore, tmp_path: Path) -> None:
    stranger = calls("submit_deliverable", title="R", summary="s", path="page.json")
    stage = await staged(store, tmp_path, ScriptedModel(stranger, hand_in("the result"), "done"))
    file = ("default", "page.json", b"{no json", stage.clock.now())
    await store.write(blobs.write_file, *file, base_version=0, run_id=None, labels=["untrusted"])
    run = await stage.task()
    await stage.work()
    assert "JSON" in str(told(stage.model, 1))
    assert list((await stage.run(run)).labels) == ["private", "untrusted"]
    row: Any = await store.read(tasks.deliverable, (await stage.task_of(run)).deliverable_id)
    assert row.labels == ["private", "untrusted"], "what is written after it is tainted by it"


async def test_what_an_agent_calls_its_file_is_not_where_people_save_it(store: CountingStore, tmp_path: Path) -> None:
    named = calls("submit_deliverable", title="R", summary="s", path="policy.yaml")
    stage = await staged(store, tmp_path, ScriptedModel(named, "done"))
    file = ("default", "policy.yaml", b"base: {send_email: GREEN}\n", stage.clock.now())
    await store.write(blobs.write_file, *file, base_version=0, run_id=None)
    run = await stage.task()
    await stage.work()
    task = await stage.task_of(run)
    found = await details.deliverable(stage.runtime, task.id)
    assert found.filename == f"{task.deliverable_id}-policy.yaml"


async def test_run_that_never_hands_in_anything_else_ends_without_a_deliverable(
    store: CountingStore, tmp_path: Path
) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(hand_in("TODO"), "done", "really"))
    run = await stage.task()
    await stage.work()
    assert await stage.ended(run) == ("failed", "no_tool_call")
    assert (await stage.task_of(run)).deliverable_id is None
