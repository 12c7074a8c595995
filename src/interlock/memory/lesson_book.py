"""The life of lessons: learned, used, scored by outcomes, merged, approved, restored, retired.

INVARIANT: each change of a lesson is a version with its author and reason. Answers of the Learner are parsed, and
requests for changes authorised, elsewhere.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from interlock.core.errors import Conflict, NotFound
from interlock.core.ids import new_id
from interlock.core.values import Actor, ActorKind
from interlock.policy.learning import lesson_rules as rules
from interlock.policy.learning.lesson_rules import IN_USE, REHEARSED, UNTRUSTED, Outcome, Standing, Thresholds
from interlock.policy.learning.lesson_similarity import Likeness, likeness
from interlock.settings.model import LessonSettings
from interlock.store.auditing import audit
from interlock.store.knowledge import lesson_uses, lesson_versions, lessons
from interlock.store.signoff import approvals
from interlock.store.tx import Tx

JUDGE = Actor(ActorKind.SYSTEM, "system:lessons")
MOST_EVIDENCE = 50
TROUBLE = ("error", "fix")
"""Kinds of lessons on failures; if the failure recurs, they have not helped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A checked finding of the Learner; `same_as` and `contradicts` are ids of lessons of its project."""

    kind: str
    rule: str
    task_type: str | None
    persona: str | None
    confidence: float
    evidence: Sequence[str]
    same_as: str | None = None
    contradicts: Sequence[str] = field(default_factory=tuple)


def enter(
    tx: Tx, project_id: str, run_id: str, labels: Sequence[str], found: Finding, author: Actor, now: datetime,
    *, window: int = rules.WINDOW,
) -> str | None:  # fmt: skip
    """Adds a lesson on probation; returns its id, or None if it is known, in which case its evidence grows.

    A rule that contradicts a known one is added, and both refer to each other. Findings of rehearsals change nothing in
    real lessons; a lesson from rehearsals starts anew when it is found in real work.
    Source: row H9.
    """
    is_rehearsed = REHEARSED in labels
    same, opposites = _compared(tx, project_id, found, is_rehearsed)
    if same is not None and (REHEARSED in same.labels) is is_rehearsed:
        _seen_again(tx, same, found, run_id, labels, author, now, window)
        return None
    if same is not None:
        return None if is_rehearsed else _for_real(tx, same, found, run_id, labels, author, now)
    lesson_id = new_id("les")
    values = {
        "id": lesson_id, "project_id": project_id, "kind": found.kind, "rule": found.rule,
        "rule_digest": lessons.rule_digest(project_id, found.rule, found.task_type, found.persona),
        "task_type": found.task_type, "persona": found.persona,
        "confidence": rules.first_confidence(found.confidence), "status": str(Standing.PROBATION),
        "evidence": list(found.evidence)[:MOST_EVIDENCE], "labels": list(labels), "run_id": run_id,
        "contradicts": [row.id for row in opposites] or None,
    }  # fmt: skip
    lessons.add(tx, values, author, f"{lessons.LEARNED} {run_id}", now)
    for row in opposites:
        others = list(dict.fromkeys([*(row.contradicts or []), lesson_id]))
        lessons.change(tx, row, {"contradicts": others}, author, f"contradicted by {lesson_id}", now)
    return lesson_id


def _for_real(
    tx: Tx, row: Any, found: Finding, run_id: str, labels: Sequence[str], author: Actor, now: datetime
) -> str:  # fmt: skip
    """Makes a lesson from rehearsals a new real one, without its earlier score."""
    lesson_uses.forget(tx, row.id, now)
    changes = {
        "labels": list(labels), "status": str(Standing.PROBATION),
        "confidence": rules.first_confidence(found.confidence),
        "evidence": list(found.evidence)[:MOST_EVIDENCE], "helped_count": 0, "hurt_count": 0, "contradicts": None,
    }  # fmt: skip
    lessons.change(tx, row, changes, author, f"{lessons.LEARNED} {run_id}, for real", now)
    return str(row.id)


def _compared(tx: Tx, project_id: str, found: Finding, is_rehearsed: bool) -> tuple[Any | None, list[Any]]:
    exact = lessons.known(tx, lessons.rule_digest(project_id, found.rule, found.task_type, found.persona))
    same, opposites = [exact] if exact is not None else [], []
    for row in lessons.in_use(tx, project_id):
        scope, is_kin = (row.task_type, row.persona), (REHEARSED in row.labels) is is_rehearsed
        fits = scope == (found.task_type, found.persona)
        alike = likeness(row.rule, found.rule) if fits else Likeness.OTHER
        if alike is Likeness.SAME or (row.id == found.same_as and (fits or scope == (None, None))):
            same += [row] if is_kin or is_rehearsed else []
        elif is_kin and (row.id in found.contradicts or alike is Likeness.OPPOSITE):
            opposites.append(row)
    same.sort(key=lambda row: (REHEARSED in row.labels) is not is_rehearsed)
    held = [lessons.lesson(tx, row.id, to_change=True) for row in sorted(opposites, key=lambda row: str(row.id))]
    return (lessons.lesson(tx, same[0].id, to_change=True) if same else None), held


def _seen_again(
    tx: Tx, row: Any, found: Finding, run_id: str, labels: Sequence[str], author: Actor, now: datetime,
    window: int,
) -> None:  # fmt: skip
    if UNTRUSTED not in labels:
        row = _came_again(tx, row, found, now, window)
    evidence = list(dict.fromkeys([*row.evidence, *found.evidence]))[-MOST_EVIDENCE:]
    back = {"status": str(Standing.PROBATION)} if row.status == Standing.ARCHIVED else {}
    if evidence != list(row.evidence) or back:
        lessons.change(tx, row, {"evidence": evidence, **back}, author, f"{lessons.SEEN_AGAIN} {run_id}", now)


def _came_again(tx: Tx, row: Any, found: Finding, now: datetime, window: int) -> Any:
    """Reverses that a lesson has helped if its trouble recurred although it was shown; it loses the status of a rule.

    Returns the updated row.
    """
    if row.kind not in TROUBLE or row.status not in IN_USE:
        return row
    vain = lesson_uses.retract(tx, row.id, found.evidence, now)
    if not vain:
        return row
    helped = max(0, row.helped_count - vain)
    recent = lesson_uses.recent(tx, row.id, window)
    used = any(each != Outcome.NEITHER for each in recent)
    changes = {
        "confidence": rules.confidence(recent, window) if used else min(row.confidence, rules.FIRST_CONFIDENCE),
        "status": str(Standing.ACTIVE if helped and UNTRUSTED not in row.labels else Standing.PROBATION),
        "helped_count": helped,
    }  # fmt: skip
    lessons.change(tx, row, changes, JUDGE, "it was shown, and what it is about happened again", now)
    return lessons.lesson(tx, row.id)


def shown(tx: Tx, lesson_ids: Sequence[str], run_id: str, task_id: str | None, now: datetime) -> None:
    """Counts the lessons shown to a run, and records the task whose outcome will score them."""
    lessons.applied(tx, lesson_ids, now)
    lesson_uses.record_use(tx, lesson_ids, run_id, task_id, now)


def conclude(tx: Tx, task_id: str, outcome: Outcome, limits: Thresholds, now: datetime) -> None:
    """Scores the lessons shown to a task's runs by how the task ended. Source: row H8.

    A lesson counts once per task, however many runs it took. If a person denied something, none has helped.
    """
    open_uses = lesson_uses.undecided(tx, task_id)
    if open_uses and outcome is Outcome.HELPED and approvals.was_denied(tx, task_id):
        outcome = Outcome.NEITHER
    for lesson_id, runs in open_uses.items():
        row = lessons.lesson(tx, lesson_id, to_change=True)
        for number, run_id in enumerate(runs):
            lesson_uses.decide(tx, lesson_id, run_id, str(Outcome.NEITHER if number else outcome), now)
        if row is not None and row.status in IN_USE:
            _judged(tx, row, task_id, outcome, limits, now)


def _judged(tx: Tx, row: Any, task_id: str, outcome: Outcome, limits: Thresholds, now: datetime) -> None:
    helped = row.helped_count + (outcome is Outcome.HELPED)
    recent = lesson_uses.recent(tx, row.id, limits.window)
    used = any(each != Outcome.NEITHER for each in recent)
    earned = rules.confidence(recent, limits.window) if used else row.confidence
    stands = rules.standing(row.status, earned, row.applied_count, helped, outcome, row.labels, limits)
    changes = {
        "confidence": earned, "status": str(stands), "helped_count": helped,
        "hurt_count": row.hurt_count + (outcome is Outcome.HURT),
    }  # fmt: skip
    if any(getattr(row, name) != value for name, value in changes.items()):
        lessons.change(tx, row, changes, JUDGE, f"{outcome} in task {task_id}", now)


def thresholds(settings: LessonSettings) -> Thresholds:
    """The thresholds from the settings."""
    return Thresholds(**settings.model_dump(exclude={"shown"}))


def is_due(row: Any, limits: Thresholds, now: datetime) -> bool:
    """Whether a lesson in use is due to be retired."""
    return _end(row, limits, now) is not None


def _end(row: Any, limits: Thresholds, now: datetime) -> Standing | None:
    return rules.retained(row.confidence, row.applied_count, row.created_at, row.last_applied_at, now, limits)


def retain(tx: Tx, lesson_ids: Iterable[str], limits: Thresholds, now: datetime) -> dict[str, int]:
    """Prunes and archives those of some lessons that are due; returns how many. They can be restored.

    Source: numbers, "Memory".
    """
    gone: dict[str, int] = {}
    for lesson_id in lesson_ids:
        row = lessons.lesson(tx, lesson_id, to_change=True)
        end = _end(row, limits, now) if row is not None and row.status in IN_USE else None
        if row is None or end is None:
            continue
        why = f"confidence {row.confidence:.2f}, {'not applied for long' if row.applied_count else 'never applied'}"
        lessons.change(tx, row, {"status": str(end)}, JUDGE, f"{end}: {why}", now)
        gone[str(end)] = gone.get(str(end), 0) + 1
    return gone


def merge(
    tx: Tx, project_id: str, keep_id: str, drop_id: str, author: Actor, reason: str, now: datetime
) -> bool:  # fmt: skip
    """Retires a lesson in favour of another that says the same, which gets its evidence.

    False unless both are in use in that project for the same work, if the one to retire is a rule, or if the one to
    keep is tainted, or from rehearsals, and the other is not.
    """
    rows = {ident: lessons.lesson(tx, ident, to_change=True) for ident in sorted({keep_id, drop_id})}
    keep, drop = rows.get(keep_id), rows.get(drop_id)
    if keep is None or drop is None or keep is drop or {keep.project_id, drop.project_id} != {project_id}:
        return False
    if (keep.persona, keep.task_type) not in ((drop.persona, drop.task_type), (None, None)):
        return False
    if keep.status not in IN_USE or drop.status not in IN_USE or drop.status == Standing.PROMOTED:
        return False
    if {UNTRUSTED, REHEARSED} & set(keep.labels) - set(drop.labels):
        return False
    evidence = list(dict.fromkeys([*keep.evidence, *drop.evidence]))[-MOST_EVIDENCE:]
    lessons.change(tx, keep, {"evidence": evidence}, author, f"{drop.id} says the same: {reason}", now)
    lessons.change(tx, drop, {"status": str(Standing.MERGED)}, author, f"merged into {keep.id}: {reason}", now)
    return True


def approve(tx: Tx, lesson_id: str, person: Actor, now: datetime) -> bool:
    """A person vouches for a lesson with untrusted evidence, which may then prove itself; False if it had none.

    Raises NotFound, Conflict. Source: row C11.
    """
    row = _held(tx, lesson_id)
    if row.status not in IN_USE:
        raise Conflict(f"lesson `{lesson_id}` is {row.status}: restore a version of it first")
    if UNTRUSTED not in row.labels:
        return False
    labels = [label for label in row.labels if label != UNTRUSTED]
    status = Standing.ACTIVE if row.helped_count else Standing.PROBATION
    lessons.change(tx, row, {"labels": labels, "status": str(status)}, person, "approved by a person", now)
    audit.note(tx, "LESSON_APPROVED", person, now, project_id=row.project_id or "", subject=lesson_id, rule=row.rule)
    return True


class NoVersion(NotFound):
    """No version of that number of a lesson."""

    def __init__(self, lesson_id: str, number: int) -> None:
        super().__init__("version", str(number))
        self.args = (f"lesson `{lesson_id}` has no version {number}: `interlock lessons show {lesson_id}` lists them",)


def restore(tx: Tx, lesson_id: str, number: int, person: Actor, now: datetime) -> int:
    """Makes an earlier version the current one; returns the new version's number.

    Raises NotFound for an unknown lesson or version. Source: row H7.
    """
    row, old = _held(tx, lesson_id), lesson_versions.version(tx, lesson_id, number)
    if old is None:
        raise NoVersion(lesson_id, number)
    content = {name: value for name, value in old.content.items() if name in lesson_versions.KEPT}
    digest = lessons.rule_digest(row.project_id, content["rule"], content["task_type"], content["persona"])
    other = lessons.known(tx, digest)
    if other is not None and other.id != lesson_id:
        raise Conflict(f"lesson `{other.id}` says the same: look with `interlock lessons show {other.id}`")
    new = lessons.change(tx, row, content, person, f"restored version {number}", now)
    audit.note(
        tx, "LESSON_RESTORED", person, now, project_id=row.project_id or "", subject=lesson_id, version=number
    )  # fmt: skip
    return new


def _held(tx: Tx, lesson_id: str) -> Any:
    row = lessons.lesson(tx, lesson_id, to_change=True)
    if row is None:
        raise NotFound("lesson", lesson_id)
    return row
