"""Notices a changed policy file and puts it in force; what a policy file contains is not known here."""

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from pathlib import Path

from interlock.agents.runtime import Runtime
from interlock.app.config import emptiness, load_policy_of, read, shown
from interlock.core.complaint import Complaint
from interlock.core.errors import ConfigError
from interlock.core.values import SYSTEM, digest
from interlock.policy.rules import Policy
from interlock.settings import Settings
from interlock.store.auditing import audit
from interlock.store.tx import Tx

LOOK_S = 1.0
MOST_TOLD = 5
"""Faults that an alert carries; `interlock policy check` tells all."""
BROKEN, CHANGED = "POLICY_BROKEN", "POLICY_CHANGED"
_log = logging.getLogger(__name__)


class PolicyWatch:
    """Runs beside a process that decides, until it is cancelled. Each process of a fleet has its own. Source: row C6.

    A file that can be used is in force as soon as two looks have found it the same, in the middle of runs too. One
    that cannot, is empty or is gone changes nothing: the former policy holds, and one alert says so until it is mended.
    Where the settings name none, one that `appears_at` this path later counts from then on.
    """

    def __init__(
        self,
        runtime: Runtime,
        load: Callable[[Settings], Policy] = load_policy_of,
        *,
        appears_at: Path | None = None,
    ) -> None:
        self.runtime, self._load = runtime, load
        self._settings, self._appears_at = runtime.settings, appears_at
        self._found: str | None = None
        """The file's content at the last look."""
        self._taken: str | None = None
        """The content that was judged last."""
        self._faults: list[str] = []
        self._reported: bool | None = None
        """Whether it is on record that the file cannot be used; None: nobody knows."""
        self._change: tuple[str, str] | None = None
        """What is in force and not on record yet: the former hash and the new one."""
        self._complaint = Complaint(_log)

    async def run(self) -> None:
        """Checks the file at intervals until cancelled; what fails is tried again at the next check."""
        if self._settings.policy is None and self._appears_at is None:
            return
        while True:
            try:
                await self.look()
                self._complaint.over()
            except Exception as error:  # noqa: BLE001 (the policy that holds goes on holding)
                self._complaint.say("the policy file could not be read: %s", error)
            await asyncio.sleep(LOOK_S)

    async def look(self) -> None:
        """Checks the file once, and records changes that could not be recorded earlier."""
        if self._settings.policy is None and await asyncio.to_thread(self._has_appeared):
            self._settings = self._settings.model_copy(update={"policy": self._appears_at})
        path = self._settings.policy
        if path is None:
            return
        found = await asyncio.to_thread(_content, path)
        is_still, self._found = found == self._found, found
        if is_still and found != self._taken:
            faults = await asyncio.to_thread(self._take, found)
            if faults is not None:
                self._faults, self._taken = faults, found
        if self._change is not None or (self._taken is not None and self._reported is not bool(self._faults)):
            await self.runtime.store.write(_record, self.runtime, path, tuple(self._faults), self._change)
            self._change, self._reported = None, bool(self._faults)

    def _has_appeared(self) -> bool:
        return self._appears_at is not None and os.path.lexists(self._appears_at)

    def _take(self, found: str) -> list[str] | None:
        """Puts the file's policy in force; returns its faults where that cannot be.

        None if the file was written to while it was loaded: what was loaded may be half of it.
        """
        path, in_force = self._settings.policy, self.runtime.in_force
        assert path is not None
        before = in_force.policy.version_hash
        try:
            new, faults = self._load(self._settings), list[str]()
        except ConfigError as error:
            new, faults = in_force.policy, list(error.faults)
        if _content(path) != found:
            return None
        if faults or new.version_hash == before:
            return faults
        if empty := emptiness(path, new):
            return [str(each) for each in empty]
        in_force.policy = new
        self._change = (self._change[0] if self._change else before, new.version_hash)
        _log.warning("the policy has changed: %s is in force instead of %s", new.version_hash[:12], before[:12])
        return []


def _content(path: Path) -> str:
    try:
        return digest(read(path))
    except ConfigError as error:
        return f"unreadable: {error}"


def _record(
    tx: Tx, runtime: Runtime, path: Path, faults: tuple[str, ...], change: tuple[str, str] | None
) -> None:  # fmt: skip
    now, project, host = runtime.clock.now(), runtime.settings.project, socket.gethostname()
    subject = f"{host}:{path}"
    if change is not None:
        audit.note(
            tx, CHANGED, SYSTEM, now, project_id=project, subject=str(path), former=change[0], policy=change[1],
            host=host, pid=os.getpid(),
        )  # fmt: skip
    if not faults:
        return audit.settle(tx, BROKEN, subject, now)
    more = f" (and {len(faults) - MOST_TOLD} more)" if len(faults) > MOST_TOLD else ""
    text = (
        f"`{shown(path)}` on {host} cannot be used, so the previous policy stays in force: "
        f"{'; '.join(faults[:MOST_TOLD])}{more}. Correct it; `interlock policy check` reports every mistake"
    )
    return audit.alert(
        tx, now, project_id=project, severity="warning", kind=BROKEN, text=text, key=f"{BROKEN}:{subject}",
        subject=subject,
    )  # fmt: skip
