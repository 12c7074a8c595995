"""Reduces the definition of a tool with several operations to the one that an argument selects: `action: list`.

Definitions are judged in `tool_definitions`.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from interlock.policy.definitions import verb_objects as o
from interlock.policy.definitions import vocabulary as v
from interlock.policy.definitions.tool_names import ACTS, MAY_ACT, Says, read_name
from interlock.policy.definitions.verb_forms import gerunds, pasts, third
from interlock.policy.values.spelling import parts

KEYS = frozenset(
    "action actions op operation method verb subcommand actiontype operationtype action_type operation_type "
    "http_method httpmethod command".split()
)
"""Names of arguments that select an operation."""
_ASKED = frozenset(("GET", "HEAD", "OPTIONS"))
_SHOWS = v.SHOWS | frozenset("read status info query check inspect exists history details stat schema help".split())
_ALL = frozenset("manage manages managing management manager crud handle handles perform performs".split())
_REQUESTS = frozenset("request requests make makes send sends".split())
_HTTP = _REQUESTS | frozenset("http https api rest call url raw web client tool method endpoint".split())
_EDITORS = frozenset("str string replace based edit editor editing text file code tool".split())
"""Words of which names of editors consist."""
_WORD = re.compile(r"[A-Za-z]+")
_ACT_IN_ADDRESS = re.compile(
    r"[/?&=](?:delete|remove|destroy|erase|purge|drop|send|pay|transfer|withdraw|revoke|shutdown|reboot)(?=[/?&=#_.-]|\Z)|[?&]_?method=",
    re.IGNORECASE,
)
_MOST, _LONGEST = 256, 60


class Chosen(NamedTuple):
    """The definition of a tool without the words for operations that were not selected."""

    name: str
    description: str
    schema: Any


def chooses(args: Any) -> tuple[tuple[str, str], ...]:
    """The arguments that select an operation, each with its value; none if there is only one operation."""
    if type(args) is not dict:
        return ()
    found = [(key, args[key]) for key in KEYS.intersection(args) if type(args[key]) is str]
    if any(len(value) > _LONGEST for _, value in found) or (found and any(map(_leads_to_act, args.values()))):
        return ()
    return tuple(sorted(found))


def _leads_to_act(value: Any) -> bool:
    """Whether a URL performs an act whatever the method: `…/users/1/delete`, `_method=PUT`."""
    return type(value) is str and "/" in value[:2_000] and _ACT_IN_ADDRESS.search(value[:2_000]) is not None


def chosen(name: str, description: str, schema: Any, choices: tuple[tuple[str, str], ...]) -> Chosen | None:
    """The definition reduced to the selected reading operation; None if it is no such one, or in doubt.

    The value must be one that the tool offers. Verbs for the other offered values are removed; all other words of the
    definition still count, above all its name. Source: row C1.
    """
    fields = schema.get("properties") if isinstance(schema, Mapping) else None
    words, dropped = parts(name), set(_ALL)
    edits = fields is None and _EDITORS.issuperset(words)
    if not choices or not (isinstance(fields, Mapping) or edits or (fields is None and _HTTP.issuperset(words))):
        return None
    fields, dropped = fields or {}, dropped | (verbs_like("changes what is stored") if edits else set())
    for key, value in choices:
        offered = frozenset(_offered(fields.get(key)))
        if not fields and (edits or value.upper() in _ASKED):
            offered = frozenset((value,))
        if value not in offered or not _reads(value):
            return None
        if value.upper() in _ASKED and _HTTP.issuperset(words):
            dropped |= _REQUESTS
        words = _without(words, offered - {value})
        for what in {what for other in offered for what in _does(other)}:
            dropped |= verbs_like(what)
    plain = _ALL | (_REQUESTS if _HTTP.issuperset(words) else _EDITORS if edits else frozenset())
    kept = "_".join("read" if word in plain else word for word in words)
    if read_name(kept).says is Says.ACTS:
        return None
    rest = {field: said for field, said in fields.items() if field not in KEYS}
    said = _WORD.sub(lambda found: "read" if found.group().lower() in dropped else found.group(), description)
    return Chosen(f"read_{kept}", said, {**(schema or {}), "properties": rest})


def _without(words: tuple[str, ...], offered: frozenset[str]) -> tuple[str, ...]:
    """A name without words for operations not selected: `str_replace_editor` with `view`."""
    for choice in offered:
        made = parts(choice)
        at = next((at for at in range(len(words)) if len(made) > 1 and words[at : at + len(made)] == made), None)
        if at is not None and len(words) > len(made):
            rest = (*words[:at], "read", *words[at + len(made) :])
            return tuple(word for word in rest if word not in ("edit", "editor"))
    return words


def _offered(field: Any) -> Iterator[str]:
    """The values that a schema offers for a field, as an enumeration or in its description."""
    if not isinstance(field, Mapping):
        return
    named = field.get("enum")
    if isinstance(named, (list, tuple)) and len(named) <= _MOST:
        yield from (each for each in named if isinstance(each, str))
    elif isinstance(said := field.get("description"), str):
        yield from re.findall(r"[A-Za-z_]{2,40}", said[:2000])[:_MOST]


@lru_cache(maxsize=1024)
def _reads(value: str) -> bool:
    """Whether a value selects a reading operation: `list`, `token_list`, `GET`."""
    if value.upper() in _ASKED:
        return True
    words = parts(value)
    if not words or _SHOWS.isdisjoint((words[0], words[-1])) or read_name(value).says is not Says.READS:
        return False
    return all(_is_noun(words, at) for at, word in enumerate(words) if word in ACTS or word in MAY_ACT)


def _is_noun(words: tuple[str, ...], at: int) -> bool:
    """Whether a verb in a value is used as a noun: `list_posts`, `list_deploy_keys`."""
    pairs = (words[at : at + 2], words[at - 1 : at + 1])
    return words[at] in v.NOUNLIKE or not o.COMPOUNDS.isdisjoint(pairs)


@lru_cache(maxsize=1024)
def _does(value: str) -> frozenset[str]:
    """The effects of a value, if it acts."""
    words = parts(value)
    return frozenset(ACTS.get(word) or MAY_ACT[word] for word in words if word in ACTS or word in MAY_ACT)


@lru_cache(maxsize=64)
def verbs_like(what: str) -> frozenset[str]:
    """All forms of the verbs with this effect; changing, running and controlling count as one effect."""
    same = v.SOFT if what in v.SOFT else {what}
    return frozenset(
        form
        for table in (ACTS, MAY_ACT)
        for verb, does in table.items()
        if does in same
        for form in (verb, third(verb), *gerunds(verb), *pasts(verb))
    )
