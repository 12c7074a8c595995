"""Commands and taps that surfaces have verified: taken in once by their key, claimed, done.

What they ask for, and who may, is the desk's job.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b
from sqlmodel import UTCDateTime

from interlock.store.schema import Incoming, table
from interlock.store.tx import Tx

INBOX = table(Incoming)
_i = INBOX.c
_TIME = UTCDateTime()
_NEW = _i.status == sa.text("'new'")
_ONE = sa.select(INBOX).where(_i.key == b("key_"))
_KNOWN = sa.select(_i.key).where(_i.key == b("key_"))
_WAITING = sa.select(_i.identity).where(_NEW).distinct().order_by(_i.identity)
_HEAD = sa.select(INBOX).where(_NEW, _i.identity == b("who")).order_by(_i.created_at, _i.key).limit(1)
_CLAIM = (
    sa.update(INBOX)
    .where(_i.key == b("key_"), _NEW, sa.func.coalesce(_i.holder, "") == b("seen"))
    .values(holder=b("mine"), taken_at=b("now", type_=_TIME))
)
_DONE = (
    sa.update(INBOX)
    .where(_i.key == b("key_"), _NEW, _i.holder == b("mine"))
    .values(status="done", done_at=b("now", type_=_TIME))
)
_RELEASE = sa.update(INBOX).where(_NEW, _i.holder == b("mine")).values(holder="")
SEEN = "refusal:"
"""The key of a row that says that somebody unknown has been refused."""


def take_in(tx: Tx, key: str, surface: str, payload: Mapping[str, Any], now: datetime) -> bool:
    """Keeps a request until it is done; False if its key is known. `payload` names the `identity`."""
    if known(tx, key):
        return False
    tx.add(
        Incoming, key=key, surface=surface, identity=payload["identity"], payload=dict(payload), created_at=now
    )  # fmt: skip
    return True


def known(tx: Tx, key: str) -> bool:
    """Whether a key was ever taken in."""
    return tx.one(_KNOWN, {"key_": key}) is not None


def payload(tx: Tx, key: str) -> dict[str, Any] | None:
    """What was taken in under a key; None if nothing was, or it has been forgotten."""
    row = tx.one(_ONE, {"key_": key})
    return None if row is None else dict(row.payload)


def turn_away(tx: Tx, identity: str, surface: str, now: datetime) -> bool:
    """Notes that an unknown identity was refused; False if it has been before, as long as that is remembered."""
    if turned_away(tx, identity):
        return False
    tx.add(
        Incoming, key=SEEN + identity, surface=surface, identity=identity, payload={}, status="done",
        created_at=now, done_at=now,
    )  # fmt: skip
    return True


def turned_away(tx: Tx, identity: str) -> bool:
    """Whether an identity was refused before."""
    return known(tx, SEEN + identity)


def waiting(tx: Tx) -> list[str]:
    """The identities that have something open."""
    return [row.identity for row in tx.rows(_WAITING)]


def head(tx: Tx, identity: str) -> Any | None:
    """The oldest open request of an identity."""
    return tx.one(_HEAD, {"who": identity})


def claim(tx: Tx, key: str, seen: str | None, mine: str, now: datetime) -> bool:
    """Takes a request that `seen` (None: nobody) holds; False if somebody else was faster, or it is done."""
    return tx.count(_CLAIM, {"key_": key, "seen": seen or "", "mine": mine, "now": now}) == 1


def done(tx: Tx, key: str, mine: str, now: datetime) -> bool:
    """Closes a request that the caller holds; False if it does no longer."""
    return tx.count(_DONE, {"key_": key, "mine": mine, "now": now}) == 1


def release(tx: Tx, mine: str) -> None:
    """Gives back what a process holds, so that another one may take it at once and knows that it may be half done."""
    tx.run(_RELEASE, {"mine": mine})
