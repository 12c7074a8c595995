"""Past events as input for the Learner: JSON with ids to cite, without secrets, short enough for one prompt.

INVARIANT: everything here is data by others; it is quoted, never stated in our own voice. The Learner draws the
conclusions.
"""

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from interlock.policy.learning.lesson_rules import REHEARSED, UNTRUSTED
from interlock.policy.secrets import scrub, scrub_value
from interlock.store import blobs
from interlock.store.knowledge import facts, lessons
from interlock.store.tx import Tx

Scope = Literal["task", "mission", "project"]
MOST_CHARS = 24_000
"""Of all facts together."""
LONG, SHORT = 600, 240
"""Characters of a text and of an argument."""
MOST_KNOWN = 30
DIFF_LINES = 40
WINDOW = timedelta(days=7)
"""The period that a scheduled review of a project covers."""
_LEAST_FIRST = (
    "messages", "files", "deliverables", "runs", "transitions", "known_lessons", "tool_failures", "recoveries",
    "incidents", "approvals", "reviews",
)  # fmt: skip
"""What is dropped first if there is too much."""
LABELLED = ("runs", "calls", "answers", "incidents", "deliverables", "files")
"""Rows that carry the labels of their run."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The input for the Learner, and the labels of everything that it is based on."""

    shown: Mapping[str, Any]
    labels: frozenset[str]


def of_task(tx: Tx, project_id: str, task_id: str) -> Facts:
    """The events of a task: runs, transitions, failures, answers, reviews, incidents, changes, messages."""
    about = {"scope": "task", "id": task_id}
    return _whole(tx, project_id, about, facts.of_task(tx, task_id), *facts.taint_of_task(tx, task_id))


def of_mission(tx: Tx, project_id: str, mission_id: str) -> Facts:
    """The same for a mission with all its tasks."""
    about = {"scope": "mission", "id": mission_id}
    return _whole(tx, project_id, about, facts.of_mission(tx, mission_id), *facts.taint_of_mission(tx, mission_id))


def of_project(tx: Tx, project_id: str, now: datetime, *, rehearsal: bool = False) -> Facts:
    """The failures in a project in the last days, real or in rehearsals, and the record of its lessons."""
    rows = facts.of_project(tx, project_id, now - WINDOW, rehearsal=rehearsal)
    return _whole(tx, project_id, {"scope": "project", "id": project_id}, rows, frozenset(), rehearsal)


def _whole(
    tx: Tx,
    project_id: str,
    about: Mapping[str, str],
    rows: Mapping[str, list[Any]],
    taint: frozenset[str],
    is_rehearsed: bool,
) -> Facts:
    """`taint` comes from the runs as a whole; the rows add their own."""
    labels = taint.union(*(row.labels or () for name in LABELLED for row in rows.get(name, [])))
    if is_rehearsed:
        labels |= {REHEARSED}
    files = rows.get("files", [])
    shown: dict[str, Any] = {
        "about": dict(about),
        "tasks": [_task(row) for row in rows.get("tasks", [])],
        "runs": [_run(row) for row in rows.get("runs", [])],
        "transitions": [_change(row) for row in rows.get("changes", [])],
        "tool_failures": [_failure(row) for row in rows.get("calls", []) if _failed(row)],
        "recoveries": list(_recoveries(rows.get("calls", []))),
        "approvals": [_answer(row) for row in rows.get("answers", []) if _tells(row)],
        "reviews": [_review(row) for row in rows.get("deliverables", []) if row.verdict],
        "deliverables": [_deliverable(row) for row in rows.get("deliverables", []) if not row.verdict],
        "incidents": [_incident(row) for row in rows.get("incidents", [])],
        "files": [file for row in files if (file := _file(tx, row)) is not None],
        "messages": [_message(row) for row in rows.get("said", []) if row.kind != "ARTIFACT"],
        "known_lessons": [_known(row) for row in _lessons(tx, project_id, labels)],
    }
    return Facts(_fitted(scrub_value(shown)), labels)


def _task(row: Any) -> dict[str, Any]:
    return {
        "id": row.id, "title": _cut(row.title, SHORT), "type": row.type, "persona": row.worker or row.persona,
        "status": row.status, "failed_tries": row.attempt, "review_cycles": row.review_cycles,
        "cost_microusd": row.settled_microusd or 0, "budget_microusd": row.budget_microusd,
        "reviews": row.reviews_task_id, "block": row.block_kind, "asked_for": _cut(row.deliverable_spec, SHORT),
    }  # fmt: skip


def _run(row: Any) -> dict[str, Any]:
    return {
        "id": row.id, "task_id": row.task_id, "kind": row.kind, "persona": row.persona, "status": row.status,
        "stop_reason": row.stop_reason, "error": _cut(row.error, LONG), "steps": row.step_count,
        "cost_microusd": row.cost_microusd,
    }  # fmt: skip


def _change(row: Any) -> dict[str, Any]:
    return {
        "id": row.id, "task_id": row.task_id, "from": row.from_status, "to": row.to_status, "by": row.actor_kind,
        "reason": _cut(row.reason, SHORT),
    }  # fmt: skip


def _failed(row: Any) -> bool:
    return bool(row.is_error) or row.status in facts.FAULTY


def _failure(row: Any) -> dict[str, Any]:
    return {
        "id": row.id, "task_id": row.task_id, "run_id": row.run_id, "tool": row.tool, "status": row.status,
        "args": _args(row), "error": _cut(row.result or "; ".join(row.reasons), LONG),
    }  # fmt: skip


def _recoveries(calls: Sequence[Any]) -> Iterable[dict[str, Any]]:
    """Calls that failed and then succeeded with other arguments in the same task."""
    for at, row in enumerate(calls):
        if row.status not in ("failed", "refused"):
            continue
        later = (c for c in calls[at + 1 :] if (c.tool, c.task_id) == (row.tool, row.task_id))
        worked = next(later, None)
        if worked is not None and worked.status == "done" and not worked.is_error and worked.args != row.args:
            yield {
                "id": row.id, "task_id": row.task_id, "run_id": row.run_id, "tool": row.tool, "args": _args(row),
                "error": _cut(row.result or "; ".join(row.reasons), LONG), "then_id": worked.id,
                "then_run_id": worked.run_id, "then_args": _args(worked),
            }  # fmt: skip


def _tells(row: Any) -> bool:
    """Whether an answer says more than yes."""
    return row.status in ("denied", "expired") or bool(row.edited) or bool(row.note)


def _answer(row: Any) -> dict[str, Any]:
    asked = row.request
    fact = {
        "id": row.id, "task_id": row.task_id, "run_id": row.run_id, "kind": row.kind, "risk": row.risk,
        "answer": row.status, "tool": asked.get("tool"), "args": _short(asked.get("args")),
        "asked": _cut(asked.get("summary") or asked.get("title") or asked.get("question"), SHORT),
        "reason": _cut(row.note, LONG),
    }  # fmt: skip
    return {**fact, "edited_to": _short(row.edited_args)} if row.edited else fact


def _review(row: Any) -> dict[str, Any]:
    return {
        "id": row.id, "task_id": row.reviews_task_id or row.task_id, "review_task_id": row.task_id,
        "run_id": row.run_id, "verdict": row.verdict, "findings": [_cut(f, SHORT) for f in row.findings[:10]],
        "feedback": _cut(row.text or row.summary, LONG),
    }  # fmt: skip


def _deliverable(row: Any) -> dict[str, Any]:
    return {
        "id": row.id, "task_id": row.task_id, "run_id": row.run_id, "kind": row.kind, "title": _cut(row.title, SHORT),
        "summary": _cut(row.summary, SHORT),
    }  # fmt: skip


def _incident(row: Any) -> dict[str, Any]:
    return {
        "id": row.id, "kind": row.kind, "task_id": row.task_id, "run_id": row.run_id, "text": _cut(row.text, LONG)
    }  # fmt: skip


def _message(row: Any) -> dict[str, Any]:
    return {"id": row.id, "task_id": row.task_id, "by": row.author_kind, "text": _cut(row.text, SHORT)}


def _file(tx: Tx, row: Any) -> dict[str, Any] | None:
    """What a new version of a file changed; None if it is the first one or not text."""
    before = facts.blob_before(tx, row) if row.version > 1 else None
    if before is None or row.blob is None:
        return None
    try:
        old, new = ((blobs.get(tx, name) or b"").decode("utf-8").splitlines() for name in (before, row.blob))
    except UnicodeDecodeError:
        return None
    if len(old) + len(new) > 4_000:
        return None
    lines = list(difflib.unified_diff(old, new, lineterm="", n=1))[2:][:DIFF_LINES]
    return {
        "id": row.id, "task_id": row.task_id, "run_id": row.run_id, "path": row.path,
        "diff": [_cut(line, SHORT) for line in lines],
    }  # fmt: skip


def _lessons(tx: Tx, project_id: str, labels: frozenset[str]) -> list[Any]:
    """The existing lessons; untrusted ones are left out for clean runs, and those of rehearsals for real ones."""
    found = lessons.lessons(tx, most=200, project_id=project_id)
    return [row for row in found if {UNTRUSTED, REHEARSED} & set(row.labels) <= labels][:MOST_KNOWN]


def _known(row: Any) -> dict[str, Any]:
    return {
        "id": row.id, "kind": row.kind, "rule": row.rule, "task_type": row.task_type, "persona": row.persona,
        "status": row.status, "confidence": round(row.confidence, 2), "applied": row.applied_count,
        "helped": row.helped_count, "hurt": row.hurt_count,
    }  # fmt: skip


def _args(row: Any) -> Any:
    return _short(row.args) if row.args is not None else _cut(row.raw_args, SHORT)


def _short(args: Any) -> Any:
    if not isinstance(args, Mapping):
        return None if args is None else _cut(json.dumps(args, default=str), SHORT)
    return {
        str(name)[:80]: value if isinstance(value, (int, float, bool)) or value is None else _cut(_text(value), SHORT)
        for name, value in list(args.items())[:20]
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _cut(text: str | None, most: int) -> str:
    """A text on one line; secrets are removed before it is truncated, so that no part of one remains."""
    line = " ".join(scrub(text or "").split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def _fitted(shown: dict[str, Any]) -> dict[str, Any]:
    """The facts, with the least important ones left out until they fit."""
    kept = {name: value for name, value in shown.items() if value}
    for name in _LEAST_FIRST:
        while len(kept.get(name, ())) > 1 and _size(kept) > MOST_CHARS:
            half = len(kept[name]) // 2
            kept[name] = kept[name][len(kept[name]) - half :]
            kept.setdefault("left_out", []).append(name)
    while len(kept.get("tasks", ())) > 1 and _size(kept) > MOST_CHARS:
        kept["tasks"] = kept["tasks"][: len(kept["tasks"]) // 2]
    if "left_out" in kept:
        kept["left_out"] = sorted(set(kept["left_out"]))
    return kept


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False))
