"""The job that decays memories: each day without use lowers a memory's rank; below a threshold it is archived.

The rate, and what is never archived, is in `memory.ranking`; when the job runs, in the scheduler. Row H3.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from interlock.agents.runtime import Runtime
from interlock.core.values import SYSTEM
from interlock.memory import archive
from interlock.memory.ranking import Pace, faded
from interlock.oversight.retention import BatchSizer
from interlock.store.knowledge import memory_writes
from interlock.store.tx import Tx

PAGE = 500


@dataclass(frozen=True, slots=True)
class Faded:
    """The result of a sweep: how many memories decayed, and how many of them were archived."""

    faded: int = 0
    put_away: int = 0


async def sweep(runtime: Runtime) -> Faded:
    """Decays all memories by the days since they were last used. Concurrent sweeps are safe."""
    now, pace = runtime.clock.now(), archive.pace_of(runtime.settings.memory)
    batches, after, count, put_away = BatchSizer(most=200), "", 0, 0
    while found := await runtime.store.read(memory_writes.fading, after, PAGE):
        after = found[-1].id
        due = [row for row in found if faded(row.decay, row.decayed_at, now, pace) is not None]
        while due:
            some = due[: batches.size]
            put_away += await batches.write(runtime, _age, some, pace, now)
            count += len(some)
            del due[: len(some)]
    return Faded(count, put_away)


def _age(tx: Tx, rows: Sequence[Any], pace: Pace, now: datetime) -> int:
    return archive.age(tx, rows, pace, SYSTEM, now)
