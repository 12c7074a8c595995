"""What models, programs and people wrote of somebody beside decisions is exported and erased; the decisions stay."""

import json
from typing import Any

from interlock import Interlock
from interlock.core.values import SYSTEM, Actor, ActorKind
from interlock.desk.identities import people, personal
from interlock.policy.checks import WAIVER
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.identities.personal import ERASED
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Post
from interlock.store.schema import ApprovalAnswer
from interlock.store.signoff import approvals, consulting, votes
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx
from interlock.store.work import evidence, tasks
from interlock.store.work.evidence import EVIDENCE, Finding
from tests.contract.desk.test_personal import ANN, SLACK, everything, made_project
from tests.contract.store.furniture import T0, ask, in_progress

PRIVATE = "what she asked alone"
OTHERS = "Anna Zweigert"
"""Somebody else, whose name begins in the same way."""


def judged(tx: Tx, ident: str) -> str:
    """Ann in a vote, in what a check printed, in a decision, and as who waived a check; the task."""
    made, actor = in_progress(tx), Actor(ActorKind.HUMAN, ident)
    ask(tx, "apr_1", mission_id=made.mission_id)
    votes.ask(tx, votes.of_approval("apr_1"), 1, "acme/large", "run_none", T0)
    votes.give(tx, votes.about(tx, "approval:apr_1")[0].id, "no", f"{ANN} ({SLACK}) is not {OTHERS}", 7, T0)
    said = [{"model": "acme/large", "seat": 1, "verdict": "no", "reason": f"{ANN} would be harmed"}]
    consulting.keep_votes(tx, "apr_1", said)
    wanted = [{"kind": "contains", "text": text} for text in (ANN, "x")]
    evidence.require(tx, made.task_id, wanted, SYSTEM, T0)
    evidence.waive(tx, made.task_id, 2, "because of my illness", actor, T0)
    found = [Finding(position=0, name="contains", passed=False, detail=f"no line of {ANN}")]
    evidence.record(tx, made.task_id, "dlv_1", "0", EVIDENCE, found, T0)
    audit.note(
        tx, "COORDINATOR_DECISION", SYSTEM, T0, project_id=made_project(), task_id=made.task_id,
        inputs={"votes": said},
    )  # fmt: skip
    return made.task_id


def private(tx: Tx, ident: str) -> None:
    """A question from Ann's conversation, and the run of a vote on it."""
    squad.ensure_project(tx, made_project(), "UTC", T0)
    for number, kind in enumerate(("chat", "vote"), start=1):
        agent = squad.ensure_agent(tx, Descriptor(kind, made_project(), "coder", {"n": kind}), {}, "specialist", T0)
        mailbox.post(
            tx,
            Post(
                project_id=made_project(), agent_id=agent.id, kind=kind, idempotency_key=kind,
                payload={"prompt": PRIVATE}, cause_kind="message" if kind == "chat" else "event",
                cause_id=ident if kind == "chat" else "run_1", run_id=f"run_{number}",
            ),
            T0,
        )  # fmt: skip
    for claim in mailbox.claim(tx, "w", 9, T0):
        mailbox.finish(tx, claim, "completed", "end_turn", T0, result=None, error=None)
    votes.ask(tx, votes.of_approval("apr_2"), 1, "acme/large", "run_2", T0)
    votes.give(tx, votes.about(tx, "approval:apr_2")[0].id, "yes", PRIVATE, 7, T0)
    request = {"tool": "send_email", "args": {"body": PRIVATE}, "summary": PRIVATE, "call_id": "c"}
    ask(tx, "apr_2", run_id="run_1", request=request)
    tx.run(
        approvals.APPROVALS.update()
        .where(approvals.APPROVALS.c.id == "apr_2")
        .values(status="used", edited=True, edited_args={"body": PRIVATE}, decided_by=ident)
    )
    tx.add(
        ApprovalAnswer, id="ans_2", approval_id="apr_2", person_id=ident, surface="cli", verdict="approve",
        args={"body": PRIVATE}, created_at=T0,
    )  # fmt: skip


async def entered(box: Interlock) -> str:
    found = await people.add(box.runtime, box.person, ANN)
    await people.link(box.runtime, box.person, ANN, SLACK)
    return str(found["id"])


async def test_verdicts_stay_and_name_nobody_once_they_are_erased(box: Interlock) -> None:
    ann, store = await entered(box), box.runtime.store
    task = await store.write(judged, ann)
    exported = await personal.export(box.runtime, box.person, ANN)
    assert [(each["number"], each["note"]) for each in exported["waivers"]] == [(2, "because of my illness")]
    done = await personal.erase(box.runtime, box.person, ANN)
    (vote,) = await store.read(votes.about, "approval:apr_1")
    assert (vote.verdict, vote.reason) == ("no", f"{done['name']} ({done['name']}) is not {OTHERS}")
    (result,) = await store.read(evidence.results, task)
    assert (result.passed, result.detail) == (False, f"no line of {done['name']}")
    row: Any = await store.read(tasks.task, task)
    assert (row.checks[1][WAIVER]["by"], row.checks[1][WAIVER]["note"]) == (ann, ERASED)
    assert row.checks[0]["text"] == ANN, "what work is held to stays as it was set"
    question: Any = await store.read(approvals.approval, "apr_1")
    assert question.request["votes"][0]["reason"] == f"{done['name']} would be harmed"
    (decision,) = await store.read(audit.activities, action="COORDINATOR_DECISION")
    assert ANN not in json.dumps(decision.data)
    (waived,) = await store.read(audit.activities, action="CHECK_WAIVED")
    assert waived.data["note"] == ERASED
    assert "illness" not in await everything(box)


async def test_question_and_votes_of_a_conversation_go_with_it(box: Interlock) -> None:
    ann, store = await entered(box), box.runtime.store
    await store.write(private, ann)
    assert PRIVATE in await everything(box)
    done = await personal.erase(box.runtime, box.person, ANN)
    assert done["chats"] == 2
    assert PRIVATE not in await everything(box)
    question: Any = await store.read(approvals.approval, "apr_2")
    assert (question.status, question.decided_by, question.risk) == ("used", ann, "RED")
    assert question.request == {"tool": "send_email", "call_id": "c", "summary": ERASED}
    (vote,) = await store.read(votes.about, "approval:apr_2")
    assert (vote.verdict, vote.reason) == ("yes", "")
