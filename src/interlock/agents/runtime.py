"""The runtime: the open parts that everything above the store works with, assembled once by the composition root."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from interlock.agents.events import Events
from interlock.agents.persona import PersonaSet
from interlock.agents.prompts.prompt_sources import PromptSources
from interlock.core.clock import Clock
from interlock.core.telemetry import Telemetry
from interlock.llm.circuits import Circuits
from interlock.llm.prices import PriceTable
from interlock.llm.providers import Models
from interlock.policy.in_force import InForce
from interlock.policy.rules import Policy
from interlock.settings import Settings
from interlock.store.engine import Store
from interlock.store.tx import Tx
from interlock.tools.registry import Toolbox
from interlock.tools.sandboxes.sandbox import Sandbox
from interlock.tools.secrets import Vault
from interlock.tools.workspace import Workspaces

FollowUp = Callable[[Tx, Any, str | None, datetime], None]
"""Uses the answer of a run (its row, its final text) in the transaction that ends the run."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """What a worker, the coordinator and the desk need; assembled and closed by `interlock.app`."""

    settings: Settings
    clock: Clock
    store: Store
    in_force: InForce
    personas: PersonaSet
    models: Models
    prices: PriceTable
    toolbox: Toolbox
    workspaces: Workspaces
    follow_ups: Mapping[str, FollowUp] = field(default_factory=dict)
    """By kind of run: what to do with its answer; the answer is None if a run of kind `route` failed."""
    events: Events = field(default_factory=Events)
    """Live events for listeners in this process."""
    circuits: Circuits = field(default_factory=Circuits)
    """Circuit breakers: providers that are not called for now, because runs of this process saw them fail."""
    vault: Vault = field(default_factory=Vault)
    """Named secrets, and all values to be masked."""
    sources: PromptSources = field(init=False)
    """What prompts are built from, besides the run itself."""
    sandbox: Sandbox = field(init=False)
    """Where commands and code run."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sources", PromptSources(self.settings, self.vault))
        object.__setattr__(self, "sandbox", Sandbox.of(self.settings))

    @property
    def policy(self) -> Policy:
        """The policy in force now."""
        return self.in_force.policy

    @property
    def telemetry(self) -> Telemetry:
        """Telemetry; the store's, so that transactions and runs are in the same trace."""
        return self.store.telemetry
