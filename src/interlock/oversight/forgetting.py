"""The job that has memories fade: each day without use takes its share, and what is too faint is put away.

What a share is, and what is never put away, is `memory.ranking`'s; when the job is done, the scheduler's. Row H3.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from interlock.agents.context import Runtime
from interlock.core.values import SYSTEM
from interlock.memory import archive
from interlock.memory.ranking import Pace, faded
from interlock.oversight.retention import Bites
from interlock.store import memory_writes
from interlock.store.tx import Tx

PAGE = 500


@dataclass(frozen=True, slots=True)
class Faded:
    """What a sweep did: how many memories have faded, and how many of them were put away."""

    faded: int = 0
    put_away: int = 0


async def sweep(runtime: Runtime) -> Faded:
    """Has all memories fade by the days that have gone by without their being used. It may be done twice at once."""
    now, pace = runtime.clock.now(), archive.pace_of(runtime.settings.memory)
    bites, after, count, put_away = Bites(most=200), "", 0, 0
    while found := await runtime.store.read(memory_writes.fading, after, PAGE):
        after = found[-1].id
        due = [row for row in found if faded(row.decay, row.decayed_at, now, pace) is not None]
        while due:
            some = due[: bites.size]
            put_away += await bites.write(runtime, _age, some, pace, now)
            count += len(some)
            del due[: len(some)]
    return Faded(count, put_away)


def _age(tx: Tx, rows: Sequence[Any], pace: Pace, now: datetime) -> int:
    return archive.age(tx, rows, pace, SYSTEM, now)
