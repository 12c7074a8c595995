"""Work that no worker there is can do: told of once for what it needs, and taken back when one comes that can.

Which worker is alive is `heartbeat`'s job.
"""

from datetime import datetime

from interlock.agents.context import Runtime
from interlock.store import audit, capabilities, leases
from interlock.store.tx import Tx

PATIENCE_S = 60.0
"""How long work may wait for a worker that can do it before somebody is told."""
KIND = "CAPABILITY"


class Capacity:
    """Keeps in mind, from one sweep to the next, since when work waits for a worker that can do it.

    Durations are those of this process's monotonic clock, so that no clock's jump can harm.
    """

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    async def sweep(self, runtime: Runtime) -> str | None:
        """Looks at what waits and at who there is; says what was told."""
        unserved = await runtime.store.read(_unserved, runtime.clock.now())
        passed = runtime.clock.monotonic()
        over = self._since.keys() - unserved.keys()
        self._since = {needs: self._since.get(needs, passed) for needs in unserved}
        late = {needs: count for needs, count in unserved.items() if passed - self._since[needs] >= PATIENCE_S}
        if late or over:
            project, now = runtime.settings.project, runtime.clock.now()
            await runtime.store.write(_tell, late, sorted(over), project, now)
        return "; ".join(f"nobody can do what needs {needs}" for needs in late) or None


def _unserved(tx: Tx, now: datetime) -> dict[str, int]:
    """What is needed and no live worker has altogether, as names, and how many mailboxes wait for it."""
    found = ((leases.unmet(tx, needs), lanes) for needs, lanes in capabilities.waiting(tx, now))
    return {", ".join(names): lanes for names, lanes in found if names}


def _tell(tx: Tx, late: dict[str, int], over: list[str], project_id: str, now: datetime) -> None:
    for needs in over:
        audit.settle(tx, KIND, needs, now)
    for needs, lanes in late.items():
        audit.alert(
            tx, now, project_id=project_id, severity="warning", kind=KIND, key=f"capability:{needs}", subject=needs,
            text=f"{lanes} agent{'s' * (lanes != 1)} wait{'s' * (lanes == 1)} for a worker with `{needs}`, and none "
            f"that runs has it: start one on a machine that has, or name it in its setting `capabilities`",
        )  # fmt: skip
