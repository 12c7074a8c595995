"""What looks like a secret: provider keys, tokens, private keys, and values under names such as `api_key`.

Finding and masking only; where real secrets are kept and filled in is the tools' matter.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from interlock.policy.words import words


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that looks like a secret, without its value."""

    kind: str
    where: str
    """The path in the arguments, such as `args.headers.Authorization`."""


@dataclass(frozen=True, slots=True)
class Span:
    """Where in a text a secret stands."""

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
            r"|(?=[A-Za-z_-]{0,80}[0-9])[A-Za-z0-9_-]{12,}|[A-Za-z0-9]{16,})"
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
"""Kind, what a lower-cased text must contain for it, and the exact shape. Source: numbers, "Secret shapes"."""
_NAMES = ("key", "token", "secret", "password", "passwd", "passphrase", "pwd", "credential")
_SHORT = 400
_DEEPEST = 64
_HINTS = tuple(dict.fromkeys((*(hint for _, hints, _ in _SHAPES for hint in hints), *_NAMES)))
_HINT = re.compile("|".join(map(re.escape, _HINTS)))
_ASSIGNED = re.compile(
    r"""
    [A-Za-z0-9_-]{0,60} (?: \\?["'] )? [ \t]{0,4} (?P<sign>:=|=>|=|:) [ \t]{0,4}
    (?P<open> \\?["'`] )? (?P<value> [^\s"'`,;(){}\[\]<>\\]{6,400} )
    (?=["'`,;)}\]\\\s]|$)
    """,
    re.VERBOSE,
)
_WORD_END = re.compile(r"[A-Za-z0-9_-]*")
_BEFORE = re.compile(r"[A-Za-z0-9_-]*\Z")
_REFERENCE = re.compile(
    r"\$\{?.*|\{\{.*\}\}|<.*>|\*+|\[.*\]|%\(?.*|x{3,}|\.{3,}|(?:none|null|true|false|undefined)", re.IGNORECASE
)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z_.-]*")

_NEVER = frozenset(
    "count counts counter counted max min limit limits num number total usage used budget length size type types name "
    "names id ids hint label index next page cursor continuation stop pad eos bos unk sep start end per input output "
    "prompt completion reasoning idempotency primary foreign sort partition public cache unique row column map object "
    "hot shortcut session dedupe group lookup translation rotation policy rule rules format field fields path file "
    "expiry expires at ttl timeout url uri endpoint reset".split()
)
"""Words that make `max_tokens`, `page_token`, `primary_key` or `password_policy` something else."""
_ALWAYS = frozenset("secret secrets password passwd passphrase pwd passcode credential credentials".split())
_KEYS = frozenset("api access secret private signing encryption ssh auth master service client deploy".split())


def spans(text: str) -> Iterator[Span]:
    """The secrets in a text, in order, not overlapping."""
    end = -1
    for span in sorted(_found(text), key=lambda s: (s.start, -s.end)):
        if span.start >= end:
            yield span
            end = span.end


def may_hold_secret(text: str) -> bool:
    """A quick look: False only where there is certainly nothing that looks like a secret."""
    return len(text) > _SHORT or _HINT.search(text.lower()) is not None


def first_secret(text: str) -> str | None:
    """The kind of some secret in a text; None where there is none."""
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
    """JSON with every secret masked, those under a secret name too; what nests deeper than 64 levels is left out."""
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
    if not may_hold_secret(text):
        return
    low = text.lower()
    if len(low) != len(text):
        low = "".join(c.lower() if c.isascii() else c for c in text)
    for kind, hints, shape in _SHAPES:
        if any(hint in low for hint in hints):
            for match in shape.finditer(text):
                yield Span(kind, *match.span(match.lastindex or 0))
    for name in _NAMES:
        at = low.find(name)
        while at >= 0:
            end = at + len(name)
            found = _ASSIGNED.match(text, end)
            if found and _is_assigned_secret(found, text, at):
                yield Span("value of a secret name", *found.span("value"))
                end = found.end("value")
            at = low.find(name, end)


def names_secret(name: str, value: object) -> bool:
    """Whether `name` says that it holds a secret and `value` looks like one and not like a reference to it."""
    weight = _weight(name)
    if weight == 0 or isinstance(value, bool):
        return False
    if isinstance(value, (int, float)):
        return weight == 3
    return isinstance(value, str) and _is_secret_value(value, weight)


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


def _is_assigned_secret(match: re.Match[str], text: str, at: int) -> bool:
    before = _BEFORE.search(text, max(0, at - 40), at)
    after = _WORD_END.match(text, at)
    name = (before.group() if before else "") + (after.group() if after else "")
    value, weight = match["value"], _weight(name[:100])
    if weight == 0 or not _is_secret_value(value, weight):
        return False
    if match["open"] or not _PLAIN.fullmatch(value):
        return True
    # Unquoted words are code or prose (`token = new_token`, `Password: required`), but for a shell's `PASSWORD=word`.
    shell = match["sign"] == "=" and not text[match.start("sign") : match.start("value")].endswith((" ", "\t"))
    return shell and "." not in value and not any(_weight(part) for part in (value, *words(value)))
