"""Lending secrets to calls, and putting on record which call was given which; never a value. Source: rows G8, I4."""

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from interlock.policy.placeholders import names
from interlock.store import audit
from interlock.store.tx import Tx
from interlock.tools.contract import ToolContext
from interlock.tools.secrets import Vault, Who

USED = "SECRET_USED"


@contextlib.asynccontextmanager
async def lent(vault: Vault, who: Who, context: ToolContext, args: Mapping[str, Any]) -> AsyncIterator[ToolContext]:
    """The context in which a tool can ask for its secrets.

    What its arguments name is on record before it is called, what its own code asked for afterwards.
    """
    asked: list[str] = []

    def given(name: str) -> str:
        value = vault.given(who, name)
        asked.append(name)
        return value

    if (named := names(args)) and not context.simulated:
        await context.store.write(_note, context, who.tool, sorted(named))
    try:
        yield context._replace(secrets=given)
    finally:
        if asked:
            await context.store.write(_note, context, who.tool, sorted(set(asked)))


def _note(tx: Tx, context: ToolContext, tool: str, secrets: Sequence[str]) -> None:
    for name in secrets:
        audit.note(
            tx, USED, context.actor, context.now, project_id=context.project_id, mission_id=context.mission_id,
            task_id=context.task_id, run_id=context.run_id, subject=name, tool=tool, call=context.call_id,
            persona=context.persona,
        )  # fmt: skip
