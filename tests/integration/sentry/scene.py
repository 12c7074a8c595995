"""Runs that are told to Sentry: an open store, a scripted model, tools with words that must stay here."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from interlock.integrations.sentry.telemetry import Sentry
from interlock.settings.services import SentrySettings
from interlock.store.engine import Store
from interlock.store.upkeep import migrate
from interlock.testing.scripted import ScriptedModel
from interlock.tools.decorated import tool
from tests.contract.runner.stage import Stage, staged
from tests.integration.sentry.receiver import Receiver

KEY = "sk-ant-api03-" + "canaryKEY0123456789" * 2
KINDS = (
    "argument",
    "args",
    "command",
    "crash",
    "error",
    "file",
    "host",
    "name",
    "note",
    "output",
    "prompt",
    "raw",
    "reason",
    "reply",
)
WORDS = {kind: f"canary-{kind}-7f3a" for kind in KINDS}
"""What must stay here, by where it is said."""


@tool(risk="GREEN", idempotent=True, outside=False)
async def lookup(order: str) -> str:
    """Looks an order up."""
    return f"{order}: {WORDS['output']} {KEY}"


@tool(risk="GREEN", idempotent=True, outside=False)
async def stumble(order: str) -> str:
    """Fails."""
    raise RuntimeError(f"{WORDS['error']} {order}")


@tool(risk="RED", idempotent=False, outside=True)
async def pay(to: str) -> str:
    """Pays."""
    return f"paid {to}"


def sentry_for(receiver: Receiver, **settings: Any) -> Sentry:
    """The telemetry of a process that tells a receiver."""
    return Sentry(SentrySettings(dsn=SecretStr(receiver.dsn), environment="test", **settings))


@asynccontextmanager
async def played(home: Path, model: ScriptedModel, sentry: Sentry, name: str = "interlock") -> AsyncIterator[Stage]:
    """A stage that Sentry is told of; everything has been sent when it is left."""
    url = f"sqlite:///{home / name}.db"
    await migrate.upgrade(url)
    try:
        async with Store(url, sentry) as store:
            yield await staged(store, home, model, [lookup, stumble, pay])
    finally:
        sentry.close()
