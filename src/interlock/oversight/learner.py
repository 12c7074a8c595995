"""What the Learner's answers become: lessons whose evidence exists, on probation.

When the Learner is asked is the coordinator's matter; how lessons reach prompts, `agents.prompt`'s.
"""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from interlock.core.values import Actor, ActorKind
from interlock.store import approvals, audit, lessons, tasks, traces
from interlock.store.tx import Tx

KINDS = ("win", "error", "fix", "optimisation")
MOST = 10
LONGEST_RULE = 600


def take_up(tx: Tx, run: Any, answer: str | None, now: datetime) -> None:
    """Enters the lessons of a Learner's run, in the transaction that ends it.

    A lesson that is malformed, or whose evidence is of nothing that exists, is left out and counted; so is one that
    is known, to which its evidence is added.
    """
    found = _lessons_in(answer or "")
    kept, left_out = 0, 0
    for lesson in found[:MOST]:
        entered = _enter(tx, run, lesson, now)
        kept += entered
        left_out += not entered
    agent = Actor(ActorKind.AGENT, run.agent_id)
    audit.note(
        tx, "LESSONS_LEARNED", agent, now, project_id=run.project_id, mission_id=run.mission_id, run_id=run.id,
        kept=kept, left_out=left_out + max(0, len(found) - MOST),
    )  # fmt: skip


def _lessons_in(answer: str) -> list[Any]:
    start, end = answer.find("{"), answer.rfind("}")
    try:
        data = json.loads(answer[start : end + 1]) if start >= 0 else None
    except (ValueError, RecursionError):
        return []
    found = data.get("lessons") if isinstance(data, dict) else None
    return found if isinstance(found, list) else []


def _enter(tx: Tx, run: Any, lesson: Any, now: datetime) -> bool:
    if not isinstance(lesson, Mapping):
        return False
    rule, kind, confidence = lesson.get("rule"), lesson.get("kind"), lesson.get("confidence")
    evidence = lesson.get("evidence")
    if not isinstance(rule, str) or not 0 < len(rule.strip()) <= LONGEST_RULE or kind not in KINDS:
        return False
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        return False
    cited = [e for e in evidence if isinstance(e, str) and _exists(tx, e)] if isinstance(evidence, list) else []
    if not cited:
        return False
    return lessons.add(
        tx,
        now,
        project_id=run.project_id,
        kind=kind,
        rule=rule.strip(),
        task_type=_word(lesson.get("task_type")),
        persona=_word(lesson.get("persona")),
        confidence=float(confidence),
        evidence=cited,
        run_id=run.id,
        labels=list(run.labels),
    )


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _exists(tx: Tx, ident: str) -> bool:
    look: tuple[Callable[[Tx, str], Any], ...] = (traces.run, tasks.task, approvals.approval, traces.call)
    return any(find(tx, ident) is not None for find in look)
