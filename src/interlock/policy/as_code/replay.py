"""Replays recorded calls under another policy, and counts and lists the changes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from interlock.policy.calls import Call, Caller, Decision
from interlock.policy.decide import DECLARES, decide
from interlock.policy.risk import Effect, Risk
from interlock.policy.rules import Policy

MOST_LISTED = 1_000
GRANTED = "allowed by grant `"
_DECLARED = re.compile(rf"`[^`]*` {DECLARES} ({'|'.join(Risk)})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A recorded call with its decision."""

    id: str
    at: datetime
    run_id: str
    mission_id: str | None
    call: Call
    who: Caller
    risk: Risk
    effect: Effect
    reasons: Sequence[str]
    policy_hash: str


class Kind(StrEnum):
    """How a decision would differ."""

    NEWLY_DENIED = "newly denied"
    NEWLY_HELD = "newly held"
    FEWER_QUESTIONS = "no longer asked"
    NO_LONGER_DENIED = "no longer denied"
    OTHER_RISK = "another risk"


@dataclass(frozen=True, slots=True)
class Change:
    """A call that would be decided differently."""

    kind: Kind
    recorded: Recorded
    now: Decision


@dataclass(slots=True)
class Replay:
    """The results so far."""

    policy: Policy
    calls: int = 0
    counts: dict[Kind, int] = field(default_factory=lambda: dict.fromkeys(Kind, 0))
    changes: list[Change] = field(default_factory=list)
    """The first ones; `unlisted` more were not kept."""
    unlisted: int = 0

    def take(self, recorded: Recorded) -> None:
        """Decides one call again."""
        self.calls += 1
        now = decide(recorded.call, recorded.who, self.policy)
        if (kind := _kind(recorded, now)) is None:
            return
        self.counts[kind] += 1
        if len(self.changes) < MOST_LISTED:
            self.changes.append(Change(kind, recorded, now))
        else:
            self.unlisted += 1

    @property
    def summary(self) -> str:
        """One line: `17 fewer questions, 2 newly held, 0 newly denied (of 1,200 calls)`."""
        said = [
            f"{self.counts[Kind.FEWER_QUESTIONS]:,} fewer questions",
            f"{self.counts[Kind.NEWLY_HELD]:,} newly held",
            f"{self.counts[Kind.NEWLY_DENIED]:,} newly denied",
        ]
        if freed := self.counts[Kind.NO_LONGER_DENIED]:
            said.append(f"{freed:,} no longer denied")
        if other := self.counts[Kind.OTHER_RISK]:
            said.append(f"{other:,} of another risk")
        return f"{', '.join(said)} (of {self.calls:,} call{'' if self.calls == 1 else 's'})"


def declared_risk(reasons: Sequence[str]) -> str | None:
    """The risk that a recorded call's tool declared, by the reasons of its decision."""
    found = _DECLARED.fullmatch(reasons[0]) if reasons else None
    return found[1] if found else None


def _kind(before: Recorded, now: Decision) -> Kind | None:
    was = before.effect
    if was is Effect.ALLOW and now.grantable and any(reason.startswith(GRANTED) for reason in before.reasons):
        return None
    if now.effect is not was:
        if now.effect is Effect.DENY:
            return Kind.NEWLY_DENIED
        if was is Effect.DENY:
            return Kind.NO_LONGER_DENIED
        return Kind.NEWLY_HELD if now.effect is Effect.HOLD else Kind.FEWER_QUESTIONS
    return Kind.OTHER_RISK if now.risk is not before.risk else None
