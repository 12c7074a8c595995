"""What is loaded before anything is opened: policy, personas, prices, tools; how they are used is not here."""

import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from interlock.agents.bootstrap import Bootstrap
from interlock.agents.context import Runtime
from interlock.agents.persona import PersonaSet, load_personas
from interlock.agents.prompt_sources import PromptSources
from interlock.agents.routing import KIND
from interlock.core.clock import Clock
from interlock.core.errors import ConfigError, UsageError
from interlock.core.strict_yaml import LARGEST_BYTES
from interlock.desk.routing import Passer
from interlock.llm.circuits import Circuits
from interlock.llm.prices import PriceTable, prices_from
from interlock.llm.providers import Models, ProviderSettings, resolve_model
from interlock.memory.chats import after_chat
from interlock.oversight import learner
from interlock.policy import lint
from interlock.policy.cases import Surroundings
from interlock.policy.in_force import InForce
from interlock.policy.policy_file import policy_from
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
    """What a home works with, before its database is open."""

    policy: Policy
    personas: PersonaSet
    prices: PriceTable
    toolbox: Toolbox

    def runtime(self, settings: Settings, clock: Clock, store: Store) -> Runtime:
        """Everything together, over an open store; the caller closes `models`."""
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
                "learn": learner.take_up,
                "chat": after_chat(settings.memory, vault.scrub),
                KIND: Passer(self.personas.personas, settings, self.policy.checks).take_up,
            },
            circuits=Circuits(settings.retry.open_after, settings.retry.probe_s),
        )


def load_parts(settings: Settings, tools: Iterable[Tool | Callable[..., object]] = ()) -> Parts:
    """Loads what the settings name. A persona with faults is refused and the others are there; see `personas.faults`.

    Raises ConfigError with all faults of the policy and the prices, or where no persona is left; UsageError for tools.
    """
    faults: list[str] = []
    toolbox = Toolbox([*builtin_tools(), *tools])
    folders = (*settings.personas, *settings.workflows)
    linked = [file for folder in folders for file in sorted(folder.glob("*")) if file.is_symlink()]
    _collect(faults, lambda: refuse_workspace(settings, settings.prices, settings.bootstrap, *folders, *linked))
    policy = _collect(faults, lambda: load_policy_of(settings))
    prices = _collect(faults, lambda: load_prices(settings.prices))
    personas = load_all_personas(settings, toolbox).with_needs(toolbox.needs)
    if not personas.personas:
        faults += personas.faults
    faults += voter_faults(settings)
    if faults or policy is None or prices is None:
        raise ConfigError(faults)
    return Parts(policy, personas, prices, toolbox)


def load_policy_of(settings: Settings) -> Policy:
    """The policy of the settings, as decisions may be made by it.

    Raises ConfigError with all faults: of the file, of rules that ask models which are not named, and where the file
    lies in a workspace, in which agents write.
    """
    refuse_workspace(settings, settings.policy)
    policy = load_policy(settings.policy)
    if faults := lint.without_voters(policy, len(settings.consensus.models)):
        raise ConfigError([str(fault) for fault in faults])
    return policy


def emptiness(path: Path | None, policy: Policy) -> list[lint.Remark]:
    """What is to be told of a policy file that says nothing: a start takes the built-in policy then, a process that
    runs keeps the one it has. Nothing of any other.
    """
    if path is None or policy is not Policy.builtin():
        return []
    problem = "is empty: write `version: 1` where the built-in policy is meant"
    return [lint.Remark(f"{shown(path)}:1", "empty", "", problem)]


def refuse_workspace(settings: Settings, *paths: Path | None) -> None:
    """Sees that no file or folder of configuration, nor what it links to, lies where agents write.

    Raises ConfigError.
    """
    workspaces = (settings.home / "workspaces").resolve()
    if inside := [path for path in paths if path is not None and path.resolve().is_relative_to(workspaces)]:
        raise ConfigError(
            [f"{shown(path)}:1: is in a workspace, where agents write: put it elsewhere" for path in inside]
        )


def voter_faults(settings: Settings) -> list[str]:
    """Names among the models that vote which are no model's. Source: row C8."""
    faults = []
    for name in settings.consensus.models:
        try:
            resolve_model(name, {})
        except UsageError as error:
            faults.append(f"consensus.models: {error}")
    return faults


def load_policy(
    path: Path | None,
    *,
    known_tools: frozenset[str] | None = None,
    known_personas: frozenset[str] | None = None,
) -> Policy:
    """The built-in policy, with a file's rules on top where there is one. Source: row C10.

    With `known_tools` and `known_personas`, names that are none of them are faults, too.

    Raises ConfigError with all faults of the file.
    """
    if path is None:
        return Policy.builtin()
    return policy_from(read(path), shown(path), known_tools=known_tools, known_personas=known_personas)


def load_all_personas(settings: Settings, toolbox: Toolbox | None = None) -> PersonaSet:
    """The personas of the settings: the built-in ones, and the user's folders over them."""
    known = frozenset(toolbox.names) if toolbox is not None else builtin_names()
    return load_personas(True, settings.personas, known_tools=known)


def load_persona_files(path: Path) -> PersonaSet:
    """The personas of one folder alone, or of the folder that one file is in, with the faults of that file only.

    Raises ConfigError where it does not exist.
    """
    if not path.exists():
        raise ConfigError([f"{path}: there is no such file or folder"])
    folder = path if path.is_dir() else path.parent
    found = load_personas(False, [folder], known_tools=builtin_names())
    if path.is_dir():
        return found
    here = {name: persona for name, persona in found.personas.items() if found.sources[name] == str(path)}
    return PersonaSet(here, tuple(f for f in found.faults if f.startswith(f"{path}:")), found.sources)


def builtin_names() -> frozenset[str]:
    """The names of the tools that come with Interlock."""
    return frozenset(tool.name for tool in builtin_tools())


def declared_risks() -> dict[str, str | None]:
    """What the tools that come with Interlock declare of themselves."""
    return {tool.name: tool.risk for tool in builtin_tools()}


def builtin_toolbox() -> Toolbox:
    """The tools that come with Interlock."""
    return Toolbox(builtin_tools())


def surroundings(settings: Settings) -> Surroundings:
    """What a question to the policy may leave open: the trust of personas, and what tools say of themselves."""
    tools = builtin_tools()
    return Surroundings(
        trust_of={name: str(each.trust) for name, each in load_all_personas(settings).personas.items()},
        declared={tool.name: tool.risk for tool in tools},
        labels_of={tool.name: tool.labels for tool in tools},
    )


def load_instructions(settings: Settings) -> Bootstrap:
    """The files by which people instruct all agents, as prompts show them, and why others are not shown."""
    return PromptSources(settings, Vault.of(settings)).folder.look_now()


def load_prices(path: Path | None) -> PriceTable:
    """The built-in prices, with a file's on top where there is one.

    Raises ConfigError with all faults of the file.
    """
    return PriceTable.load() if path is None else prices_from(read(path), source=shown(path))


def shown(path: Path) -> str:
    """A path as messages name it: relative where it is below the working directory."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def read(path: Path) -> bytes:
    """A configuration file.

    Raises ConfigError where it cannot be read.
    """
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise ConfigError([f"{shown(path)}:1: is no file"])
            return opened.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise ConfigError([f"{shown(path)}:1: cannot be read: {(error.strerror or str(error)).lower()}"]) from error


def providers_of(settings: Settings) -> dict[str, ProviderSettings]:
    """How to reach each provider that has anything set."""
    return {
        name: ProviderSettings(
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
