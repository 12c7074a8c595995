"""Chooses the assignee of a task: a score for each candidate, and an explainable choice; nothing is assigned here."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from interlock.agents.persona import Persona
from interlock.graph.triggers import find_triggers, weight
from interlock.settings.agency import DelegationSettings

USUAL = DelegationSettings()
MOST_SHOWN = 20
"""The most candidates in an entry of the decision log."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A member as a candidate. `done` and `failed` count its ended tasks; amounts of money are of its day.

    `trust` is the member's, which may differ from its persona's. `obstacle` says why it may not be assigned anything
    (quarantined, paused, no budget); None if it may.
    """

    member_id: str
    persona: Persona
    trust: str
    done_count: int = 0
    failed_count: int = 0
    active_tasks: int = 0
    daily_limit_microusd: int = 0
    daily_left_microusd: int = 0
    obstacle: str | None = None


@dataclass(frozen=True, slots=True)
class Need:
    """The requirements of a task. `author` is the persona whose work it reviews, which may not be chosen."""

    persona: str
    type: str
    text: str
    capabilities: tuple[str, ...] = ()
    author: str | None = None


@dataclass(frozen=True, slots=True)
class Score:
    """The parts of a candidate's score; `workload` is negative."""

    capability: float
    track_record: float
    trust: float
    headroom: float
    trigger: float
    workload: float

    @property
    def total(self) -> float:
        """0 to 100 with the usual points."""
        parts = self.capability + self.track_record + self.trust + self.headroom + self.trigger + self.workload
        return max(0.0, parts)

    def to_json(self) -> dict[str, float]:
        """The parts and their total, rounded, for the decision log."""
        return {name: round(value, 2) for name, value in {**asdict(self), "total": self.total}.items()}


@dataclass(frozen=True, slots=True)
class Choice:
    """Who was chosen and why, with all candidates; if nobody was, the task waits, with an alert."""

    candidate: Candidate | None
    score: Score | None
    reason: str
    substitute: bool
    """Whether the named persona could not be had."""
    considered: tuple[tuple[Candidate, Score, str], ...]
    """Each candidate with its score and the reason why it was not eligible (empty if it was)."""

    def to_json(self) -> dict[str, Any]:
        """For the decision log. Source: row A11."""
        return {
            "member": self.candidate.member_id if self.candidate else None,
            "persona": self.candidate.persona.name if self.candidate else None,
            "score": self.score.to_json() if self.score else None,
            "reason": self.reason,
            "substitute": self.substitute,
            "considered": [
                {"member": c.member_id, "persona": c.persona.name, "score": s.to_json(), "obstacle": why or None}
                for c, s, why in self._shown()
            ],
            "others": max(0, len(self.considered) - MOST_SHOWN),
        }

    def _shown(self) -> Sequence[tuple[Candidate, Score, str]]:
        """All candidates; if there are very many, the chosen one and the best eligible ones."""
        if len(self.considered) <= MOST_SHOWN:
            return self.considered
        ranked = sorted(
            self.considered, key=lambda each: (each[0] is not self.candidate, bool(each[2]), -each[1].total)
        )
        return ranked[:MOST_SHOWN]


def score(candidate: Candidate, need: Need, points: DelegationSettings = USUAL) -> Score:
    """The score of a candidate for a task, by parts.

    Track record is (done + 1) / (ended + 2), so that a newcomer starts in the middle. Source: numbers, "Delegation
    score".
    """
    persona = candidate.persona
    wanted = set(need.capabilities)
    met = len(wanted.intersection(persona.capabilities)) / len(wanted) if wanted else 0.0
    limit, left = candidate.daily_limit_microusd, candidate.daily_left_microusd
    found = find_triggers(need.text, persona.triggers)
    done, ended = candidate.done_count, candidate.done_count + candidate.failed_count
    return Score(
        capability=points.capabilities * met if wanted else points.none_required,
        track_record=points.track_record * (done + 1) / (ended + 2),
        trust={"intern": points.intern, "specialist": points.specialist, "lead": points.lead}[candidate.trust],
        headroom=points.headroom * min(1.0, max(0.0, left / limit)) if limit > 0 else 0.0,
        trigger=points.triggers * min(1.0, weight(found) / 2),
        workload=-min(points.workload, points.active_task * candidate.active_tasks),
    )


def choose(candidates: Sequence[Candidate], need: Need, worth: DelegationSettings = USUAL) -> Choice:
    """The best eligible member of the named persona, else the best of another that accepts the task's type.

    Source: row A5.
    """
    judged = tuple((c, score(c, need, worth), _obstacle(c, need)) for c in candidates)
    free = sorted(
        ((c, s) for c, s, why in judged if not why),
        key=lambda pair: (-pair[1].total, pair[0].active_tasks, pair[0].persona.name, pair[0].member_id),
    )
    named = [pair for pair in free if pair[0].persona.name == need.persona]
    others = [pair for pair in free if need.type in pair[0].persona.task_types]
    if named:
        chosen, points = named[0]
        return Choice(chosen, points, f"`{need.persona}` as planned, {points.total:.1f} points", False, judged)
    missing = _why_not_named(judged, need)
    if others:
        chosen, points = others[0]
        reason = (
            f"{missing}; `{chosen.persona.name}` is the best of {len(others)} that may take `{need.type}` tasks, "
            f"{points.total:.1f} points"
        )
        return Choice(chosen, points, reason, True, judged)
    return Choice(None, None, f"{missing}; nobody else may take `{need.type}` tasks now", False, judged)


def _obstacle(candidate: Candidate, need: Need) -> str:
    if candidate.obstacle:
        return candidate.obstacle
    if candidate.persona.name == need.author:
        return "wrote what is to be reviewed"
    if not candidate.persona.takes_tasks:
        return "takes no tasks"
    return ""


def _why_not_named(judged: Sequence[tuple[Candidate, Score, str]], need: Need) -> str:
    reasons = [why for c, _, why in judged if c.persona.name == need.persona]
    return f"`{need.persona}` is not available ({reasons[0] if reasons else 'no such member'})"
