"""What an approval is good for: exactly the call, the tool and the bytes that were judged, however others push."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from interlock.core.errors import Refused, UsageError
from interlock.desk.context import Person
from interlock.desk.identities import people, personal
from interlock.desk.signoff import signing
from interlock.desk.signoff.asking import approval_card
from interlock.policy.as_code.policy_file import policy_from
from interlock.store import blobs
from interlock.store.auditing import audit
from interlock.store.mailboxes import mailbox
from interlock.store.schema import Approval, table
from interlock.store.signoff import approvals
from interlock.store.tx import Tx
from interlock.testing.scripted import ScriptedModel, calls
from interlock.tools.errors import ToolError
from interlock.tools.registry import Tool, ToolContext, tool
from tests.contract.runner.stage import PROJECT, CountingStore, Stage, hand_in, staged, told

RAN: list[Any] = []
SCHEMA = {"type": "object", "properties": {"file": {"type": "string"}}, "required": ["file"]}


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    RAN.clear()


@tool(risk="YELLOW")
async def tally(number: int, label: str = "bob") -> str:
    """Adds up numbers."""
    RAN.append((number, label))
    return f"added {number}"


async def _run(ctx: ToolContext, /, *, file: str) -> str:
    RAN.append((await ctx.workspace.read(file)).decode())
    return "ran"


def script(fn: Any = _run) -> Tool:
    return Tool(
        name="run_script", description="Runs a script.", fn=fn, risk="RED", input_schema=SCHEMA,
        reads=lambda args: (args["file"],),
    )  # fmt: skip


async def write(stage: Stage, path: str, data: bytes) -> None:
    now = stage.clock.now()
    await stage.store.write(blobs.write_file, PROJECT, path, data, now, base_version=0, run_id="run_sibling")


async def scripted(
    store: CountingStore, home: Path, made: Tool, *replies: Any, **persona: Any
) -> tuple[Stage, str]:  # fmt: skip
    """A stage whose run waits to be let run `go.sh`, which says `good`."""
    model = ScriptedModel(calls("run_script", "1", file="go.sh"), *replies)
    stage = await staged(store, home, model, [made, tally])
    await write(stage, "go.sh", b"good")
    run = await stage.task(**persona)
    await stage.work()
    assert (await stage.run(run)).status == "waiting"
    return stage, run


async def test_sibling_that_rewrites_the_approved_script_voids_the_approval(
    store: CountingStore, tmp_path: Path
) -> None:
    stage, run = await scripted(store, tmp_path, script(), hand_in(), "done")
    before = await stage.the_question()
    await stage.approve(before.id)
    await write(stage, "go.sh", b"evil")
    await stage.work()
    assert RAN == []
    after = await stage.the_question()
    assert {row.id: row.status for row in await stage.questions(run)} == {before.id: "void", after.id: "pending"}
    await write(stage, "go.sh", b"good")
    await stage.approve(after.id)
    await stage.work()
    assert RAN == [], "the first approval does not come back with the first bytes"
    last = await stage.the_question()
    await stage.approve(last.id)
    await stage.work()
    assert RAN == ["good"]


async def test_tool_gets_the_bytes_that_were_judged_though_the_file_changes_before_it_reads(
    store: CountingStore, tmp_path: Path
) -> None:
    async def swapped(ctx: ToolContext, /, *, file: str) -> str:
        (ctx.workspace.root / file).write_bytes(b"evil")
        return await _run(ctx, file=file)

    stage, _ = await scripted(store, tmp_path, script(swapped), hand_in(), "done")
    await stage.approve((await stage.the_question()).id)
    await stage.work()
    assert RAN == ["good"]


async def test_no_program_is_started_on_a_file_that_changed_after_it_was_judged(
    store: CountingStore, tmp_path: Path
) -> None:
    async def swapped(ctx: ToolContext, /, *, file: str) -> str:
        (ctx.workspace.root / file).write_bytes(b"echo evil")
        with pytest.raises(ToolError, match="has changed since this call was judged"):
            await ctx.child(["sh", file])
        RAN.append("refused")
        return "refused"

    stage, _ = await scripted(store, tmp_path, script(swapped), hand_in(), "done")
    await stage.approve((await stage.the_question()).id)
    await stage.work()
    assert RAN == ["refused"]


async def test_parked_run_goes_on_after_three_restarts(store: CountingStore, tmp_path: Path) -> None:
    stage, run = await scripted(store, tmp_path, script(), hand_in(), "done")
    for _ in range(3):
        stage.restart()
        assert await stage.claim() == []
    await stage.approve((await stage.the_question()).id)
    stage.restart()
    await stage.work()
    assert RAN == ["good"]
    assert await stage.ended(run) == ("completed", "end_turn")


async def test_approval_that_is_not_used_before_it_expires_is_asked_for_again(
    store: CountingStore, tmp_path: Path
) -> None:
    stage, run = await scripted(store, tmp_path, script(), hand_in(), "done")
    first = await stage.the_question()
    await stage.approve(first.id)
    stage.clock.advance(stage.runtime.settings.approval_expires_s + 1)
    await stage.work()
    assert RAN == []
    again = await stage.the_question()
    assert again.id != first.id
    assert (await stage.run(run)).status == "waiting"
    await stage.approve(again.id)
    await stage.work()
    assert RAN == ["good"]


@pytest.mark.parametrize("how", ["demoted", "erased"])
async def test_yes_of_somebody_who_has_lost_the_role_lets_nothing_start_that_has_not(
    store: CountingStore, tmp_path: Path, how: str
) -> None:
    stage, run = await scripted(store, tmp_path, script(), hand_in(), "done")
    first, root = await stage.the_question(), Person("per_root", "Root", "admin", "test")
    ben = await people.add(stage.runtime, root, "Ben", role="operator")
    await stage.approve(first.id)
    await (people.set_role(stage.runtime, root, "Ada", "viewer") if how == "demoted" else personal.erase(
        stage.runtime, root, "Ada"
    ))  # fmt: skip
    (told_of,) = await store.read(audit.activities, action="APPROVAL_WITHDRAWN")
    assert (told_of.subject, told_of.actor_id, told_of.data["approved_by"]) == (first.id, root.id, stage.ada.id)
    await stage.work()
    assert RAN == []
    again = await stage.the_question()
    assert (again.run_id, again.kind, (await stage.run(run)).status) == (run, "TOOL_CALL", "waiting")
    await signing.approve(stage.runtime, Person(ben["id"], "Ben", "operator", "test"), again.id)
    await stage.work()
    assert RAN == ["good"]
    await people.set_role(stage.runtime, root, "Ben", "viewer")
    assert [each.status for each in await stage.questions(run)] == ["void", "used"], "what has started stays so"


async def test_call_that_waits_for_a_question_which_is_gone_is_asked_about_again(
    store: CountingStore, tmp_path: Path
) -> None:
    stage, run = await scripted(store, tmp_path, script(), hand_in(), "done")
    first = await stage.the_question()
    await stage.approve(first.id)
    await store.write(lambda tx: tx.run(sa.delete(table(Approval))))
    await stage.work()
    assert RAN == []
    again = await stage.the_question()
    assert (again.run_id, again.kind, (await stage.run(run)).status) == (run, "TOOL_CALL", "waiting")
    await store.write(approvals.void, again.id, "taken back")
    await store.write(_woken, run, stage.clock.now())
    await stage.work()
    assert RAN == []
    last = await stage.the_question()
    await stage.approve(last.id)
    await stage.work()
    assert RAN == ["good"]


def _woken(tx: Tx, run_id: str, now: datetime) -> None:
    mailbox.lock(tx, run_id)
    mailbox.wake(tx, run_id, now)


async def tallying(store: CountingStore, home: Path, rules: str, *, trust: str = "intern") -> tuple[Stage, str]:
    policy = policy_from(f"version: 1\n{rules}", "p.yaml")
    stage = await staged(store, home, ScriptedModel(calls("tally", "1", number=5), hand_in(), "done"), [tally], policy)
    run = await stage.task(trust=trust)
    await stage.work()
    return stage, run


async def test_edited_call_that_the_policy_denies_is_refused_and_the_question_stays(
    store: CountingStore, tmp_path: Path
) -> None:
    stage, _ = await tallying(
        store, tmp_path, "deny: [{id: not-eve, tools: [tally], when: args.label == 'eve', reason: no}]"
    )
    question = await stage.the_question()
    with pytest.raises(Refused, match=r"the policy denies these arguments \(not-eve\)"):
        await stage.approve(question.id, args={"number": 5, "label": "eve"})
    assert (await stage.the_question()).status == "pending"
    assert RAN == []


async def test_edited_call_of_a_higher_risk_is_shown_as_such_and_asked_about_again(
    store: CountingStore, tmp_path: Path
) -> None:
    stage, _ = await tallying(
        store, tmp_path, "rules: [{id: large, tools: [tally], when: args.number > 100, risk: RED}]"
    )
    question = await stage.the_question()
    assert question.risk == "YELLOW"
    edited = {"number": 500, "label": "bob"}
    done = await signing.approve(stage.runtime, stage.ada, question.id, args=edited)
    assert (done["asks_anew"], done["status"], done["risk"], done["rules"]) == (True, "pending", "RED", ["large"])
    card = await approval_card(stage.runtime, question.id)
    changed = next(p.text for p in card.passages if p.heading == "Changed by a person")
    assert '-  "number": 5' in changed
    assert '+  "number": 500' in changed
    assert not any("1 hour" in action.label for action in card.actions)
    await stage.approve(f"{question.id}:{done['mark']}")
    await stage.work()
    assert RAN == [(500, "bob")]


async def test_edited_call_needs_the_people_that_its_own_rule_asks_for(store: CountingStore, tmp_path: Path) -> None:
    stage, _ = await tallying(
        store, tmp_path, "rules: [{id: two, tools: [tally], when: args.number > 100, risk: YELLOW, people: 2}]"
    )
    question = await stage.the_question()
    done = await signing.approve(stage.runtime, stage.ada, question.id, args={"number": 500})
    assert (done["still_needed"], done["status"]) == (1, "pending")
    await stage.work()
    assert RAN == []


async def test_edited_arguments_of_users_tools_are_checked_at_the_answer(store: CountingStore, tmp_path: Path) -> None:
    stage, _ = await tallying(store, tmp_path, "rules: []")
    with pytest.raises(UsageError, match="do not fit `tally`"):
        await stage.approve((await stage.the_question()).id, args={"number": 5, "more": True})


async def test_two_people_for_red_are_asked_for_by_the_settings(store: CountingStore, tmp_path: Path) -> None:
    model = ScriptedModel(calls("run_script", "1", file="go.sh"), hand_in(), "done")
    stage = await staged(store, tmp_path, model, [script()], approvals={"people_for_red": 2})
    await stage.task()
    await stage.work()
    question = await stage.the_question()
    assert question.people == 2
    await stage.approve(question.id)
    await stage.work()
    assert (RAN, (await stage.the_question()).status) == ([], "pending")


async def test_tool_that_changed_is_not_used_before_a_person_has_let_it_in(
    store: CountingStore, tmp_path: Path
) -> None:
    @tool(name="tally", risk="GREEN")
    async def other(number: int, label: str = "bob", more: str = "") -> str:
        """Adds up numbers, and keeps them."""
        RAN.append(("new", number))
        return "added"

    first = await staged(store, tmp_path, ScriptedModel(calls("tally", "1", number=1), hand_in(), "done"), [tally])
    await first.task()
    await first.work()
    assert RAN == [(1, "bob")]
    model = ScriptedModel(
        calls("tally", "1", number=2), hand_in(), "done", calls("tally", "2", number=3), hand_in(), "done"
    )
    stage = await staged(store, tmp_path, model, [other])
    await stage.task()
    await stage.work()
    assert RAN == [(1, "bob")]
    assert "tally" not in {spec.name for spec in model.requests[0].tools}
    question = await stage.the_question()
    assert (question.kind, question.risk, question.request["changed_tool"]) == ("TOOL_CHANGE", "RED", "tally")
    card = await approval_card(stage.runtime, question.id)
    changed = next(p.text for p in card.passages if p.heading == "Change of its definition")
    assert '+  "description": "Adds up numbers, and keeps them."' in changed
    await stage.approve(question.id)
    await stage.task()
    await stage.work()
    assert RAN == [(1, "bob"), ("new", 3)]


async def test_tool_change_that_is_denied_keeps_the_tool_out_for_good(store: CountingStore, tmp_path: Path) -> None:
    @tool(name="tally", risk="GREEN")
    async def other(number: int) -> str:
        """Adds up other numbers."""
        RAN.append(("new", number))
        return "added"

    first = await staged(store, tmp_path, ScriptedModel(hand_in(), "done"), [tally])
    await first.task()
    await first.work()
    for _ in range(2):
        model = ScriptedModel(calls("tally", "1", number=2), hand_in(), "done")
        stage = await staged(store, tmp_path, model, [other])
        await stage.task()
        await stage.work()
        for question in await stage.pending():
            await stage.deny(question.id, "not this")
        (result,) = told(model, 1)
        assert "tally" in str(result)
    assert RAN == []
