"""The hash chain of the audit log: digests of activities, heads of links, seals. Pure computation.

Reading and writing it is in `seals`.
"""

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

GENESIS = "0" * 64
"""The `previous` of the first link."""
BATCH, REDACT, PRUNE, RESTORE, ANEW = "batch", "redact", "prune", "restore", "anew"
KINDS = (BATCH, REDACT, PRUNE, RESTORE, ANEW)
LEAF = 32
"""The length of an activity's digest in bytes."""
LEAST_KEY = 16
FIELDS = ("id", "project_id", "action", "actor_kind", "actor_id", "mission_id", "task_id", "run_id", "subject", "data")
"""The fields of an activity that are digested, followed by its time."""
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=repr).encode


@dataclass(frozen=True, slots=True)
class Key:
    """A key for seals; its id identifies it without revealing anything of the secret."""

    secret: bytes = field(repr=False)
    id: str

    @classmethod
    def of(cls, secret: bytes) -> "Key":
        """The key with this secret, of at least 16 bytes."""
        return cls(secret, hashlib.sha256(b"interlock audit key\n" + secret).hexdigest()[:12])


@dataclass(frozen=True, slots=True)
class Keyring:
    """The key for new seals, and all keys that can verify old ones."""

    current: Key | None = None
    known: Mapping[str, Key] = field(default_factory=dict)

    @classmethod
    def of(cls, current: Key | None, old: Iterable[Key] = ()) -> "Keyring":
        """A keyring of the current key, if any, and older ones."""
        keys = [*old, *([current] if current else [])]
        return cls(current, {key.id: key for key in keys})


class Entry(NamedTuple):
    """An activity, read for sealing or verification; its data may have been made unreadable."""

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
        """The entry of a raw row in the order of `FIELDS`; `data` is JSON text, the time text or a datetime."""
        *fields, data, created_at = raw
        at = time_of(created_at)
        content = json_of(data)
        return cls._make([*fields, content if at is not None else {"unreadable": [content, str(created_at)]}, at])


class Link(NamedTuple):
    """A link, read for verification, without its leaves; unreadable ranges are empty."""

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
    """The value of JSON text; a marker value if it is invalid."""
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return {"unreadable": str(text)}


def time_of(value: Any) -> datetime | None:
    """A time; text without a zone is taken as UTC; None if it is invalid."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    return value if value.tzinfo is not None else value.replace(tzinfo=UTC)


def line(row: Any) -> str:
    """The canonical line of an activity that is digested; identical on both databases and in an export."""
    values = [getattr(row, name) for name in FIELDS]
    values.append(moment(row.created_at) if row.created_at is not None else None)
    return _encode(values)


def leaf(row: Any) -> bytes:
    """The digest of an activity."""
    return hashlib.sha256(line(row).encode("utf-8", "surrogatepass")).digest()


def moment(value: datetime) -> str:
    """A time in its canonical form."""
    return value.astimezone(UTC).isoformat(timespec="microseconds")


def digest_of(leaves: bytes) -> str:
    """The digest of a link's leaves."""
    return hashlib.sha256(leaves).hexdigest()


def head_of(link: Any) -> str:
    """The head of a link: the digest of all its fields."""
    fields = [
        "interlock audit link 1", link.number, link.epoch, link.kind, [list(each) for each in link.ranges], link.count,
        link.top, link.floor, link.digest, link.previous, link.key_id,
        moment(link.created_at) if link.created_at is not None else None,
    ]  # fmt: skip
    return hashlib.sha256(_encode(fields).encode("utf-8", "surrogatepass")).hexdigest()


def seal_of(key: Key, head: str) -> str:
    """The seal of a head."""
    return hmac.new(key.secret, b"interlock audit seal 1\n" + head.encode(), hashlib.sha256).hexdigest()


def is_sealed(link: Any, keys: Keyring) -> bool:
    """Whether a link's seal is valid under one of these keys."""
    key = keys.known.get(link.key_id)
    return (
        key is not None
        and head_of(link) == link.head
        and hmac.compare_digest(seal_of(key, link.head).encode(), str(link.seal).encode())
    )


def ranges_of(ids: Iterable[int]) -> list[list[int]]:
    """Ascending ids as [first, last] pairs of consecutive ones."""
    out: list[list[int]] = []
    for ident in ids:
        if out and ident == out[-1][1] + 1:
            out[-1][1] = ident
        else:
            out.append([ident, ident])
    return out


def ids_of(ranges: Iterable[Sequence[int]]) -> Iterable[int]:
    """The ids in ranges, in order."""
    for first, last in ranges:
        yield from range(first, last + 1)


@dataclass(frozen=True, slots=True)
class UnsealedLink:
    """An unsealed link, with the fields that `head_of` digests."""

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
    """The row of the link after `last`, for activities with ascending ids and leaves in the same order.

    The epoch is that of `last` unless given. No activity up to `floor` can be committed late; the default is
    the highest id that the chain covers.
    """
    before = last.top if last is not None else 0
    if epoch is None:
        epoch = last.epoch if last is not None else 0
    whole = b"".join(leaves)
    top = max(before, ids[-1]) if ids and kind == BATCH else before
    if floor is None:
        floor = top if kind == BATCH or last is None else last.floor
    entry = UnsealedLink(
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
    head = head_of(entry)
    return {
        "number": entry.number, "epoch": entry.epoch, "kind": kind, "ranges": entry.ranges, "count": entry.count,
        "first": ids[0] if ids else 0, "last": ids[-1] if ids else 0, "top": top, "floor": floor,
        "digest": entry.digest, "leaves": whole or None, "previous": entry.previous, "head": head, "key_id": key.id,
        "seal": seal_of(key, head), "created_at": now,
    }  # fmt: skip
