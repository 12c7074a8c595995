"""Finds the hosts that a call's arguments name: in URLs, and in texts that may be a host.

The consequences for secrets are drawn in `secrets`.
"""

import ipaddress
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from interlock.policy import argument_names
from interlock.policy.argument_names import Content
from interlock.policy.placeholders import PLACEHOLDER, texts
from interlock.policy.values.spelling import parts

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/\S*|//\S+|(?<![A-Za-z0-9+.-])(?:https?|wss?|s?ftps?):\S+", re.IGNORECASE)
_ODD = re.compile(r"[\s\\{}\x00-\x20]")
_PART = r"(?:0x[0-9a-f]{1,8}|\d{1,11})"
_BARE = re.compile(
    rf"(?<![\w.])(?:(?:[\w-]{{1,63}}\.)+[^\W\d_][\w-]{{1,62}}|{_PART}(?:\.{_PART}){{3}}|localhost)(?![\w-])\.?",
    re.IGNORECASE,
)
"""A host name or IP address by itself, also at the end of a mail address or after a one-letter option."""
_SIX = re.compile(r"(?<![\w:])(?=[0-9a-f]*:[0-9a-f]*:)[0-9a-f:.]{2,45}(?![\w:])", re.IGNORECASE)
"""A possible IPv6 address."""
_NUMBER = re.compile(rf"(?<![\w.-]){_PART}(?:\.{_PART}){{0,2}}(?![\w.])", re.IGNORECASE)
"""IPv4 addresses in fewer than four numbers, which programs accept."""
_LEAST_NUMBER = 1 << 24
_STOPS = str.maketrans("\u3002\uff61", "..")
"""Full stops of other scripts, which also separate the labels of a host name."""
_SAYS = frozenset(
    "title subject body content contents text message messages description comment note summary caption path paths "
    "file files filename name branch ref tag tags label labels query".split()
)
"""Names of arguments with prose or file names: a host in them is a mere word."""
_IS_HOST = frozenset("host hostname server proxy ip addr address domain gateway relay peer endpoint target".split())
"""Names of arguments that hold a host: a number in them is an address."""
_RUNS = Content.COMMAND | Content.CODE | Content.RUN
_NETWORK_NAME = frozenset("host hostname server proxy gateway relay peer".split())
"""Those that hold nothing but a host: there one without a full stop, of the local network, is one too."""
_LABEL = re.compile(r"\s*([a-z_][\w-]{0,62})(?::\d{1,5})?\s*", re.IGNORECASE)
_DEEPEST, _MOST = 64, 10_000


def hosts_of(args: Any) -> set[str]:
    """The hosts of all URLs in arguments; a URL that cannot be parsed has the host `?`."""
    hosts = set()
    for text in texts(args):
        for match in _URL.finditer(text.strip()):
            address = match[0]
            try:
                host = urlsplit(address).hostname or "?"
            except ValueError:
                host = "?"
            hosts.add("?" if _ODD.search(PLACEHOLDER.sub("x", address)) or _is_in_host(address) else host)
    return {host.rstrip(".").lower() for host in hosts}


def _is_in_host(address: str) -> bool:
    """Whether a secret would be part of the host."""
    authority = re.split(r"[/?#]", address.partition("//")[2], maxsplit=1)[0]
    return PLACEHOLDER.search(authority.rpartition("@")[2]) is not None


def names_elsewhere(args: Any, known: Collection[str]) -> bool:
    """Whether arguments contain a possible host without a scheme that is not among those `known`."""
    for key, text in _telling(args):
        if any(_is_elsewhere(key, each, known) for each in _readings(_URL.sub(" ", text))):
            return True
    return False


def _readings(text: str) -> set[str]:
    """A text as it is, and as a program parses host names: without invisible characters, with ASCII full stops."""
    shown = "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf")
    plain = shown.translate(_STOPS)
    return {text, plain, unquote(plain)}


def _is_elsewhere(key: str, plain: str, known: Collection[str]) -> bool:
    if any(found[0].rstrip(".").lower() not in known for found in _BARE.finditer(plain)):
        return True
    if any(_is_address(found[0]) and found[0].lower() not in known for found in _SIX.finditer(plain)):
        return True
    named = parts(key[:200])[-1:]
    if not _NETWORK_NAME.isdisjoint(named) and (label := _LABEL.fullmatch(plain)) is not None:
        return label[1].lower() not in known
    if _IS_HOST.isdisjoint(named) and not argument_names.content_of(key) & _RUNS:
        return False
    return any(_is_number_of_host(found[0]) and found[0] not in known for found in _NUMBER.finditer(plain))


def _is_address(text: str) -> bool:
    try:
        found = ipaddress.IPv6Address(text.rstrip("."))
    except ValueError:
        return False
    return found.is_loopback or not found.is_reserved


def _is_number_of_host(text: str) -> bool:
    """Whether a single number is in the range of IPv4 addresses; two or three numbers always are one."""
    return "." in text or _LEAST_NUMBER <= int(text, 16 if text.lower().startswith("0x") else 10) < 1 << 32


def _telling(args: Any) -> Iterator[tuple[str, str]]:
    """The texts in arguments with their names, except prose; arguments that are too large count as another host."""
    rest: list[tuple[int, str, Any]] = [(0, "", args)]
    seen = 0
    while rest:
        depth, name, value = rest.pop()
        seen += 1
        if depth > _DEEPEST or seen > _MOST:
            yield name, "too.many"
            return
        if isinstance(value, str):
            yield name, value
        elif isinstance(value, Mapping):
            for key, item in value.items():
                if not isinstance(item, str) or _SAYS.isdisjoint(parts(str(key)[:200])[-1:]):
                    rest.append((depth + 1, str(key), item))
        elif isinstance(value, (list, tuple)):
            rest.extend((depth + 1, name, each) for each in value)
