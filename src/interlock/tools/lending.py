"""Lends secrets to calls, and records which call received which; never a value. Source: rows G8, I4."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from interlock.policy.placeholders import names
from interlock.store.auditing import audit
from interlock.store.tx import Tx
from interlock.tools.contract import ToolContext
from interlock.tools.secrets import Vault, Who

USED = "SECRET_USED"


class Lent:
    """For `async with`: the context in which a tool can request its secrets.

    Secrets in its arguments are recorded before the call, those requested by its code afterwards.
    """

    def __init__(self, vault: Vault, who: Who, context: ToolContext, args: Mapping[str, Any]) -> None:
        self._vault, self._who, self._context, self._args = vault, who, context, args
        self._asked: set[str] = set()

    async def __aenter__(self) -> ToolContext:
        if (named := names(self._args)) and not self._context.simulated:
            await self._record(named)
        return self._context._replace(secrets=self._given)

    async def __aexit__(self, *_: object) -> None:
        if self._asked:
            await self._record(self._asked)

    def _given(self, name: str) -> str:
        value = self._vault.given(self._who, name)
        self._asked.add(name)
        return value

    async def _record(self, secrets: Collection[str]) -> None:
        await self._context.store.write(_note, self._context, self._who.tool, sorted(secrets))


def _note(tx: Tx, context: ToolContext, tool: str, secrets: Sequence[str]) -> None:
    for name in secrets:
        audit.note(
            tx, USED, context.actor, context.now, project_id=context.project_id, mission_id=context.mission_id,
            task_id=context.task_id, run_id=context.run_id, subject=name, tool=tool, call=context.call_id,
            persona=context.persona,
        )  # fmt: skip
