"""Calls that wait for a person: what runs meanwhile, how the run goes on, and what an approval is good for."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from interlock.agents.running import runner
from interlock.agents.running.interruption import Interrupt
from interlock.core.errors import UsageError
from interlock.llm.messages import Text, ToolResult
from interlock.oversight import expiry
from interlock.policy.rules import Policy, Rule
from interlock.store.mailboxes import mailbox
from interlock.store.signoff.late_answers import AlreadyAnswered
from interlock.testing.scripted import ScriptedModel, calls
from interlock.tools.registry import Tool, ToolContext, tool
from tests.contract.runner.stage import CountingStore, Stage, hand_in, staged, told

SENT: list[Any] = []


@pytest.fixture(autouse=True)
def _nothing_sent() -> None:
    SENT.clear()


@tool(risk="GREEN", idempotent=True, outside=False)
async def look(what: str) -> str:
    """Looks something up."""
    SENT.append(("look", what))
    return f"seen: {what}"


@tool(risk="RED")
async def pay(amount: int, to: str = "bob") -> str:
    """Pays somebody."""
    SENT.append(("pay", amount, to))
    return f"paid {amount}"


async def _mail(ctx: ToolContext, /, *, file: str) -> str:
    SENT.append(("mail", (await ctx.workspace.read(file)).decode()))
    return "mailed"


MAIL = Tool(
    name="mail_file", description="Mails a file.", fn=_mail, risk="RED", reads=lambda args: (args["file"],),
    input_schema={"type": "object", "properties": {"file": {"type": "string"}}, "required": ["file"]},
)  # fmt: skip
TOOLS: list[Any] = [look, pay, MAIL]


async def held(store: CountingStore, tmp_path: Path, *replies: Any, task: bool = True) -> tuple[Stage, str]:
    """A stage whose one run is parked after the first reply."""
    stage = await staged(store, tmp_path, ScriptedModel(*replies), TOOLS)
    run = await (stage.task() if task else stage.think())
    await stage.work()
    assert (await stage.run(run)).status == "waiting"
    stage.restart()
    return stage, run


async def test_allowed_calls_run_first_and_the_held_one_parks_the_run(store: CountingStore, tmp_path: Path) -> None:
    turn = [calls("pay", "1", amount=5), calls("look", "2", what="x")]
    stage, run = await held(store, tmp_path, turn, hand_in(), "done")
    assert SENT == [("look", "x")]
    assert await stage.statuses(run) == ["held", "done"]
    task = await stage.task_of(run)
    question = await stage.the_question()
    assert (task.status, task.wait_for) == ("NEEDS_APPROVAL", f"approval:{question.id}")
    assert question.request["args"] == {"amount": 5}
    assert (await stage.account(f"run:{run}")).reserved_microusd == 0
    assert await stage.claim() == []
    await stage.approve(question.id)
    assert (await stage.task_of(run)).status == "IN_PROGRESS"
    await stage.work()
    assert told(stage.model, 1) == (ToolResult("1", "paid 5"), ToolResult("2", "seen: x"))
    assert SENT == [("look", "x"), ("pay", 5, "bob")]
    assert await stage.ended(run) == ("completed", "end_turn")
    assert [row.status for row in await stage.questions(run)] == ["used"]


@pytest.mark.parametrize("last_first", [False, True])
async def test_two_holds_are_answered_one_by_one(store: CountingStore, tmp_path: Path, last_first: bool) -> None:
    turn = [calls("pay", "1", amount=1), calls("look", "2", what="x"), calls("pay", "3", amount=3)]
    stage, run = await held(store, tmp_path, turn, hand_in(), "done")
    first, second = sorted(await stage.pending(), key=lambda row: row.request["args"]["amount"])
    order = [(stage.approve, first), (stage.deny, second)]
    for position, (answer, question) in enumerate(reversed(order) if last_first else order):
        assert (await stage.run(run)).status == "waiting"
        await answer(question.id)
        assert (await stage.task_of(run)).status == ("NEEDS_APPROVAL" if position == 0 else "IN_PROGRESS")
    await stage.work()
    paid, seen, denied = told(stage.model, 1)
    assert (paid, seen) == (ToolResult("1", "paid 1"), ToolResult("2", "seen: x"))
    assert isinstance(denied, ToolResult)
    assert (denied.call_id, denied.is_error) == ("3", True)
    assert "not now" in denied.content
    assert SENT == [("look", "x"), ("pay", 1, "bob")]
    assert await stage.statuses(run) == ["done", "done", "denied", "done"]


async def test_answer_while_other_calls_of_the_turn_run_is_not_lost(store: CountingStore, tmp_path: Path) -> None:
    began, goes_on = asyncio.Event(), asyncio.Event()

    @tool(risk="GREEN", idempotent=True, outside=False)
    async def slow() -> str:
        """Takes its time."""
        began.set()
        await goes_on.wait()
        return "slow"

    model = ScriptedModel([calls("slow", "1"), calls("pay", "2", amount=1)], hand_in(), "done")
    stage = await staged(store, tmp_path, model, [*TOOLS, slow])
    run = await stage.task()
    claim = await stage.take(run)
    work = asyncio.create_task(runner.handle(stage.runtime, claim, Interrupt()))
    await began.wait()
    await stage.approve((await stage.the_question()).id)
    goes_on.set()
    await work
    assert await stage.ended(run) == ("completed", "end_turn")
    assert told(model, 1) == (ToolResult("1", "slow"), ToolResult("2", "paid 1"))


async def test_parked_task_agent_starts_nothing_else(store: CountingStore, tmp_path: Path) -> None:
    stage, run = await held(store, tmp_path, calls("pay", amount=1))
    row = await stage.run(run)
    message = mailbox.Post(
        project_id=row.project_id, agent_id=row.agent_id, kind="task", payload={"purpose": "work"},
        idempotency_key="more", cause_kind="task", task_id=row.task_id, mission_id=row.mission_id,
    )  # fmt: skip
    await store.write(mailbox.post, message, stage.clock.now())
    assert await stage.claim() == []


async def test_parked_conversation_goes_on_and_knows_what_waits(store: CountingStore, tmp_path: Path) -> None:
    model = ScriptedModel(calls("send_email", "1", to=["a@b.co"], subject="s", body="b"), "still there", "it was sent")
    stage = await staged(store, tmp_path, model)
    first = await stage.chat("mail them")
    await stage.work()
    question = await stage.the_question()
    second = await stage.chat("are you there?")
    await stage.work()
    assert (await stage.run(second)).result == "still there"
    assert [message.role for message in model.requests[1].messages] == ["user"]
    reminder, words = told(model, 1)
    assert isinstance(reminder, Text)
    assert "mail them" in reminder.text
    assert f"waiting for approval {question.id}" in reminder.text
    assert words == Text("are you there?")
    await stage.deny(question.id, "do not")
    await stage.work()
    assert (await stage.run(first)).result == "it was sent"
    third = await stage.chat("and now?")
    stage.model.replies.append("all quiet")
    await stage.work()
    assert await stage.ended(third) == ("completed", "end_turn")
    whole = [(message.role, type(message.blocks[-1]).__name__) for message in model.requests[-1].messages]
    assert whole == [
        ("user", "Text"), ("assistant", "ToolUse"), ("user", "ToolResult"), ("assistant", "Text"),
        ("user", "Text"), ("assistant", "Text"), ("user", "Text"),
    ]  # fmt: skip


async def test_conversation_that_is_resumed_does_not_see_what_ended_meanwhile(
    store: CountingStore, tmp_path: Path
) -> None:
    mail = calls("send_email", "1", to=["a@b.co"], subject="s", body="b")
    model = ScriptedModel(mail, calls("send_email", "2", to=["a@b.co"], subject="t", body="b"), "one", "two")
    stage = await staged(store, tmp_path, model)
    for text in ("first", "second"):
        await stage.chat(text)
        await stage.work()
        stage.clock.advance(1)
    older, newer = await stage.pending()
    await stage.deny(older.id)
    await stage.work()
    stage.clock.advance(1)
    await stage.deny(newer.id)
    await stage.work()
    assert model.requests[3].messages[: len(model.requests[1].messages)] == model.requests[1].messages


async def test_call_that_the_policy_denies_by_now_is_denied(store: CountingStore, tmp_path: Path) -> None:
    stage, run = await held(store, tmp_path, calls("pay", amount=1), hand_in(), "done")
    await stage.approve((await stage.the_question()).id)
    stage.restart(policy=Policy(denials=(Rule(id="no-pay", tools=("pay",), reason="not any more"),)))
    await stage.work()
    assert SENT == []
    assert (await stage.statuses(run))[0] == "denied"
    (result,) = told(stage.model, 1)
    assert isinstance(result, ToolResult)
    assert "not any more" in result.content


async def test_file_that_changed_after_the_approval_is_asked_about_again(store: CountingStore, tmp_path: Path) -> None:
    turn = [calls("mail_file", "1", file="a.txt"), calls("file_write", "2", path="a.txt", content="changed")]
    stage, run = await held(store, tmp_path, turn, hand_in(), "done")
    before = await stage.the_question()
    await stage.approve(before.id)
    await stage.work()
    assert SENT == []
    after = await stage.the_question()
    assert after.id != before.id
    assert after.subject != before.subject
    assert {row.id: row.status for row in await stage.questions(run)} == {before.id: "void", after.id: "pending"}
    assert (await stage.task_of(run)).wait_for == f"approval:{after.id}"
    await stage.approve(after.id)
    await stage.work()
    assert SENT == [("mail", "changed")]
    assert await stage.ended(run) == ("completed", "end_turn")


async def test_edited_arguments_run_and_the_model_is_told(store: CountingStore, tmp_path: Path) -> None:
    stage, run = await held(store, tmp_path, calls("pay", "1", amount=900), hand_in(), "done")
    await stage.approve((await stage.the_question()).id, args={"amount": 9, "to": "eve"})
    await stage.work()
    assert SENT == [("pay", 9, "eve")]
    (result,) = told(stage.model, 1)
    assert isinstance(result, ToolResult)
    assert result.content.startswith('(a person changed the arguments to {"amount":9,"to":"eve"})')
    assert (await stage.calls(run))[0].args == {"amount": 9, "to": "eve"}


async def test_edits_stay_where_the_call_must_be_approved_again(store: CountingStore, tmp_path: Path) -> None:
    turn = [calls("file_write", "1", path="b.txt", content="b"), calls("mail_file", "2", file="a.txt")]
    stage, run = await held(store, tmp_path, turn, hand_in(), "done")
    await stage.approve((await stage.the_question()).id, args={"file": "b.txt"})
    await stage.work()
    again = await stage.the_question()
    assert again.request["args"] == {"file": "b.txt"}
    stage.restart()
    await stage.approve(again.id)
    await stage.work()
    assert SENT == [("mail", "b")]
    result = told(stage.model, 1)[1]
    assert isinstance(result, ToolResult)
    assert "a person changed the arguments" in result.content
    assert len(await stage.questions(run)) == 2


async def test_edited_arguments_that_do_not_fit_are_refused(store: CountingStore, tmp_path: Path) -> None:
    stage, run = await held(store, tmp_path, calls("pay", amount=1), hand_in(), "done")
    with pytest.raises(UsageError, match="the arguments do not fit `pay`"):
        await stage.approve((await stage.the_question()).id, args={"amount": "much"})
    await stage.work()
    assert SENT == []
    assert (await stage.the_question()).request["args"] == {"amount": 1}
    assert (await stage.run(run)).status == "waiting"


async def test_approval_is_good_for_one_call_only(store: CountingStore, tmp_path: Path) -> None:
    stage, run = await held(store, tmp_path, calls("pay", amount=1), calls("pay", amount=1), hand_in(), "done")
    question = await stage.the_question()
    await stage.approve(question.id)
    with pytest.raises(AlreadyAnswered):
        await stage.approve(question.id)
    await stage.work()
    assert SENT == [("pay", 1, "bob")]
    assert (await stage.run(run)).status == "waiting"
    assert [row.status for row in await stage.questions(run)] == ["used", "pending"]


async def test_answer_of_the_operator_is_the_result_of_the_question(store: CountingStore, tmp_path: Path) -> None:
    stage, run = await held(store, tmp_path, calls("ask_operator", "1", question="Which one?"), hand_in(), "done")
    question = await stage.the_question()
    assert (question.kind, question.request["summary"]) == ("QUESTION", "asks: Which one?")
    await stage.approve(question.id, note="the blue one")
    await stage.work()
    assert told(stage.model, 1) == (ToolResult("1", "the blue one"),)
    assert (await stage.statuses(run))[0] == "done"


async def test_question_that_nobody_answers_ends_the_run(store: CountingStore, tmp_path: Path) -> None:
    stage, run = await held(store, tmp_path, calls("pay", amount=1))
    stage.clock.advance(stage.runtime.settings.approval_expires_s + 1)
    await expiry.sweep(stage.runtime)
    assert await stage.ended(run) == ("cancelled", "approval_expired")
    task = await stage.task_of(run)
    assert (task.status, task.block_kind) == ("BLOCKED", "EXPIRED")
    assert [alert.kind for alert in await stage.alerts()] == ["APPROVAL_EXPIRED"]
    assert await stage.statuses(run) == ["skipped"]
    assert await stage.claim() == []


async def test_interns_ask_before_what_may_do_harm(store: CountingStore, tmp_path: Path) -> None:
    write = calls("file_write", path="a.txt", content="a")
    stage = await staged(store, tmp_path, ScriptedModel(write, hand_in(), "done"))
    run = await stage.task(trust="intern")
    await stage.work()
    assert (await stage.run(run)).status == "waiting"
    await stage.approve((await stage.the_question()).id)
    await stage.work()
    assert await stage.ended(run) == ("completed", "end_turn")
    assert (await stage.task_of(run)).status == "REVIEW"
