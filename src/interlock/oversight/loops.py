"""Loop detection: finds tasks that make no progress, at intervals and upon events that may indicate a loop.

The rules are in `policy.loops`; what is done with a task that breaks one, in `store.work.loops`.
"""

from datetime import datetime

from interlock.agents.runtime import Runtime
from interlock.core.errors import Conflict
from interlock.policy.loops import Limits
from interlock.store.tx import Tx
from interlock.store.work import loops, tasks
from interlock.store.work.loops import check
from interlock.store.work.tasks import TransitionRefused

__all__ = ["check", "sweep"]


async def sweep(runtime: Runtime) -> str:
    """Blocks every task that breaks a rule; returns how many. Writes nothing if none does. Source: row I1."""
    limits, now, blocked = runtime.settings.loops, runtime.clock.now(), 0
    for task_id in await runtime.store.read(loops.suspects, limits, now):
        if await runtime.store.read(_is_loop, task_id, limits, now):
            try:
                blocked += await runtime.store.write(check, task_id, limits, now) is not None
            except (Conflict, TransitionRefused):
                continue  # its state changed at this moment, which is an event that is looked at by itself
    return f"{blocked} task{'s' * (blocked != 1)} blocked"


def _is_loop(tx: Tx, task_id: str, limits: Limits, now: datetime) -> bool:
    return bool(loops.broken(tx, tasks.task(tx, task_id), limits, now))
