"""Conversations that fill the model's window: what is older is summed up or let go, whatever happens meanwhile."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from interlock.agents.running import runner
from interlock.agents.running.interruption import Interrupt
from interlock.core.events import ASSISTANT, COMPACTION
from interlock.llm.messages import (
    Delta,
    Message,
    ModelError,
    ModelFault,
    ModelRequest,
    StopReason,
    Thinking,
    ToolResult,
    ToolUse,
)
from interlock.store.auditing import audit
from interlock.store.engine import Store
from interlock.store.identities import personal
from interlock.store.mailboxes import leases
from interlock.store.runs import markers, traces
from interlock.store.tx import Tx
from interlock.testing.scripted import Scripted, ScriptedModel, Stream, calls, reply_of
from interlock.tools.registry import Outcome, tool
from tests.contract.runner.stage import WORKER, CountingStore, Stage, staged
from tests.contract.runner.test_outages import fault
from tests.contract.store.furniture import markers_of

LIMITS = {"emergency_context_limit": 40_000, "compact_at": 0.8}
SUMMARY = "We looked at a, b and c; nothing is open but d."


@tool(risk="GREEN", idempotent=True, outside=False)
async def read(what: str) -> Outcome:
    """Reads something long."""
    return Outcome(f"{what} " * 9_000, labels=frozenset({"untrusted"}))


def is_asked(request: ModelRequest) -> bool:
    """Whether a call asks for a summary."""
    return "Your context is almost full" in request.messages[-1].text


class Talk:
    """A model that answers its calls with `replies` in turn, and with `summary` where it is asked for one."""

    def __init__(self, *replies: Scripted, summary: Any = SUMMARY) -> None:
        self.replies, self.summary = list(replies), summary
        self.model = ScriptedModel(otherwise=self._answer)

    def _answer(self, request: ModelRequest) -> Scripted:
        if is_asked(request):
            said: Scripted = self.summary.pop(0) if isinstance(self.summary, list) else self.summary
            return said
        return self.replies.pop(0)

    @property
    def asked(self) -> list[ModelRequest]:
        """The calls that asked for a summary."""
        return [request for request in self.model.requests if is_asked(request)]

    @property
    def worked(self) -> list[ModelRequest]:
        """The others."""
        return [request for request in self.model.requests if not is_asked(request)]


def reading(*names: str) -> list[ToolUse]:
    """Calls that read something long each, one a turn."""
    return [calls("read", f"toolu_{name}", what=name) for name in names]


async def marked(stage: Stage, run: str) -> list[Any]:
    """The markers that the runs of a run's agent have set, in order."""
    found = await stage.store.read(markers_of, (await stage.run(run)).agent_id)
    return [marker for marker in found if marker.made_by.startswith("run_")]


def words(request: ModelRequest) -> str:
    """All the words of a request's conversation, results included."""
    return "\n".join(getattr(b, "text", getattr(b, "content", "")) for m in request.messages for b in m.blocks)


def is_whole(messages: tuple[Message, ...]) -> bool:
    """Whether each call is answered right after it, each answer has its call, and the sides take turns."""
    for said, told in zip(messages, (*messages[1:], Message("user", ())), strict=True):
        if said.role == told.role and told.blocks:
            return False
        wishes = [use.id for use in said.tool_uses]
        if said.role == "assistant" and wishes != [b.call_id for b in told.blocks if isinstance(b, ToolResult)]:
            return False
    return messages[0].role == "user" and not any(isinstance(b, ToolResult) for b in messages[0].blocks)


async def test_older_turns_are_summed_up_and_the_last_stay(store: CountingStore, tmp_path: Path) -> None:
    talk = Talk(*reading("a", "b", "c", "d"), "done")
    stage = await staged(store, tmp_path, talk.model, [read], agents=LIMITS)
    run = await stage.think("do all of it")
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    (asked,), (before, after) = talk.asked, talk.worked[-2:]
    assert asked.messages[:-1] == before.messages[: len(asked.messages) - 1], "the cached beginning is used again"
    assert (asked.system, asked.tools) == (before.system, before.tools)
    assert all(is_whole(request.messages) for request in talk.model.requests)
    assert "do all of it" in after.messages[0].text
    assert SUMMARY in after.messages[0].text
    assert after.messages[-1] == before.messages[-1] or "d " in words(after)
    assert "a a a" not in words(after)


async def test_summary_is_a_charged_step_and_is_reported(store: CountingStore, tmp_path: Path) -> None:
    talk = Talk(*reading("a", "b", "c", "d"), "done", summary=Stream(Delta("text", "We loo"), SUMMARY))
    stage = await staged(store, tmp_path, talk.model, [read], agents=LIMITS)
    run = await stage.think()
    with stage.runtime.events.listening(lambda event: event.run_id == run) as heard:
        await stage.work()
        told = heard.ready()
    (marker,) = await marked(stage, run)
    row, steps = await stage.run(run), await store.read(traces.steps, run)
    assert [step.stop_reason for step in steps].count("compaction") == 1
    assert row.step_count == len(steps) == 6
    settled = [line.amount_microusd for line in await stage.ledger(run) if line.kind == "settle"]
    assert row.cost_microusd == sum(settled) == sum(step.cost_microusd for step in steps)
    assert (marker.kind, marker.run_id, marker.made_by) == ("compaction", run, run)
    assert marker.labels == ["untrusted"]
    assert 32_000 <= marker.tokens_before < 40_000
    (event,) = [each for each in told if each.name == COMPACTION]
    assert event.payload == {"run_id": run, "tokens_before": marker.tokens_before, "summary": marker.summary}
    assert not [each for each in told if each.name == ASSISTANT and "We loo" in str(each.payload)]
    (noted,) = await store.read(audit.activities, run_id=run, action="CONTEXT_COMPACTED")
    assert noted.data["tokens_before"] == marker.tokens_before
    assert SUMMARY not in [message.content for message in await stage.messages(run)]


@pytest.mark.parametrize(
    "said",
    [
        ModelError(ModelFault.INVALID, "too long", provider="anthropic", status=400),
        calls("read", "toolu_x", what="x"),
        reply_of("I will not", stop_reason=StopReason.REFUSAL),
        reply_of(()),
        fault(ModelFault.SERVER),
    ],
    ids=["invalid", "call", "refusal", "empty", "server"],
)
async def test_summary_that_does_not_come_about_costs_the_run_its_older_turns_and_no_more(
    store: CountingStore, tmp_path: Path, said: Scripted
) -> None:
    talk = Talk(*reading("a", "b", "c", "d"), "done", summary=said)
    stage = await staged(store, tmp_path, talk.model, [read], agents=LIMITS)
    run = await stage.think("do all of it")
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    (marker,) = await marked(stage, run)
    assert "could not be summed up" in marker.summary
    after = talk.worked[-1]
    assert "do all of it" in words(after)
    assert "a a a" not in words(after)
    assert "d d d" in words(after)
    assert is_whole(after.messages)
    lines = await stage.ledger(run)
    assert [line.kind for line in lines].count("reserve") == [line.kind for line in lines].count("settle")
    assert (await stage.account(f"run:{run}")).reserved_microusd == 0


async def test_summary_is_tried_again_after_a_passing_fault(store: CountingStore, tmp_path: Path) -> None:
    talk = Talk(*reading("a", "b", "c", "d"), "done", summary=[fault(ModelFault.OVERLOADED), SUMMARY])
    stage = await staged(store, tmp_path, talk.model, [read], agents=LIMITS)
    run = await stage.think()
    await stage.work()
    assert (await stage.ended(run), len(talk.asked)) == (("completed", "end_turn"), 2)
    assert SUMMARY in talk.worked[-1].messages[0].text


async def test_summaries_are_summed_up_in_their_turn(store: CountingStore, tmp_path: Path) -> None:
    talk = Talk(*reading(*"abcdefgh"), "done", summary=["the first summary", "the second one", "the third"])
    stage = await staged(store, tmp_path, talk.model, [read], agents=LIMITS, breakers={"progress": False})
    run = await stage.think("do all of it", limits={"max_turns": 9})
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn"), "summaries are no turns of its work"
    assert [len(await marked(stage, run)), len(talk.asked)] == [2, 2]
    assert "the first summary" in words(talk.asked[1])
    assert "the second one" in words(talk.worked[-1])
    assert "the first summary" not in words(talk.worked[-1])
    assert all(is_whole(request.messages) for request in talk.model.requests)


class Killed(BaseException):
    """The process is gone."""


class DyingStore(CountingStore):
    """Dies with its process before or after the unit of a name."""

    doom: tuple[str, str] | None = None

    async def write(self, unit: Any, *args: Any, **kwargs: Any) -> Any:
        """The same, unless it is the last one."""
        when = self.doom[1] if self.doom is not None and getattr(unit, "__name__", "") == self.doom[0] else None
        if when == "before":
            raise Killed
        found = await super().write(unit, *args, **kwargs)
        if when == "after":
            raise Killed
        return found


async def played(store: Store, home: Path, talk: Talk, doom: tuple[str, str] | None) -> tuple[Stage, str]:
    """A run worked to its end by as many processes as it takes."""
    stage = await staged(store, home, talk.model, [read], agents=LIMITS)
    run = await stage.think("do all of it", name=str(doom))
    assert isinstance(store, DyingStore)
    store.doom = doom
    claim = await stage.take(run)
    if doom is not None:
        with pytest.raises(Killed):
            await runner.handle(stage.runtime, claim, Interrupt())
        store.doom = None
        await store.write(leases.take_back, WORKER, stage.clock.now())
        stage.restart()
        await stage.work()
    else:
        await runner.handle(stage.runtime, claim, Interrupt())
    return stage, run


DOOMS = [("_sum_up", "before"), ("_sum_up", "after"), ("reserve_more", "after")]


@pytest.mark.parametrize("doom", DOOMS, ids=lambda doom: "-".join(doom))
async def test_run_that_is_killed_around_a_summary_goes_on_as_if_nothing_had_happened(
    store: CountingStore, tmp_path: Path, doom: tuple[str, str]
) -> None:
    names = "abcde"
    doomed = DyingStore(store.url)
    async with doomed:
        calm = Talk(*reading(*names), "done")
        await played(doomed, tmp_path / "calm", calm, None)
        struck = Talk(*reading(*names), "done")
        stage, run = await played(doomed, tmp_path / "struck", struck, doom)
        assert await stage.ended(run) == ("completed", "end_turn")
        assert [request.messages for request in struck.worked][-2:] == [r.messages for r in calm.worked][-2:]
        assert len(await marked(stage, run)) == 1, "however often a summary was asked for"
        assert (await stage.account(f"run:{run}")).reserved_microusd == 0
        steps = await doomed.read(traces.steps, run)
        assert [step.step_number for step in steps] == [1, 2, 3, 4, 5, 6, 7]


@tool(risk="GREEN", idempotent=True, outside=False)
async def flood() -> str:
    """Brings more than fits."""
    return "flood " * 20_000


async def test_agent_whose_context_is_full_is_reset_and_the_run_goes_on(store: CountingStore, tmp_path: Path) -> None:
    talk = Talk(calls("read", what="a"), calls("flood"), "done")
    stage = await staged(store, tmp_path, talk.model, [read, flood], agents=LIMITS)
    run = await stage.think("do all of it")
    with stage.runtime.events.listening(lambda event: event.name == COMPACTION) as heard:
        await stage.work()
        (event,) = heard.ready()
    assert (await stage.ended(run), len(talk.asked)) == (("completed", "end_turn"), 0)
    (message,) = talk.worked[-1].messages
    assert "do all of it" in message.text
    assert "this conversation was emptied" in message.text
    assert "So far you have called: read (1), flood (1)." in message.text
    (marker,) = await marked(stage, run)
    assert (marker.kind, marker.from_seq, event.payload["tokens_before"]) == ("emergency", 2, marker.tokens_before)
    assert marker.tokens_before >= LIMITS["emergency_context_limit"]
    (alert,) = await stage.alerts()
    assert (alert.kind, alert.severity) == ("CONTEXT_RESET", "warning")
    (noted,) = await store.read(audit.activities, run_id=run, action="CONTEXT_RESET")
    assert noted.actor_kind == "agent"


@pytest.mark.parametrize("when", ["before", "after"])
async def test_reset_survives_the_death_of_its_process(store: CountingStore, tmp_path: Path, when: str) -> None:
    doomed = DyingStore(store.url)
    async with doomed:
        talk = Talk(calls("read", what="a"), calls("flood"), "done")
        stage = await staged(doomed, tmp_path, talk.model, [read, flood], agents=LIMITS)
        run = await stage.think("do all of it")
        doomed.doom = ("_record_omission", when)
        with pytest.raises(Killed):
            await runner.handle(stage.runtime, await stage.take(run), Interrupt())
        doomed.doom = None
        await doomed.write(leases.take_back, WORKER, stage.clock.now())
        stage.restart()
        await stage.work()
        assert await stage.ended(run) == ("completed", "end_turn")
        (message,) = talk.worked[-1].messages
        assert "this conversation was emptied" in message.text
        assert len(await marked(stage, run)) == len(await stage.alerts()) == 1


async def test_message_that_alone_is_too_long_is_put_to_the_model_all_the_same(
    store: CountingStore, tmp_path: Path
) -> None:
    talk = Talk("done")
    stage = await staged(store, tmp_path, talk.model, agents=LIMITS)
    run = await stage.think("word " * 30_000)
    await stage.work()
    assert (await stage.ended(run), len(talk.worked), await marked(stage, run)) == (("completed", "end_turn"), 1, [])


async def chats(stage: Stage, talk: Talk, names: str) -> list[str]:
    """Messages of Ada's, each long and answered before the next is sent."""
    runs = []
    for name in names:
        talk.replies.append(f"answer to {name}")
        runs.append(await stage.chat(f"message {name}: " + f"{name} " * 8_000))
        await stage.work()
    return runs


async def test_later_runs_see_the_summary_instead_of_the_summarised_messages(
    store: CountingStore, tmp_path: Path
) -> None:
    talk = Talk()
    stage = await staged(store, tmp_path, talk.model, agents=LIMITS)
    runs = await chats(stage, talk, "abcd")
    assert [await stage.ended(run) for run in runs] == [("completed", "end_turn")] * 4
    (marker,) = await marked(stage, runs[-1])
    assert (marker.kind, marker.made_by, marker.position) == ("compaction", runs[-1], None)
    assert "answer to a" in words(talk.asked[0])
    steps = await store.read(traces.steps, runs[-1])
    assert [step.stop_reason for step in steps] == ["compaction", "end_turn"]
    talk.replies.append("answer to e")
    last = await stage.chat("and now")
    await stage.work()
    for request in talk.worked[-2:]:
        assert SUMMARY in request.messages[0].text
        assert "message a" not in words(request)
        assert "message d" in words(request)
        assert is_whole(request.messages)
    assert await marked(stage, last) == [marker]
    assert "answer to d" in words(talk.worked[-1])


async def test_prompt_that_the_provider_finds_too_long_is_shortened_and_sent_again(
    store: CountingStore, tmp_path: Path
) -> None:
    long = ModelError(ModelFault.INVALID, "prompt is too long: 9 tokens > 8 maximum", provider="local", status=400)
    talk = Talk(*reading("a", "b"), long, "done")
    stage = await staged(store, tmp_path, talk.model, [read])
    run = await stage.think("do all of it")
    await stage.work()
    assert (await stage.ended(run), len(talk.asked)) == (("completed", "end_turn"), 1)
    assert SUMMARY in words(talk.worked[-1])
    assert "a a a" not in words(talk.worked[-1])


async def test_message_that_the_provider_finds_too_long_fails_the_run(store: CountingStore, tmp_path: Path) -> None:
    long = ModelError(ModelFault.INVALID, "prompt is too long", provider="local", status=400)
    talk = Talk(*reading("a"), *[long] * 9)
    stage = await staged(store, tmp_path, talk.model, [read])
    run = await stage.think("do all of it")
    await stage.work()
    assert (await stage.ended(run), len(talk.worked)) == (("failed", "error"), 3), "once as it was, once emptied"


async def test_summary_inherits_the_taint_of_the_summarised_messages(store: CountingStore, tmp_path: Path) -> None:
    talk = Talk()
    stage = await staged(store, tmp_path, talk.model, agents=LIMITS)
    one = await stage.chat("hello")
    talk.replies.append("hello")
    await stage.work()
    row = await stage.run(one)
    now = stage.clock.now()
    await store.write(_summed_up, row, now)
    talk.replies.append("fine")
    later = await stage.chat("and now")
    await stage.work()
    assert (await stage.run(later)).labels == ["untrusted"]
    assert words(talk.worked[-1]).startswith("what was")


async def test_summary_goes_with_the_chat_that_is_erased(store: CountingStore, tmp_path: Path) -> None:
    talk = Talk()
    stage = await staged(store, tmp_path, talk.model, agents=LIMITS)
    runs = await chats(stage, talk, "abcd")
    assert [marker.summary is None for marker in await marked(stage, runs[-1])] == [False]
    while await store.write(personal.erase_chat, runs[0], 100, stage.clock.now()) is False:
        pass
    assert [marker.summary for marker in await marked(stage, runs[-1])] == [None]
    talk.replies.append("answer to e")
    await stage.chat("and now")
    await stage.work()
    assert "message a" not in words(talk.worked[-1])
    assert SUMMARY not in words(talk.worked[-1])


def _summed_up(tx: Tx, row: Any, now: datetime) -> None:
    markers.add(
        tx, agent_id=row.agent_id, kind=markers.COMPACTION, from_seq=row.seq + 1, summary="what was",
        labels=["untrusted"], made_by=row.id, now=now,
    )  # fmt: skip


async def test_thinking_alone_is_an_empty_answer_and_no_failure(store: CountingStore, tmp_path: Path) -> None:
    stage = await staged(store, tmp_path, ScriptedModel(reply_of((Thinking("nothing to say", "sig"),)), "later"))
    run = await stage.chat("just so you know")
    await stage.work()
    row = await stage.run(run)
    assert (row.status, row.stop_reason, row.result, row.error) == ("completed", "end_turn", "", None)
    assert len(stage.model.requests) == 1, "nobody urges it to speak"
    assert await stage.alerts() == []
    then = await stage.chat("and now?")
    await stage.work()
    assert await stage.ended(then) == ("completed", "end_turn")
