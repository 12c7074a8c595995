"""What one call of a tool of many does, where an argument chooses: `action: list` of a tool that may also delete.

What a tool's words say of it as a whole is judged by `words`.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from interlock.policy import vocabulary as v
from interlock.policy.names import ACTS, MAY_ACT, Says, gerunds, pasts, read_name, third
from interlock.policy.spelling import parts

KEYS = frozenset(
    "action actions op operation method verb subcommand actiontype operationtype action_type operation_type "
    "http_method httpmethod".split()
)
"""Names of arguments that say which of several things a tool shall do."""
_ASKED = frozenset(("GET", "HEAD", "OPTIONS"))
_SHOWS = v.SHOWS | frozenset("read status info query check inspect exists history details stat schema help".split())
_ALL = frozenset("manage manages managing management manager crud handle handles perform performs".split())
_REQUESTS = frozenset("request requests make makes send sends".split())
_HTTP = _REQUESTS | frozenset("http https api rest call url raw web client tool method endpoint".split())
_WORD = re.compile(r"[A-Za-z]+")
_MOST = 64


class Chosen(NamedTuple):
    """A tool as the choice leaves it: without the words for what was not chosen."""

    name: str
    description: str
    schema: Any


def chooses(args: Any) -> tuple[tuple[str, str], ...]:
    """The arguments that choose, each with its value; none where a tool has but one thing to do."""
    if type(args) is not dict:
        return ()
    return tuple((key, args[key]) for key in args if key in KEYS and type(args[key]) is str)


def chosen(name: str, description: str, schema: Any, choices: tuple[tuple[str, str], ...]) -> Chosen | None:
    """What remains of a tool's words once it was told to read; None where it was not, or where that is not sure.

    The value must be one that the tool itself names, and the verbs that are taken away are those that it offers in its
    place; whatever else its name, its description or another argument says still counts. Source: row C1.
    """
    fields = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(fields, Mapping) or not choices:
        return None
    words, dropped = parts(name), set(_ALL)
    for key, value in choices:
        offered = frozenset(_offered(fields.get(key)))
        if value not in offered or not _reads(value):
            return None
        if value.upper() in _ASKED and _HTTP.issuperset(words):
            dropped |= _REQUESTS
        for other in offered:
            dropped |= _forms((parts(other) or ("",))[0])
    if any(word in dropped and word not in _ALL | _REQUESTS for word in words):
        return None
    rest = {field: said for field, said in fields.items() if field not in KEYS}
    return Chosen(
        "_".join("read" if word in dropped else word for word in words),
        _WORD.sub(lambda found: "read" if found.group().lower() in dropped else found.group(), description),
        {**schema, "properties": rest},
    )


def _offered(field: Any) -> Iterator[str]:
    """The values that a schema names for a field, as its choices or in its description."""
    if not isinstance(field, Mapping):
        return
    named = field.get("enum")
    if isinstance(named, (list, tuple)) and len(named) <= _MOST:
        yield from (each for each in named if isinstance(each, str))
    elif isinstance(said := field.get("description"), str):
        yield from re.findall(r"[A-Za-z_]{2,40}", said[:2000])[:_MOST]


@lru_cache(maxsize=1024)
def _reads(value: str) -> bool:
    """Whether a choice is one of looking."""
    if value.upper() in _ASKED:
        return True
    words = parts(value)
    return bool(words) and words[0] in _SHOWS and read_name(value).says is Says.READS


@lru_cache(maxsize=1024)
def _forms(verb: str) -> frozenset[str]:
    """A verb that acts in all its forms; nothing for other words."""
    if verb not in ACTS and verb not in MAY_ACT:
        return frozenset()
    return frozenset({verb, third(verb), *gerunds(verb), *pasts(verb)})
