"""Another policy over the calls on record: whom it would have asked, from the rows of real runs."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from interlock.core.errors import NotFound, UsageError
from interlock.core.ids import new_id
from interlock.desk.operations import policy as desk
from interlock.llm.messages import ToolUse
from interlock.policy.as_code.policy_file import policy_from
from interlock.policy.as_code.replay import Kind
from interlock.policy.rules import Policy
from interlock.store.runs import recorded_calls
from interlock.store.schema import ToolCall
from interlock.store.tx import Tx
from interlock.testing.scripted import ScriptedModel, calls
from interlock.tools.registry import Toolbox, tool
from tests.contract.runner.stage import CountingStore, Stage, hand_in, staged


@tool(risk="GREEN", outside=False)
async def look(what: str) -> str:
    """Looks something up."""
    return what


@tool(risk="RED")
async def pay(amount: int) -> str:
    """Pays somebody."""
    return "paid"


@tool
async def parcel(number: str) -> str:
    """Cancels a parcel that is on its way."""
    return number


@tool(risk="GREEN")
async def track(key: str) -> str:
    """Tracks a parcel."""
    return "on its way"


async def recorded_runs(store: CountingStore, folder: Path, *more: ToolUse, **settings: Any) -> tuple[Stage, str]:
    """A task with two lookups, one of which was not valid, a payment that waits, and `more` calls."""
    turn = [calls("look", "1", what="a"), calls("look", "2", wat="b"), calls("pay", "3", amount=5), *more]
    tools: list[Any] = [look, pay, parcel, track]
    stage = await staged(store, folder, ScriptedModel(turn, hand_in(), "done"), tools, **settings)
    run = await stage.task()
    await stage.work()
    return stage, run


async def replay(stage: Stage, rules: str, **which: Any) -> Any:
    policy = policy_from(f"version: 1\n{rules}", "p.yaml")
    return await desk.replay(stage.runtime, policy, stage.runtime.toolbox, **which)


async def test_the_same_policy_changes_nothing(store: CountingStore, tmp_path: Path) -> None:
    stage, _ = await recorded_runs(store, tmp_path)
    done = await desk.replay(stage.runtime, Policy.builtin(), stage.runtime.toolbox)
    assert done.summary == "0 fewer questions, 0 newly held, 0 newly denied (of 2 calls)"


async def test_calls_are_decided_anew_for_who_made_them(store: CountingStore, tmp_path: Path) -> None:
    stage, run = await recorded_runs(store, tmp_path)
    persona = (await stage.run(run)).agent_id
    done = await replay(
        stage,
        "base: {pay: YELLOW}\nrules:\n"
        '  - {id: r, tools: [look], risk: RED, when: \'agent.persona == "operations" && task.type == "ops" && '
        f'agent.name == "{persona}" && project == "default" && args.what == "a"\'}}\n',
    )
    assert [(each.kind, each.recorded.call.tool) for each in done.changes] == [
        (Kind.FEWER_QUESTIONS, "pay"), (Kind.NEWLY_HELD, "look"),
    ]  # fmt: skip
    view = desk.change_view(done.changes[1])
    assert (view["was"], view["now"]) == (
        {"risk": "GREEN", "effect": "allow"}, {"risk": "RED", "effect": "hold"},
    )  # fmt: skip
    assert view["rules"] == ["r"]
    assert done.summary == "1 fewer questions, 1 newly held, 0 newly denied (of 2 calls)"


async def test_a_tool_that_is_not_installed_is_judged_as_the_project_knew_it(
    store: CountingStore, tmp_path: Path
) -> None:  # fmt: skip
    stage, _ = await recorded_runs(store, tmp_path, calls("parcel", "4", number="7"))
    done = await desk.replay(stage.runtime, Policy.builtin(), Toolbox([]))
    assert (done.calls, done.changes) == (3, [])


async def test_calls_with_named_secrets_are_held_as_they_were_and_no_more(store: CountingStore, tmp_path: Path) -> None:
    used = [calls("track", name, key=f"{{{{secret:{name}}}}}") for name in ("OPEN", "SHUT")]
    given = {"env": "X", "tools": ["track"]}
    secrets = {"OPEN": {**given, "domains": ["*"]}, "SHUT": given}
    stage, _ = await recorded_runs(store, tmp_path, *used, secrets=secrets)
    assert [row.request["tool"] for row in await stage.pending()] == ["pay", "track"]
    done = await desk.replay(stage.runtime, Policy.builtin(), stage.runtime.toolbox)
    assert (done.calls, done.changes) == (4, [])


async def test_only_calls_of_a_mission_since_a_moment_and_no_more_than_wanted(
    store: CountingStore, tmp_path: Path
) -> None:  # fmt: skip
    stage, run = await recorded_runs(store, tmp_path)
    rules, now = "rules: [{id: r, risk: RED}]", stage.clock.now()
    assert (await replay(stage, rules, mission=(await stage.run(run)).mission_id)).calls == 2
    assert (await replay(stage, rules, most=1)).calls == 1
    assert (await replay(stage, rules, since=now - timedelta(days=1))).calls == 2
    assert (await replay(stage, rules, since=now + timedelta(days=1))).calls == 0
    with pytest.raises(NotFound):
        await replay(stage, rules, mission="mis_nowhere")


async def test_more_calls_than_fit_a_page_are_all_decided(store: CountingStore, tmp_path: Path) -> None:
    stage, run = await recorded_runs(store, tmp_path)
    count = recorded_calls.PAGE + 50
    await store.write(_many, run, count, stage.clock.now())
    done = await replay(stage, "deny: [{id: d, tools: [look], when: 'args.what == \"b\"'}]")
    assert done.calls == count + 2
    assert done.counts[Kind.NEWLY_DENIED] == count
    assert len(done.changes) + done.unlisted == count


def _many(tx: Tx, run: str, count: int, now: Any) -> None:
    for number in range(count):
        tx.add(
            ToolCall, id=new_id("tcl"), run_id=run, step_number=900, position=number, call_id=str(number), tool="look",
            tool_digest="", args={"what": "b"}, risk="GREEN", effect="allow", rules=[], reasons=["r"], policy_hash="p",
            status="done", idempotency_token=str(number), created_at=now,
        )  # fmt: skip


def test_moments_are_spans_into_the_past_or_iso_times() -> None:
    now = datetime(2026, 3, 8, 12, tzinfo=UTC)
    assert desk.since("7d", now) == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert desk.since("2026-03-01T10:00", now) == datetime(2026, 3, 1, 10, tzinfo=UTC)
    for wrong in ("soon", "999999w", ""):
        with pytest.raises(UsageError):
            desk.since(wrong, now)
