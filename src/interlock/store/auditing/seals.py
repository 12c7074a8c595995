"""The audit log's chain in the database: unsealed activities, and appending links.

INVARIANT: whoever changes or deletes activities appends a link in the same transaction. Links are numbered without gaps
and the number is the primary key, so if two processes append at once, one gets a conflict and retries: nothing else is
locked, and no other commit waits. The format is in `chain`; `oversight.sealing` appends batches.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.core.errors import Conflict
from interlock.store.auditing import chain
from interlock.store.auditing.audit import ACTIVITIES
from interlock.store.auditing.chain import BATCH, PRUNE, REDACT, RESTORE, Entry, Key, Keyring, Link
from interlock.store.schema import AuditSeal, table
from interlock.store.tx import Tx

SEALS = table(AuditSeal)
_s, _a = SEALS.c, ACTIVITIES.c
AT_ONCE = 1_000
"""The maximum number of activities in a batch."""
LATE_S = 300.0
"""How long after the assignment of its id an activity may be committed without a remark."""
PAGE = 2_000
_SHORT = [column for column in SEALS.columns if column.name != "leaves"]
_LAST = sa.select(*_SHORT).order_by(_s.number.desc()).limit(1)
_BEFORE = sa.select(*_SHORT).where(_s.number < b("until")).order_by(_s.number.desc()).limit(b("most"))
_LEAVES = sa.select(_s.leaves).where(_s.number == b("link"))
_LIVE = (
    sa.select(SEALS)
    .where(
        _s.pruned_at.is_(None), _s.first <= b("until"), _s.last >= b("since"), _s.kind.in_((BATCH, REDACT)),
    )
    .order_by(_s.number)
)  # fmt: skip


def _raw(column: Any, dialect: str) -> Any:
    """A column as stored, without conversion: SQLite's values may have been tampered with."""
    if isinstance(column.type, sa.JSON):
        return sa.cast(column, sa.Text).label(column.name)
    return sa.type_coerce(column, sa.String).label(column.name) if dialect == "sqlite" else column


_DIALECTS = ("sqlite", "postgresql")
_ENTRY = {name: [_raw(_a[each], name) for each in Entry._fields] for name in _DIALECTS}
_NEXT = {
    name: sa.select(*columns).where(_a.id > b("after")).order_by(_a.id).limit(b("most"))
    for name, columns in _ENTRY.items()
}
_ONE = {name: sa.select(*columns).where(_a.id == b("activity")) for name, columns in _ENTRY.items()}
_LINKS = {
    name: sa.select(*(_raw(_s[each], name) for each in Link._fields))
    .where(_s.number > b("after"))
    .order_by(_s.number)
    .limit(b("most"))
    for name in _DIALECTS
}
_IDS = sa.select(_a.id).where(_a.id > b("after"), _a.id <= b("until")).order_by(_a.id)
_NEWEST = sa.select(sa.func.coalesce(sa.func.max(_a.id), 0).label("id"))
_SOME_LEFT = sa.select(_a.id).where(_a.id >= b("since"), _a.id <= b("until")).limit(1)
_PRUNED = (
    sa.update(SEALS)
    .where(_s.number == b("link"))
    .values(pruned_at=b("now", type_=_s.created_at.type), leaves=sa.null())
)
_NO_HORIZON = sa.update(SEALS).where(_s.horizon.is_not(None)).values(horizon=sa.null())
_SNAPSHOT = sa.text(
    "SELECT pg_snapshot_xmin(s)::text AS oldest, pg_snapshot_xmax(s)::text AS next FROM pg_current_snapshot() s"
).columns(oldest=sa.String(), next=sa.String())


@dataclass(frozen=True, slots=True)
class Unsealed:
    """The contents of the next batch, and the link that it follows."""

    last: Any | None
    ids: list[int]
    leaves: list[bytes]
    floor: int
    horizon: int | None


def last(tx: Tx) -> Any | None:
    """The newest link, without its leaves; None if there is none."""
    return tx.one(_LAST)


def links(tx: Tx, after: int = 0) -> Iterator[Link]:
    """All links after a number, in order, unverified."""
    while page := tx.rows(_LINKS[tx.dialect], {"after": after, "most": PAGE}):
        for row in page:
            ranges, at = chain.json_of(row.ranges), chain.time_of(row.created_at)
            yield Link(*row)._replace(ranges=ranges if isinstance(ranges, list) else [], created_at=at)
        after = page[-1].number


def leaves(tx: Tx, number: int) -> bytes | None:
    """The leaves of a link."""
    row = tx.one(_LEAVES, {"link": number})
    return None if row is None or row.leaves is None else bytes(row.leaves)


def entries(tx: Tx) -> Iterator[Entry]:
    """All activities in id order, unverified."""
    after = -(1 << 62)
    while page := tx.rows(_NEXT[tx.dialect], {"after": after, "most": PAGE}):
        yield from map(Entry.of, page)
        after = page[-1].id


def behind(tx: Tx) -> tuple[Any | None, int]:
    """The newest link, and how many ids were assigned since."""
    newest, found = tx.rows(_NEWEST)[0].id, last(tx)
    return found, newest - (found.top if found is not None else 0)


def unsealed(tx: Tx, now: datetime, most: int = AT_ONCE, *, late: bool = True) -> Unsealed:
    """Up to `most` activities that are in no batch yet: new ones, and with `late`, if there is room, those that were
    committed after higher ids had been sealed.
    """
    found = last(tx)
    top, floor = (found.top, found.floor) if found is not None else (0, 0)
    new = [Entry.of(row) for row in tx.rows(_NEXT[tx.dialect], {"after": top, "most": most})]
    horizon = _Horizon.of(tx)
    if late and len(new) < most:
        come_late, room = _late(tx, floor, top), most - len(new)
        new = [*come_late[:room], *new]
        if len(come_late) <= room:
            settled = _settled(tx, horizon, now) if horizon else max([top, *(row.id for row in new)])
            floor = max(floor, settled)
    following = horizon.following if horizon else None
    return Unsealed(found, [row.id for row in new], [chain.leaf(row) for row in new], floor, following)


@dataclass(frozen=True, slots=True)
class _Horizon:
    """PostgreSQL's transaction ids in one snapshot: the oldest open one, and the next one."""

    oldest: int
    following: int

    @classmethod
    def of(cls, tx: Tx) -> "_Horizon | None":
        if tx.dialect != "postgresql":
            return None
        row = tx.rows(_SNAPSHOT)[0]
        return cls(int(row.oldest), int(row.next))


def _settled(tx: Tx, horizon: _Horizon, now: datetime) -> int:
    """The id up to which no more activities can be committed.

    That is a link's top, once all transactions that were open when it was made have ended; but not before `LATE_S`,
    since an id may be assigned shortly before its transaction counts as open. SQLite assigns ids at the commit.
    """
    young = now - timedelta(seconds=LATE_S)
    for row in _down_to(tx, 0):
        is_over = row.horizon is not None and (row.horizon <= horizon.oldest or row.horizon > horizon.following)
        if row.kind == BATCH and is_over and row.created_at <= young:
            return int(row.top)
    return 0


def _down_to(tx: Tx, floor: int) -> Iterator[Any]:
    """The links that may contain an activity above an id, newest first."""
    until = 1 << 62
    while page := tx.rows(_BEFORE, {"until": until, "most": 100}):
        for row in page:
            if row.top <= floor:
                return
            yield row
        until = page[-1].number


def _late(tx: Tx, floor: int, top: int) -> list[Entry]:
    """Activities in no batch although the chain covers higher ids."""
    if floor >= top:
        return []
    there = {row.id for row in tx.rows(_IDS, {"after": floor, "until": top})}
    for row in _down_to(tx, floor):
        if row.kind == BATCH and row.last > floor:
            there.difference_update(chain.ids_of(row.ranges))
    found = (tx.one(_ONE[tx.dialect], {"activity": ident}) for ident in sorted(there))
    return [Entry.of(row) for row in found if row is not None]


def put(tx: Tx, number: int, values: dict[str, Any]) -> None:
    """Appends a link after link `number`.

    Raises Conflict if another link was appended meanwhile.
    """
    found = last(tx)
    if (found.number if found is not None else 0) != number:
        raise Conflict("another process has sealed meanwhile")
    tx.add(AuditSeal, **values)


def vouched(tx: Tx, ids: Sequence[int], keys: Keyring) -> dict[int, bytes]:
    """The current leaves of the given ascending ids that valid links contain."""
    out: dict[int, bytes] = {}
    if not ids:
        return out
    wanted = set(ids)
    for row in tx.rows(_LIVE, {"since": ids[0], "until": ids[-1]}):
        whole = bytes(row.leaves or b"")
        if not chain.is_sealed(row, keys) or chain.digest_of(whole) != row.digest:
            continue
        for place, ident in enumerate(chain.ids_of(row.ranges)):
            if ident in wanted:
                out[ident] = whole[place * chain.LEAF : (place + 1) * chain.LEAF]
    return out


def seal_change(tx: Tx, key: Key, ids: Sequence[int], leaves: Sequence[bytes], now: datetime) -> None:
    """Appends a link that seals activities as changed by an erasure, even if there are none."""
    tx.add(AuditSeal, **chain.link(key, last(tx), REDACT, ids, leaves, now))


def seal_deletion(tx: Tx, key: Key, ids: Sequence[int], now: datetime) -> None:
    """Appends a link that seals the deletion of activities, and deletes leaves that are no longer needed."""
    tx.add(AuditSeal, **chain.link(key, last(tx), PRUNE, ids, (), now), pruned_at=now)
    for row in tx.rows(_LIVE, {"since": ids[0], "until": ids[-1]}):
        if tx.one(_SOME_LEFT, {"since": row.first, "until": row.last}) is None:
            tx.run(_PRUNED, {"link": row.number, "now": now})


def mark(tx: Tx, key: Key, kind: str, now: datetime, epoch: int | None = None) -> None:
    """Appends a link without activities: a restore from a backup, or a new key."""
    if kind == RESTORE:
        tx.run(_NO_HORIZON)
    tx.add(AuditSeal, **chain.link(key, last(tx), kind, (), (), now, epoch=epoch), pruned_at=now)


def seal_all(tx: Tx, key: Key, now: datetime) -> None:
    """Seals all activities, in a database that nobody else writes to."""
    while (found := unsealed(tx, now)).ids:
        made = chain.link(key, found.last, BATCH, found.ids, found.leaves, now)
        tx.add(AuditSeal, **made)
