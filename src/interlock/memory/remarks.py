"""Extracts statements by people about themselves, their tools, wishes and decisions by patterns; no model is asked.

English only, and only plain sentences; whether and for whom they are stored is decided in `chats`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from interlock.memory.words import words_of

READ = 4_000
"""The most characters of a message that are read."""
MOST = 5
"""The most remarks in a message."""
_LONGEST, _FEWEST_WORDS = 300, 2
_QUOTED = re.compile(r"```.*?(?:```|\Z)|^[ \t]*(?:>|\||`|<).*$", re.DOTALL | re.MULTILINE)
"""Code, quotations, tables and markup, which are not the sender's own words."""
_ENDS = re.compile(r"(?<=[.!?])\s+|[\n;]+|\s+[–—]\s+")
_LEAD = re.compile(
    r"(?:(?:please|also|and|so|ok|okay|hi|hey|hello|thanks|btw|by the way|fyi|well|yes|no|but|now|just)\b[\s,:!-]*)+",
    re.IGNORECASE,
)
_NOT_A_FACT = re.compile(
    r"(?:when|how|what|who|why|if|whether|me|us|last|the time|it|this|that)\b[^:]{0,12}$|(?:when|how|what|who|why)\b",
    re.IGNORECASE,
)
_PASSING = r"(?:question|problem|issue|guess|point|bad|fault|mistake|idea|answer|request|goal|task|plan)\b"


@dataclass(frozen=True, slots=True)
class Remark:
    """A statement worth storing: its type, text and importance."""

    type: str
    text: str
    importance: float


_STATES = r"[\w' -]{2,40}?"
_SHAPES: tuple[tuple[str, str, str], ...] = (
    (
        "fact 0.9",
        r"(?:remember|do not forget|don't forget|never forget|keep in mind|note|for the record|make a note)",
        r"(?:[ ]?[:,]| that\b:?|(?= (?:to|my|our|we|i|the)\b))[ ]*(?P<rest>.+)",
    ),
    (
        "fact 0.9",
        r"(?:my name is|my name's|i am called|i'm called|call me)",
        r" (?!back|when|if|later|on|at)\S",
    ),
    (
        "decision 0.7",
        r"(?:we|they) (?:have |just |'ve |finally )?(?:decided|agreed|settled|chose)",
        r" (?:to|on|that|for|against)\b",
    ),
    ("decision 0.7", r"(?:the |our )?decision", r"(?: is| was)?(?: that\b|:)"),
    ("decision 0.6", r"let's", r" (?:go with|use|stick (?:with|to)|settle on|keep) "),
    (
        "observation 0.7",
        r"(?:i'd|i) (?:really |always |usually |generally |strongly |much |would )*",
        r"(?:prefer|rather|love|hate|dislike|can't stand) (?!it\b|that\b|this\b|to know\b)",
    ),
    (
        "fact 0.7",
        r"i(?:'m| am)",
        r" (?:a|an|the|from|based in|responsible for|in charge of|allergic to|on the) ",
    ),
    ("fact 0.7", r"i (?:work|live)", r" (?:at|for|in|as|on|with) "),
    ("fact 0.7", rf"my (?!{_PASSING})", rf"{_STATES} (?:is|are) "),
    (
        "fact 0.6",
        r"we (?:now |always |mostly |only |usually |all |currently |still |never |don't |do not |no longer )*",
        r"(?:use|run|deploy|ship|write|host|release|sell|pay|are using|work with|build with|moved to|switched to) ",
    ),
    ("fact 0.6", rf"our (?!{_PASSING})", rf"{_STATES} (?:is|are|runs on|lives in|uses|has) "),
)
"""Type and importance, the start of a sentence, and its continuation."""
_COMPILED = tuple(
    (re.compile(begins + goes_on, re.IGNORECASE), sort.split()[0], float(sort.split()[1]))
    for sort, begins, goes_on in _SHAPES
)


def remarks(message: str) -> list[Remark]:
    """The remarks in a message, in order, each once; none in questions, code and quotations."""
    found: dict[str, Remark] = {}
    for sentence in _sentences(message[:READ].replace("’", "'")):
        remark = _remark(sentence)
        if remark is not None:
            found.setdefault(remark.text.lower(), remark)
        if len(found) == MOST:
            break
    return list(found.values())


def _sentences(text: str) -> Iterator[str]:
    for part in _ENDS.split(_QUOTED.sub("\n", text)):
        sentence = " ".join(part.split()).lstrip("-*•· ")
        if sentence and len(sentence) <= _LONGEST and not sentence.endswith("?"):
            yield sentence


def _remark(sentence: str) -> Remark | None:
    lead = _LEAD.match(sentence)
    said = sentence[lead.end() :] if lead else sentence
    for shape, kind, importance in _COMPILED:
        match = shape.match(said)
        if match is None:
            continue
        text = (match.groupdict().get("rest") or said).strip()
        if "rest" in shape.groupindex and _NOT_A_FACT.match(text):
            continue
        if words_of(text).total() >= _FEWEST_WORDS or importance == 0.9:
            return Remark(kind, text, importance)
    return None
