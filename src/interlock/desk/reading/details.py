"""Detail views: a task with its thread, a run with its steps, a deliverable with its content; read-only."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from interlock.core.errors import Conflict, NotFound
from interlock.desk.budgets.estimates import estimate
from interlock.desk.context import DeskContext
from interlock.desk.operations.queues import why_open
from interlock.desk.reading.finding import find, find_any
from interlock.desk.reading.listings import money
from interlock.desk.reading.views import View, view, views
from interlock.desk.signoff import evidence
from interlock.settings import Settings
from interlock.store import blobs, squad
from interlock.store.money import ledger
from interlock.store.runs import traces
from interlock.store.signoff import approvals, votes
from interlock.store.tx import Tx
from interlock.store.upkeep.retention import MARK
from interlock.store.work import histories
from interlock.store.work import missions as mission_store
from interlock.store.work import tasks as task_store

LONGEST_NAME = 100
"""The most characters of an agent's name for a file that are kept where a person saves it."""


async def task(context: DeskContext, ident: str) -> View:
    """A task or mission with its dependencies, transitions, thread, deliverable, runs and open questions.

    An open run has `because`: what it does or waits for.

    Raises Unknown.
    """
    return await context.store.read(_task, ident, context.settings, context.clock.now())


def _task(tx: Tx, ident: str, settings: Settings, now: datetime) -> View:
    task_id = find(tx, "task", ident)
    row = task_store.task(tx, task_id)
    assert row is not None
    links = task_store.links(tx, row.mission_id)
    others = {t.id: t for t in task_store.of_mission(tx, row.mission_id)}
    handed_in = task_store.deliverable(tx, row.deliverable_id) if row.deliverable_id else None
    kind = "mission" if row.parent_id is None else "task"
    mission = mission_store.mission(tx, row.mission_id)
    runs = traces.runs(tx, task_id=task_id)
    spenders = traces.runs(tx, mission_id=task_id, most=10_000) if kind == "mission" else runs
    return view(
        row,
        **money(ledger.account(tx, f"{kind}:{task_id}")),
        estimate=estimate(settings, spenders),
        goal=mission.goal if mission else None,
        workflow=(mission.workflow or {}).get("name") if mission else None,
        simulated=bool(mission and mission.simulated),
        subtasks=[
            view(t, "id", "key", "title", "persona", "status") for t in others.values() if t.parent_id == task_id
        ],
        depends_on=[
            view(others[link.depends_on_id], "id", "title", "status")
            for link in links
            if link.task_id == task_id and link.depends_on_id in others
        ],
        transitions=views(task_store.transitions(tx, task_id)),
        thread=_messages(tx, task_store.thread(tx, task_id)),
        deliverable=None if handed_in is None else view(handed_in),
        runs=[
            view(r, "id", "kind", "status", "stop_reason", "cost_microusd", because=why_open(tx, r, now)) for r in runs
        ],
        approvals=approvals.pending_of_task(tx, task_id),
        checks=evidence.check_views(tx, row),
        turned_back=evidence.gate_rejections(tx, task_id),
        votes=[
            view(row, "about", "seat", "model", "verdict", "reason", "run_id", "cost_microusd", "given_at")
            for row in votes.about_task(tx, task_id)
        ],
    )


async def project_of_task(context: DeskContext, ident: str) -> str:
    """The project of a task or mission.

    Raises Unknown.
    """
    return await context.store.read(_project, ident)


def _project(tx: Tx, ident: str) -> str:
    row: Any = task_store.task(tx, find(tx, "task", ident))
    return str(row.project_id)


async def thread(context: DeskContext, ident: str, *, after: str | None = None, most: int) -> list[View]:
    """The last messages in a task's thread, or the first after one of them; oldest first.

    Raises Unknown, and NotFound for a message that is not of the thread.
    """
    return await context.store.read(_page_of, "message", ident, after, most)


async def transitions(context: DeskContext, ident: str, *, after: str | None = None, most: int) -> list[View]:
    """The same for the transitions of a task."""
    return await context.store.read(_page_of, "transition", ident, after, most)


def _page_of(tx: Tx, kind: str, ident: str, after: str | None, most: int) -> list[View]:
    task_id = find(tx, "task", ident)
    read = histories.thread if kind == "message" else histories.transitions
    rows = read(tx, task_id, most, after)
    if rows is None:
        raise NotFound(
            kind, str(after), message=f"no {kind} `{after}` of task `{task_id}`: give the id of the last row"
        )
    return _messages(tx, rows) if kind == "message" else views(rows)


def _messages(tx: Tx, rows: Sequence[Any]) -> list[View]:
    names = squad.names(tx, [row.author_id for row in rows if row.author_kind == "agent"])
    return [view(row, author=names.get(row.author_id, row.author_id)) for row in rows]


async def trace(context: DeskContext, ident: str, *, prompt: bool = False) -> View:
    """A run in full: steps, messages, tool calls with their decisions, questions, ledger lines.

    With `prompt`, the structure of its system prompt, as returned by `prompt` below. If the run is past its
    retention, `forgotten_at` is when its steps, messages and the bodies of its calls were deleted.

    Raises Unknown.
    """
    return await context.store.read(_trace, ident, with_prompt=prompt)


async def prompt(context: DeskContext, ident: str) -> View:
    """The system prompt of a run by layers, with their token counts, stability and omissions.

    Raises Unknown.
    """
    return await context.store.read(_prompt, ident)


def _prompt(tx: Tx, ident: str) -> View:
    from interlock.desk.reading.prompts import prompt_view

    run_id = find(tx, "run", ident)
    row: Any = traces.run(tx, run_id)
    return {**prompt_view(row, traces.messages(tx, run_id)), "forgotten_at": row.payload.get(MARK)}


def _trace(tx: Tx, ident: str, *, with_prompt: bool = False) -> View:
    run_id = find(tx, "run", ident)
    row = traces.run(tx, run_id)
    assert row is not None
    more = {"prompt": _prompt(tx, run_id)} if with_prompt else {}
    return view(
        row,
        persona=squad.names(tx, [row.agent_id]).get(row.agent_id),
        forgotten_at=row.payload.get(MARK),
        steps=views(traces.steps(tx, run_id)),
        messages=views(traces.messages(tx, run_id)),
        tool_calls=views(traces.calls(tx, run_id)),
        approvals=views(approvals.of_run(tx, run_id)),
        ledger=views(ledger.lines(tx, run_id)),
        **more,
    )


@dataclass(frozen=True, slots=True)
class DeliverableContent:
    """A deliverable with its content as bytes, and a suggested file name."""

    view: View
    content: bytes
    filename: str


async def deliverable(context: DeskContext, ident: str) -> DeliverableContent:
    """The deliverable with an id, or the current one of a task or mission.

    Raises Unknown, and Conflict if there is no deliverable yet.
    """
    return await context.store.read(deliverable_of, ident)


def deliverable_of(tx: Tx, ident: str) -> DeliverableContent:
    """The same within a transaction."""
    kind, found = find_any(tx, ("task", "deliverable"), ident)
    if kind == "task":
        owner = task_store.task(tx, found)
        assert owner is not None
        if owner.deliverable_id is None:
            raise Conflict(
                f"task `{found}` is {owner.status} and has no deliverable yet: look with `interlock task {found}`"
            )
        found = owner.deliverable_id
    row = task_store.deliverable(tx, found)
    assert row is not None
    return DeliverableContent(view(row), _content(tx, row), _filename(row))


def _content(tx: Tx, row: Any) -> bytes:
    if row.blob is not None:
        data = blobs.get(tx, row.blob)
        if data is None:
            raise Conflict(f"the content of `{row.id}` is not in the store any more: restore a backup")
        return data
    if row.text is not None:
        return str(row.text).encode("utf-8", "surrogatepass")
    return (json.dumps(row.data, indent=2, ensure_ascii=False) + "\n").encode()


def _filename(row: Any) -> str:
    """INVARIANT: it begins with the id: what agents call a file is nobody's policy, settings or start-up file."""
    if row.path is not None:
        return f"{row.id}-{PurePosixPath(row.path).name[-LONGEST_NAME:]}"
    return f"{row.id}.{'json' if row.kind == 'data' else 'md'}"
