"""Grants at the desk: giving one with an approval, listing them, revoking one. What one covers is the policy's."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from interlock.core.errors import UsageError
from interlock.core.ids import new_id
from interlock.desk.context import DeskContext, Person, require_operator
from interlock.desk.reading.finding import find
from interlock.desk.reading.views import View, view
from interlock.policy.grants import shape_of
from interlock.store.identities import people
from interlock.store.signoff import grants as store
from interlock.store.signoff.approvals import Edit
from interlock.store.tx import Tx

LASTS = {"hour": timedelta(hours=1), "task": timedelta(hours=24), "agent": timedelta(days=30)}
"""How long a grant lasts at most, by scope; one for a task also ends with it. Source: row C7."""
SCOPES = tuple(LASTS)
MOST = 500
"""The most that one list has."""


@dataclass(frozen=True, slots=True)
class GrantRequest:
    """A grant that a person requests together with an approval."""

    scope: str
    narrow: bool = False
    """Only for the same recipients, paths and other targets."""

    @classmethod
    def of(cls, text: str, *, narrow: bool = False) -> "GrantRequest":
        """Parses a scope.

        Raises UsageError for an invalid one.
        """
        scope = text.strip().lower()
        if scope not in SCOPES:
            raise UsageError(f"`{text}` is not a scope of a grant: use one of {', '.join(SCOPES)}")
        return cls(scope, narrow)


def scopes(row: Any) -> list[str]:
    """The scopes that may be granted with an answer to a question (its full row); none for most."""
    if row.status != "pending" or not _is_grantable(row):
        return []
    return [scope for scope in SCOPES if scope != "task" or row.run_task is not None]


def _is_grantable(row: Any) -> bool:
    return row.kind == "TOOL_CALL" and row.risk == "YELLOW" and bool(row.request.get("grantable")) and not row.edited


def check(row: Any, wanted: GrantRequest, edit: Edit | None) -> None:
    """Checks that a grant can be given with the answer to a question.

    Raises UsageError.
    """
    if row.kind != "TOOL_CALL":
        raise UsageError(f"approval `{row.id}` is a {row.kind} question, and a grant is for calls: leave `--grant` out")
    if row.risk == "RED" or (edit is not None and edit.risk == "RED"):
        raise UsageError("a RED call is approved one by one and never granted: leave `--grant` out")
    if edit is not None:
        raise UsageError("an edited call is approved once: leave `--grant` or the arguments out")
    if not _is_grantable(row):
        raise UsageError(f"approval `{row.id}` is not held for its agent's trust alone: leave `--grant` out")
    if wanted.scope == "task" and row.task_id is None:
        raise UsageError("this call belongs to no task: grant it for the `hour` or the `agent`")


def give(tx: Tx, person: Person, row: Any, wanted: GrantRequest, now: datetime) -> View:
    """Adds a grant for calls like the approved one."""
    request = row.request
    ident = new_id("gra")
    store.give(
        tx,
        person.actor,
        now,
        mission_id=row.mission_id,
        id=ident,
        project_id=row.project_id,
        tool=request["tool"],
        tool_digest=request["tool_digest"],
        scope=wanted.scope,
        persona=request["persona"],
        task_id=row.task_id if wanted.scope == "task" else None,
        shape=shape_of(request["args"]) if wanted.narrow else None,
        simulated=bool(request.get("simulated")),
        reason=row.note or "",
        approval_id=row.id,
        expires_at=now + LASTS[wanted.scope],
    )
    return _shown(tx, store.grant(tx, ident), now)


async def grants(context: DeskContext, *, every: bool = False) -> list[View]:
    """The grants in force, or all that were ever given, newest first. Source: row C7."""
    return await context.store.read(_listing, every, context.clock.now())


def _listing(tx: Tx, every: bool, now: datetime) -> list[View]:
    rows = store.listing(tx, now, every=every, most=MOST)
    names = people.names(tx, [who for row in rows for who in (row.given_by, row.revoked_by)])
    return [_view(row, names, now) for row in rows]


async def revoke(context: DeskContext, person: Person, ident: str) -> View:
    """Revokes a grant, with effect from the next decision. Returns it, with `changed`.

    Raises Unknown, and Refused for a viewer.
    """
    require_operator(person, "revoke grants")
    return await context.store.write(_revoke, person, ident, context.clock.now())


def _revoke(tx: Tx, person: Person, ident: str, now: datetime) -> View:
    grant_id = find(tx, "grant", ident)
    changed = store.revoke(tx, grant_id, person.actor, now, name=person.name, surface=person.surface)
    return {**_shown(tx, store.grant(tx, grant_id), now), "changed": changed}


def _shown(tx: Tx, row: Any, now: datetime) -> View:
    """One grant, as in the list."""
    return _view(row, people.names(tx, [row.given_by, row.revoked_by]), now)


def _view(row: Any, found: Mapping[str, str], now: datetime) -> View:
    """A grant with its status: in force, revoked or expired."""
    state = "revoked" if row.revoked_at else "expired" if row.expires_at <= now else "in force"
    return view(
        row, "id", "project_id", "tool", "scope", "persona", "task_id", "simulated", "reason", "approval_id", "uses",
        "created_at", "expires_at", "used_at", "revoked_at",
        state=state, narrow=row.shape is not None, given_by=found.get(row.given_by, row.given_by),
        revoked_by=found.get(row.revoked_by, row.revoked_by),
    )  # fmt: skip
