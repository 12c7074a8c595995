"""Scoring of lessons: confidence, status, retirement, and which ones are shown.

Lessons are stored and counted in `memory`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice
from typing import Any

WINDOW = 20
"""Uses that count, by default. Source: numbers, "Other defaults"."""
FIRST_CONFIDENCE = 0.5
"""Of a lesson that nobody has used: what one observation is worth."""
UNTRUSTED = "untrusted"
REHEARSED = "rehearsal"
"""Labels of a lesson: its evidence holds words of strangers; it comes from the offline model."""
SCARS = frozenset({"FAILURE", "LOOP", "BREAKER", "STUCK"})
"""Block kinds that say that the work itself went wrong."""


class Standing(StrEnum):
    """The status of a lesson. The first three are shown to agents."""

    PROBATION = "probation"
    ACTIVE = "active"
    PROMOTED = "promoted"
    MERGED = "merged"
    ARCHIVED = "archived"
    PRUNED = "pruned"


IN_USE = (Standing.PROBATION, Standing.ACTIVE, Standing.PROMOTED)


class Outcome(StrEnum):
    """The outcome of a task to which a lesson was applied."""

    HELPED = "helped"
    HURT = "hurt"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """When a lesson becomes a rule, and when it is retired; days and fractions. Source: numbers, "Memory"."""

    promote_confidence: float = 0.8
    promote_applied: int = 3
    prune_confidence: float = 0.3
    prune_days: int = 90
    archive_confidence: float = 0.5
    archive_days: int = 60
    window: int = WINDOW


USUAL = Thresholds()


def confidence(outcomes: Sequence[str], window: int = WINDOW) -> float:
    """(helped + 1) / (helped + hurt + 2) over the last `window` uses, newest first. Source: row H8."""
    recent = list(islice(outcomes, window))
    helped, hurt = recent.count(Outcome.HELPED), recent.count(Outcome.HURT)
    return (helped + 1) / (helped + hurt + 2)


def first_confidence(claimed: float) -> float:
    """The initial confidence: as claimed, but no higher than that of a single observation."""
    return min(max(claimed, 0.0), FIRST_CONFIDENCE)


def outcome(status: str, block_kind: str | None, failed_tries: int, review_cycles: int) -> Outcome:
    """The outcome for the lessons shown to a task's agents, from how the task ended. Source: row H8."""
    if status == "BLOCKED" and block_kind in SCARS:
        return Outcome.HURT
    if failed_tries > 1:
        return Outcome.HURT
    if status == "DONE" and failed_tries == 0 and review_cycles == 0:
        return Outcome.HELPED
    return Outcome.NEITHER


def standing(
    now: str, earned: float, applied: int, helped: int, latest: str, labels: Sequence[str], limits: Thresholds
) -> Standing:
    """The status of a lesson after a use with the outcome `latest`.

    It is on probation until it has helped; harm demotes it at once. INVARIANT: a lesson with untrusted evidence stays
    on probation until a person has approved it. Source: rows H6, H8, C11.
    """
    if now not in IN_USE:
        return Standing(now)
    if UNTRUSTED in labels or helped == 0:
        return Standing.PROBATION
    proven = earned > limits.promote_confidence and applied >= limits.promote_applied
    if proven and latest == Outcome.HELPED:
        return Standing.PROMOTED
    return Standing.PROMOTED if now == Standing.PROMOTED and latest == Outcome.NEITHER and proven else Standing.ACTIVE


def retained(
    earned: float, applied: int, created_at: datetime, last_applied_at: datetime | None, now: datetime, t: Thresholds
) -> Standing | None:
    """PRUNED or ARCHIVED if a lesson is due for that; None if it stays. Source: numbers, "Memory"."""
    if earned < t.prune_confidence and now - (last_applied_at or created_at) >= timedelta(days=t.prune_days):
        return Standing.PRUNED
    if earned < t.archive_confidence and applied == 0 and now - created_at >= timedelta(days=t.archive_days):
        return Standing.ARCHIVED
    return None


def due(
    task_id: str, parent_id: str | None, status: str, block_kind: str | None, tries: int, cycles: int
) -> str | None:
    """The key of the Learner's review of a task in its current state; None while nothing has ended or gone wrong."""
    ended = status in ("DONE", "CANCELED")
    if parent_id is None:
        return f"learn:{task_id}" if ended else None
    if ended:
        return f"learn:{task_id}:end"
    if status == "BLOCKED" and block_kind in SCARS:
        return f"learn:{task_id}:{block_kind.lower()}:{tries}:{cycles}"
    return None


def best(rows: Sequence[Any], *, rehearsal: bool, most: int) -> list[Any]:
    """The lessons for a run: rules first, then by confidence, relevance and recency of evidence.

    Lessons from rehearsals are only for rehearsals. Contradicting lessons are both shown, the one with newer evidence
    first; a lesson with untrusted evidence is never promoted by one that it contradicts. Source: rows H6, H9.
    """
    fitting = sorted((r for r in rows if rehearsal or REHEARSED not in r.labels), key=_rank)
    chosen: dict[str, Any] = {}
    for row in fitting:
        for each in sorted([row, *disputes(row, fitting)], key=lambda r: -r.evidence_at.timestamp()):
            chosen.setdefault(each.id, each)
    return list(chosen.values())[:most]


def disputes(row: Any, rows: Sequence[Any]) -> list[Any]:
    """The rows that contradict a lesson and may be weighed against it.

    INVARIANT: untrusted evidence is not weighed against a lesson with trusted evidence.
    """
    against = (each for each in rows if each.id in (row.contradicts or ()))
    return [each for each in against if UNTRUSTED in row.labels or UNTRUSTED not in each.labels]


def _rank(row: Any) -> tuple[bool, bool, float, int, float, str]:
    closeness = (row.persona is not None) + (row.task_type is not None)
    return (
        row.status != Standing.PROMOTED, UNTRUSTED in row.labels, -row.confidence, -closeness,
        -row.evidence_at.timestamp(), row.id,
    )  # fmt: skip
