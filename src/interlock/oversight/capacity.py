"""Alerts about work that no live worker is capable of: one for each set of capabilities, settled when a worker joins.

Which workers are alive is decided in `heartbeat`.
"""

from datetime import datetime

from interlock.agents.runtime import Runtime
from interlock.store.auditing import audit
from interlock.store.mailboxes import capabilities, leases
from interlock.store.tx import Tx

PATIENCE_S = 60.0
"""How long work may wait for a capable worker before an alert is raised."""
KIND = "CAPABILITY"


class Capacity:
    """Remembers between sweeps since when work has waited for a capable worker.

    Durations are of this process's monotonic clock, so that a jump of the wall clock does no harm.
    """

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    async def sweep(self, runtime: Runtime) -> str | None:
        """Compares waiting work with live workers; returns a summary of what was alerted."""
        unserved = await runtime.store.read(_unserved, runtime.clock.now())
        passed = runtime.clock.monotonic()
        over = self._since.keys() - unserved.keys()
        self._since = {needs: self._since.get(needs, passed) for needs in unserved}
        late = {needs: count for needs, count in unserved.items() if passed - self._since[needs] >= PATIENCE_S}
        if late or over:
            project, now = runtime.settings.project, runtime.clock.now()
            await runtime.store.write(_alert, late, sorted(over), project, now)
        return "; ".join(f"nobody can do what needs {needs}" for needs in late) or None


def _unserved(tx: Tx, now: datetime) -> dict[str, int]:
    """Sets of capabilities that no live worker has, as names, each with the number of mailboxes waiting for it."""
    found = ((leases.unmet(tx, needs), lanes) for needs, lanes in capabilities.waiting(tx, now))
    return {", ".join(names): lanes for names, lanes in found if names}


def _alert(tx: Tx, late: dict[str, int], over: list[str], project_id: str, now: datetime) -> None:
    for needs in over:
        audit.settle(tx, KIND, needs, now)
    for needs, lanes in late.items():
        audit.alert(
            tx, now, project_id=project_id, severity="warning", kind=KIND, key=f"capability:{needs}", subject=needs,
            text=f"{lanes} agent{'s' * (lanes != 1)} wait{'s' * (lanes == 1)} for a worker with `{needs}`, and none "
            f"that runs has it: start one on a machine that has, {_otherwise(needs)}",
        )  # fmt: skip


def _otherwise(needs: str) -> str:
    if capabilities.SANDBOX in needs.split(", "):
        return "or look with `interlock doctor` what one lacks"
    return "or name it in its setting `capabilities`"
