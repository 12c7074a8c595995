"""Capabilities that not every worker has: names for people, bits for the claim.

Tools declare what they need; workers detect what they have.
"""

from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as b

from interlock.core.errors import InterlockError
from interlock.store.schema import Capability, Lane, table
from interlock.store.tx import Tx

CAPABILITIES, LANES = table(Capability), table(Lane)
MOST = 63
SANDBOX = "sandbox"
"""The capability of a worker with a sandbox for commands and code."""
_lane = LANES.c
_ALL = sa.select(CAPABILITIES.c.name, CAPABILITIES.c.bit).order_by(CAPABILITIES.c.bit)
_WAITING = (
    sa.select(_lane.needs, sa.func.count().label("lanes"))
    .where(
        _lane.holder.is_(None), _lane.ready_at.is_not(None), sa.not_(_lane.paused), _lane.needs != sa.text("0"),
        sa.or_(_lane.due_at.is_(None), _lane.due_at <= b("now", type_=_lane.ready_at.type)),
    )
    .group_by(_lane.needs)
    .order_by(_lane.needs)
)  # fmt: skip
_REQUIRE = sa.update(LANES).where(_lane.agent_id == b("agent"), _lane.needs != b("wanted")).values(needs=b("wanted"))


def known(tx: Tx) -> dict[str, int]:
    """The bit of each capability ever used."""
    return {row.name: int(row.bit) for row in tx.rows(_ALL)}


def bits(tx: Tx, names: Collection[str]) -> int:
    """The bit mask of capabilities; a new name is assigned the next bit.

    Raises InterlockError if there are none left.
    """
    if not names:
        return 0
    given, found = known(tx), 0
    for name in sorted(names):
        if name not in given:
            if len(given) >= MOST:
                raise InterlockError(f"`{name}` would be one capability more than {MOST}: use fewer names")
            given[name] = max(given.values(), default=-1) + 1
            tx.add(Capability, name=name, bit=given[name])
        found |= 1 << given[name]
    return found


def require(tx: Tx, agent_id: str, names: Collection[str]) -> None:
    """Only workers with these capabilities, and no others, may take an agent's runs from now on."""
    tx.count(_REQUIRE, {"agent": agent_id, "wanted": bits(tx, names)})


def lacking(tx: Tx, names: Collection[str]) -> int:
    """The bit mask of everything a worker with these capabilities lacks, including capabilities added later."""
    return ((1 << MOST) - 1) & ~bits(tx, names)


def names_of(given: Mapping[str, int], needs: int) -> list[str]:
    """The names in a bit mask, in order."""
    return [name for name, bit in sorted(given.items()) if needs >> bit & 1]


def waiting(tx: Tx, now: Any) -> list[tuple[int, int]]:
    """Each combination of capabilities that mailboxes with ready runs need, with the number of mailboxes."""
    return [(int(row.needs), row.lanes) for row in tx.rows(_WAITING, {"now": now})]
