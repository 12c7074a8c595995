"""Parses an answer of the Learner as untrusted input: well-formed lessons, and why others are rejected.

Whether a lesson is fit for a prompt is decided in `policy.learning.lesson_fitness`; whether evidence exists, in
`learner`. INVARIANT: no text makes this raise.
"""

import json
import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

from interlock.agents.prompts.quoting import one_line
from interlock.agents.prompts.task_messages import TASK_TYPES
from interlock.core.text import storable
from interlock.memory.lesson_book import Finding
from interlock.policy.learning.lesson_fitness import unfit

KINDS = ("win", "error", "fix", "optimisation")
MOST = 10
MOST_CITED = 12
LONGEST_RULE = 600
_ID = re.compile(r"[A-Za-z0-9_-]{4,64}")
_PERSONA = re.compile(r"[a-z][a-z0-9_-]{0,39}")


@dataclass(frozen=True, slots=True)
class Merge:
    """Two lessons that say the same, and which of them to keep."""

    keep: str
    drop: str
    reason: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The content of an answer: well-formed lessons, merges, and why the rest was rejected."""

    findings: tuple[Finding, ...] = ()
    merges: tuple[Merge, ...] = ()
    faults: tuple[str, ...] = ()


def read(answer: str, labels: Set[str] = frozenset()) -> Answer:
    """Parses an answer; `labels` are those of what the Learner was shown."""
    data = _object(answer)
    findings: list[Finding] = []
    faults: list[str] = []
    listed = data.get("lessons")
    for each in listed[:MOST] if isinstance(listed, list) else []:
        found = _finding(each, labels)
        if isinstance(found, str):
            faults.append(found)
        else:
            findings.append(found)
    if isinstance(listed, list):
        faults += ["there are more than ten"] * len(listed[MOST:][:MOST])
    merges = data.get("merges")
    wished = [_merge(each) for each in (merges[:MOST] if isinstance(merges, list) else [])]
    return Answer(tuple(findings), tuple(m for m in wished if m is not None), tuple(faults))


def _object(answer: str) -> Mapping[str, Any]:
    start, end = answer.find("{"), answer.rfind("}")
    try:
        data = json.loads(answer[start : end + 1]) if start >= 0 else None
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _finding(data: Any, labels: Set[str]) -> Finding | str:
    if not isinstance(data, Mapping):
        return "it is not an object"
    kind, rule, confidence = data.get("kind"), data.get("rule"), data.get("confidence")
    task_type, persona = data.get("task_type") or None, data.get("persona") or None
    if kind not in KINDS:
        return "it is of no known kind"
    if not isinstance(rule, str) or len(rule) > LONGEST_RULE:
        return "its rule is not a short text"
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        return "its confidence is not between 0 and 1"
    if task_type is not None and task_type not in TASK_TYPES:
        return "its task type is unknown"
    if persona is not None and (not isinstance(persona, str) or _PERSONA.fullmatch(persona) is None):
        return "its persona is not a name"
    evidence = _ids(data.get("evidence"), MOST_CITED)
    if not evidence:
        return "it names no evidence"
    line = one_line(storable(rule), limit=LONGEST_RULE)
    if why := unfit(line, labels, is_scoped=bool(task_type or persona)):
        return why
    same_as = _ids([data.get("same_as")], 1)
    return Finding(
        kind=kind, rule=line, task_type=task_type, persona=persona, confidence=float(confidence), evidence=evidence,
        same_as=same_as[0] if same_as else None, contradicts=_ids(data.get("contradicts"), 3),
    )  # fmt: skip


def _merge(data: Any) -> Merge | None:
    if not isinstance(data, Mapping):
        return None
    named = [_ids([data.get(part)], 1) for part in ("keep", "drop")]
    reason = data.get("reason")
    if not all(named):
        return None
    return Merge(named[0][0], named[1][0], one_line(storable(reason), limit=200) if isinstance(reason, str) else "")


def _ids(value: Any, most: int) -> tuple[str, ...]:
    found = [each for each in value if isinstance(each, str) and _ID.fullmatch(each)] if isinstance(value, list) else []
    return tuple(dict.fromkeys(found))[:most]
