"""What is loaded before anything is opened, made into one whole; how files are read is `config`'s job."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from interlock.agents.persona import PersonaSet
from interlock.agents.prompts.bootstrap import Bootstrap
from interlock.agents.prompts.prompt_sources import PromptSources
from interlock.agents.runtime import Runtime
from interlock.agents.special.routing import KIND
from interlock.app.config import load_all_personas, load_policy_of, load_prices, refuse_workspace
from interlock.core.clock import Clock
from interlock.core.errors import ConfigError, UsageError
from interlock.desk.chats.routing import TextRouter
from interlock.llm.circuits import Circuits
from interlock.llm.prices import PriceTable
from interlock.llm.providers import Models, ProviderAccess, resolve_model
from interlock.memory.chats import after_chat
from interlock.oversight import learner
from interlock.policy.in_force import InForce
from interlock.policy.rules import Policy
from interlock.settings import Settings, key_variable
from interlock.store.engine import Store
from interlock.tools.builtin import builtin_tools
from interlock.tools.registry import Tool, Toolbox
from interlock.tools.secrets import Vault
from interlock.tools.workspace import Workspaces

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a home that do not need its database."""

    policy: Policy
    personas: PersonaSet
    prices: PriceTable
    toolbox: Toolbox

    def runtime(self, settings: Settings, clock: Clock, store: Store) -> Runtime:
        """The runtime of these parts over an open store; the caller closes `models`."""
        vault = Vault.of(settings)
        return Runtime(
            settings=settings,
            clock=clock,
            store=store,
            in_force=InForce(self.policy),
            personas=self.personas,
            models=Models(providers_of(settings)),
            prices=self.prices.on(lambda: clock.now().date()),
            toolbox=self.toolbox,
            workspaces=Workspaces(settings.home, store, scrub=vault.scrub_bytes),
            vault=vault,
            follow_ups={
                "learn": partial(learner.take_up, window=settings.lessons.window),
                "chat": after_chat(settings.memory, vault.scrub),
                KIND: TextRouter(self.personas.personas, settings, self.policy.checks).take_up,
            },
            circuits=Circuits(settings.retry.open_after, settings.retry.probe_s),
        )


def load_parts(settings: Settings, tools: Iterable[Tool | Callable[..., object]] = ()) -> Parts:
    """Loads the parts named by the settings. Personas with faults are left out; see `personas.faults`.

    Raises ConfigError with all faults of the policy and the prices, or if no persona is left; UsageError for tools.
    """
    faults: list[str] = []
    toolbox = Toolbox([*builtin_tools(), *tools])
    folders = (*settings.personas, *settings.workflows)
    linked = [file for folder in folders for file in sorted(folder.glob("*")) if file.is_symlink()]
    _collect(faults, lambda: refuse_workspace(settings, settings.prices, settings.bootstrap, *folders, *linked))
    policy = _collect(faults, lambda: load_policy_of(settings))
    prices = _collect(faults, lambda: load_prices(settings.prices))
    personas = load_all_personas(settings, toolbox.names).with_needs(toolbox.needs)
    if not personas.personas:
        faults += personas.faults
    faults += voter_faults(settings)
    if faults or policy is None or prices is None:
        raise ConfigError(faults)
    return Parts(policy, personas, prices, toolbox)


def voter_faults(settings: Settings) -> list[str]:
    """Faults in the names of the models that vote. Source: row C8."""
    faults = []
    for name in settings.consensus.models:
        try:
            resolve_model(name, {})
        except UsageError as error:
            faults.append(f"consensus.models: {error}")
    return faults


def builtin_toolbox() -> Toolbox:
    """The built-in tools."""
    return Toolbox(builtin_tools())


def load_instructions(settings: Settings) -> Bootstrap:
    """The instruction files for all agents as prompts show them, and why others are not shown."""
    return PromptSources(settings, Vault.of(settings)).folder.look_now()


def providers_of(settings: Settings) -> dict[str, ProviderAccess]:
    """The settings of each provider that has any."""
    return {
        name: ProviderAccess(
            settings.key(name),
            given.base_url,
            given.protocol,
            {header: value.get_secret_value() for header, value in given.headers.items()},
            given.api_key_env or key_variable(name),
        )
        for name, given in settings.providers.items()
    }


def _collect(faults: list[str], load: Callable[[], T]) -> T | None:
    try:
        return load()
    except ConfigError as error:
        faults += error.faults
        return None
