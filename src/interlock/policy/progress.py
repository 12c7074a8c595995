"""Progress detection: what counts as progress of a run, and when the lack of it stops the run. Pure.

Progress is something new: a file or a deliverable with new content, an effect with new arguments, a person's answer, or
a result that was not read before. The agent's own words do not count. The runner stops the run. Source: row I7.
"""

import re
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

from interlock.core.values import canonical_json, digest, usd

TALK = frozenset(
    {"post_progress", "post_comment", "notification", "do_nothing", "send_message", "react_to_message"}
)  # fmt: skip
"""Tools that only communicate, or do nothing."""
PAYLOADS = ("content", "data", "patch", "body")
"""Arguments with content that a tool writes; the results of calls with one of these are no progress."""
LEAST_CALLS = 3
"""With fewer model calls, no lack of progress is diagnosed, whatever they cost."""
SHOWN = 12
"""The most calls in a diagnosis."""
_CHANGING = re.compile(r"[0-9a-fA-F]{8,}|\d+")
_DIGEST = 64
"""Characters of a digest."""


class Limits(Protocol):
    """The limits, from the settings."""

    @property
    def progress(self) -> bool:
        """Whether runs are stopped at all."""

    @property
    def idle_calls(self) -> int:
        """Model calls without progress."""

    @property
    def idle_share(self) -> float:
        """The fraction of the task's budget spent without progress."""


class EndedCall(Protocol):
    """A tool call that has ended, as a row or in memory."""

    @property
    def tool(self) -> str:
        """Its name."""

    @property
    def args(self) -> Any:
        """As given by the model, or as edited by a person."""

    @property
    def risk(self) -> str:
        """As decided."""

    @property
    def status(self) -> str:
        """done, failed, denied, refused …"""

    @property
    def approval_id(self) -> str | None:
        """The approval that a person answered."""

    @property
    def result(self) -> str | None:
        """As shown to the model."""


@dataclass(frozen=True, slots=True)
class Stuck:
    """Why a run was stopped, in one line, and what it did since its last progress."""

    reason: str
    calls: int
    microusd: int
    did: tuple[str, ...]
    """The calls since the last sign of progress, most frequent first: `3 × file_read {"path": "a"} → failed`."""

    @property
    def diagnosis(self) -> str:
        """For people and for the next agent."""
        did = "\n".join(f"- {line}" for line in self.did) or "- it called no tools"
        return f"Stopped: {self.reason}. What it did since the last sign of progress:\n{did}"


@dataclass(slots=True)
class Watch:
    """Counts model calls and cost since the last progress; deterministic for the same steps."""

    idle_calls: int = 0
    idle_microusd: int = 0
    _signs: set[str] = field(default_factory=set)
    _asked: set[str] = field(default_factory=set)
    _did: deque[str] = field(default_factory=lambda: deque(maxlen=200))

    def step(self, microusd: int, calls: Sequence[EndedCall]) -> None:
        """Adds a model call with its cost and its (ended) tool calls."""
        fresh = [sign for call in calls for sign in self._signs_of(call) if sign not in self._signs]
        self._signs.update(fresh)
        if fresh:
            self.idle_calls = self.idle_microusd = 0
            self._did.clear()
            return
        self.idle_calls += 1
        self.idle_microusd += microusd
        self._did.extend(map(_shown, calls))

    def stuck(self, limits: Limits, budget_microusd: int | None) -> Stuck | None:
        """Why the run should be stopped; None if it may continue. Only a task has a budget.

        Source: numbers, "Other defaults".
        """
        if not limits.progress:
            return None
        share = None if budget_microusd is None else round(limits.idle_share * budget_microusd)
        if self.idle_calls >= limits.idle_calls:
            most = f"{limits.idle_calls} are the most"
        elif share and self.idle_calls >= LEAST_CALLS and self.idle_microusd >= share:
            most = f"{usd(share)}, {limits.idle_share:.0%} of its task's budget, is the most"
        else:
            return None
        reason = f"{self.idle_calls} model calls for {usd(self.idle_microusd)} without a sign of progress; {most}"
        return Stuck(reason, self.idle_calls, self.idle_microusd, tuple(_counted(self._did)))

    def _signs_of(self, call: EndedCall) -> Iterable[str]:
        if call.approval_id is not None:
            yield f"answer:{call.approval_id}"
        if call.status != "done" or call.tool in TALK:
            return
        args = call.args if isinstance(call.args, dict) else {}
        asked = f"{call.tool}:{canonical_json(args)}"
        if made := [args[name] for name in PAYLOADS if args.get(name)]:
            yield f"made:{_brief(canonical_json(made))}"
        elif call.risk != "GREEN":
            yield f"did:{_brief(asked)}"
        else:
            yield from self._found(asked, _without_echo(call.result or "", args))

    def _found(self, asked: str, text: str) -> Iterable[str]:
        """The signs of progress in a result; numbers that change between equal calls, such as the time, are none."""
        same = "same:" + _brief(asked + _CHANGING.sub("#", text))
        again, before = asked in self._asked, same in self._signs
        self._asked.add(asked)
        self._signs.add(same)
        if text.strip() and not (again and before):
            yield f"found:{_brief(text)}"


def _brief(text: str) -> str:
    """A text as part of a sign; a digest, if that is shorter."""
    return text if len(text) < _DIGEST else digest(text)


def _without_echo(text: str, args: Mapping[str, Any]) -> str:
    """A result without the arguments that it repeats, so that a rephrased call is no progress."""
    for word in sorted(set(_strings(args)) - {""}, key=len, reverse=True):
        if word in text:
            text = text.replace(word, "") if len(word) > 1 else _alone(word).sub("", text)
    return text


@lru_cache(maxsize=256)
def _alone(char: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(char)}\b")


def _strings(value: Any) -> list[str]:
    """The strings and numbers in JSON, as strings."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return [str(value)]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [text for part in parts for text in _strings(part)]


def _shown(call: EndedCall) -> str:
    args = canonical_json(call.args) if call.args else ""
    short = args if len(args) <= 120 else f"{args[:119]}…"
    return f"{call.tool} {short}".strip() + ("" if call.status == "done" else f" → {call.status}")


def _counted(did: Iterable[str]) -> list[str]:
    counts = Counter(did)
    lines = [f"{n} × {what}" if n > 1 else what for what, n in counts.most_common(SHOWN)]
    left = len(counts) - len(lines)
    return [*lines, f"and {left} others"] if left > 0 else lines
