"""Starts the programs of acceptance checks: commands in the sandbox, and our own evaluations under limits.

What counts as passed is decided in `check_evaluation`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from interlock.agents.runtime import Runtime
from interlock.core.values import SYSTEM
from interlock.store.auditing import audit
from interlock.tools import children
from interlock.tools.bounds import Bounds, bounded
from interlock.tools.children import Ended, Order
from interlock.tools.contract import CHILD_ENDED
from interlock.tools.orphans import Record
from interlock.tools.sandboxes.sandbox import Limits, NoSandbox
from interlock.tools.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs of one run of kind `check`, in its copy of the workspace. Secrets are masked in what they print."""

    runtime: Runtime
    run: Any
    workspace: Workspace

    async def evaluate(self, argv: Sequence[str], timeout_s: int, given: bytes) -> Ended:
        """Runs a program of our own, which executes nothing that it is given."""
        return await self._unconfined(self._order(argv, timeout_s, given, {}))

    async def command(self, argv: Sequence[str], timeout_s: int | None, given: bytes, env: Mapping[str, str]) -> Ended:
        """Runs a command that a person or the policy wrote; it may use `timeout_s` of time and CPU time.

        Raises NoSandbox if it has to run in a sandbox and there is none.
        """
        sandbox = self.runtime.sandbox
        limits = sandbox.limits if timeout_s is None else replace(sandbox.limits, wall_s=timeout_s, cpu_s=timeout_s)
        order = self._order(argv, limits.wall_s, given, env)
        if self.runtime.settings.sandbox.checks == "off":
            order = replace(order, env={"HOME": str(self.workspace.root), **env}, name=argv[0])
            return await self._unconfined(order, limits)
        try:
            return self._masked(await sandbox.run(self.runtime.settings.home, order, limits, self._cut_off))
        except NoSandbox as error:
            raise NoSandbox(f"{error}; or let commands of checks run without one: `sandbox.checks: off`") from error

    def _order(self, argv: Sequence[str], timeout_s: float, given: bytes, env: Mapping[str, str]) -> Order:
        return Order(
            argv=argv, cwd=self.workspace.root, run_id=self.run.id, call_id=self.run.id, timeout_s=timeout_s, env=env,
            given=given,
        )  # fmt: skip

    async def _unconfined(self, order: Order, limits: Limits | None = None) -> Ended:
        most = Bounds(cpu_s=limits.cpu_s if limits else int(order.timeout_s))
        order = replace(order, argv=bounded(order.argv, most))
        return self._masked(await children.run(self.runtime.settings.home, order, self._cut_off))

    def _masked(self, ended: Ended) -> Ended:
        mask = self.runtime.vault.scrub  # before anything is shortened, which might leave half a secret
        return replace(ended, output=mask(ended.output), errors=mask(ended.errors))

    async def _cut_off(self, child: Record) -> None:
        run = self.run
        await self.runtime.store.write(
            audit.note, CHILD_ENDED, SYSTEM, self.runtime.clock.now(), project_id=run.project_id,
            mission_id=run.mission_id, task_id=run.task_id, run_id=run.id, program=child.program, pid=child.pid,
        )  # fmt: skip
