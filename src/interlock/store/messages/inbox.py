"""The inbox: verified commands and taps from surfaces; accepted once by their key, claimed, and completed.

What they do, and who may do it, is up to the desk.
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
"""The key prefix of rows that record the refusal of an unknown identity."""


def accept(tx: Tx, key: str, surface: str, payload: Mapping[str, Any], now: datetime) -> bool:
    """Stores a request until it is done; False if its key is known. `payload` contains the `identity`."""
    if known(tx, key):
        return False
    tx.add(
        Incoming, key=key, surface=surface, identity=payload["identity"], payload=dict(payload), created_at=now
    )  # fmt: skip
    return True


def known(tx: Tx, key: str) -> bool:
    """Whether a key was accepted before."""
    return tx.one(_KNOWN, {"key_": key}) is not None


def payload(tx: Tx, key: str) -> dict[str, Any] | None:
    """The payload accepted under a key; None if there is none, or it has been pruned."""
    row = tx.one(_ONE, {"key_": key})
    return None if row is None else dict(row.payload)


def record_refusal(tx: Tx, identity: str, surface: str, now: datetime) -> bool:
    """Records that an unknown identity was refused; False if that is on record already."""
    if was_refused(tx, identity):
        return False
    tx.add(
        Incoming, key=SEEN + identity, surface=surface, identity=identity, payload={}, status="done",
        created_at=now, done_at=now,
    )  # fmt: skip
    return True


def was_refused(tx: Tx, identity: str) -> bool:
    """Whether an identity was refused before."""
    return known(tx, SEEN + identity)


def waiting(tx: Tx) -> list[str]:
    """The identities with open requests."""
    return [row.identity for row in tx.rows(_WAITING)]


def head(tx: Tx, identity: str) -> Any | None:
    """The oldest open request of an identity."""
    return tx.one(_HEAD, {"who": identity})


def claim(tx: Tx, key: str, seen: str | None, mine: str, now: datetime) -> bool:
    """Claims a request held by `seen` (None: nobody); False if another process was faster, or it is done."""
    return tx.count(_CLAIM, {"key_": key, "seen": seen or "", "mine": mine, "now": now}) == 1


def done(tx: Tx, key: str, mine: str, now: datetime) -> bool:
    """Completes a request that the caller holds; False if it no longer holds it."""
    return tx.count(_DONE, {"key_": key, "mine": mine, "now": now}) == 1


def release(tx: Tx, mine: str) -> None:
    """Releases the requests that a process holds; they are marked as possibly half done."""
    tx.run(_RELEASE, {"mine": mine})
