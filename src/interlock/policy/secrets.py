"""Detects and masks what looks like a secret: provider keys, tokens, private keys, values of keys such as `api_key`.

Named secrets are stored and filled in elsewhere, in `tools.secrets`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from interlock.policy.values.spelling import words


@dataclass(frozen=True, slots=True)
class Finding:
    """A suspected secret, without its value."""

    kind: str
    where: str
    """The path in the arguments, such as `args.headers.Authorization`."""


@dataclass(frozen=True, slots=True)
class Span:
    """The position of a secret in a text."""

    kind: str
    start: int
    end: int


_SHAPES: tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...] = (
    (
        "private key", ("private key",),
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:[^-]|-(?!----)){0,10000}+(?:-----END [A-Z0-9 ]{0,40}-----)?"
        ),
    ),
    (
        "provider key", ("sk-", "pk-", "sk_", "pk_"),
        re.compile(
            r"(?<![A-Za-z0-9])[sp]k[-_](?:(?:live|test|prod|proj|ant)[-_][A-Za-z0-9_-]{8,}"
            r"|(?=[A-Za-z_-]{0,80}+[0-9])[A-Za-z0-9_-]{12,}|[A-Za-z0-9]{16,})"
        ),
    ),
    ("Interlock token", ("ilk_",), re.compile(r"(?<![A-Za-z0-9])ilk_[A-Za-z0-9_-]{32,}")),
    ("GitHub token", ("gh",), re.compile(r"(?<![A-Za-z0-9])gh[a-z]_[A-Za-z0-9]{16,}")),
    ("GitHub token", ("github_pat_",), re.compile(r"github_pat_[A-Za-z0-9_]{20,}")),
    ("Slack token", ("xox", "xapp-"), re.compile(r"(?<![A-Za-z0-9])x(?:ox[a-z]-|app-)[A-Za-z0-9-]{8,}")),
    (
        "Slack hook", ("hooks.slack",),
        re.compile(r"hooks\.slack(?:-gov)?\.com/[a-z]{1,20}/([A-Za-z0-9_/%-]{16,})", re.IGNORECASE),
    ),
    ("Telegram token", (":aa",), re.compile(r"(?<![0-9])[0-9]{6,12}:AA[A-Za-z0-9_-]{30,}")),
    ("AWS key id", ("akia", "asia"), re.compile(r"(?<![A-Za-z0-9])A(?:KIA|SIA)[0-9A-Z]{16}(?![0-9A-Z])")),
    (
        "JSON web token", ("eyj",),
        re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    ),
    (
        "bearer token", ("bearer ",),
        re.compile(r"(?<![A-Za-z0-9])[Bb]earer {1,4}(?=[A-Za-z._~+/=-]{0,200}[0-9])[A-Za-z0-9._~+/=-]{16,}"),
    ),
    ("password in a URL", ("://",), re.compile(r"://[^\s/:@\"']{0,100}:([^\s/@\"'${}<>*]{3,200})@")),
)  # fmt: skip
"""Kind, what a lower-cased text must contain for it, and the exact pattern. Source: numbers, "Secret shapes"."""
_NAMES = ("key", "token", "secret", "password", "passwd", "passphrase", "pwd", "credential")
_DEEPEST = 64
_MOST_REFERRED = 400
"""A longer value is no reference to a stored secret."""
_LEAST = {1: 16, 2: 8, 3: 6}
"""The minimum length of a value, by the weight of its name."""
_ASSIGNED = re.compile(
    rf"""
    (?P<name> (?:{"|".join(_NAMES)}) [a-z0-9_-]{{0,60}}+ ) (?: \\?["'] )?+
    [ \t]{{0,4}}+ (?P<sign>:=|=>|=|:) [ \t]{{0,4}}+ (?P<open> \\?["'`] )?+ (?= [^\s"'`,;(){{}}\[\]<>\\]{{6}} )
    """,
    re.VERBOSE,
)
"""From a secret's name in lower case to the start of its value."""
_VALUE_END = re.compile(r"[\s\"'`,;(){}\[\]<>\\]")
_NOT_AFTER = frozenset("({[<>")
_DIGIT = re.compile("[\\d²³¹፩-፱᧚⁰⁴-⁹₀-₉①-⑨⑴-⑼⒈-⒐⓪⓵-⓽⓿❶-❾➀-➈➊-➒]")
_LETTER = re.compile(r"[^\W\d_]")
_IN_WORDS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_REFERENCE = re.compile(
    r"your[_-].*|\$\{?.*|\{\{.*\}\}|<.*>|\*+|\[.*\]|%\(?.*|x{3,}|\.{3,}|(?:none|null|true|false|undefined)",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z_.-]*")

_NEVER = frozenset(
    "count counts counter counted max min limit limits num number total usage used budget length size type types name "
    "names id ids hint label index next page cursor continuation stop pad eos bos unk sep start end per input output "
    "prompt completion reasoning idempotency primary foreign sort partition public cache unique row column map object "
    "hot shortcut session dedupe group lookup translation rotation policy rule rules format field fields path file "
    "expiry expires at ttl timeout url uri endpoint reset".split()
)
"""Words that make a name harmless: `max_tokens`, `page_token`, `primary_key`, `password_policy`."""
_ALWAYS = frozenset("secret secrets password passwd passphrase pwd passcode credential credentials".split())
_WRAPS = frozenset("value values data plain plaintext plain_text text current".split())
"""Keys that hold the value of the key above them: `value`."""
_KEYS = frozenset("api access secret private signing encryption ssh auth master service client deploy".split())


def spans(text: str) -> Iterator[Span]:
    """The secrets in a text, in order and not overlapping; of two that overlap, the later is shortened."""
    end = 0
    for span in sorted(_found(text), key=lambda s: (s.start, -s.end)):
        if span.end > end:
            yield span if span.start >= end else Span(span.kind, end, span.end)
            end = span.end


def may_hold_secret(text: str) -> bool:
    """Fast path: False only if there is certainly nothing that looks like a secret."""
    return hints_at_secret(text.lower())


def hints_at_secret(low: str) -> bool:
    """The same for a lower-cased text: whether it has the name of a secret, or the start of a pattern."""
    return (
        "key" in low or "token" in low or "secret" in low or "passw" in low or "passp" in low or "pwd" in low
        or "credential" in low or "k-" in low or "k_" in low or "gh" in low or "xox" in low or "xapp-" in low
        or "hooks.slack" in low or ":aa" in low or "akia" in low or "asia" in low or "eyj" in low
        or "bearer " in low or "://" in low or "github_pat_" in low
    )  # fmt: skip


def first_secret(text: str) -> str | None:
    """The kind of some secret in a text; None if there is none."""
    span = next(_found(text), None)
    return span.kind if span else None


def scrub(text: str) -> str:
    """The text with every secret replaced by `[secret: kind]`. Source: row G8."""
    out, at = [], 0
    for span in spans(text):
        out += [text[at : span.start], f"[secret: {span.kind}]"]
        at = span.end
    return "".join(out) + text[at:] if out else text


def scrub_value(value: Any, *, depth: int = 0) -> Any:
    """JSON with every secret masked, by value or by name; values nested deeper than 64 levels are dropped."""
    if isinstance(value, str):
        return scrub(value)
    if depth > _DEEPEST:
        return "[too deep to show]"
    if isinstance(value, Mapping):
        return {
            scrub(str(key)): "[secret: value of a secret name]"
            if names_secret(str(key), item)
            else scrub_value(item, depth=depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [scrub_value(item, depth=depth + 1) for item in value]
    return value


def _found(text: str) -> Iterator[Span]:
    low = text.lower()
    if not hints_at_secret(low):
        return
    if len(low) != len(text):
        low = "".join(c.lower() if c.isascii() else c for c in text)
    for kind, hints, shape in _SHAPES:
        if any(hint in low for hint in hints):
            for match in shape.finditer(text):
                yield Span(kind, *match.span(match.lastindex or 0))
    yield from _assigned(text, low)


def _assigned(text: str, low: str) -> Iterator[Span]:
    """The values of secret names. Text without gaps is searched once, however many names are in it."""
    if not any(name in low for name in _NAMES):
        return
    done = ends = digit = 0
    for match in _ASSIGNED.finditer(low):
        start = match.end()
        if start < done:
            continue
        if start >= ends:
            ends = _first(_VALUE_END, text, start)
        if text[ends : ends + 1] in _NOT_AFTER:
            continue
        weight = _weight(_whole_name(text, *match.span("name")))
        if weight == 1 and digit < start:
            digit = _first(_DIGIT, text, start)
        sure = weight > 1 or (weight == 1 and digit < ends)
        if sure and _is_assigned_secret(match, text, ends, weight):
            yield Span("value of a secret name", start, ends)
            done = ends


def _first(sign: re.Pattern[str], text: str, start: int) -> int:
    found = sign.search(text, start)
    return found.start() if found else len(text)


def _whole_name(text: str, start: int, end: int) -> str:
    least = max(0, start - 40)
    while start > least and text[start - 1] in _IN_WORDS:
        start -= 1
    return text[start:end]


def names_secret(name: str, value: object) -> bool:
    """Whether `name` says that it holds a secret, and `value` looks like one and not like a reference."""
    weight = _weight(name)
    if weight == 0 or isinstance(value, bool):
        return False
    if isinstance(value, (int, float)):
        return weight == 3
    if isinstance(value, (list, tuple, Mapping)):
        return weight > 1 and any(isinstance(each, str) and _is_secret_value(each, weight) for each in _held(value))
    return isinstance(value, str) and _is_secret_value(value, weight)


def _held(value: Sequence[Any] | Mapping[Any, Any]) -> Iterable[Any]:
    """The items of a list, or of a mapping that only wraps a value: `{"value": …}`."""
    if isinstance(value, Mapping):
        return (item for key, item in value.items() if str(key).lower() in _WRAPS)
    return value


def secret_weight(name: str) -> int:
    """How surely a name is one of secrets: 0 not, 1 perhaps (`key`), 2 probably (`api_key`), 3 surely (`password`)."""
    return _weight(name)


@lru_cache(maxsize=4096)
def _weight(name: str) -> int:
    """0 no secret, 1 perhaps (`key`), 2 probably (`token`, `api_key`), 3 surely (`password`)."""
    found = {*words(name), *words(name.lower())}
    if found & _NEVER:
        return 0
    if found & _ALWAYS:
        return 3
    if "apikey" in found or ("key" in found and found & _KEYS) or found & {"token", "accesstoken", "authtoken"}:
        return 2
    return 1 if "key" in found else 0


def _is_secret_value(value: str, weight: int) -> bool:
    text = value.strip()
    if _REFERENCE.fullmatch(text) or any(c.isspace() for c in text):
        return False
    if weight == 3:
        return len(text) >= 4
    if weight == 2:
        return len(text) >= 8
    return len(text) >= 16 and any(c.isdigit() for c in text) and any(c.isalpha() for c in text)


def _is_assigned_secret(match: re.Match[str], text: str, end: int, weight: int) -> bool:
    """Whether the value after a name looks like a secret; some names require a digit in it."""
    start = match.end()
    if end - start < _LEAST[weight] or (weight == 1 and not _LETTER.search(text, start, end)):
        return False
    if end - start <= _MOST_REFERRED and _REFERENCE.fullmatch(text, start, end):
        return False
    if match["open"] or not _PLAIN.fullmatch(text, start, end):
        return True
    # Unquoted words are code or prose (`token = new_token`, `Password: required`), but for a shell's `PASSWORD=word`.
    if match["sign"] != "=" or text[start - 1] in " \t":
        return False
    value = text[start : min(end, start + 1_000)]
    return "." not in value and not any(_weight(part) for part in (value, *words(value)))
