"""Judges whether a call would leak what a run has read: untrusted content, private data, a way out.

Labels are stored and propagated elsewhere.
"""

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import lru_cache
from typing import Any

from interlock.policy.calls import Call, Caller, Raised
from interlock.policy.risk import Risk
from interlock.policy.values.spelling import parts

UNTRUSTED, PRIVATE, OUTWARD = "untrusted", "private", "outward"
BOTH_RULE, UNTRUSTED_RULE = "builtin:taint", "builtin:taint-outward"
BOTH = "it has read what strangers wrote and what is private, and this would leave"
ALONE = "it has read what strangers wrote, and this goes out to somebody"
_BOTH = (Raised(BOTH_RULE, Risk.YELLOW, BOTH, holds=True),)
_ALONE = (Raised(UNTRUSTED_RULE, Risk.YELLOW, ALONE, holds=True),)
_ASKS = frozenset({"fetch", "web_search", "browser", "code_exec"})
"""Built-in tools that send their arguments to a third party as a query."""
_SENDS = frozenset({"send_email", "git_ops"})
_DEEPEST, _MOST_VALUES = 32, 2_000
_ADDRESS = re.compile(
    r"https?:|(?<![a-z])(?:s?ftps?|wss?|ssh|scp|git|smb|rsync|ldaps?|s3|gs|gopher)://|mailto:|www\.|[^\s@]@[^\s@]+\.[^\s@]",
    re.IGNORECASE,
)
_TO = frozenset(
    "to cc bcc recipient recipients email emails mail phone mobile channel channels chat attendees participants "
    "invitees followers webhook callback destination".split()
)
"""Names of arguments that hold a recipient."""
_FREE = frozenset(
    "url urls uri uris link links href endpoint host hostname domain address query queries q search term terms "
    "keyword keywords text texts prompt question message messages content contents body payload data input headers "
    "params title subject description comment note caption name html markdown code script command sql".split()
)
"""Names of arguments with free text by the model."""
_WEB = frozenset(
    "web website websites internet online url urls uri http https html page pages webpage webpages site sites browser "
    "browse crawl scrape google bing brave duckduckgo wikipedia news feed feeds rss api fetch weather twitter reddit "
    "youtube forum blog download remote external public".split()
)
_INSIDE = frozenset(
    "database databases db sql table tables warehouse crm customer customers client clients contact contacts calendar "
    "inbox mailbox email emails mail mails gmail outlook file files folder drive dropbox document documents docs "
    "workspace notes notebook memory memories vault record records account accounts balance bank transaction "
    "transactions invoice invoices payroll employee employees patient patients ticket tickets messages conversation "
    "slack secret secrets password passwords credential credentials local internal private repository history "
    "profile".split()
)


class Way(Enum):
    """The way by which a call would carry data out of the squad."""

    SENDS = "sends"
    """To a recipient."""
    ASKS = "asks"
    """In the query of a read."""


def findings(call: Call, who: Caller, base: Risk | None = None) -> Iterable[Raised]:
    """Findings due to the taint of a run; `base` is the tool's risk in the policy's own table.

    A run that has read both untrusted and private content sends nothing out without a person, not even in a query that
    it composes; one that has read only untrusted content makes no YELLOW call that sends. A run without untrusted
    content is judged by the other rules alone. Source: row C11.
    """
    if UNTRUSTED not in who.labels:
        return ()
    way = way_out(call)
    if way is None:
        return ()
    if PRIVATE in who.labels:
        return _BOTH
    is_green = base is Risk.GREEN or (base is None and call.declared_risk == Risk.GREEN.value)
    return _ALONE if way is Way.SENDS and not is_green else ()


def way_out(call: Call) -> Way | None:
    """The way by which a call would carry data out; None if it stays inside, or has no free text.

    For our own tools and labelled tools it is declared. Any other tool is judged by its definition and arguments: it
    sends if either mentions an address, a recipient or free text.
    """
    if OUTWARD in call.labels or (call.is_builtin and call.tool in _SENDS):
        return Way.SENDS
    if call.is_builtin:
        return Way.ASKS if call.tool in _ASKS or UNTRUSTED in call.labels else None
    names, values = _given(call.args)
    if not values:
        return None
    if not names.isdisjoint(_TO) or any("@" in value and _ADDRESS.search(value) for value in values):
        return Way.SENDS
    if UNTRUSTED in call.labels or any(_ADDRESS.search(value) for value in values):
        return Way.ASKS
    name, described = _words(call.tool), _words(call.description)
    if not (name | described).isdisjoint(_WEB):
        return Way.ASKS
    is_inside = PRIVATE in call.labels or not (name | described).isdisjoint(_INSIDE)
    return Way.ASKS if not names.isdisjoint(_FREE) and not is_inside else None


def brings(call: Call) -> frozenset[str]:
    """The labels that a run acquires with the result of a call, apart from labels that the tool sets itself.

    The labels of a tool's author count. A foreign tool without labels returns untrusted content, and private content
    if its definition mentions such.
    """
    if call.labels or call.is_builtin:
        return call.labels - {OUTWARD}
    name, described = _words(call.tool), _words(call.description)
    speaks_of_web = not (name | described).isdisjoint(_WEB)
    if call.declared_risk is not None:
        return frozenset({UNTRUSTED}) if speaks_of_web else frozenset()
    is_private = not name.isdisjoint(_INSIDE) or (not described.isdisjoint(_INSIDE) and not speaks_of_web)
    return frozenset({UNTRUSTED, PRIVATE}) if is_private else frozenset({UNTRUSTED})


@lru_cache(maxsize=1024)
def _words(text: str) -> frozenset[str]:
    return frozenset(parts(text[:20_000]))


def _given(args: Any) -> tuple[frozenset[str], list[str]]:
    """The words in argument names, and the values as text; arguments that are too large count as an address.

    Nested names are chosen by the model, and can carry data as values do.
    """
    names: frozenset[str] = frozenset()
    values: list[str] = []
    rest: list[tuple[int, Any]] = [(0, args)]
    while rest:
        depth, value = rest.pop()
        if isinstance(value, str):
            if value:
                values.append(value)
        elif isinstance(value, (dict, Mapping)):
            for key, item in value.items():
                names |= _words(str(key)[:200])
                if depth and key:
                    values.append(str(key))
                rest.append((depth + 1, item))
        elif isinstance(value, (list, tuple)):
            rest.extend((depth + 1, item) for item in value)
        elif value is not None and not isinstance(value, bool):
            values.append(str(value))
        if depth > _DEEPEST or len(values) + len(rest) > _MOST_VALUES:
            return names | {"url"}, [*values, "https:"]
    return names, values
