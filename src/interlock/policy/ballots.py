"""Models' votes: parsing one from an answer, and the result of three. Source: rows A10, C8."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from interlock.policy import formats

SEATS = 3
NEEDED = 2
YES, NO, LOST = "yes", "no", "lost"
LONGEST_REASON = 600
LONGEST_ANSWER = 10_000
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(?P<inner>.*)\n```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Ballot:
    """One model's vote."""

    verdict: str
    """yes or no."""
    reason: str


class Outcome(StrEnum):
    """The result of votes."""

    OPEN = "open"
    """Votes are out, and none of the two has a majority."""
    YES = "yes"
    NO = "no"
    NONE = "none"
    """All are in and neither has two: one for each, or models that could not be asked."""


def read(text: str) -> Ballot | str:
    """The vote in an answer, or a message for the model why there is none. Never raises."""
    body = text.strip()
    if len(body) > LONGEST_ANSWER:
        return f"the answer has {len(body):,} characters: one small JSON object is asked for"
    if (fenced := _FENCED.fullmatch(body)) is not None:
        body = fenced["inner"].strip()
    try:
        found = formats.loads(body)
    except (ValueError, RecursionError) as error:
        return f"the answer is not one JSON object and nothing else: {str(error)[:200]}"
    if not isinstance(found, dict) or set(found) != {"verdict", "reason"}:
        return "the answer is a JSON object with `verdict` and `reason` and nothing else"
    verdict, reason = found["verdict"], found["reason"]
    if verdict not in (YES, NO):
        return "`verdict` is `yes` or `no`"
    if not isinstance(reason, str) or not reason.strip():
        return "`reason` is a sentence or two"
    line = " ".join(reason.split())
    return Ballot(verdict, line if len(line) <= LONGEST_REASON else f"{line[: LONGEST_REASON - 1]}…")


def tally(verdicts: Sequence[str | None]) -> Outcome:
    """The result of votes: two of three decide; None is an open vote. Total."""
    for side, outcome in ((YES, Outcome.YES), (NO, Outcome.NO)):
        if sum(verdict == side for verdict in verdicts) >= NEEDED:
            return outcome
    return Outcome.OPEN if len(verdicts) < SEATS or None in verdicts else Outcome.NONE
