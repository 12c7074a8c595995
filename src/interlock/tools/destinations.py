"""Where a call would go by what its arguments say: the hosts of addresses, and what may be a host.

What follows from that for secrets is theirs to say.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from interlock.policy.placeholders import PLACEHOLDER, texts
from interlock.policy.spelling import parts

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/\S*|//\S+|(?<![A-Za-z0-9+.-])(?:https?|wss?|s?ftps?):\S+", re.IGNORECASE)
_ODD = re.compile(r"[\s\\{}\x00-\x20]")
_BARE = re.compile(
    r"(?<![\w.-])(?:(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.)+[^\W\d_][\w-]{1,62}|(?:\d{1,3}\.){3}\d{1,3}|(?i:localhost))(?![\w-])\.?"
)
"""A name or a number of a host by itself; a mail address ends with one."""
_SAYS = frozenset(
    "title subject body content contents text message messages description comment note summary caption path paths "
    "file files filename name branch ref tag tags label labels query".split()
)
"""Names of arguments that say something, or name a file: a host in them is a word."""
_DEEPEST, _MOST = 64, 10_000


def hosts_of(args: Any) -> set[str]:
    """The hosts of all addresses in arguments; an address that cannot be read is the host `?`."""
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
    """Whether a secret stands where it would choose the host."""
    authority = re.split(r"[/?#]", address.partition("//")[2], maxsplit=1)[0]
    return PLACEHOLDER.search(authority.rpartition("@")[2]) is not None


def names_elsewhere(args: Any, known: Collection[str]) -> bool:
    """Whether arguments name what may be a host, without a scheme, that is none of those `known`."""
    for text in _telling(args):
        plain = _URL.sub(" ", text)
        if any(found[0].rstrip(".").lower() not in known for found in _BARE.finditer(plain)):
            return True
    return False


def _telling(args: Any) -> Iterator[str]:
    """The texts of arguments, but for those that only say something; what is too much counts as another host."""
    rest: list[tuple[int, Any]] = [(0, args)]
    seen = 0
    while rest:
        depth, value = rest.pop()
        seen += 1
        if depth > _DEEPEST or seen > _MOST:
            yield "too.many"
            return
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            for key, item in value.items():
                if not isinstance(item, str) or _SAYS.isdisjoint(parts(str(key)[:200])[-1:]):
                    rest.append((depth + 1, item))
        elif isinstance(value, (list, tuple)):
            rest.extend((depth + 1, each) for each in value)
