"""Alerts about missions that cost a multiple of their estimate; found at intervals.

The coordinator sets the limit with the plan. A run that would exceed it stops by itself, in `agents.models.wallet`.
"""

from datetime import datetime, timedelta
from typing import Any

from interlock.agents.models.wallet import ESTIMATE_EXCEEDED
from interlock.agents.runtime import Runtime
from interlock.core.values import usd
from interlock.store.auditing import audit
from interlock.store.money import ledger
from interlock.store.tx import Tx

OF_LATE = timedelta(days=7)
"""How long after its end a mission is still checked: its last call may have exceeded the limit unnoticed."""


async def sweep(runtime: Runtime) -> str:
    """Alerts once for each limit that was exceeded without a run noticing, as by its last call. Source: row D5."""
    now = runtime.clock.now()
    found = await runtime.store.read(ledger.past_their_line, now - OF_LATE)
    if found:
        await runtime.store.write(_alert, found, runtime.settings.breakers.estimate_factor, now)
    return f"{len(found)} missions past a multiple of their estimate"


def _alert(tx: Tx, found: list[Any], factor: float, now: datetime) -> None:
    for row in found:
        if audit.was_ever_raised(tx, ESTIMATE_EXCEEDED, row.owner_id):
            continue
        audit.alert(
            tx, now, project_id=row.project_id, severity="warning", kind=ESTIMATE_EXCEEDED, subject=row.owner_id,
            text=f"the mission has cost {usd(row.settled_microusd)}, more than {factor:g} times its estimate of "
            f"{usd(round(row.pause_at_microusd / factor))}",
            key=f"estimate:{row.id}:{row.pause_at_microusd}",
        )  # fmt: skip
