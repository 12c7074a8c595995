"""Helpers for tests of tools: the context of a call, and a transaction for its writes."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from interlock.core.values import Actor, ActorKind
from interlock.settings import load_settings
from interlock.store.engine import Store
from interlock.store.tx import Tx
from interlock.tools.builtin import builtin_tools
from interlock.tools.contract import Outcome, ToolContext, Write
from interlock.tools.registry import Toolbox
from interlock.tools.workspace import Workspace, Workspaces

NOW = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
PROJECT = "default"
BOX = Toolbox(builtin_tools())


def context(
    home: Path, *, store: Store | None = None, workspace: Workspace | None = None, settings: Any = None, **changes: Any
) -> ToolContext:
    """A call by agent `agt` of persona coder in run `run_1`; without `store`, the store is not opened."""
    store = store or Store(f"sqlite:///{home / 'unused.db'}")
    fields: dict[str, Any] = {
        "run_id": "run_1", "agent_id": "agt", "persona": "coder", "project_id": PROJECT, "task_id": None,
        "mission_id": None, "call_id": "tcl_1", "idempotency_token": "token-1", "simulated": False, "now": NOW,
        "store": store, "settings": load_settings(home, {}, settings or {}),
        "workspace": workspace or Workspaces(home, store).of(PROJECT, "run_1"),
        "actor": Actor(ActorKind.AGENT, "agt", "coder"),
    }  # fmt: skip
    return ToolContext(**{**fields, **changes})


async def call(name: str, ctx: ToolContext, **args: Any) -> Outcome:
    """Calls a built-in tool with arguments that its schema allows."""
    tool = BOX.get(name)
    assert tool is not None
    assert BOX.validate(tool, args) == []
    return await tool.call(ctx, args)


async def keep(store: Store, writes: tuple[Write, ...]) -> None:
    """Commits the writes of an outcome, as `execute` does."""
    await store.write(_all, writes)


def _all(tx: Tx, writes: tuple[Write, ...]) -> None:
    for unit, args, kwargs in writes:
        unit(tx, *args, **kwargs)
