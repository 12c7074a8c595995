"""The audit log's chain as arithmetic: digests of activities, heads of links, seals.

What is written when is in `seals`; no database, no file and no clock here.
"""

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

GENESIS = "0" * 64
"""What the first link follows."""
BATCH, REDACT, PRUNE, RESTORE, ANEW = "batch", "redact", "prune", "restore", "anew"
KINDS = (BATCH, REDACT, PRUNE, RESTORE, ANEW)
LEAF = 32
"""Bytes of an activity's digest."""
LEAST_KEY = 16
FIELDS = ("id", "project_id", "action", "actor_kind", "actor_id", "mission_id", "task_id", "run_id", "subject", "data")
"""What is digested of an activity, followed by its time."""
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=repr).encode


@dataclass(frozen=True, slots=True)
class Key:
    """A key for seals; its id tells which one it is and nothing else of it."""

    secret: bytes = field(repr=False)
    id: str

    @classmethod
    def of(cls, secret: bytes) -> "Key":
        """The key that a secret of 16 bytes at least is."""
        return cls(secret, hashlib.sha256(b"interlock audit key\n" + secret).hexdigest()[:12])


@dataclass(frozen=True, slots=True)
class Keyring:
    """The key that seals, and all with which seals can be checked."""

    current: Key | None = None
    known: Mapping[str, Key] = field(default_factory=dict)

    @classmethod
    def of(cls, current: Key | None, old: Iterable[Key] = ()) -> "Keyring":
        """A ring of the current key, if any, and older ones."""
        keys = [*old, *([current] if current else [])]
        return cls(current, {key.id: key for key in keys})


class Entry(NamedTuple):
    """An activity as it is read to be sealed or verified: also one that somebody has made unreadable."""

    id: int
    project_id: Any
    action: Any
    actor_kind: Any
    actor_id: Any
    mission_id: Any
    task_id: Any
    run_id: Any
    subject: Any
    data: Any
    created_at: datetime | None

    @classmethod
    def of(cls, raw: Sequence[Any]) -> "Entry":
        """The entry of a row whose `data` is JSON text, its time a time or its text, in the order of `FIELDS`."""
        *fields, data, created_at = raw
        at = time_of(created_at)
        told = json_of(data)
        return cls._make([*fields, told if at is not None else {"unreadable": [told, str(created_at)]}, at])


class Link(NamedTuple):
    """A link as it is read to be verified, without its leaves; ranges that are unreadable are none."""

    number: int
    epoch: Any
    kind: Any
    ranges: Any
    count: Any
    top: Any
    floor: Any
    digest: Any
    previous: Any
    head: Any
    key_id: Any
    seal: Any
    created_at: datetime | None


def json_of(text: Any) -> Any:
    """What JSON text says; of text that is none, that it is unreadable."""
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return {"unreadable": str(text)}


def time_of(value: Any) -> datetime | None:
    """A time, of which a text without a zone is UTC; None if it is none."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    return value if value.tzinfo is not None else value.replace(tzinfo=UTC)


def line(row: Any) -> str:
    """An activity as the one line that is digested; the same from both databases, and from an export."""
    told = [getattr(row, name) for name in FIELDS]
    told.append(moment(row.created_at) if row.created_at is not None else None)
    return _encode(told)


def leaf(row: Any) -> bytes:
    """The digest of an activity."""
    return hashlib.sha256(line(row).encode("utf-8", "surrogatepass")).digest()


def moment(value: datetime) -> str:
    """A time as it is digested."""
    return value.astimezone(UTC).isoformat(timespec="microseconds")


def digest_of(leaves: bytes) -> str:
    """What a link says of its leaves."""
    return hashlib.sha256(leaves).hexdigest()


def head_of(link: Any) -> str:
    """The head of a link, from all that it says."""
    told = [
        "interlock audit link 1", link.number, link.epoch, link.kind, [list(each) for each in link.ranges], link.count,
        link.top, link.floor, link.digest, link.previous, link.key_id,
        moment(link.created_at) if link.created_at is not None else None,
    ]  # fmt: skip
    return hashlib.sha256(_encode(told).encode("utf-8", "surrogatepass")).hexdigest()


def seal_of(key: Key, head: str) -> str:
    """The seal of a head."""
    return hmac.new(key.secret, b"interlock audit seal 1\n" + head.encode(), hashlib.sha256).hexdigest()


def is_sealed(link: Any, keys: Keyring) -> bool:
    """Whether a link says what one of these keys has sealed."""
    key = keys.known.get(link.key_id)
    return (
        key is not None
        and head_of(link) == link.head
        and hmac.compare_digest(seal_of(key, link.head).encode(), str(link.seal).encode())
    )


def ranges_of(ids: Iterable[int]) -> list[list[int]]:
    """Rising ids as [first, last] pairs of those that follow each other."""
    out: list[list[int]] = []
    for ident in ids:
        if out and ident == out[-1][1] + 1:
            out[-1][1] = ident
        else:
            out.append([ident, ident])
    return out


def ids_of(ranges: Iterable[Sequence[int]]) -> Iterable[int]:
    """The ids that ranges hold, in order."""
    for first, last in ranges:
        yield from range(first, last + 1)


@dataclass(frozen=True, slots=True)
class Told:
    """A link before it is sealed, with what `head_of` reads."""

    number: int
    epoch: int
    kind: str
    ranges: list[list[int]]
    count: int
    top: int
    floor: int
    digest: str
    previous: str
    key_id: str
    created_at: datetime


def link(
    key: Key,
    last: Any | None,
    kind: str,
    ids: Sequence[int],
    leaves: Sequence[bytes],
    now: datetime,
    *,
    epoch: int | None = None,
    floor: int | None = None,
) -> dict[str, Any]:
    """The row of the link that follows `last`, about activities with rising ids; leaves in the same order.

    It is of the last one's epoch unless it begins another; nothing comes late up to `floor`, by default up to all
    that the chain has then.
    """
    before = last.top if last is not None else 0
    if epoch is None:
        epoch = last.epoch if last is not None else 0
    whole = b"".join(leaves)
    top = max(before, ids[-1]) if ids and kind == BATCH else before
    if floor is None:
        floor = top if kind == BATCH or last is None else last.floor
    told = Told(
        number=last.number + 1 if last is not None else 1,
        epoch=epoch,
        kind=kind,
        ranges=ranges_of(ids),
        count=len(ids),
        top=top,
        floor=floor,
        digest=digest_of(whole),
        previous=last.head if last is not None else GENESIS,
        key_id=key.id,
        created_at=now,
    )
    head = head_of(told)
    return {
        "number": told.number, "epoch": told.epoch, "kind": kind, "ranges": told.ranges, "count": told.count,
        "first": ids[0] if ids else 0, "last": ids[-1] if ids else 0, "top": top, "floor": floor,
        "digest": told.digest, "leaves": whole or None, "previous": told.previous, "head": head, "key_id": key.id,
        "seal": seal_of(key, head), "created_at": now,
    }  # fmt: skip
