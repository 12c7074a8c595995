"""Replays recorded calls under a policy, and counts the people who can answer questions.

Decisions are made in `policy.decide`.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from interlock.core.clock import moment_of
from interlock.core.errors import UsageError
from interlock.desk.context import DeskContext
from interlock.desk.reading.finding import find
from interlock.desk.reading.views import View
from interlock.policy import placeholders
from interlock.policy.as_code.replay import Change, Recorded, Replay, declared_risk
from interlock.policy.calls import Call, Caller
from interlock.policy.risk import Effect, Risk, Trust
from interlock.policy.rules import Policy
from interlock.store.identities import people
from interlock.store.runs import recorded_calls
from interlock.store.signoff import known_tools
from interlock.store.signoff.approvals import ROLES_THAT_ANSWER
from interlock.store.tx import Tx
from interlock.tools.definitions import call_of
from interlock.tools.registry import Toolbox

_SPAN = re.compile(r"(\d{1,6})\s*(m|h|d|w)")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


async def replay(
    context: DeskContext,
    policy: Policy,
    toolbox: Toolbox,
    *,
    since: datetime | None = None,
    mission: str | None = None,
    most: int | None = None,
) -> Replay:
    """Decides the newest `most` recorded calls under `policy`.

    Installed tools are taken with their current definitions, others as they were known to the project. Cost and taint
    of a run are taken as at its end; approvals and grants are ignored. Source: row C6.

    Raises NotFound or UsageError for an unknown mission.
    """
    mission_id = None if mission is None else await context.store.read(find, "mission", mission)
    done, before, known = Replay(policy), recorded_calls.LAST, _Known(context)
    while most is None or done.calls < most:
        page = recorded_calls.PAGE if most is None else min(recorded_calls.PAGE, most - done.calls)
        rows = await context.store.read(recorded_calls.calls, before, since or BEGINNING, mission_id, page)
        for row in rows:
            done.take(_recorded(row, await known.call(row, toolbox)))
        if len(rows) < page:
            break
        before = rows[-1].id
    return done


def since(text: str, now: datetime) -> datetime:
    """Parses a time: `7d`, `12h`, `30m` ago, or an ISO time in the zone of `now`.

    Raises UsageError.
    """
    try:
        if found := _SPAN.fullmatch(text.strip().lower()):
            return (now - timedelta(**{_UNITS[found[2]]: int(found[1])})).astimezone(UTC)
        return moment_of(text, now.tzinfo)
    except (ValueError, OverflowError):
        raise UsageError(f"`{text}` is not a time: write 7d, 12h or 2026-12-24T18:00") from None


def change_view(change: Change) -> View:
    """A change, for display."""
    was, now = change.recorded, change.now
    return {
        "call": was.id, "at": was.at, "run": was.run_id, "mission": was.mission_id, "tool": was.call.tool,
        "persona": was.who.persona, "kind": str(change.kind), "was": {"risk": str(was.risk), "effect": str(was.effect)},
        "now": {"risk": str(now.risk), "effect": str(now.effect)}, "rules": list(now.rules),
        "reasons": list(now.reasons),
    }  # fmt: skip


async def how_many_answer(context: DeskContext) -> int:
    """The number of people who may answer questions."""
    return await context.store.read(_how_many_answer)


def _how_many_answer(tx: Tx) -> int:
    return sum(row.role in ROLES_THAT_ANSWER for row in people.people(tx))


class _Known:
    """The tools that projects know, read once for each project."""

    def __init__(self, context: DeskContext) -> None:
        self._context, self._projects = context, dict[str, Any]()

    async def call(self, row: Any, toolbox: Toolbox) -> Call:
        """A recorded call. Whether the settings let it have its secrets, and what its tool declared, is on record."""
        may_use = frozenset[str]() if placeholders.RULE in row.rules else placeholders.names(row.args)
        if (tool := toolbox.get(row.tool)) is not None:
            return call_of(tool, row.args, may_use)
        if row.project_id not in self._projects:
            found = await self._context.store.read(known_tools.of_project, row.project_id)
            self._projects[row.project_id] = found
        known = self._projects[row.project_id].get(row.tool, {}).get(row.tool_digest)
        shown = known.definition if known is not None else {}
        return Call(
            tool=row.tool, args=row.args, description=shown.get("description", ""),
            input_schema=shown.get("input_schema"), declared_risk=declared_risk(row.reasons), may_use=may_use,
        )  # fmt: skip


def _recorded(row: Any, call: Call) -> Recorded:
    who = Caller(
        agent_name=row.agent_id,
        persona=row.persona,
        trust=Trust(row.trust),
        project=row.project_id,
        task_type=row.task_type,
        cost_usd=row.cost_microusd / 1_000_000,
        labels=frozenset(row.labels),
        task_id=row.task_id,
    )
    return Recorded(
        id=row.id, at=row.created_at, run_id=row.run_id, mission_id=row.mission_id, call=call, who=who,
        risk=Risk(row.risk), effect=Effect(row.effect), reasons=row.reasons, policy_hash=row.policy_hash,
    )  # fmt: skip
