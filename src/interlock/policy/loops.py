"""Rules of loop detection, over counts read elsewhere. Pure.

Actions are taken in `store.work.loops`. Source: row I1, numbers, "Loops".
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


class Limits(Protocol):
    """The limits of the rules, from the settings."""

    @property
    def comments(self) -> int:
        """More than these in `comments_s`."""

    @property
    def comments_s(self) -> float:
        """Seconds."""

    @property
    def review_cycles(self) -> int:
        """More than these."""

    @property
    def failed_calls(self) -> int:
        """These, within the last `failed_calls_runs` runs."""

    @property
    def failed_calls_runs(self) -> int:
        """Runs of one task."""

    @property
    def transitions(self) -> int:
        """These in `transitions_s`, of which one pair of states makes up half."""

    @property
    def transitions_s(self) -> float:
        """Seconds."""

    @property
    def messages(self) -> int:
        """These between one pair of agents in `messages_s`."""

    @property
    def messages_s(self) -> float:
        """Seconds."""


Pair = tuple[str, str]
"""Two states or two agents, in either order: the smaller first."""
RULES = ("comments", "review_cycles", "failed_calls", "transitions", "messages")
"""By name, in the order in which they are tried."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts about one task, since a person last released it from a loop, and within each window."""

    comments: int = 0
    review_cycles: int = 0
    failed_calls: int = 0
    transitions: Sequence[Pair] = ()
    """Of each change of its state, the two states; the changes that `is_progress` tells apart are left out."""
    messages: Mapping[Pair, int] | None = None
    """Messages between agents about it, by pair."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A broken rule, with a description and the figures."""

    rule: str
    """One of `RULES`."""
    reason: str
    count: int
    limit: int
    pair: Pair | None = None


def pair_of(one: str, other: str) -> Pair:
    """Two states or agents, whichever is named first."""
    return (one, other) if one <= other else (other, one)


def is_progress(before: str, after: str) -> bool:
    """Whether a change of state cannot be part of a loop: another rule counts it, or a person decides it.

    Review cycles have a rule of their own, and a wait for a person ends only after somebody has looked.
    """
    return "NEEDS_APPROVAL" in (before, after) or {before, after} == {"IN_PROGRESS", "REVIEW"}


def loops(facts: Facts, limits: Limits) -> tuple[Loop, ...]:
    """Every rule that the facts break, in order; empty if the task makes progress."""
    found = (
        _comments(facts, limits),
        _review_cycles(facts, limits),
        _failed_calls(facts, limits),
        _transitions(facts, limits),
        _messages(facts, limits),
    )
    return tuple(loop for loop in found if loop is not None)


def _comments(facts: Facts, limits: Limits) -> Loop | None:
    if facts.comments <= limits.comments:
        return None
    reason = f"{facts.comments} comments in {_minutes(limits.comments_s)}, more than {limits.comments} are a loop"
    return Loop("comments", reason, facts.comments, limits.comments)


def _review_cycles(facts: Facts, limits: Limits) -> Loop | None:
    if facts.review_cycles <= limits.review_cycles:
        return None
    reason = f"it was sent back {facts.review_cycles} times, more than {limits.review_cycles} are a loop"
    return Loop("review_cycles", reason, facts.review_cycles, limits.review_cycles)


def _failed_calls(facts: Facts, limits: Limits) -> Loop | None:
    if facts.failed_calls < limits.failed_calls:
        return None
    within = f"in its last {limits.failed_calls_runs} runs"
    reason = f"{facts.failed_calls} tool calls failed {within}, {limits.failed_calls} are a loop"
    return Loop("failed_calls", reason, facts.failed_calls, limits.failed_calls)


def _transitions(facts: Facts, limits: Limits) -> Loop | None:
    """Frequent changes of state, most of them between the same two."""
    if len(facts.transitions) < limits.transitions:
        return None
    pair, most = min(Counter(pair_of(*pair) for pair in facts.transitions).items(), key=lambda i: (-i[1], i[0]))
    if 2 * most < len(facts.transitions):
        return None
    reason = (
        f"its state changed {len(facts.transitions)} times in {_minutes(limits.transitions_s)}, {most} times between "
        f"{pair[0]} and {pair[1]}"
    )
    return Loop("transitions", reason, len(facts.transitions), limits.transitions, pair)


def _messages(facts: Facts, limits: Limits) -> Loop | None:
    found = facts.messages or {}
    if not found:
        return None
    pair, most = min(found.items(), key=lambda item: (-item[1], item[0]))
    if most < limits.messages:
        return None
    reason = (
        f"{pair[0]} and {pair[1]} sent each other {most} messages in {_minutes(limits.messages_s)}, "
        f"{limits.messages} are a loop"
    )
    return Loop("messages", reason, most, limits.messages, pair)


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:g} min" if seconds >= 60 else f"{seconds:g} s"
