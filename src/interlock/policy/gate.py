"""The output gate: cheap checks of a deliverable: empty, a placeholder, a refusal, truncated, contains secrets.

Quality is up to reviewers, acceptance checks are in `checks`. Source: row A15.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from interlock.policy import formats
from interlock.policy.secrets import first_secret, scrub_value

LARGEST_BYTES = 10 * 1024 * 1024
LONGEST_REFUSAL = 300
"""In characters; a longer text contains more than a refusal."""
_PLACEHOLDER = re.compile(
    r"(?:to[ -]?do|tbd|tba|fixme|xxx+|wip|undefined|placeholder(?: text)?|dummy(?: text)?|lorem ipsum\b.*|coming soon"
    r"|work in progress|to be (?:done|written|added|determined|decided|defined|completed|filled(?: in)?)"
    r"|(?:insert|add|put|write|enter|your)\b.{0,60}\bhere|(?-i:TODO|TBD|FIXME)[:\s(-].{0,160})",
    re.IGNORECASE | re.DOTALL,
)
_MARKS = " \t#>*+-.,:;!…=|()[]{}<>_`~\"'“”0123456789"
_SLOT = re.compile(
    r"[\[<({]{1,2} ?(?:insert|add|your|fill|enter|put|name|date|todo|tbd|placeholder|to be)\b[^\])>}\n]{0,80}"
    r"[\])>}]{1,2}"
    r"|[.…_\-=*\s]+",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"(?:(?:i'm|i am|we're|we are) (?:very |so |really )?sorry|sorry|unfortunately|apologies|i apologi[sz]e|as an ai)?"
    r"[\s\w]{0,40}[,.:;–-]?\s*(?:but\s+|that\s+)?(?:i|we)(?:'m|'re| am| are)?\s*"
    r"(?:cannot|can not|can't|won't|will not|must decline|have to decline|decline|unable|not able|not allowed|refuse)"
    r"(?: to)? (?:help|assist|do|comply|complete|fulfil+|provide|continue|perform|create|write|generate|process|discuss"
    r"|answer|support|engage|participate|proceed|carry|produce|share|access)\b",
    re.IGNORECASE,
)
_SUBSTANCE = re.compile(r"[0-9`]|https?:|[\w-]/[\w-]")
"""A figure, a proper name, an address: signs of more than a refusal."""
_INVISIBLE = re.compile("[\\s\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0]+")  # fmt: skip # noqa: E501


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A submitted deliverable; exactly one of `text`, `data` and `path` (with `content`) is set."""

    sha256: str
    text: str | None = None
    data: Any = None
    path: str | None = None
    content: bytes | None = None
    """Of the file."""
    spec: str = ""
    """What the task expects, in its own words."""
    is_review: bool = False


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a deliverable is rejected: the check's name, and the message for its author."""

    name: str
    detail: str


def faults(handed: Submission, rejected: Collection[str] = ()) -> list[Fault]:
    """All faults, most basic first; empty if it may be reviewed.

    `rejected` are the digests of versions that were sent back. Messages never contain a secret's value.
    """
    if (empty := _empty(handed)) is not None:
        return [Fault("not empty", empty)]
    text = _text_of(handed)
    found = [*_size(handed), *_without_result(handed, text), *_formed(handed, text), *secrets(handed)]
    if handed.sha256 in rejected:
        found.append(Fault("changed", "it is, letter by letter, a version that was sent back: change what was found"))
    return found


def is_placeholder(text: str) -> bool:
    """Whether a text is only a placeholder: `TODO`, `[insert summary here]`, `# Report` above `tbd`."""
    lines = [line for line in text.splitlines() if line.strip()]
    body = [line for line in lines if not line.lstrip().startswith("#")] or lines
    bare = [line.strip(_MARKS) for line in body]
    return bool(body) and all(
        _SLOT.fullmatch(line.strip()) or _PLACEHOLDER.fullmatch(word) for line, word in zip(body, bare, strict=True)
    )


def is_refusal(text: str) -> bool:
    """Whether a short text is only a refusal."""
    sentence = " ".join(text.replace("’", "'").split()).lstrip("#*_> -")
    is_short = len(sentence) <= LONGEST_REFUSAL and "\n\n" not in text.strip()
    return is_short and _REFUSAL.match(sentence) is not None and _SUBSTANCE.search(sentence) is None


def _empty(handed: Submission) -> str | None:
    if handed.path is not None:
        if not handed.content:
            return f"the deliverable is empty: `{handed.path}` has no bytes"
        is_blank = (text := _text_of(handed)) is not None and _blank(text)
        return f"the deliverable is empty: `{handed.path}` has only blanks" if is_blank else None
    if handed.text is not None:
        return "the deliverable is empty: `content` has no text" if _blank(handed.text) else None
    leaves = list(_leaves(handed.data))
    if all(leaf is None or (isinstance(leaf, str) and _blank(leaf)) for leaf in leaves):
        return "the deliverable is empty: `data` has nothing in it"
    return None


def _blank(text: str) -> bool:
    return not _INVISIBLE.sub("", text)


def _leaves(value: Any) -> Iterator[Any]:
    """The scalar values in JSON, at any depth."""
    todo = [value]
    while todo:
        each = todo.pop()
        if isinstance(each, dict):
            todo.extend(each.values())
        elif isinstance(each, list):
            todo.extend(each)
        else:
            yield each


def _text_of(handed: Submission) -> str | None:
    """Its text, if any."""
    if handed.text is not None or handed.content is None:
        return handed.text
    try:
        text = handed.content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\x00" in text else text


def _size(handed: Submission) -> Iterator[Fault]:
    if handed.content is not None and len(handed.content) > LARGEST_BYTES:
        yield Fault("size", f"`{handed.path}` has {len(handed.content):,} bytes: {LARGEST_BYTES:,} are the most")


def _without_result(handed: Submission, text: str | None) -> Iterator[Fault]:
    if handed.data is not None:
        words = [leaf for leaf in _leaves(handed.data) if leaf is not None]
        if all(isinstance(leaf, str) and is_placeholder(leaf) for leaf in words):
            yield Fault("not a placeholder", "`data` holds nothing but placeholders: hand in the result itself")
        return
    if text is None:
        return
    if not handed.is_review and is_placeholder(text) and _is_prose(handed):
        yield Fault("not a placeholder", "it only keeps the place of a result: hand in the result itself")
    elif not handed.is_review and is_refusal(text):
        yield Fault(
            "not a refusal",
            "it only says that it was not done: hand in what you have, what you tried, and what exactly is missing",
        )


def _is_prose(handed: Submission) -> bool:
    """Whether words such as `test` or `null` cannot be a complete result."""
    return handed.path is None or handed.path.lower().endswith((".md", ".txt", ".rst", ".html", ".docx"))


def _formed(handed: Submission, text: str | None) -> Iterator[Fault]:
    form = formats.of_file(handed.path) if handed.path is not None else formats.declared(handed.spec)
    if handed.data is not None:
        return
    if text is None:
        if form is not None:
            yield Fault("format", f"`{handed.path}` is not text in UTF-8, so it is not valid {form}")
        return
    if form is None and handed.path is None:
        form = formats.MARKDOWN
    if form is not None and not (handed.is_review and form != formats.MARKDOWN):
        problem = formats.problem(form, text)
        if problem is not None:
            yield Fault("format", problem)


def secrets(handed: Submission) -> Iterator[Fault]:
    """What looks like a secret; the message names its kind."""
    text = _text_of(handed)
    kind = first_secret(text) if text is not None else None
    if kind is None and handed.data is not None and scrub_value(handed.data) != handed.data:
        kind = "in `data`"
    if kind is not None:
        yield Fault("no secrets", f"it holds what looks like a secret ({kind}): leave it out, or name where it is kept")
