"""What one call of a tool of many does, where an argument chooses: `action: list` of a tool that may also delete.

What a tool's words say of it as a whole is judged by `words`.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from interlock.policy import objects as o
from interlock.policy import vocabulary as v
from interlock.policy.names import ACTS, MAY_ACT, Says, gerunds, pasts, read_name, third
from interlock.policy.spelling import parts

KEYS = frozenset(
    "action actions op operation method verb subcommand actiontype operationtype action_type operation_type "
    "http_method httpmethod command".split()
)
"""Names of arguments that say which of several things a tool shall do."""
_ASKED = frozenset(("GET", "HEAD", "OPTIONS"))
_SHOWS = v.SHOWS | frozenset("read status info query check inspect exists history details stat schema help".split())
_ALL = frozenset("manage manages managing management manager crud handle handles perform performs".split())
_REQUESTS = frozenset("request requests make makes send sends".split())
_HTTP = _REQUESTS | frozenset("http https api rest call url raw web client tool method endpoint".split())
_WORD = re.compile(r"[A-Za-z]+")
_ACT_IN_ADDRESS = re.compile(
    r"[/?&=](?:delete|remove|destroy|erase|purge|drop|send|pay|transfer|withdraw|revoke|shutdown|reboot)(?=[/?&=#_.-]|\Z)|[?&]_?method=",
    re.IGNORECASE,
)
_MOST, _LONGEST = 256, 60


class Chosen(NamedTuple):
    """A tool as the choice leaves it: without the words for what was not chosen."""

    name: str
    description: str
    schema: Any


def chooses(args: Any) -> tuple[tuple[str, str], ...]:
    """The arguments that choose, each with its value; none where a tool has but one thing to do."""
    if type(args) is not dict:
        return ()
    found = [(key, args[key]) for key in KEYS.intersection(args) if type(args[key]) is str]
    if any(len(value) > _LONGEST for _, value in found) or (found and any(map(_leads_to_act, args.values()))):
        return ()
    return tuple(sorted(found))


def _leads_to_act(value: Any) -> bool:
    """Whether an address has an act in it that happens however it is asked for: `…/users/1/delete`, `_method=PUT`."""
    return type(value) is str and "/" in value[:2_000] and _ACT_IN_ADDRESS.search(value[:2_000]) is not None


def chosen(name: str, description: str, schema: Any, choices: tuple[tuple[str, str], ...]) -> Chosen | None:
    """What remains of a tool's words once it was told to read; None if it was not, or where that is not sure.

    The value must be one that the tool itself names. Taken away are verbs that do what it offers in its place, and what
    it says in any other way still counts, its name above all. Source: row C1.
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
        words = _without(words, offered - {value})
        for what in {what for other in offered for what in _does(other)}:
            dropped |= verbs_like(what)
    plain = _ALL | _REQUESTS if _HTTP.issuperset(words) else _ALL
    kept = "_".join("read" if word in plain else word for word in words)
    if read_name(kept).says is Says.ACTS:
        return None
    rest = {field: said for field, said in fields.items() if field not in KEYS}
    said = _WORD.sub(lambda found: "read" if found.group().lower() in dropped else found.group(), description)
    return Chosen(f"read_{kept}", said, {**schema, "properties": rest})


def _without(words: tuple[str, ...], offered: frozenset[str]) -> tuple[str, ...]:
    """A name without another choice that it is made of: `str_replace_editor`, told to `view`."""
    for choice in offered:
        made = parts(choice)
        at = next((at for at in range(len(words)) if len(made) > 1 and words[at : at + len(made)] == made), None)
        if at is not None and len(words) > len(made):
            rest = (*words[:at], "read", *words[at + len(made) :])
            return tuple(word for word in rest if word not in ("edit", "editor"))
    return words


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
    """Whether a choice is one of looking: `list`, `token_list`, `GET`."""
    if value.upper() in _ASKED:
        return True
    words = parts(value)
    if not words or _SHOWS.isdisjoint((words[0], words[-1])) or read_name(value).says is not Says.READS:
        return False
    return all(_is_noun(words, at) for at, word in enumerate(words) if word in ACTS or word in MAY_ACT)


def _is_noun(words: tuple[str, ...], at: int) -> bool:
    """Whether a verb of a choice stands for a thing: `list_posts`, `list_deploy_keys`."""
    pairs = (words[at : at + 2], words[at - 1 : at + 1])
    return words[at] in v.NOUNLIKE or not o.COMPOUNDS.isdisjoint(pairs)


@lru_cache(maxsize=1024)
def _does(value: str) -> frozenset[str]:
    """What a choice does, if it acts."""
    words = parts(value)
    return frozenset(ACTS.get(word) or MAY_ACT[word] for word in words if word in ACTS or word in MAY_ACT)


@lru_cache(maxsize=64)
def verbs_like(what: str) -> frozenset[str]:
    """All forms of the verbs that do such a thing; what is changed, run or controlled is one thing here."""
    same = v.SOFT if what in v.SOFT else {what}
    return frozenset(
        form
        for table in (ACTS, MAY_ACT)
        for verb, does in table.items()
        if does in same
        for form in (verb, third(verb), *gerunds(verb), *pasts(verb))
    )
