"""The policy file while runs go on: taken over whole, refused if it is broken, told once; calls are decided again."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interlock.app.config import load_policy_of
from interlock.app.policy_watch import BROKEN, CHANGED, PolicyWatch
from interlock.llm.messages import ToolResult
from interlock.policy.as_code.policy_file import policy_from
from interlock.policy.rules import Policy
from interlock.settings import Settings
from interlock.store.auditing import audit
from interlock.testing.scripted import ScriptedModel, calls
from interlock.tools.registry import tool
from tests.contract.runner.stage import CountingStore, Stage, hand_in, staged, told

RED = "version: 1\nrules:\n  - {id: look-red, tools: [look], risk: RED, reason: from now on}\n"
DONE: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    DONE.clear()


@tool(risk="GREEN", idempotent=True, outside=False)
async def look(what: str) -> str:
    """Looks something up."""
    DONE.append(what)
    return f"seen: {what}"


async def with_file(
    store: CountingStore, folder: Path, text: str, *replies: Any
) -> tuple[Stage, Path, PolicyWatch]:  # fmt: skip
    """A stage that decides by a file, and who watches it."""
    path = folder / "policy.yaml"
    path.write_text(text)
    stage = await staged(store, folder, ScriptedModel(*replies), [look], policy_from(text, "policy.yaml"))
    return stage, path, PolicyWatch(stage.runtime)


async def looks(watch: PolicyWatch, times: int = 2) -> None:
    for _ in range(times):
        await watch.look()


async def changes(stage: Stage) -> list[Any]:
    return await stage.store.read(audit.activities, action=CHANGED)


async def alerts(stage: Stage, *, open_only: bool = True) -> list[Any]:
    rows = await stage.store.read(audit.alerts, open_only=open_only)
    return [row for row in rows if row.kind == BROKEN]


async def test_a_changed_file_decides_the_next_call_of_a_run_that_goes_on(
    store: CountingStore, tmp_path: Path
) -> None:  # fmt: skip
    path = tmp_path / "policy.yaml"
    path.write_text("version: 1\n")

    @tool(risk="GREEN", outside=False)
    async def edit_policy() -> str:
        """Stands for the operator, who saves the file while the run is at work."""
        path.write_text(RED)
        await looks(watch)
        return "saved"

    model = ScriptedModel(calls("look", what="a"), calls("edit_policy"), calls("look", what="b"), hand_in(), "done")
    stage = await staged(store, tmp_path, model, [look, edit_policy], Policy.builtin())
    watch = PolicyWatch(stage.runtime)
    await looks(watch)
    before = stage.runtime.policy.version_hash
    run = await stage.task()
    await stage.work()
    assert DONE == ["a"]
    asked = await stage.the_question()
    assert asked.rules == ["look-red"]
    (changed,) = await changes(stage)
    assert (changed.data["former"], changed.data["policy"]) == (before, stage.runtime.policy.version_hash)
    assert changed.data["pid"] == os.getpid()
    assert await stage.statuses(run) == ["done", "done", "held"]


async def test_a_held_call_is_decided_anew_by_the_policy_that_holds_when_it_runs(
    store: CountingStore, tmp_path: Path
) -> None:  # fmt: skip
    stage, path, watch = await with_file(store, tmp_path, RED, calls("look", what="a"), hand_in(), "done")
    run = await stage.task()
    await stage.work()
    await stage.approve((await stage.the_question()).id)
    path.write_text("version: 1\ndeny:\n  - {id: never, tools: [look], reason: not any more}\n")
    await looks(watch)
    await stage.work()
    assert DONE == []
    assert (await stage.statuses(run))[0] == "denied"
    (result,) = told(stage.model, 1)
    assert isinstance(result, ToolResult)
    assert "not any more" in result.content


async def test_a_rule_that_asks_for_more_people_meanwhile_is_asked_again(store: CountingStore, tmp_path: Path) -> None:
    stage, path, watch = await with_file(store, tmp_path, RED, calls("look", what="a"), hand_in(), "done")
    await stage.task()
    await stage.work()
    first = await stage.the_question()
    await stage.approve(first.id)
    path.write_text(RED.replace("risk: RED", "risk: RED, people: 2"))
    await looks(watch)
    await stage.work()
    assert DONE == []
    assert (await stage.the_question()).people == 2


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("version: 1\nrules:\n  - {id: a, risk: PINK}\n", "policy.yaml:3: `PINK` is not a valid risk"),
        ("", "is empty"),
        ("version: 1\nrules: [\t", "policy.yaml:"),
        ("version: 1\nrules:\n  - {id: a, risk: RED, consensus: true}\n", "asks models to agree"),
        ("x" * 2_000_000, "larger than 1 MiB"),
        (None, "no such file"),
    ],
)
async def test_a_broken_file_changes_nothing_and_is_reported_once_until_it_is_fixed(
    store: CountingStore, tmp_path: Path, text: str | None, fault: str
) -> None:
    stage, path, watch = await with_file(store, tmp_path, RED)
    other = PolicyWatch(stage.runtime)
    await looks(watch)
    former = stage.runtime.policy
    path.unlink() if text is None else path.write_text(text)
    for each in (watch, other, watch):
        await looks(each, 3)
    assert stage.runtime.policy is former
    (alert,) = await alerts(stage)
    assert fault in alert.text
    assert "the previous policy stays in force" in alert.text
    assert await changes(stage) == []
    path.write_text(RED.replace("from now on", "again"))
    await looks(watch)
    assert stage.runtime.policy.rules[0].reason == "again"
    assert await alerts(stage) == []
    assert len(await changes(stage)) == 1


async def test_a_file_that_is_being_written_is_not_taken_before_it_is_whole(
    store: CountingStore, tmp_path: Path
) -> None:  # fmt: skip
    stage, path, watch = await with_file(store, tmp_path, RED)
    await looks(watch)
    former = stage.runtime.policy
    path.write_text("version: 1\n")
    await watch.look()
    assert stage.runtime.policy is former
    path.write_text(RED.replace("RED", "YELLOW"))
    await watch.look()
    assert stage.runtime.policy is former
    await watch.look()
    assert str(stage.runtime.policy.rules[0].risk) == "YELLOW"


async def test_a_file_that_is_written_while_it_is_loaded_is_not_taken_before_it_is_whole(
    store: CountingStore, tmp_path: Path
) -> None:  # fmt: skip
    stage, path, watch = await with_file(store, tmp_path, RED)
    await looks(watch)
    former, texts = stage.runtime.policy, ["version: 1\nrules: []\n", "version: 1\nrules: ["]

    def written_to(settings: Settings) -> Policy:
        if texts:
            path.write_text(texts.pop())
        return load_policy_of(settings)

    watch = PolicyWatch(stage.runtime, written_to)
    path.write_text(RED.replace("RED", "YELLOW"))
    for _ in range(2):
        await looks(watch)
        assert stage.runtime.policy is former
        assert await alerts(stage) == []
    path.write_text(RED.replace("RED", "YELLOW"))
    await looks(watch)
    assert str(stage.runtime.policy.rules[0].risk) == "YELLOW"


async def test_a_file_that_says_the_same_in_other_words_is_no_change(store: CountingStore, tmp_path: Path) -> None:
    stage, path, watch = await with_file(store, tmp_path, RED)
    await looks(watch)
    former = stage.runtime.policy
    path.write_text(f"# words\n{RED}")
    await looks(watch)
    assert stage.runtime.policy is former
    assert await changes(stage) == []


async def test_a_change_that_could_not_be_written_down_is_in_force_and_written_later(
    store: CountingStore, tmp_path: Path
) -> None:  # fmt: skip
    stage, path, watch = await with_file(store, tmp_path, RED)
    await looks(watch)
    before = stage.runtime.policy.version_hash
    path.write_text(RED.replace("RED", "YELLOW"))
    await watch.look()
    runtime, watch.runtime = watch.runtime, replace(watch.runtime, store=FailingStore(store.url))
    with pytest.raises(RuntimeError):
        await watch.look()
    watch.runtime = runtime
    assert str(stage.runtime.policy.rules[0].risk) == "YELLOW"
    assert await changes(stage) == []
    await watch.look()
    (changed,) = await changes(stage)
    assert changed.data["former"] == before


class FailingStore(CountingStore):
    """A database that cannot be written."""

    async def write(self, unit: Any, *args: Any, **kwargs: Any) -> Any:
        """Fails."""
        raise RuntimeError("the disk is full")
