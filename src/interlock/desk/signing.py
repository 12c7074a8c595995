"""The approval queue and its answers: what a person sees of a question, approving it, denying it.

Whether the answer counts is the store's door's; what it leads to, the runner's and the coordinator's.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from interlock.core.errors import UsageError
from interlock.desk.finding import find
from interlock.desk.office import Office, Person
from interlock.desk.views import View, dollars, view
from interlock.policy.binding import subject_hash
from interlock.store import approvals as approval_store
from interlock.store import ledger, squad, traces
from interlock.store import missions as mission_store
from interlock.store import tasks as task_store
from interlock.store.approvals import Answer
from interlock.store.tx import Tx

MOST_WORDS = 4_000
"""Characters of a note or a reason."""


async def approvals(office: Office, *, status: str | None = "pending", mission: str | None = None) -> list[View]:
    """The queue, oldest first, as cards; None for answered ones too. Source: row C5.

    Raises Unknown for a mission that is not there.
    """
    return await office.store.read(_queue, status, mission)


async def approval(office: Office, ident: str) -> View:
    """One card.

    Raises Unknown.
    """
    return await office.store.read(_one, ident)


def _queue(tx: Tx, status: str | None, mission: str | None) -> list[View]:
    within = find(tx, "mission", mission) if mission else None
    return [card_of(tx, row) for row in approval_store.approvals(tx, status=status, mission_id=within)]


def _one(tx: Tx, ident: str) -> View:
    row = approval_store.approval(tx, find(tx, "approval", ident))
    assert row is not None
    return card_of(tx, row)


def card_of(tx: Tx, row: Any) -> View:
    """What a person sees of an approval's row."""
    mission = mission_store.mission(tx, row.mission_id) if row.mission_id else None
    task = task_store.task(tx, row.task_id) if row.task_id else None
    run = traces.run(tx, row.run_id) if row.run_id else None
    money = ledger.account(tx, f"mission:{row.mission_id}") if row.mission_id else None
    asker = squad.names(tx, [row.asked_by]).get(row.asked_by, row.asked_by.removeprefix("system:"))
    return view(
        row, "id", "kind", "status", "risk", "rules", "reasons", "project_id", "mission_id", "task_id", "run_id",
        "people", "not_requester", "decided_by", "note", "edited", "edited_args", "created_at", "expires_at",
        "answered_at", "request",
        asked_by=asker, tool=row.request.get("tool"), args=row.request.get("args"),
        summary=row.request.get("summary"), goal=mission.goal if mission else None,
        task_title=task.title if task else None,
        run_cost_usd=dollars(run.cost_microusd) if run else 0.0,
        mission_cost_usd=dollars(money.settled_microusd) if money else 0.0,
        decided_by_name=approval_store.name_of(tx, row.decided_by),
        simulated=bool(run.simulated) if run else bool(mission.simulated) if mission else False,
    )  # fmt: skip


async def approve(
    office: Office, person: Person, ident: str, *, note: str | None = None, args: Mapping[str, Any] | None = None
) -> View:
    """Signs off, with edited arguments where `args` are given; returns the card afterwards.

    `still_needed` in it says how many more people must approve.

    Raises Unknown, AlreadyAnswered, Refused, and UsageError where arguments are edited that there are none of.
    """
    return await office.store.write(_answer, person, ident, "approve", _words(note), args, office.clock.now())


async def deny(office: Office, person: Person, ident: str, *, reason: str) -> View:
    """Refuses; the agent is told why. Returns the card afterwards.

    Raises Unknown, AlreadyAnswered, Refused, and UsageError without a reason.
    """
    words = _words(reason)
    if words is None:
        raise UsageError("a denial needs a reason that the agent can act on: give one with `--reason`")
    return await office.store.write(_answer, person, ident, "deny", words, None, office.clock.now())


def _words(text: str | None) -> str | None:
    words = (text or "").strip()
    if len(words) > MOST_WORDS:
        raise UsageError(f"the note has {len(words):,} characters: {MOST_WORDS:,} are the most")
    return words or None


def _answer(
    tx: Tx, person: Person, ident: str, verdict: str, words: str | None, args: Mapping[str, Any] | None, now: datetime
) -> View:
    approval_id = find(tx, "approval", ident)
    row = approval_store.approval(tx, approval_id)
    assert row is not None
    given = Answer(
        approval_id=approval_id,
        person_id=person.id,
        name=person.name,
        role=person.role,
        surface=person.surface,
        verdict=verdict,
        note=words,
        args=None if args is None else dict(args),
        subject=None if args is None else _subject(row, args),
    )
    answered = approval_store.answer(tx, given, now)
    return {**card_of(tx, answered.approval), "still_needed": answered.still_needed}


def _subject(row: Any, args: Mapping[str, Any]) -> str:
    """The digest of the call with a person's arguments in place of the agent's. Source: row C4.

    Raises UsageError where they do not fit a tool that comes with Interlock; others are known only where they run.
    """
    asked = row.request
    if row.kind != "TOOL_CALL" or row.run_id is None:
        raise UsageError(f"approval `{row.id}` is a {row.kind} question without arguments to edit: answer without them")
    if row.status == "pending" and (errors := _faults(asked["tool_digest"], args)):
        raise UsageError(f"the arguments do not fit `{asked['tool']}`: {'; '.join(errors)}")
    return subject_hash(row.run_id, asked["call_id"], asked["tool_digest"], dict(args), asked.get("files") or {})


def _faults(tool_digest: str, args: Mapping[str, Any]) -> list[str]:
    from interlock.tools.builtin import builtin_tools
    from interlock.tools.schema import ArgumentCheck

    found = next((tool for tool in builtin_tools() if tool.digest == tool_digest), None)
    return ArgumentCheck(found.name, found.input_schema).errors(dict(args)) if found else []
