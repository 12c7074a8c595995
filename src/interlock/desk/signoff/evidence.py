"""Acceptance checks for people: adding, waiving, and viewing results.

INVARIANT: only people, or the policy file, define checks; nothing that an agent writes is read here. Source: row A20.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from interlock.core import strict_yaml
from interlock.core.errors import ConfigError, UsageError
from interlock.core.ids import new_id
from interlock.desk.context import DeskContext, Person, require_operator
from interlock.desk.reading.finding import find
from interlock.desk.reading.views import View
from interlock.policy import formats
from interlock.policy.checks import BadCheck, read, stored
from interlock.state_machine.table import TaskState
from interlock.store.signoff import approvals
from interlock.store.tx import Tx
from interlock.store.work import evidence as evidence_store
from interlock.store.work import tasks

LONGEST_NOTE = 4_000


def parse(texts: Sequence[str] = (), file: Path | None = None) -> list[dict[str, Any]]:
    """Parses checks from the command line: each text is one, in YAML or JSON, with or without braces.

    A `schema` that is a path is read from the person's disk.

    Raises UsageError with every fault.
    """
    items = [_one(text) for text in texts]
    if file is not None:
        found = _parsed(_bytes(file), str(file))
        if isinstance(found, dict) and set(found) == {"checks"}:
            found = found["checks"]
        items += found if isinstance(found, list) else [found]
    return read([_with_schema(item) for item in items]) if items else []


def _one(text: str) -> Any:
    line = text.strip()
    is_bare = "\n" not in line and not line.startswith(("{", "["))
    return _parsed(f"{{{line}}}" if is_bare else line, "--check")


def _parsed(text: str | bytes, source: str) -> Any:
    try:
        return strict_yaml.parse(text, source=source).data
    except ConfigError as error:
        raise UsageError("; ".join(error.faults)) from error


def _with_schema(item: Any) -> Any:
    if not isinstance(item, Mapping) or not isinstance(item.get("schema"), str):
        return item
    path = Path(item["schema"]).expanduser()
    try:
        schema = formats.loads(_bytes(path).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: is not a JSON Schema: {error}") from error
    return {**item, "schema": schema}


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}") from error


async def require(context: DeskContext, person: Person, ident: str, checks: Sequence[Mapping[str, Any]]) -> list[View]:
    """Adds checks to a task or mission; returns all of them. A pending sign-off is reopened for review.

    Raises Unknown, Refused, and UsageError for an invalid check.
    """
    require_operator(person, "set checks")
    wanted = read([dict(each) for each in checks])
    return await context.store.write(_require, person, ident, wanted, context.clock.now())


async def waive(context: DeskContext, person: Person, ident: str, number: int, *, note: str) -> list[View]:
    """Waives a check of a task, numbered from 1; returns all of them.

    Raises Unknown, Refused, and UsageError without a reason, or for an unknown number.
    """
    require_operator(person, "waive checks")
    words = note.strip()
    if not words:
        raise UsageError("to waive a check needs a reason for the record: give one with `--note`")
    if len(words) > LONGEST_NOTE:
        raise UsageError(f"the note has {len(words):,} characters: {LONGEST_NOTE:,} are the most")
    return await context.store.write(_waive, person, ident, number, words, context.clock.now())


def _require(tx: Tx, person: Person, ident: str, wanted: list[dict[str, Any]], now: datetime) -> list[View]:
    task_id = find(tx, "task", ident)
    row = tasks.task(tx, task_id)
    assert row is not None
    if any(check["kind"] == "verdict" for check in wanted) and (row.parent_id is None or row.reviews_task_id):
        raise UsageError(f"nobody reviews `{task_id}`: ask for a `verdict` of a task that is reviewed")
    evidence_store.require(tx, task_id, wanted, person.actor, now)
    _reopen(tx, person, task_id, ("TASK_REVIEW",), "checks were added: they are run first", now)
    return check_views(tx, tasks.task(tx, task_id))


def _waive(tx: Tx, person: Person, ident: str, number: int, note: str, now: datetime) -> list[View]:
    task_id = find(tx, "task", ident)
    evidence_store.waive(tx, task_id, number, note, person.actor, now)
    if not evidence_store.missing(tx, tasks.task(tx, task_id)):
        _reopen(tx, person, task_id, ("ESCALATION",), f"a check was waived: {note}", now)
    return check_views(tx, tasks.task(tx, task_id))


def _reopen(tx: Tx, person: Person, task_id: str, kinds: Sequence[str], reason: str, now: datetime) -> None:
    """Returns a task that waits for a sign-off, or a decision about its checks, to review, if nothing else holds it."""
    from interlock.graph.evidence import ABOUT_CHECKS

    row = tasks.task(tx, task_id)
    if row is None or row.status != "NEEDS_APPROVAL" or row.held_from != "REVIEW":
        return
    open_now = [approvals.approval(tx, ident) for ident in approvals.pending_of_task(tx, task_id)]
    ours = [
        each
        for each in open_now
        if each is not None and each.kind in kinds
        and (each.kind != "ESCALATION" or each.request.get("about") == ABOUT_CHECKS)
    ]  # fmt: skip
    if not ours or len(ours) < len(open_now):
        return
    for each in ours:
        approvals.void(tx, each.id, reason)
    move = tasks.Move(
        task_id=task_id, to=TaskState.REVIEW, actor=person.actor, reason=reason, key=new_id("key")
    )  # fmt: skip
    tasks.advance(tx, move, now)


def check_views(tx: Tx, task: Any) -> list[View]:
    """A task's checks with their results for the latest deliverable; empty if it has none."""
    if not task.checks:
        return []
    try:
        checks = stored(task.checks)
    except BadCheck as error:
        return [{"number": 0, "name": str(error), "state": "unreadable", "set_by": None, "detail": ""}]
    results = {} if task.deliverable_id is None else {
        (row.position, row.name): row for row in evidence_store.results_of(tx, task.deliverable_id)
    }  # fmt: skip
    missing = set(evidence_store.missing(tx, task))
    return [
        _view(tx, number, check, row, results.get((number - 1, check.name)), check.name in missing)
        for number, (check, row) in enumerate(zip(checks, task.checks, strict=True), start=1)
    ]


def _view(tx: Tx, number: int, check: Any, row: Mapping[str, Any], result: Any, is_missing: bool) -> View:
    waived = row.get("waived")
    if waived:
        state = "waived"
    elif check.is_run:
        state = "not run" if result is None else "passed" if result.passed else "failed"
    else:
        state = "not given" if is_missing else "passed"
    return {
        "number": number,
        "kind": check.kind,
        "name": check.name,
        "state": state,
        "detail": f"{waived['note']} ({approvals.name_of(tx, waived['by'])})"
        if waived
        else result.detail
        if result
        else "",
        "sha256": result.sha256 if result else None,
        "run_id": result.run_id if result else None,
        "set_by": approvals.name_of(tx, row.get("by")),
        "at": result.created_at if result else None,
    }


def gate_rejections(tx: Tx, task_id: str) -> list[View]:
    """Outputs of a task's agents that the output gate rejected, in order. Source: row A15."""
    return [
        {"name": row.name, "detail": row.detail, "run_id": row.run_id, "at": row.created_at}
        for row in evidence_store.results(tx, task_id)
        if row.kind == evidence_store.GATE
    ]
