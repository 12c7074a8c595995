"""Approvals: questions put to people and their answers; `answer()` is the only way to sign off.

The policy decides who may be asked; the caller knows from authentication who answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.core.errors import Conflict, NotFound, Refused
from interlock.core.ids import new_id
from interlock.core.values import SYSTEM, Actor, ActorKind, digest
from interlock.store.auditing import audit
from interlock.store.identities import principals
from interlock.store.mailboxes import mailbox
from interlock.store.messages import feed, outbox
from interlock.store.money import shortfalls
from interlock.store.schema import Approval, ApprovalAnswer, Person, table
from interlock.store.signoff import late_answers
from interlock.store.signoff.consequences import Decision, follow
from interlock.store.signoff.consequences import pending_of_task as pending_of_task
from interlock.store.signoff.late_answers import AlreadyAnswered, Changed
from interlock.store.tx import Tx

APPROVALS, ANSWERS, PEOPLE = table(Approval), table(ApprovalAnswer), table(Person)
_a, _an = APPROVALS.c, ANSWERS.c
_TIME = UTCDateTime()
_APPROVAL = sa.select(APPROVALS).where(_a.id == b("approval"))
_LOCKED = _APPROVAL.with_for_update()
_PERSON = sa.select(PEOPLE.c.id, PEOPLE.c.name, PEOPLE.c.role).where(PEOPLE.c.id == b("person"))
_GIVEN = (
    sa.select(_an.person_id, _an.verdict, PEOPLE.c.role)
    .join_from(ANSWERS, PEOPLE, PEOPLE.c.id == _an.person_id, isouter=True)
    .where(_an.approval_id == b("approval"))
)
OPEN = sa.text("approvals.status IN ('pending', 'consulting')")
"""Not answered yet, by people or models; worded as in the partial index."""
_OPEN_OF_RUN = sa.select(_a.id).where(_a.run_id == b("run_"), OPEN)
OF_RUN = sa.select(APPROVALS).where(_a.run_id == b("run_")).order_by(_a.created_at, _a.id)
_DECIDE = (
    sa.update(APPROVALS)
    .where(_a.id == b("approval"), _a.status == sa.text("'pending'"))
    .values(status=b("to"), decided_by=b("who"), note=b("words"), answered_at=b("now", type_=_TIME))
)
_EDIT = (
    sa.update(APPROVALS)
    .where(_a.id == b("approval"), _a.status == sa.text("'pending'"))
    .values(
        edited=sa.true(), edited_args=b("given", type_=_a.edited_args.type), subject=b("bound"), risk=b("risk_"),
        rules=b("rules_", type_=_a.rules.type), reasons=b("reasons_", type_=_a.reasons.type), people=b("people_"),
        not_requester=b("others", type_=sa.Boolean()), alike=sa.null(), on_behalf_of=b("who"),
    )
)  # fmt: skip
_USE = (
    sa.update(APPROVALS)
    .where(
        _a.id == b("approval"), _a.status == "approved",
        sa.or_(_a.expires_at.is_(None), _a.expires_at > b("now", type_=_TIME)),
    )
    .values(status="used", used_at=b("now", type_=_TIME))
)  # fmt: skip
_VOID = (
    sa.update(APPROVALS)
    .where(_a.run_id == b("run_"), _a.status.in_(("pending", "approved", "consulting")))
    .values(status="void", answered_at=b("now", type_=_TIME), note=b("words"))
)
_VOID_ONE = (
    sa.update(APPROVALS)
    .where(_a.id == b("approval"), _a.status.in_(("pending", "approved", "consulting")))
    .values(status="void", note=b("words"))
)
_EXPIRE = (
    sa.update(APPROVALS)
    .where(_a.id == b("approval"), OPEN, _a.expires_at <= b("now", type_=_TIME))
    .values(status="expired", answered_at=b("now", type_=_TIME))
)
_DENIED = sa.select(_a.id).where(_a.task_id == b("task_"), _a.status == "denied").limit(1)
_ABOUT_CALLS = sa.select(APPROVALS).where(_a.task_id == b("task_"), _a.kind == b("sort")).order_by(_a.created_at, _a.id)
_DUE = sa.select(_a.id).where(OPEN, _a.expires_at <= b("now", type_=_TIME))
CONSULTING = "consulting"
"""The state of a question that models vote on before people are asked. Source: row C8."""
STATUSES = ("pending", "approved", "denied", "expired", "used", "void", CONSULTING)
EDITED = "e-"
"""The prefix of the mark of an edit."""
ROLES_THAT_ANSWER = frozenset({"operator", "admin"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Arguments that a person gave instead of the agent's, with the new decision about them. Source: row C4."""

    args: dict[str, Any]
    subject: str
    """The digest of the call that is approved instead."""
    risk: str
    rules: Sequence[str] = ()
    reasons: Sequence[str] = ()
    people: int = 1
    not_requester: bool = False
    asks_anew: bool = False
    """Whether they are riskier than what was asked about: then the question stays open, with them in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A person's answer, given on a surface. `person_id`, `name` and `role` come from authentication."""

    approval_id: str
    person_id: str
    name: str
    role: str
    surface: str
    verdict: str
    """approve or deny."""
    note: str | None = None
    edit: Edit | None = None
    mark: str | None = None
    """For a question that was edited: the mark (`mark_of`) of the arguments that the person has seen."""
    changes: dict[str, Any] | None = None
    """For a question that is not about a call: what it asked for, as the person changed it."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The result of an answer: the approval's row now, and how many more people must approve."""

    approval: Any
    still_needed: int
    asks_anew: bool = False
    """Whether nothing was decided, because the edited call has to be approved as it is now."""


def ask(tx: Tx, **values: Any) -> None:
    """Puts a question into the queue. With the status consulting, people are told only once it is released.

    The release is in `consulting`.

    INVARIANT: a question is in the name of the person that its call, run or task comes from, whoever asks.
    """
    if values.get("on_behalf_of") is None:
        values["on_behalf_of"] = principals.of_question(tx, values)
    tx.add(Approval, **values)
    audit.note(
        tx,
        "APPROVAL_ASKED",
        Actor(ActorKind.AGENT, values["asked_by"])
        if not values["asked_by"].startswith("system:")
        else Actor(ActorKind.SYSTEM, values["asked_by"]),
        values["created_at"],
        project_id=values["project_id"],
        mission_id=values.get("mission_id"),
        task_id=values.get("task_id"),
        run_id=values.get("run_id"),
        subject=values["id"],
        kind=values["kind"],
        risk=values["risk"],
        tool=values["request"].get("tool"),
    )
    if values.get("status") != CONSULTING:
        needs_others = values.get("people", 1) > 1 or bool(values.get("not_requester"))
        mission, run, now = values.get("mission_id"), values.get("run_id"), values["created_at"]
        notify_people(tx, values["id"], values["project_id"], mission, run, now, needs_others=needs_others)


def notify_people(
    tx: Tx,
    approval_id: str,
    project_id: str,
    mission_id: str | None,
    run_id: str | None,
    now: datetime,
    *,
    needs_others: bool,
) -> None:
    """Notifies people of a question, in the threads of its mission or the rooms of its project.

    A person who talks with an agent in a connector is asked there. The project is notified only if others must answer,
    since that conversation is not for everybody to read.
    """
    payload = {"approval_id": approval_id, "mission_id": mission_id, "run_id": run_id}
    feed.append(tx, "approval_created", now, project_id=project_id, payload=payload)
    there = outbox.place_of_asker(tx, run_id) if mission_id is None and run_id is not None else None
    if there is not None:
        outbox.notify_conversation(tx, "approval", outbox_subject(approval_id), there, now)
    if there is None or needs_others:
        outbox.notify(tx, "approval", outbox_subject(approval_id), now, project_id=project_id, mission_id=mission_id)


def outbox_subject(approval_id: str) -> str:
    """The subject of an approval in the outbox."""
    return f"approval:{approval_id}"


def answer(tx: Tx, given: Answer, now: datetime) -> Answered:
    """Records a person's answer; the first valid one (or the last of N people) decides and wakes the parked run.

    INVARIANT: an approval is valid only for the arguments that were shown; nobody approves an unseen edit.

    Raises NotFound; AlreadyAnswered; Changed if it was edited since it was shown; Conflict if it has expired or models
    are still asked; Refused for a person who may not answer it.
    """
    found = tx.one(_APPROVAL, {"approval": given.approval_id})
    if found is None:
        raise NotFound("approval", given.approval_id)
    if found.run_id is not None:
        mailbox.lock(tx, found.run_id)
    elif found.kind == "BUDGET":
        shortfalls.lock_parked(tx, found)
    row: Any = tx.one(_LOCKED, {"approval": given.approval_id})
    if row.status == CONSULTING:
        raise Conflict(f"approval `{row.id}` cannot be answered yet: the models are being asked first")
    if row.status != "pending":
        raise AlreadyAnswered(row, name_of(tx, row.decided_by))
    if row.expires_at is not None and row.expires_at <= now:
        raise Conflict(f"approval `{row.id}` {late_answers.expired(row)}")
    person = _person(tx, given)
    if given.verdict == "approve" and given.edit is None and given.mark != mark_of(row):
        raise Changed(row.id)
    approvers = _may(tx, row, given)
    given = replace(given, name=person.name)
    edit = given.edit if given.verdict == "approve" else None
    if edit is not None:
        row = _edited(tx, row, edit, given.person_id)
        if edit.asks_anew or row.not_requester:
            return _asked_anew(tx, row, given, now)
    tx.add(
        ApprovalAnswer, id=new_id("ans"), approval_id=row.id, person_id=given.person_id, surface=given.surface,
        verdict=given.verdict, note=given.note, args=edit.args if edit else given.changes, created_at=now,
    )  # fmt: skip
    missing = 0 if given.verdict == "deny" else max(0, row.people - len(approvers) - 1)
    if missing == 0:
        _decide(tx, row, given, now)
    outbox.touch(tx, outbox_subject(row.id))
    _note(tx, "APPROVAL_ANSWERED", row, given, now, edited=bool(row.edited) and given.verdict == "approve")
    _feed(tx, row, now, verdict=given.verdict, by=given.name, still_needed=missing)
    return Answered(tx.one(_APPROVAL, {"approval": row.id}), missing)


def mark_of(row: Any) -> str | None:
    """Identifies the arguments that a person has put into a question; None if it was not edited."""
    return f"{EDITED}{digest(row.subject)[:10]}" if row.edited else None


def _person(tx: Tx, given: Answer) -> Any:
    """INVARIANT: whoever answers is a person in this database, and has a role that may answer at this moment."""
    person = tx.one(_PERSON, {"person": given.person_id})
    if person is None:
        raise Refused(f"`{given.name}` is nobody known here: only people answer approvals, see `interlock people list`")
    for role in (given.role, person.role):
        if role not in ROLES_THAT_ANSWER:
            raise Refused(f"{given.name} is a {role} and may not answer approvals: ask an admin for the role operator")
    return person


def _may(tx: Tx, row: Any, given: Answer) -> set[str]:
    if row.not_requester and given.verdict == "approve" and given.person_id == row.on_behalf_of:
        raise Refused(
            f"the policy asks for a second person: it is asked in the name of {given.name}, who cannot approve it"
        )
    answers = tx.rows(_GIVEN, {"approval": row.id})
    if any(a.person_id == given.person_id for a in answers):
        raise Refused(f"{given.name} has answered `{row.id}` already: another person must")
    if given.edit is not None and answers:
        raise Refused("somebody approved this as it stands: deny it, or approve it without edits")
    return {a.person_id for a in answers if a.verdict == "approve" and a.role in ROLES_THAT_ANSWER}


def _edited(tx: Tx, row: Any, edit: Edit, who: str) -> Any:
    """Puts a person's arguments into the question; from here on it binds to them, and is in that person's name."""
    values = {
        "approval": row.id, "given": edit.args, "bound": edit.subject, "risk_": edit.risk, "rules_": list(edit.rules),
        "reasons_": list(edit.reasons), "people_": max(row.people, edit.people),
        "others": row.not_requester or edit.not_requester, "who": who,
    }  # fmt: skip
    tx.must(_EDIT, values, 1, Conflict(f"approval `{row.id}` was answered by somebody else just now"))
    return tx.one(_APPROVAL, {"approval": row.id})


def _asked_anew(tx: Tx, row: Any, given: Answer, now: datetime) -> Answered:
    outbox.touch(tx, outbox_subject(row.id))
    _note(tx, "APPROVAL_EDITED", row, given, now, edited=True)
    return Answered(row, row.people, asks_anew=True)


def _note(tx: Tx, action: str, row: Any, given: Answer, now: datetime, *, edited: bool) -> None:
    audit.note(
        tx, action, Actor(ActorKind.HUMAN, given.person_id), now, project_id=row.project_id,
        mission_id=row.mission_id, task_id=row.task_id, run_id=row.run_id, subject=row.id, verdict=given.verdict,
        surface=given.surface, name=given.name, note=given.note, edited=edited, risk=row.risk,
    )  # fmt: skip


def _feed(tx: Tx, row: Any, now: datetime, **changes: Any) -> None:
    about_it = {"approval_id": row.id, "mission_id": row.mission_id, "task_id": row.task_id, "run_id": row.run_id}
    feed.append(tx, "approval_answered", now, project_id=row.project_id, payload={**about_it, **changes})


def _decide(tx: Tx, row: Any, given: Answer, now: datetime) -> None:
    tx.must(
        _DECIDE,
        {"approval": row.id, "to": "approved" if given.verdict == "approve" else "denied", "who": given.person_id,
         "words": given.note, "now": now},
        1,
        Conflict(f"approval `{row.id}` was answered by somebody else just now"),
    )  # fmt: skip
    word = Decision(
        verdict=given.verdict, person_id=given.person_id, name=given.name, note=given.note, args=given.changes
    )  # fmt: skip
    follow(tx, row, word, now)
    if row.run_id is not None and not open_of_run(tx, row.run_id):
        mailbox.wake(tx, row.run_id, now)


def name_of(tx: Tx, person_id: str | None) -> str | None:
    """The name of the person who answered, or the id if nobody with it is known."""
    row = tx.one(sa.select(PEOPLE.c.name).where(PEOPLE.c.id == person_id)) if person_id else None
    return row.name if row else person_id


def approval(tx: Tx, approval_id: str) -> Any | None:
    """One approval."""
    return tx.one(_APPROVAL, {"approval": approval_id})


def open_of_run(tx: Tx, run_id: str) -> list[str]:
    """Ids of the questions that a run waits for, including those that models are asked about first."""
    return [row.id for row in tx.rows(_OPEN_OF_RUN, {"run_": run_id})]


def was_denied(tx: Tx, task_id: str) -> bool:
    """Whether a person has refused anything that a task's agents asked for."""
    return tx.one(_DENIED, {"task_": task_id}) is not None


def of_run(tx: Tx, run_id: str) -> list[Any]:
    """All approvals of a run in order."""
    return tx.rows(OF_RUN, {"run_": run_id})


def about_calls(tx: Tx, task_id: str, kind: str) -> list[Any]:
    """All questions of a kind about the calls of a task, in order."""
    return tx.rows(_ABOUT_CALLS, {"task_": task_id, "sort": kind})


def approvals(tx: Tx, *, status: str | None = "pending", mission_id: str | None = None, most: int = 200) -> list[Any]:
    """Approvals, oldest first; a `status` of None for all states. `approval_queue` has pages of them for display."""
    query = sa.select(APPROVALS).order_by(_a.created_at, _a.id).limit(most)
    if status is not None:
        query = query.where(_a.status == status)
    if mission_id is not None:
        query = query.where(_a.mission_id == mission_id)
    return tx.rows(query)


def use(tx: Tx, approval_id: str, now: datetime) -> None:
    """Uses up an approval; fails the unit with Conflict if it is not approved, was used before, or has expired."""
    tx.must(_USE, {"approval": approval_id, "now": now}, 1, Conflict(f"approval `{approval_id}` cannot be used again"))


def void(tx: Tx, approval_id: str, reason: str) -> None:
    """Voids an approval, because what it was for has changed."""
    tx.run(_VOID_ONE, {"approval": approval_id, "words": reason})
    outbox.touch(tx, outbox_subject(approval_id))


def void_of_run(tx: Tx, run_id: str, now: datetime, reason: str) -> None:
    """Voids all approvals of a run that are open or not used yet."""
    voids = {"run_": run_id, "words": reason, "now": now}
    if tx.dialect == "postgresql":
        tx.run(_VOID, voids)
    elif tx.count(_VOID, voids) == 0:
        return
    outbox.touch_voided(tx, run_id, now)


def expire(tx: Tx, approval_id: str, now: datetime) -> Any | None:
    """Expires a question; returns it, or None if it was answered or is not due."""
    row = tx.one(_APPROVAL, {"approval": approval_id})
    if row is not None and row.run_id is not None:
        mailbox.lock(tx, row.run_id)
    if tx.count(_EXPIRE, {"approval": approval_id, "now": now}) != 1:
        return None
    if row is not None:
        audit.note(
            tx, "APPROVAL_EXPIRED", SYSTEM, now, project_id=row.project_id, mission_id=row.mission_id,
            task_id=row.task_id, run_id=row.run_id, subject=approval_id, risk=row.risk,
        )  # fmt: skip
        _feed(tx, row, now, verdict="expired", by=None, still_needed=0)
    outbox.touch(tx, outbox_subject(approval_id))
    return tx.one(_APPROVAL, {"approval": approval_id})


def overdue(tx: Tx, now: datetime) -> list[str]:
    """Ids of pending approvals past their expiry."""
    return sorted(row.id for row in tx.rows(_DUE, {"now": now}))
