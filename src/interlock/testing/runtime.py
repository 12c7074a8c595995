"""A runtime over a temporary home with a model of the test's own, to run real agents without a provider.

How the product opens a home is `interlock.app`'s job.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

from interlock.agents.persona import PersonaSet, load_personas
from interlock.agents.runtime import Runtime
from interlock.agents.special.routing import KIND
from interlock.core.clock import Clock
from interlock.core.telemetry import SILENT, Telemetry
from interlock.desk.chats.routing import TextRouter
from interlock.llm.circuits import Circuits
from interlock.llm.messages import Model, ModelRef
from interlock.llm.prices import PriceTable
from interlock.llm.providers import Models
from interlock.memory.chats import after_chat
from interlock.oversight import learner
from interlock.policy.in_force import InForce
from interlock.policy.rules import Policy
from interlock.settings import Settings, load_settings
from interlock.store import squad
from interlock.store.engine import Store
from interlock.store.upkeep import migrate
from interlock.testing.clock import FakeClock
from interlock.tools.builtin import builtin_tools
from interlock.tools.registry import Tool, Toolbox
from interlock.tools.secrets import Vault
from interlock.tools.workspace import Workspaces

MODEL = "anthropic/claude-sonnet-5-5"
"""Whose prices count where a test names no model."""


class OneModel(Models):
    """A pool in which every name leads to the same adapter."""

    def __init__(self, model: Model) -> None:
        super().__init__({})
        self._model = model

    def resolve(self, named: str | None) -> ModelRef:
        """The name, whether or not there is such a provider."""
        return ModelRef.parse(named or MODEL)

    async def get(self, ref: ModelRef) -> Model:
        """The one adapter."""
        return self._model


def runtime_over(
    store: Store,
    settings: Settings,
    model: Model,
    *,
    clock: Clock | None = None,
    tools: Iterable[Tool | Callable[..., object]] = (),
    policy: Policy | None = None,
) -> Runtime:
    """A runtime over an open store, with the built-in tools, personas and prices; its clock stands still."""
    toolbox, time = Toolbox([*builtin_tools(), *tools]), clock or FakeClock()
    vault = Vault.of(settings)
    personas = _personas(frozenset(toolbox.names)).with_needs(toolbox.needs)
    passer = TextRouter(personas.personas, settings, (policy or Policy.builtin()).checks)
    return Runtime(
        settings=settings,
        clock=time,
        store=store,
        in_force=InForce(policy or Policy.builtin()),
        personas=personas,
        models=OneModel(model),
        prices=_prices().on(lambda: time.now().date()),
        toolbox=toolbox,
        workspaces=Workspaces(settings.home, store, scrub=vault.scrub_bytes),
        vault=vault,
        follow_ups={
            "learn": partial(learner.take_up, window=settings.lessons.window),
            KIND: passer.take_up,
            "chat": after_chat(settings.memory, vault.scrub),
        },
        circuits=Circuits(settings.retry.open_after, settings.retry.probe_s),
    )


@lru_cache(maxsize=64)
def _personas(known_tools: frozenset[str]) -> PersonaSet:
    """The built-in ones: reading them takes longer than most of what is asked of a runtime."""
    return load_personas(True, [], known_tools=known_tools)


@cache
def _prices() -> PriceTable:
    return PriceTable.load()


@asynccontextmanager
async def open_runtime(
    home: Path,
    model: Model,
    *,
    clock: Clock | None = None,
    tools: Iterable[Tool | Callable[..., object]] = (),
    policy: Policy | None = None,
    telemetry: Telemetry = SILENT,
    **overrides: Any,
) -> AsyncIterator[Runtime]:
    """A runtime with a database of its own in `home`, and the project `default`; `overrides` are settings."""
    settings = load_settings(home, {}, {"home": home / ".interlock", **overrides})
    settings.home.mkdir(parents=True, exist_ok=True)
    await migrate.upgrade(settings.database_url)
    async with Store(settings.database_url, telemetry) as store:
        runtime = runtime_over(store, settings, model, clock=clock, tools=tools, policy=policy)
        await store.write(squad.ensure_project, settings.project, settings.timezone, runtime.clock.now())
        yield runtime
