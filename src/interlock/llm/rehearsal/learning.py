"""Lessons by rule from the facts of a mission: what failed, what was denied and why, what reviews sent back.

Each names the facts it rests on; a fact without an id teaches nothing.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from interlock.llm.rehearsal.protocol import Brief
from interlock.llm.rehearsal.writing import gist

_MOST = 5
_BLOCK = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)
_DENIED = frozenset({"denied", "deny", "rejected"})
_SENT_BACK = frozenset({"changes", "rejected", "fail", "failed"})


def lessons(brief: Brief) -> dict[str, Any]:
    """The lessons as the prompt's schema wants them; none where the facts teach none."""
    facts = _facts(brief.section("Facts"))
    tasks = {str(task.get("id")): task for task in _rows(facts, "tasks")}
    found = [*_failures(facts, tasks), *_denials(facts, tasks), *_reviews(facts, tasks)]
    return {"lessons": (found or list(_wins(tasks)))[:_MOST]}


def _facts(section: str) -> Mapping[str, Any]:
    block = _BLOCK.search(section)
    try:
        facts = json.loads(block[1] if block else section)
    except (ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _rows(facts: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    rows = facts.get(name)
    return [row for row in rows if isinstance(row, dict) and _source(row)] if isinstance(rows, list) else []


def _source(row: Mapping[str, Any]) -> str:
    """The run or task that a fact tells of, else the fact itself."""
    return _first(row, "run_id", "task_id", "id")


def _failures(facts: Mapping[str, Any], tasks: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    by_tool: dict[str, list[Mapping[str, Any]]] = {}
    for row in _rows(facts, "tool_failures"):
        by_tool.setdefault(str(row.get("tool", "a tool")), []).append(row)
    for tool, rows in by_tool.items():
        said = gist(_first(rows[0], "error", "reason", "message", "result"))
        rule = f"When `{tool}` fails ({said}), go on without it and name the gap in the deliverable."
        yield _lesson("error", rule, rows, tasks)


def _denials(facts: Mapping[str, Any], tasks: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for row in _rows(facts, "approvals"):
        if _first(row, "answer", "status", "verdict", "decision").lower() in _DENIED:
            tool, why = _first(row, "tool", "kind") or "this", gist(_first(row, "reason", "note"))
            yield _lesson(
                "fix", f"Before asking for `{tool}` again, meet the reason of the denial: {why}.", [row], tasks
            )


def _reviews(facts: Mapping[str, Any], tasks: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for row in _rows(facts, "reviews"):
        if _first(row, "verdict", "answer", "status").lower() in _SENT_BACK:
            said = gist(_first(row, "feedback", "reason", "text", "note"))
            yield _lesson("fix", f"Check before submitting what a review sent back: {said}.", [row], tasks)


def _wins(tasks: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for task in tasks.values():
        if str(task.get("status", "")).upper() == "DONE":
            rule = f"This division of work holds: “{task.get('title', 'the task')}” was done without a correction."
            yield _lesson("win", rule, [task], tasks)
            return


def _lesson(
    kind: str, rule: str, rows: list[Mapping[str, Any]], tasks: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    row = rows[0]
    task = tasks.get(_first(row, "task_id", "task"), row)
    return {
        "kind": kind,
        "rule": rule,
        "task_type": _first(row, "task_type") or _first(task, "task_type", "type") or None,
        "persona": _first(row, "persona") or _first(task, "persona") or None,
        "confidence": min(0.5 + 0.1 * (len(rows) - 1), 0.8),
        "evidence": list(dict.fromkeys(_source(fact) for fact in rows)),
    }


def _first(row: Mapping[str, Any], *names: str) -> str:
    return next((str(row[name]) for name in names if row.get(name)), "")
