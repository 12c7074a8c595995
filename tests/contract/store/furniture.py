"""Rows for the store's tests, created through units; no test and no check lives here."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from interlock.core.ids import new_id
from interlock.core.values import Actor, ActorKind
from interlock.state_machine.table import TaskState
from interlock.store import squad
from interlock.store.identities import people
from interlock.store.mailboxes import mailbox
from interlock.store.mailboxes.mailbox import Claim, Post
from interlock.store.money import ledger
from interlock.store.money.ledger import Opening, Spender
from interlock.store.runs import markers
from interlock.store.schema import Mission, Person, table
from interlock.store.signoff import approvals
from interlock.store.squad import Descriptor
from interlock.store.tx import Tx
from interlock.store.work import tasks
from interlock.store.work.tasks import Move

T0 = datetime(2026, 1, 1, 12, tzinfo=UTC)
PROJECT = "demo"
ADA = Actor(ActorKind.HUMAN, "ada")
PEOPLE = ("ada", "bob", "eve")


def after(seconds: float) -> datetime:
    """A time so many seconds after the start of the tests."""
    return T0 + timedelta(seconds=seconds)


def agent(tx: Tx, name: str, kind: str = "think", persona: str = "coder") -> str:
    """An agent with an empty mailbox; with `kind` task its lane is exclusive."""
    squad.ensure_project(tx, PROJECT, "UTC", T0)
    made = squad.ensure_agent(tx, Descriptor(kind, PROJECT, persona, {"name": name}), {}, "specialist", T0)
    return str(made.id)


def agents(tx: Tx, count: int, kind: str = "think") -> list[str]:
    """Several of them."""
    return [agent(tx, f"agent {i}", kind) for i in range(count)]


def message(agent_id: str, key: str, **more: Any) -> Post:
    """A message for a mailbox, with the key as its run's id."""
    given: dict[str, Any] = {
        "project_id": PROJECT, "agent_id": agent_id, "kind": "think", "payload": {"n": key}, "idempotency_key": key,
        "cause_kind": "message", "run_id": key, **more,
    }  # fmt: skip
    return Post(**given)


def claimed(tx: Tx, /, agent_id: str, key: str, worker_id: str = "w", **more: Any) -> Claim:
    """A run held by a worker; no other mailbox may have work at the time, or the claimed one is random."""
    mailbox.post(tx, message(agent_id, key, **more), T0)
    (claim,) = mailbox.claim(tx, worker_id, 1, T0)
    assert claim.run.id == key
    return claim


def done(tx: Tx, claim: Claim, now: datetime = T0) -> None:
    """Ends a claimed run successfully."""
    mailbox.finish(tx, claim, "completed", "end_turn", now, result="ok", error=None)


@dataclass(frozen=True)
class Job:
    """A mission with one task and its agents."""

    mission_id: str
    task_id: str
    coordinator: str
    worker: Actor


def job(tx: Tx) -> Job:
    """A mission whose one task is in INBOX."""
    coordinator, worker = agent(tx, "coordinator", "mission", "coordinator"), agent(tx, "worker", "task")
    mission_id, task_id = new_id("mis"), new_id("tsk")
    common = {"project_id": PROJECT, "mission_id": mission_id, "created_at": T0, "updated_at": T0}
    words = {"title": "a title", "description": "a description", "type": "engineering"}
    tasks.add(tx, id=mission_id, key="root", idempotency_key=mission_id, **common, **words)
    tx.add(
        Mission, id=mission_id, project_id=PROJECT, goal="a goal", graph_version=1, coordinator_agent_id=coordinator,
        thinker_agent_id=coordinator, requested_by="ada", created_at=T0,
    )  # fmt: skip
    tasks.add(tx, id=task_id, key="one", idempotency_key=task_id, parent_id=mission_id, **common, **words)
    return Job(mission_id, task_id, coordinator, Actor(ActorKind.AGENT, worker, "coder"))


def in_progress(tx: Tx) -> Job:
    """A mission with a task in progress."""
    made = job(tx)
    assign = Move(
        task_id=made.task_id, to=TaskState.ASSIGNED, actor=ADA, reason="for the coder", key="assign",
        assignee_agent_id=made.worker.id,
    )  # fmt: skip
    tasks.advance(tx, assign, T0)
    start = Move(task_id=made.task_id, to=TaskState.IN_PROGRESS, actor=made.worker, reason="began", key="start")
    tasks.advance(tx, start, T0)
    return made


def left_alone(tx: Tx) -> Job:
    """A task in progress, whose coordinator has nothing to do."""
    made = in_progress(tx)
    for claim in mailbox.claim(tx, "w", 9, T0):
        done(tx, claim)
    return made


def hand_in(tx: Tx, made: Job) -> str:
    """Gives the task a deliverable and moves it to REVIEW; returns the deliverable's id."""
    deliverable = new_id("dlv")
    text = {"id": deliverable, "task_id": made.task_id, "kind": "text", "title": "it", "text": "it", "sha256": "0"}
    tasks.hand_in(tx, text, T0)
    key = f"review {deliverable}"
    review = Move(task_id=made.task_id, to=TaskState.REVIEW, actor=made.worker, reason="handed in", key=key)
    tasks.advance(tx, review, T0)
    return deliverable


def ask_for_review(tx: Tx, made: Job, approval_id: str, deliverable: str) -> None:
    """Asks people to sign off a deliverable."""
    request = {"deliverable": deliverable}
    ask(tx, approval_id, kind="TASK_REVIEW", task_id=made.task_id, mission_id=made.mission_id, request=request)
    wait_for(tx, made, approval_id)


def ask(tx: Tx, /, approval_id: str, **more: Any) -> None:
    """A question to people; three people exist."""
    for name in PEOPLE:
        if tx.one(sa.select(table(Person).c.id).where(table(Person).c.id == name)) is None:
            people.add(tx, name, name.title(), "operator", T0)
    given: dict[str, Any] = {
        "id": approval_id, "kind": "TOOL_CALL", "project_id": PROJECT, "subject": "digest", "risk": "RED",
        "request": {"tool": "send_email"}, "asked_by": "system:test", "created_at": T0, **more,
    }  # fmt: skip
    approvals.ask(tx, **given)


def wait_for(tx: Tx, made: Job, approval_id: str) -> None:
    """Moves the task to NEEDS_APPROVAL."""
    move = Move(
        task_id=made.task_id, to=TaskState.NEEDS_APPROVAL, actor=Actor(ActorKind.SYSTEM, "system:test"),
        reason="a person must answer", key=f"hold:{approval_id}", wait_for=f"approval:{approval_id}",
    )  # fmt: skip
    tasks.advance(tx, move, T0)


def answer(approval_id: str, person: str = "ada", verdict: str = "approve", **more: Any) -> approvals.Answer:
    """An operator's answer."""
    given: dict[str, Any] = {"role": "operator", "surface": "test", **more}
    return approvals.Answer(approval_id=approval_id, person_id=person, name=person.title(), verdict=verdict, **given)


def account(tx: Tx, account_id: str, limit_microusd: int) -> str:
    """An account with a limit."""
    ledger.open_accounts(tx, [Opening(account_id, "run", account_id, PROJECT, limit_microusd)], T0)
    return account_id


def spender(run_id: str, *accounts: str) -> Spender:
    """The spender for a run."""
    return Spender(run_id, "agent", None, None, PROJECT, tuple(sorted(accounts)))


def unsettled(tx: Tx, run_id: str) -> list[Any]:
    """The reservations of a run that have not been settled."""
    lines = ledger.lines(tx, run_id)
    settled = {line.reservation_id for line in lines if line.kind == "settle"}
    return [line for line in lines if line.kind == "reserve" and line.reservation_id not in settled]


def markers_of(tx: Tx, agent_id: str) -> list[Any]:
    """All markers of an agent, oldest first."""
    of_agent = sa.select(markers.MARKERS).where(markers.MARKERS.c.agent_id == agent_id)
    return tx.rows(of_agent.order_by(markers.MARKERS.c.id))
