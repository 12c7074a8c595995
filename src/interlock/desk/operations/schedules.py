"""Schedules for people: adding, listing, pausing, resuming, removing. Due times are computed by the caller's parser.

Firing is in `scheduler`.
"""

import contextlib
import difflib
import re
import unicodedata
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol
from zoneinfo import ZoneInfo

from interlock.core.errors import NotFound, UsageError
from interlock.core.ids import new_id
from interlock.core.text import visible
from interlock.desk.context import DeskContext, Person, require_operator
from interlock.desk.reading.finding import NoPersona
from interlock.desk.reading.views import View, dollars, view
from interlock.desk.work import projects
from interlock.store import squad
from interlock.store.auditing import audit
from interlock.store.duties import firings, schedules
from interlock.store.identities import people
from interlock.store.mailboxes import controls
from interlock.store.runs import traces
from interlock.store.tx import Tx
from interlock.store.work import coordination

if TYPE_CHECKING:
    from interlock.agents.runtime import Runtime

LONGEST_NAME = 60
TIMES_SHOWN = 3
_NAME = re.compile(r"[\w][\w .+-]*")


class Times(Protocol):
    """A parsed timetable of the scheduler."""

    @property
    def cron(self) -> str | None:
        """The cron expression."""

    @property
    def every_s(self) -> float | None:
        """The interval in seconds, if there is no expression."""

    @property
    def timezone(self) -> str:
        """The time zone of the expression."""

    @property
    def anchor_at(self) -> datetime:
        """The origin of intervals."""

    def after(self, moment: datetime) -> datetime:
        """The first due time after `moment`."""

    def following(self, moment: datetime, count: int) -> list[datetime]:
        """The next `count` due times after `moment`."""


Read = Callable[[Any], Times]
"""Parses the timetable of a row of `schedules`."""


async def add(
    runtime: "Runtime",
    person: Person,
    name: str,
    times: Times,
    *,
    goal: str | None = None,
    persona: str | None = None,
    message: str | None = None,
    budget_usd: float | None = None,
    model: str | None = None,
    project: str | None = None,
) -> View:
    """Adds a schedule that starts a mission from a goal, or sends a message to a persona's agent.

    It acts on behalf of this person. Raises UsageError for invalid values, NoPersona, Refused for a viewer.
    """
    from interlock.desk.agents import conversation  # here, since they bring in what executes
    from interlock.desk.work import goals  # here, since they bring in what executes

    require_operator(person, "schedule anything")
    if (goal is None) == (persona is None) or (goal is not None and message is not None):
        raise UsageError('say what: either `--goal "GOAL"`, or `--persona PERSONA "MESSAGE"`')
    options: dict[str, Any] = {}
    if goal is not None:
        text = goals.goal_of(goal)
        options = {} if budget_usd is None else {"budget_microusd": goals.budget_of(budget_usd)}
    else:
        if budget_usd is not None:
            raise UsageError("`--budget` is of goals: a message has the budget of a chat with its persona")
        text = conversation.message_of(message or "")
        _known(runtime, str(persona))
    if model is not None:
        options["model"] = str(goals.model_for(runtime, model))
    now = runtime.clock.now()
    values = {
        "id": new_id("sch"), "project_id": project or runtime.settings.project, "name": _name(name),
        "kind": "message" if goal is None else "goal", "persona": persona, "text": text, "cron": times.cron,
        "every_s": times.every_s, "timezone": times.timezone, "anchor_at": times.anchor_at, "options": options,
        "next_at": times.after(now), "created_by": person.id, "created_at": now, "updated_at": now,
    }  # fmt: skip
    return await runtime.store.write(_add, person, values, times, runtime.settings.timezone, now)


def _add(tx: Tx, person: Person, values: dict[str, Any], times: Times, zone: str, now: datetime) -> View:
    squad.ensure_project(tx, values["project_id"], zone, now)
    if not schedules.add(tx, **values):
        raise UsageError(
            f"there is a schedule `{values['name']}` in the project `{values['project_id']}` already: give another "
            f"name, or remove it with `interlock schedule remove`"
        )
    row = schedules.schedule(tx, values["id"])
    _note(tx, "SCHEDULE_ADDED", person, row, now, kind=values["kind"], cron=values["cron"], every_s=values["every_s"])
    return _views(tx, [row], lambda _: times, now)[0]


async def listing(context: DeskContext, read: Read, *, project: str | None = None) -> list[View]:
    """All schedules, or those of a project: `next_times` (ISO, in their time zones), `last` firing and outcome.

    Raises NotFound for a project that is not there.
    """
    if project is not None:
        await projects.require(context, project)
    return await context.store.read(_listing, read, project, context.clock.now())


def _listing(tx: Tx, read: Read, project: str | None, now: datetime) -> list[View]:
    return _views(tx, schedules.listing(tx, project), read, now)


async def squad_mode(context: DeskContext) -> str:
    """The squad's mode; unless it is running, due schedules wait."""
    return str(await context.store.read(controls.mode))


async def remove(context: DeskContext, person: Person, name: str, *, project: str | None = None) -> View:
    """Removes a schedule; what it has started continues. Raises NotFound, Refused."""
    return await _change(context, person, "remove schedules", _remove, name, project)


def _remove(tx: Tx, row: Any, person: Person, now: datetime) -> None:
    if row.kind == schedules.HEARTBEAT:
        raise UsageError("the heartbeat is of every project: pause it, or empty its HEARTBEAT.md")
    schedules.remove(tx, row.id)
    _note(tx, "SCHEDULE_REMOVED", person, row, now)


async def pause(context: DeskContext, person: Person, name: str, *, project: str | None = None) -> View:
    """Pauses a schedule until it is resumed. Raises NotFound, Refused."""
    return await _change(context, person, "pause schedules", _pause, name, project)


def _pause(tx: Tx, row: Any, person: Person, now: datetime) -> None:
    if row.state != "paused":
        schedules.set_state(tx, row.id, "paused", f"by {person.name}", None, now)
        _note(tx, "SCHEDULE_PAUSED", person, row, now)


async def resume(context: DeskContext, person: Person, name: str, read: Read, *, project: str | None = None) -> View:
    """Resumes a schedule from its next due time on. Raises NotFound, Refused."""

    def act(tx: Tx, row: Any, person: Person, now: datetime) -> None:
        if row.state != "active":
            schedules.set_state(tx, row.id, "active", None, read(row).after(now), now)
            _note(tx, "SCHEDULE_RESUMED", person, row, now)

    return await _change(context, person, "resume schedules", act, name, project)


Act = Callable[[Tx, Any, Person, datetime], None]


async def _change(context: DeskContext, person: Person, what: str, act: Act, name: str, project: str | None) -> View:
    require_operator(person, what)

    def unit(tx: Tx, now: datetime) -> View:
        row = _find(tx, name, project or context.settings.project)
        act(tx, row, person, now)
        return view(schedules.schedule(tx, row.id) or row, "id", "name", "project_id", "state", "next_at")

    return await context.store.write(unit, context.clock.now())


def _find(tx: Tx, name: str, project: str) -> Any:
    wanted = _plain(name)
    if (row := schedules.named(tx, project, wanted, lock=True)) is not None:
        return row
    if (row := schedules.schedule(tx, wanted, lock=True)) is not None:
        return row
    near = difflib.get_close_matches(wanted, [each.name for each in schedules.listing(tx, project)], n=1)
    meant = f", did you mean `{near[0]}`" if near else ""
    there = f"no schedule `{visible(wanted)}` in the project `{project}`{meant}"
    raise NotFound("schedule", wanted, message=f"{there}: `interlock schedule list` shows what there is")


def _views(tx: Tx, rows: Sequence[Any], read: Read, now: datetime) -> list[View]:
    """Schedules as people see them; asked for together, since there may be very many."""
    names, lasts = people.names(tx, [row.created_by for row in rows]), _lasts(tx, rows)
    return [
        {
            **view(
                row, "id", "name", "project_id", "kind", "persona", "text", "cron", "every_s", "timezone", "state",
                "state_reason", "next_at", "created_at",
            ),
            "model": row.options.get("model"), "budget_usd": _budget(row),
            "created_by": names.get(row.created_by, row.created_by), "next_times": _upcoming(row, read, now),
            "last": lasts.get(row.id),
        }
        for row in rows
    ]  # fmt: skip


def _budget(row: Any) -> float | None:
    budget = row.options.get("budget_microusd")
    return None if budget is None else dollars(budget)


def _upcoming(row: Any, read: Read, now: datetime) -> list[str]:
    if row.next_at is None or row.state != "active":
        return []
    with contextlib.suppress(UsageError):
        return [_local(at, row) for at in (row.next_at, *read(row).following(max(row.next_at, now), TIMES_SHOWN - 1))]
    return []


def _local(at: datetime, row: Any) -> str:
    """A time in the time zone of a schedule; in UTC if its row has none."""
    try:
        return at.astimezone(ZoneInfo(row.timezone)).isoformat()
    except (LookupError, ValueError, OSError):
        return at.isoformat()


def _lasts(tx: Tx, rows: Sequence[Any]) -> dict[str, View]:
    """The last firing of each schedule that has fired, and the current state of what it started."""
    by_job = {schedules.job(row.id): row for row in rows if row.last_at is not None}
    found = [(by_job[each.job], each) for each in firings.some(tx, [(job, row.last_at) for job, row in by_job.items()])]
    keys = [schedules.start_key(row.id, fired.fire_at) for row, fired in found]
    roots = coordination.roots_by_key(
        tx, [f"goal:{row.project_id}:{key}" for (row, _), key in zip(found, keys, strict=True)]
    )
    runs = traces.runs_by_key(tx, keys)
    return {
        row.id: {
            "fire_at": _local(fired.fire_at, row), "fired_at": fired.created_at, "status": fired.status,
            "outcome": fired.outcome, "mission_id": getattr(root, "id", None), "run_id": getattr(run, "id", None),
            "standing": getattr(root or run, "status", None),
        }
        for (row, fired), root, run in zip(found, roots, runs, strict=True)
    }  # fmt: skip


def _known(runtime: "Runtime", persona: str) -> None:
    if persona not in runtime.personas.personas:
        raise NoPersona(persona, runtime.personas.personas)


def _plain(name: str) -> str:
    """A name normalised for comparison: ignores character widths and blanks."""
    return " ".join(unicodedata.normalize("NFKC", name).split())


def _name(text: str) -> str:
    name = _plain(text)
    if not name or len(name) > LONGEST_NAME or not _NAME.fullmatch(name) or name.startswith("sch_"):
        raise UsageError(
            f"`{visible(text)[:LONGEST_NAME]}` is not a name: use 1 to {LONGEST_NAME} letters, digits, blanks or .+-_"
        )
    if name.casefold() == schedules.HEARTBEAT:
        raise UsageError(f"`{name}` is the schedule that reads HEARTBEAT.md: give another name")
    return name


def _note(tx: Tx, action: str, person: Person, row: Any, now: datetime, **data: Any) -> None:
    audit.note(
        tx, action, person.actor, now, project_id=row.project_id, subject=row.id, name=row.name,
        surface=person.surface, by=person.name, **data,
    )  # fmt: skip
