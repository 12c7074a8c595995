"""What records of work repeat of a person's words goes with them: errors, questions, moves, what runs were told."""

import asyncio
from datetime import timedelta
from typing import Any

from interlock import Interlock
from interlock.core.values import SYSTEM, Actor, ActorKind
from interlock.desk.context import Person
from interlock.desk.identities import personal
from interlock.desk.operations import emergency
from interlock.desk.signoff import signing
from interlock.oversight import expiry
from interlock.state_machine.table import BlockKind, TaskState
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.identities.personal import ERASED
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Post
from interlock.store.runs import traces
from interlock.store.signoff import approvals
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx
from interlock.store.work import missions, tasks
from interlock.store.work.tasks import Move
from tests.contract.desk.front import HELD
from tests.contract.desk.test_personal import ANN, SLACK, everything
from tests.contract.desk.test_personal_verdicts import entered
from tests.contract.store.furniture import PROJECT, T0, Job, ask, in_progress

WHY, SHORT, LATER = "her sister's wedding is dearer", "her cat", T0 + timedelta(days=1)
FAILED = f"a person did not raise the budget of `mission:x`: {SHORT}"


def in_mission(tx: Tx, ident: str) -> tuple[Job, str]:
    """Ann does not give a mission money, its run fails of that, and its task is blocked because of it."""
    made = in_progress(tx)
    ask(tx, "apr_1", kind="BUDGET", mission_id=made.mission_id, request={"account": "mission:x", "summary": "more"})
    agent = squad.ensure_agent(tx, Descriptor("think", PROJECT, "coder", {"n": "1"}), {}, "specialist", T0)
    post = Post(
        project_id=PROJECT, agent_id=agent.id, kind="think", payload={"prompt": "p"}, idempotency_key="k",
        cause_kind="event", run_id="run_1", mission_id=made.mission_id,
    )  # fmt: skip
    mailbox.post(tx, post, T0)
    (claim,) = [each for each in mailbox.claim(tx, "w", 9, T0) if each.run.id == "run_1"]
    given = approvals.Answer(
        approval_id="apr_1", person_id=ident, name=ANN, verdict="deny", note=SHORT, role="operator", surface="cli"
    )
    approvals.answer(tx, given, T0)
    mailbox.finish(tx, claim, "failed", "budget", T0, result=None, error=FAILED)
    missions.notify(tx, made.mission_id, "run_ended", {"run_id": "run_1", "error": FAILED}, T0)
    blocked = Move(
        task_id=made.task_id, to=TaskState.BLOCKED, actor=SYSTEM, reason=FAILED, key="b", block_kind=BlockKind.OPERATOR,
        wait_for="owner:operator", escalate_at=T0,
    )  # fmt: skip
    tasks.advance(tx, blocked, T0)
    return made, agent.id


async def test_error_of_a_run_and_what_came_of_it_do_not_quote_a_denial(box: Interlock) -> None:
    store, ann = box.runtime.store, await entered(box)
    made, _ = await store.write(in_mission, ann)
    await store.write(expiry.escalate, made.task_id, LATER, T0 + timedelta(hours=2))
    assert SHORT in await everything(box)
    await personal.erase(box.runtime, box.person, SLACK)
    assert SHORT not in await everything(box)
    run: Any = await store.read(traces.run, "run_1")
    assert run.error == FAILED.replace(SHORT, ERASED)
    (question,) = await store.read(approvals.approvals)
    assert question.request["summary"].startswith(f"blocked (OPERATOR): {run.error}; approve to try again")
    assert question.reasons == [run.error]


async def test_system_moves_and_escalations_do_not_repeat_why_somebody_set_an_agent_apart(box: Interlock) -> None:
    store, ann = box.runtime.store, await entered(box)
    made = await store.write(in_progress)
    who = Person(id=ann, name=ANN, role="operator", surface="cli")
    row: Any = await store.read(tasks.task, made.task_id)
    await emergency.quarantine(box.runtime, who, row.assignee_agent_id, reason=WHY, wait_s=0)
    row = await store.read(tasks.task, made.task_id)
    await store.write(expiry.escalate, made.task_id, row.escalate_at + timedelta(days=1), row.escalate_at)
    moves = [each for each in await store.read(audit.activities) if each.action == "TASK_TRANSITION"]
    assert any(WHY in each.data["reason"] for each in moves if each.actor_kind == "system")
    done = await personal.erase(box.runtime, box.person, SLACK)
    after = await everything(box)
    assert [words for words in (WHY, ANN) if words in after] == []
    (question,) = await store.read(approvals.approvals)
    assert f"coder was quarantined by {done['name']}: {ERASED}" in question.request["summary"]


async def test_what_a_run_was_told_of_a_denial_goes_and_the_same_words_of_others_stay(box: Interlock) -> None:
    store, ann = box.runtime.store, await entered(box)
    await box.run(HELD)
    (card,) = await signing.approvals(box.runtime)
    ann_there = Person(id=ann, name=ANN, role="operator", surface="cli")
    await signing.deny(box.runtime, ann_there, card["id"], reason=WHY)
    async with asyncio.timeout(30):
        await box.settled(card["mission_id"])
    made = await store.write(in_progress)
    bob = Actor(ActorKind.HUMAN, box.person.id)
    cancel = Move(task_id=made.task_id, to=TaskState.CANCELED, actor=bob, reason=WHY, key="c")
    await store.write(tasks.advance, cancel, T0)
    before = await everything(box)
    assert f"denied by a person: {WHY}" in before
    await personal.erase(box.runtime, box.person, SLACK)
    left = [line for line in (await everything(box)).splitlines() if WHY in line]
    others = [line for line in left if f"id='{box.person.id}'" in line]
    assert len(others) == 2, "the move of the other person, and its entry in the audit log"
    work = {line.partition("id='")[2][:4] for line in left if line not in others}
    assert work == {"dlv_", "run_", "msg_", "tcl_"}, "what the agents themselves wrote into what they handed in"
    told: Any = await store.read(traces.messages, card["run_id"])
    assert f"denied by a person: {ERASED}. Choose another way" in " ".join(each.content for each in told)
