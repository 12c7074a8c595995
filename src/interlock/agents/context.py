"""The open parts that everything above the store works with, bundled once by the composition root."""

from dataclasses import dataclass

from interlock.agents.persona import PersonaSet
from interlock.core.clock import Clock
from interlock.llm.models import Models
from interlock.llm.prices import Prices
from interlock.policy.rules import Policy
from interlock.settings import Settings
from interlock.store.engine import Store
from interlock.tools.registry import Toolbox
from interlock.tools.workspace import Workspaces


@dataclass(frozen=True, slots=True)
class Runtime:
    """What a worker, the coordinator and the desk need; made by `interlock.app`, closed by it."""

    settings: Settings
    clock: Clock
    store: Store
    policy: Policy
    personas: PersonaSet
    models: Models
    prices: Prices
    toolbox: Toolbox
    workspaces: Workspaces
