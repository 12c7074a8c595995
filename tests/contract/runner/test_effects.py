"""Effects: written down before they happen, once or a person is asked, and failures as results."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from interlock.agents.running import runner
from interlock.agents.running.interruption import Interrupt
from interlock.llm.messages import ToolResult, ToolUse
from interlock.store.mailboxes import leases
from interlock.store.runs import traces
from interlock.store.schema import Memory, MemoryBlock, Subagent, table
from interlock.store.tx import Tx
from interlock.testing.scripted import ScriptedModel, calls
from interlock.tools.registry import OutcomeUnknown, Tool, ToolContext, ToolError, tool
from tests.contract.runner.stage import WORKER, CountingStore, Stage, staged, told


class Killed(BaseException):
    """The process ends here."""


class Effect:
    """A tool whose effect is counted, and which does at each try what it is told to."""

    def __init__(
        self, *outcomes: str | BaseException, idempotent: bool = False, risk: str = "YELLOW", **more: Any
    ) -> None:
        self.outcomes = list(outcomes)
        self.seen: list[tuple[str, str, dict[str, Any]]] = []
        self.tool = Tool(
            name="act", description="Has an effect.", fn=self._act, idempotent=idempotent, risk=risk,
            input_schema={"type": "object"}, **more,
        )  # fmt: skip

    async def _act(self, ctx: ToolContext, /, **args: Any) -> str:
        row = await ctx.store.read(traces.call, ctx.call_id)
        assert row is not None
        self.seen.append((row.status, ctx.idempotency_token, args))
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


async def killed(stage: Stage) -> None:
    """Works what is ready until the process is killed; then another one takes over."""
    for claim in await stage.claim():
        with pytest.raises(Killed):
            await runner.handle(stage.runtime, claim, Interrupt())
    await stage.store.write(leases.take_back, WORKER, stage.clock.now())
    stage.restart()


async def result_of(stage: Stage) -> ToolResult:
    """What the model was told of the one call of its last turn."""
    (found,) = told(stage.model)
    assert isinstance(found, ToolResult)
    return found


@pytest.mark.parametrize(("idempotent", "status"), [(False, "started"), (True, "ready")])
async def test_intent_is_on_disk_before_the_effect(
    store: CountingStore, tmp_path: Path, idempotent: bool, status: str
) -> None:
    effect = Effect("did it", idempotent=idempotent)
    stage = await staged(store, tmp_path, ScriptedModel(calls("act"), "done"), [effect.tool])
    run = await stage.think()
    await stage.work()
    assert [seen[0] for seen in effect.seen] == [status]
    assert await stage.statuses(run) == ["done"]


async def test_idempotent_call_is_repeated_after_a_crash(store: CountingStore, tmp_path: Path) -> None:
    effect = Effect(Killed(), "did it", idempotent=True)
    stage = await staged(store, tmp_path, ScriptedModel(calls("act", n=1), "done"), [effect.tool])
    run = await stage.think()
    await killed(stage)
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    (_, first, _), (_, second, _) = effect.seen
    assert first == second
    assert await stage.pending() == []


@pytest.mark.parametrize("verdict", ["approve", "deny"])
async def test_call_that_a_crash_left_open_is_a_person_s_to_decide(
    store: CountingStore, tmp_path: Path, verdict: str
) -> None:
    effect = Effect(Killed(), "did it")
    stage = await staged(store, tmp_path, ScriptedModel(calls("act", "1", n=1), "done"), [effect.tool])
    run = await stage.think()
    await killed(stage)
    await stage.work()
    assert len(effect.seen) == 1
    assert await stage.statuses(run) == ["unknown"]
    question = await stage.the_question()
    assert question.kind == "UNKNOWN_OUTCOME"
    await (stage.approve(question.id) if verdict == "approve" else stage.deny(question.id, "it arrived"))
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    result = await result_of(stage)
    if verdict == "approve":
        assert (len(effect.seen), result) == (2, ToolResult("1", "did it"))
        assert effect.seen[0][1] == effect.seen[1][1]
    else:
        assert (len(effect.seen), result.is_error) == (1, True)
        assert "not known" in result.content
        assert "it arrived" in result.content


async def test_repetition_covers_exactly_what_was_approved_first(store: CountingStore, tmp_path: Path) -> None:
    effect = Effect(Killed(), "did it", risk="RED", reads=lambda _: ("a.txt",))
    stage = await staged(store, tmp_path, ScriptedModel(calls("act", "1", n=1), "done"), [effect.tool])
    run = await stage.think()
    await stage.work()
    await stage.approve((await stage.the_question()).id, args={"n": 2})
    await killed(stage)
    await stage.work()
    question = await stage.the_question()
    assert (question.kind, question.request["args"]) == ("UNKNOWN_OUTCOME", {"n": 2})
    await stage.approve(question.id)
    await stage.work()
    assert [args for _, _, args in effect.seen] == [{"n": 2}, {"n": 2}]
    assert await stage.ended(run) == ("completed", "end_turn")
    assert (await result_of(stage)).content == '(a person changed the arguments to {"n":2})\ndid it'


async def test_tool_that_does_not_know_asks_in_the_same_process_too(store: CountingStore, tmp_path: Path) -> None:
    effect = Effect(OutcomeUnknown("the line went dead"), "did it")
    stage = await staged(store, tmp_path, ScriptedModel(calls("act", "1"), "done"), [effect.tool])
    run = await stage.think()
    await stage.work()
    question = await stage.the_question()
    assert "the line went dead" in question.request["summary"]
    await stage.approve(question.id)
    await stage.work()
    assert [seen[0] for seen in effect.seen] == ["started", "started"]
    assert await result_of(stage) == ToolResult("1", "did it")
    assert [row.status for row in await stage.questions(run)] == ["used"]


@pytest.mark.parametrize(("last", "is_error"), [("did it", False), (OutcomeUnknown("dead again"), True)])
async def test_idempotent_tool_that_does_not_know_is_tried_once_more(
    store: CountingStore, tmp_path: Path, last: str | BaseException, is_error: bool
) -> None:
    effect = Effect(OutcomeUnknown("the line went dead"), last, idempotent=True)
    stage = await staged(store, tmp_path, ScriptedModel(calls("act", "1"), "done"), [effect.tool])
    run = await stage.think()
    await stage.work()
    assert len({token for _, token, _ in effect.seen}) == 1
    assert len(effect.seen) == 2
    assert (await result_of(stage)) == ToolResult("1", "dead again" if is_error else "did it", is_error)
    assert await stage.ended(run) == ("completed", "end_turn")


@pytest.mark.parametrize(
    ("fault", "idempotent", "said"),
    [
        (ToolError("no such account"), False, "no such account"),
        (ToolError("no such account"), True, "no such account"),
        (ValueError("bad luck"), True, "act failed: ValueError: bad luck"),
        (asyncio.CancelledError(), True, "act failed: something in it was cancelled"),
    ],
)
async def test_failure_of_a_tool_is_a_result(
    store: CountingStore, tmp_path: Path, fault: BaseException, idempotent: bool, said: str
) -> None:
    effect = Effect(fault, idempotent=idempotent)
    stage = await staged(store, tmp_path, ScriptedModel(calls("act", "1"), "done"), [effect.tool])
    run = await stage.think()
    await stage.work()
    assert await result_of(stage) == ToolResult("1", said, is_error=True)
    assert await stage.ended(run) == ("completed", "end_turn")
    assert await stage.statuses(run) == ["failed"]


@pytest.mark.parametrize("fault", [ValueError("after the fact?"), asyncio.CancelledError()])
async def test_unexplained_failure_of_an_effect_is_asked_about(
    store: CountingStore, tmp_path: Path, fault: BaseException
) -> None:
    effect = Effect(fault)
    stage = await staged(store, tmp_path, ScriptedModel(calls("act", "1"), "done"), [effect.tool])
    run = await stage.think()
    await stage.work()
    question = await stage.the_question()
    assert question.kind == "UNKNOWN_OUTCOME"
    await stage.deny(question.id)
    await stage.work()
    assert (await result_of(stage)).is_error
    assert await stage.ended(run) == ("completed", "end_turn")


@pytest.mark.parametrize(("idempotent", "status"), [(True, "failed"), (False, "unknown")])
async def test_tool_that_takes_too_long_is_stopped(
    store: CountingStore, tmp_path: Path, idempotent: bool, status: str
) -> None:
    stopped = asyncio.Event()

    async def hang(ctx: ToolContext, /) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    slow = Tool(
        name="hang", description="Hangs.", fn=hang, idempotent=idempotent, risk="YELLOW", timeout_s=0.02,
        input_schema={"type": "object"},
    )  # fmt: skip
    stage = await staged(store, tmp_path, ScriptedModel(calls("hang"), "done"), [slow])
    run = await stage.think()
    await stage.work()
    assert stopped.is_set()
    assert await stage.statuses(run) == [status]
    assert len(await stage.pending()) == (0 if idempotent else 1)


async def test_tool_that_names_no_limit_may_take_as_long_as_the_settings_say(
    store: CountingStore, tmp_path: Path
) -> None:
    async def hang(ctx: ToolContext, /) -> None:
        await asyncio.Event().wait()

    slow = Tool(name="hang", description="Hangs.", fn=hang, idempotent=True, input_schema={"type": "object"})
    model = ScriptedModel(calls("hang"), "done")
    stage = await staged(store, tmp_path, model, [slow], times={"tool_s": 0.02})
    await stage.think()
    await stage.work()
    assert (await result_of(stage)).content == "hang did not end within 0.02 s"


async def test_rehearsal_simulates_approved_calls_too(store: CountingStore, tmp_path: Path) -> None:
    effect = Effect(risk="RED")
    stage = await staged(store, tmp_path, ScriptedModel(calls("act", "1"), "done", simulated=True), [effect.tool])
    run = await stage.think()
    await stage.work()
    await stage.approve((await stage.the_question()).id)
    await stage.work()
    assert effect.seen == []
    assert (await result_of(stage)).content == "[rehearsal: simulated] act would have been called"
    assert [call.simulated for call in await stage.calls(run)] == [True]


async def test_finished_calls_are_not_repeated_by_who_takes_over(store: CountingStore, tmp_path: Path) -> None:
    effect = Effect("once", Killed(), "again")
    script: list[Any] = [calls("act", n=1), calls("act", n=2), "done"]
    stage = await staged(store, tmp_path, ScriptedModel(*script), [effect.tool])
    run = await stage.think()
    await killed(stage)
    await stage.work()
    await stage.approve((await stage.the_question()).id)
    await stage.work()
    assert [args for _, _, args in effect.seen] == [{"n": 1}, {"n": 2}, {"n": 2}]
    assert await stage.ended(run) == ("completed", "end_turn")
    assert len(stage.model.requests) == 3


@pytest.mark.parametrize(
    "wish",
    [
        calls("store_memory", "2", content="The kiosk opens in May."),
        calls("update_memory", "2", label="human", append="Ada plans the kiosk.", reason="she said so"),
        calls("start_background_agent", "2", prompt="count them"),
    ],
    ids=lambda wish: wish.name,
)
async def test_tool_writes_nothing_for_a_worker_that_has_lost_the_run(
    store: CountingStore, tmp_path: Path, wish: ToolUse
) -> None:
    @tool(risk="YELLOW", idempotent=True, outside=False)
    async def stand_still() -> str:
        """Takes so long that the run is given to another worker."""
        await store.write(leases.take_back, WORKER, stage.clock.now())
        assert [claim.run.id for claim in await stage.claim("other")] == [run]
        return "at last"

    stage = await staged(store, tmp_path, ScriptedModel([calls("stand_still", "1"), wish]), [stand_still])
    run = await stage.think()
    await runner.handle(stage.runtime, await stage.take(run), Interrupt())
    assert await store.read(kept_apart) == []
    row = await stage.run(run)
    assert (row.status, row.worker_id, await stage.statuses(run)) == ("running", "other", ["ready", "ready"])


def kept_apart(tx: Tx) -> list[Any]:
    """What tools write in transactions of their own."""
    return [row for model in (Memory, MemoryBlock, Subagent) for row in tx.rows(table(model).select())]


async def test_secrets_in_a_result_reach_neither_model_nor_record(store: CountingStore, tmp_path: Path) -> None:
    secret = "sk-ant-" + "a1B2" * 10
    effect = Effect(f"the key is {secret}", idempotent=True)
    stage = await staged(store, tmp_path, ScriptedModel(calls("act", "1"), "done"), [effect.tool])
    run = await stage.think()
    await stage.work()
    shown = [(await result_of(stage)).content, (await stage.calls(run))[0].result]
    assert all(secret not in text and "the key is" in text for text in shown)
