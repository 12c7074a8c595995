"""What Sentry is told of a run: spans one in the other, decisions as logs, counters; over its own library."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from interlock.agents.running import runner
from interlock.agents.running.interruption import Interrupt
from interlock.core.values import SYSTEM
from interlock.llm.messages import ModelError, ModelFault
from interlock.store.knowledge import lessons
from interlock.store.mailboxes import mailbox
from interlock.store.runs import traces
from interlock.testing.scripted import ScriptedModel, calls
from tests.integration.sentry.receiver import Receiver, receiving, values
from tests.integration.sentry.scene import played, sentry_for


@pytest.fixture
async def told(tmp_path: Path) -> AsyncIterator[Receiver]:
    """All of a run that calls two tools, waits for a person, goes on, tries again after a fault, and ends."""
    replies = ScriptedModel(
        [calls("lookup", order="1"), calls("stumble", order="2")],
        calls("pay", to="bob"),
        ModelError(ModelFault.OVERLOADED, "busy", provider="anthropic"),
        "done",
    )
    with receiving() as receiver:
        async with played(tmp_path, replies, sentry_for(receiver)) as stage:
            run = await stage.think("pay the bill")
            await stage.work()
            await stage.approve((await stage.the_question()).id)
            await stage.work()
            assert await stage.ended(run) == ("completed", "end_turn")
        yield receiver


def test_tool_calls_are_in_steps_and_steps_in_the_run(told: Receiver) -> None:
    spans = told.spans
    tools = spans.of("gen_ai.execute_tool")
    assert [span["name"] for span in tools] == ["execute_tool lookup", "execute_tool stumble", "execute_tool pay"]
    assert {tuple(spans.above(span)[:2]) for span in tools} == {("interlock.step", "gen_ai.invoke_agent")}
    assert {tuple(spans.above(span)[:2]) for span in spans.of("gen_ai.chat")} == {
        ("interlock.step", "gen_ai.invoke_agent")
    }
    inner = [span for span in spans.raw if span.get("parent_span_id") in spans.by_id]
    outer = [spans.by_id[span["parent_span_id"]] for span in inner]
    assert all(a["start_timestamp"] >= b["start_timestamp"] - 0.001 for a, b in zip(inner, outer, strict=True))


def test_spans_say_who_with_what_and_how_it_went(told: Receiver) -> None:
    lookup, stumble, pay = told.spans.of("gen_ai.execute_tool")
    assert values(lookup)["gen_ai.tool.name"] == "lookup"
    assert (values(lookup)["interlock.status"], lookup["status"]) == ("done", "ok")
    assert (values(stumble)["interlock.status"], stumble["status"]) == ("failed", "error")
    assert (values(pay)["interlock.risk"], values(pay)["interlock.status"]) == ("RED", "done")
    first = values(told.spans.of("gen_ai.chat")[0])
    assert first["gen_ai.request.model"] == "claude-sonnet-5-5"
    assert (first["gen_ai.usage.input_tokens"], first["gen_ai.usage.output_tokens"]) == (100, 20)
    (fault,) = [span for span in told.spans.of("gen_ai.chat") if span["status"] == "error"]
    assert values(fault)["interlock.reason"] == "overloaded"
    run = told.spans.of("gen_ai.invoke_agent")[-1]
    assert run["name"] == "invoke_agent operations"
    assert values(run)["interlock.status"] == "completed"
    assert values(run)["interlock.stop_reason"] == "end_turn"


def test_each_model_call_cycle_is_a_step(told: Receiver) -> None:
    steps = [values(span)["interlock.step"] for span in told.spans.of("interlock.step")]
    assert steps == [1, 2, 2, 3, 3]
    assert len(told.spans.of("gen_ai.chat")) == 4


def test_prompt_resolving_enqueue_and_claim_have_spans(told: Receiver) -> None:
    spans = told.spans
    (prompt,) = spans.of("interlock.prompt")
    assert spans.above(prompt) == ["gen_ai.invoke_agent"]
    assert [spans.above(span)[0] for span in spans.of("interlock.resolve")] == ["gen_ai.invoke_agent"] * 2
    (enqueue,), claims = spans.of("queue.publish"), spans.of("queue.receive")
    assert values(enqueue)["messaging.message.id"] == values(claims[0])["messaging.message.id"]
    assert values(claims[0])["messaging.message.receive.latency"] >= 0
    assert len(claims) == 2
    assert all(span["end_timestamp"] > span["start_timestamp"] for span in (enqueue, *claims))
    assert len({span["trace_id"] for span in spans.raw}) == 1


def test_part_after_a_persons_answer_is_in_the_first_part_of_its_run(told: Receiver) -> None:
    first, later = told.spans.of("gen_ai.invoke_agent")
    assert later["parent_span_id"] == first["span_id"]
    assert values(first)["interlock.status"] == "waiting"
    assert values(first)["interlock.run_id"] == values(later)["interlock.run_id"]


def test_decisions_are_logs_with_risk_effect_and_rules(told: Receiver) -> None:
    decisions = {log["gen_ai.tool.name"]: log for body, log in told.logs if body == "agent decision: tool call"}
    assert set(decisions) == {"lookup", "stumble", "pay"}
    held = decisions["pay"]
    assert (held["interlock.risk"], held["interlock.effect"], held["interlock.status"]) == ("RED", "hold", "held")
    assert isinstance(held["interlock.rules"], list)
    assert decisions["lookup"]["interlock.effect"] == "allow"
    (asked,) = [log for body, log in told.logs if body == "approval asked"]
    (answered,) = [log for body, log in told.logs if body == "approval answered"]
    assert asked["interlock.approval_id"] == answered["interlock.approval_id"]
    assert (answered["interlock.verdict"], answered["interlock.surface"]) == ("approve", "test")
    runs = {span["span_id"] for span in told.spans.of("interlock.step")}
    assert {log["span_id"] for log in told.items("log") if "decision" in log["body"]} <= runs


def test_invocations_errors_and_tool_use_are_counted(told: Receiver) -> None:
    assert len(told.counted("interlock.invocations")) == 1
    used = [(m["gen_ai.tool.name"], m["interlock.status"]) for m in told.counted("interlock.tool_calls")]
    assert sorted(used) == [("lookup", "done"), ("pay", "done"), ("stumble", "failed")]
    (error,) = told.counted("interlock.errors")
    assert (error["interlock.of"], error["interlock.reason"]) == ("model", "overloaded")


async def test_doing_nothing_is_a_decision_of_its_own(tmp_path: Path) -> None:
    with receiving() as receiver:
        model = ScriptedModel(calls("do_nothing", reason="not for me"))
        async with played(tmp_path, model, sentry_for(receiver)) as stage:
            await stage.think()
            await stage.work()
    assert [body for body, _ in receiver.logs] == ["agent decision: do_nothing"]
    assert "not for me" not in receiver.everything


async def test_failed_run_is_an_error_and_what_nobody_expected_an_event(tmp_path: Path) -> None:
    with receiving() as receiver:
        async with played(tmp_path, ScriptedModel(ZeroDivisionError("by canary")), sentry_for(receiver)) as stage:
            run = await stage.think()
            await stage.work()
            assert await stage.ended(run) == ("failed", "error")
    (event,) = receiver.items("event")
    (exception,) = event["exception"]["values"]
    assert exception["type"] == "ZeroDivisionError"
    assert any(frame["module"] == "interlock.agents.running.runner" for frame in exception["stacktrace"]["frames"])
    assert event["tags"]["interlock.run_id"] == run
    span = receiver.spans.of("gen_ai.invoke_agent")[0]
    assert span["status"] == "error"
    assert event["contexts"]["trace"]["trace_id"] == span["trace_id"]
    (error,) = receiver.counted("interlock.errors")
    assert (error["interlock.of"], error["interlock.stop_reason"]) == ("run", "error")
    assert "canary" not in receiver.everything


async def test_runs_of_a_mission_share_a_trace_and_are_in_who_posted_them(tmp_path: Path) -> None:
    with receiving() as receiver:
        async with played(tmp_path, ScriptedModel(otherwise="done"), sentry_for(receiver)) as stage:
            task = await stage.task()
            mission = (await stage.run(task)).mission_id
            await stage.work()
            runs = await stage.store.read(traces.runs, mission_id=mission)
            news = runs[0]
    spans = receiver.spans
    assert len({span["trace_id"] for span in spans.raw}) == 1
    (run,) = spans.of("gen_ai.invoke_agent")
    assert news.kind == "mission"
    (posted,) = [span for span in spans.of("queue.publish") if values(span)["interlock.run_id"] == news.id]
    assert "gen_ai.invoke_agent" in spans.above(posted)
    assert news.traceparent == f"00-{run['trace_id']}-{run['span_id']}-01"


async def test_nothing_is_told_of_a_transaction_that_did_not_happen(tmp_path: Path) -> None:
    def unit(tx: Any) -> None:
        mailbox.finish(tx, claim, "failed", "error", stage.clock.now(), result=None, error=None)
        raise RuntimeError("taken back")

    with receiving() as receiver:
        async with played(tmp_path, ScriptedModel("done"), sentry_for(receiver)) as stage:
            claim = await stage.take(await stage.think())
            with pytest.raises(RuntimeError, match="taken back"):
                await stage.store.write(unit)
            await runner.handle(stage.runtime, claim, Interrupt())
    assert receiver.counted("interlock.errors") == []
    assert [values(span)["interlock.status"] for span in receiver.spans.of("gen_ai.invoke_agent")] == ["completed"]


@pytest.mark.parametrize("rate", [0.0, 1.0])
async def test_share_of_traces_is_the_settings(tmp_path: Path, rate: float) -> None:
    with receiving() as receiver:
        sentry = sentry_for(receiver, traces_sample_rate=rate)
        async with played(tmp_path, ScriptedModel(calls("lookup", order="1"), "done"), sentry) as stage:
            await stage.think()
            await stage.work()
    assert bool(receiver.items("span")) is bool(rate)
    assert len(receiver.counted("interlock.tool_calls")) == 1
    assert [body for body, _ in receiver.logs] == ["agent decision: tool call"]


async def test_version_of_a_lesson_is_a_memory_update(tmp_path: Path) -> None:
    lesson = {
        "id": "les_1", "project_id": None, "kind": "win", "rule": "canary", "rule_digest": "d", "confidence": 0.5,
        "evidence": ["run_1"], "status": "probation",
    }  # fmt: skip
    with receiving() as receiver:
        async with played(tmp_path, ScriptedModel(), sentry_for(receiver)) as stage:
            await stage.store.write(lessons.add, lesson, SYSTEM, "canary", stage.clock.now())
    ((body, log),) = receiver.logs
    assert body == "memory update: lesson written"
    assert (log["interlock.lesson_id"], log["interlock.version"], log["interlock.lesson_kind"]) == ("les_1", 1, "win")
    assert "canary" not in receiver.everything
