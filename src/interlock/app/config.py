"""Files of configuration as they are read: policy, personas, prices. Nothing of a database or of what executes is
loaded for that, so that looking at them is quick.
"""

import os
import stat
from collections.abc import Collection
from pathlib import Path

from interlock.agents.persona import PersonaSet, load_personas
from interlock.core.errors import ConfigError
from interlock.core.strict_yaml import LARGEST_BYTES
from interlock.llm.prices import PriceTable, prices_from
from interlock.policy.as_code import lint
from interlock.policy.as_code.cases import Surroundings
from interlock.policy.as_code.policy_file import policy_from
from interlock.policy.builtin import BASE
from interlock.policy.rules import Policy
from interlock.settings import Settings
from interlock.tools.catalogue import BUILTIN


def load_policy_of(settings: Settings) -> Policy:
    """The policy of the settings, ready for decisions.

    Raises ConfigError with all faults: of the file, of rules that ask models which are not named, and if the file
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
    """Checks that no configuration file or folder, nor what it links to, is where agents write.

    Raises ConfigError.
    """
    workspaces = (settings.home / "workspaces").resolve()
    if inside := [path for path in paths if path is not None and path.resolve().is_relative_to(workspaces)]:
        raise ConfigError(
            [f"{shown(path)}:1: is in a workspace, where agents write: put it elsewhere" for path in inside]
        )


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


def load_all_personas(settings: Settings, tools: Collection[str] = BUILTIN) -> PersonaSet:
    """The personas of the settings, given all tools: the built-in ones, overridden by those of the user's folders."""
    return load_personas(True, settings.personas, known_tools=frozenset(tools))


def load_persona_files(path: Path) -> PersonaSet:
    """The personas of one folder, or of the folder that contains a file, with the faults of that file only.

    Raises ConfigError if it does not exist.
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
    return frozenset(BUILTIN)


def declared_risks() -> dict[str, str | None]:
    """The risks that the built-in tools declare."""
    return {name: str(BASE[name]) for name in BUILTIN}


def surroundings(settings: Settings) -> Surroundings:
    """What a question to the policy may omit: the trust of personas, and the definitions of tools."""
    return Surroundings(
        trust_of={name: str(each.trust) for name, each in load_all_personas(settings).personas.items()},
        declared=declared_risks(),
        labels_of=BUILTIN,
    )


def load_prices(path: Path | None) -> PriceTable:
    """The built-in prices, with a file's on top where there is one.

    Raises ConfigError with all faults of the file.
    """
    return PriceTable.load() if path is None else prices_from(read(path), source=shown(path))


def shown(path: Path) -> str:
    """A path for messages: relative if it is below the working directory."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def read(path: Path) -> bytes:
    """Reads a configuration file.

    Raises ConfigError if it cannot be read.
    """
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise ConfigError([f"{shown(path)}:1: is not a file"])
            return opened.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise ConfigError([f"{shown(path)}:1: cannot be read: {(error.strerror or str(error)).lower()}"]) from error
