"""Whether a tool's own words say that it acts on the outside: sends, pays, publishes, shares, books, deletes.

Arguments of calls are judged elsewhere; here are only names, descriptions and schemas of tools.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")
_DEEPEST = 32

VERBS: Mapping[str, tuple[str, ...]] = {
    "sends": ("send", "dispatch", "transmit", "broadcast", "notify", "tweet", "unsubscribe"),
    "pays": ("pay", "purchase", "buy", "sell", "refund", "charge", "transfer", "withdraw", "donate"),
    "publishes": ("publish", "deploy"),
    "shares": ("share", "invite"),
    "books": ("book", "reserve"),
    "deletes": (
        "delete", "remove", "erase", "destroy", "drop", "purge", "wipe", "truncate", "trash", "terminate", "overwrite",
        "uninstall",
    ),
    "changes access": ("access", "grant", "revoke", "permit", "authorize", "authorise", "impersonate"),
}  # fmt: skip
"""Verbs that make a tool RED wherever they stand, in every inflection."""

NOUNS: Mapping[str, tuple[str, ...]] = {
    "sends": ("sent",),
    "pays": (
        "paid", "payment", "payout", "bought", "sold", "withdrew", "withdrawn", "withdrawal", "donation",
    ),
    "publishes": ("deployment",),
    "shares": ("invitation",),
    "books": ("reservation",),
    "deletes": ("deletion", "removal", "erasure", "destruction", "overwritten", "overwrote"),
    "changes access": ("permission", "revocation", "credential"),
}  # fmt: skip
"""Nouns and irregular forms that do the same."""

LEADING: Mapping[str, tuple[str, ...]] = {
    "sends": ("email", "mail", "message", "reply", "forward", "call", "text", "fax", "submit"),
    "pays": ("order", "bid", "trade", "wire"),
    "publishes": ("post", "announce", "upload", "push", "merge", "release"),
    "books": ("schedule", "reschedule", "cancel"),
    "deletes": ("clear", "reset", "kill", "unlink", "rm"),
    "changes access": ("unlock",),
}  # fmt: skip
"""Words that are nouns as often as verbs: they count as the first word of a name or a description."""

PAIRS: Mapping[str, str] = {
    f"{verb} {noun}": "pays" for verb in ("place", "create", "make", "cancel") for noun in ("order", "trade", "bid")
}
"""Two words of a name that count together."""

_OBJECTS = (
    "email|emails|mail|mails|message|messages|msg|sms|file|files|user|users|money|bill|bills|invoice|record|records|"
    "event|events|tweet|post|posts|page|pages|doc|docs|document|documents|folder|table|link|flight|hotel|room|ticket"
)
_GLUED = re.compile(rf"(send|delete|publish|remove|pay|share|book|drop|revoke|grant)(?:{_OBJECTS})")


def words(text: str) -> tuple[str, ...]:
    """The lower-case words of a name or a sentence; `snake_case`, `kebab-case` and `camelCase` come apart."""
    plain = unicodedata.normalize("NFKC", text)
    return tuple(found.group().lower() for found in _WORD.finditer(plain))


def inflections(verb: str) -> frozenset[str]:
    """The forms of a regular English verb, and the noun made of it: book, books, booked, booking, bookings."""
    stem = verb.removesuffix("e")
    if re.fullmatch(r".*[^aeiou][aeiou][bdgklmnprt]", verb):
        stem += stem[-1]
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return frozenset({verb, verb[:-1] + "ies", verb[:-1] + "ied", verb + "ing"})
    plural = verb + ("es" if verb.endswith(("s", "sh", "ch", "x", "z")) else "s")
    return frozenset({verb, plural, stem + "ed", stem + "ing", stem + "ings"})


_NOUN_FORMS = {form: what for what, nouns in NOUNS.items() for noun in nouns for form in (noun, noun + "s")}
_VERB_FORMS = {form: what for what, verbs in VERBS.items() for verb in verbs for form in inflections(verb)}
_ANYWHERE = _NOUN_FORMS | _VERB_FORMS
_FIRST = {form: what for what, verbs in LEADING.items() for verb in verbs for form in inflections(verb)}


@lru_cache(maxsize=4096)
def _said(text: str, *, leading: bool, name: bool) -> tuple[str, str] | None:
    """What the text says that the tool does, and the word that says so."""
    found = words(text)
    for word in found:
        if what := _ANYWHERE.get(word):
            return what, word
        if name and (glued := _GLUED.fullmatch(word)):
            return _ANYWHERE[glued.group(1)], word
    if name:
        for pair in pairwise(found):
            if what := PAIRS.get(" ".join(pair)):
                return what, " ".join(pair)
    if leading and found and (what := _FIRST.get(found[0])):
        return what, found[0]
    return None


def looks_red(name: str, description: str = "", schema: Any = None) -> str | None:
    """Why a tool looks RED by its own words, such as "its name says that it sends (`send`)"; None where it does not.

    Words count, not letters: `deliver`, `domain`, `bookmark` and `dependency` say nothing. Source: row C1.
    """
    if said := _said(name, leading=True, name=True):
        return f"its name says that it {said[0]} (`{said[1]}`)"
    if said := _said(description, leading=True, name=False):
        return f"its description says that it {said[0]} (`{said[1]}`)"
    for text, is_name in _schema_texts(schema):
        if said := _said(text, leading=False, name=is_name):
            return f"its schema says that it {said[0]} (`{said[1]}`)"
    return None


def _schema_texts(schema: Any) -> Iterator[tuple[str, bool]]:
    """Property names, titles, descriptions, defaults and allowed values; what lies too deep to be read says all."""
    rest = [(schema, 0)]
    while rest:
        node, depth = rest.pop()
        if depth > _DEEPEST:
            yield "access", False
        elif isinstance(node, str):
            yield node, False
        elif isinstance(node, Mapping):
            for key, value in node.items():
                if isinstance(properties := value, Mapping) and key == "properties":
                    yield from ((str(name), True) for name in properties)
                rest.append((value, depth + 1))
        elif isinstance(node, (list, tuple)):
            rest.extend((item, depth + 1) for item in node)
