"""Personas: what a specialist is, and how the built-in and the user's YAML files are loaded.

What each key may hold is persona_schema's; how a persona is put before a model is the prompt's.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import PrivateAttr, ValidationError

from interlock.agents import persona_schema as schema
from interlock.agents.tool_names import COMMON_TOOLS, COORDINATION_TOOLS
from interlock.agents.tool_names import COORDINATOR as COORDINATOR
from interlock.core import strict_yaml
from interlock.core.errors import ConfigError
from interlock.core.values import digest, microusd
from interlock.settings.reading import listed, read_bounded

LEARNER = "learner"


class Persona(schema.PersonaFields):
    """A specialist as its file describes it; immutable, and compared by content.

    Source: interfaces, "Persona file".
    """

    @property
    def offered_tools(self) -> frozenset[str]:
        """The tools it may be offered: those of its file and those of all personas. Source: rows A4, G1."""
        named = COORDINATION_TOOLS.intersection(self.tools) if self.name == COORDINATOR else self.tools
        return COMMON_TOOLS.union(named)

    @property
    def takes_tasks(self) -> bool:
        """Whether tasks can be given to it; the Coordinator and the Learner have none."""
        return bool(self.task_types) and self.name != COORDINATOR

    @property
    def daily_microusd(self) -> int:
        """Its daily budget, in micro-dollars."""
        return microusd(self.budget.daily_usd)

    def run_microusd(self, *, chat: bool = False) -> int:
        """Its budget for one run, in micro-dollars."""
        return microusd(self.budget.chat_run_usd if chat else self.budget.run_usd)

    def max_turns(self, *, chat: bool = False) -> int:
        """The most model calls in one run."""
        return self.limits.chat_max_turns if chat else self.limits.max_turns

    @property
    def digest(self) -> str:
        """A digest of the content; comments and layout do not affect it."""
        return digest(self.to_json())

    _needs: tuple[str, ...] = PrivateAttr(default=())

    @property
    def needs(self) -> tuple[str, ...]:
        """The capabilities that a worker needs for its tools, sorted."""
        return self._needs

    def needing(self, capabilities: Iterable[str]) -> "Persona":
        """The same persona, with the capabilities that its tools need."""
        found = self.model_copy()
        found._needs = tuple(sorted(capabilities))
        return found

    def to_json(self) -> dict[str, Any]:
        """The whole persona for storage, so that a parked run keeps the version it was spawned with."""
        data = self.model_dump(mode="json", exclude_none=True)
        return {**data, "needs": list(self._needs)} if self._needs else data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Persona":
        """The persona that `to_json` stored.

        Raises ConfigError if the data is not a persona.
        """
        rest = {key: value for key, value in data.items() if key != "needs"}
        try:
            return cls.model_validate(rest).needing(data.get("needs", ()))
        except ValidationError as error:
            raise ConfigError([f"stored persona: {problem}" for _, problem in schema.faults_of(error)]) from error


def restored(agent_id: str, stored: Mapping[str, Any]) -> Persona:
    """The persona of an agent as it was stored when the agent was spawned; it is built once while it stays the same.

    Raises ConfigError if the data is not a persona.
    """
    known = _restored.get(agent_id)
    if known is not None and known[0] == stored:
        return known[1]
    if len(_restored) >= MOST_RESTORED:
        _restored.clear()
    persona = Persona.from_json(stored)
    _restored[agent_id] = (stored, persona)
    return persona


MOST_RESTORED = 2048
_restored: dict[str, tuple[Mapping[str, Any], Persona]] = {}


@dataclass(frozen=True, slots=True)
class PersonaSet:
    """The personas that were loaded, by name, and the mistakes in the files that were not."""

    personas: Mapping[str, Persona]
    faults: tuple[str, ...]
    """Every mistake, as `file:line: problem`."""
    sources: Mapping[str, str]
    """The file of each persona."""
    refused: frozenset[str] = frozenset()
    """Names whose file was refused; a built-in persona of that name does not take its place."""

    def with_needs(self, needs: Callable[[Iterable[str]], Iterable[str]]) -> "PersonaSet":
        """The same, each persona with what its tools need together, as `needs` says of names of tools."""
        found = {name: each.needing(needs(each.offered_tools)) for name, each in self.personas.items()}
        return replace(self, personas=found)


def builtin_folder() -> Path:
    """The folder of the eleven built-in files."""
    return Path(__file__).parent / "personas"


def load_personas(builtin: bool, folders: Sequence[Path], *, known_tools: frozenset[str]) -> PersonaSet:
    """The built-in personas and those of `folders`, a later folder overriding an earlier one by name.

    A bad file is refused with all its faults and the others still load. A folder that does not exist is empty.
    `known_tools` are the registered ones, on top of the fixed names. Source: row A12.
    """
    personas: dict[str, Persona] = {}
    sources: dict[str, str] = {}
    faults: list[str] = []
    refused: set[str] = set()
    for folder in ([builtin_folder()] if builtin else []) + list(folders):
        here: dict[str, Path] = {}
        for path in _files(folder, faults):
            outcome = _read(path, known_tools)
            if isinstance(outcome, Persona) and outcome.name in here:
                faults.append(f"{path}:1: persona `{outcome.name}` is already in {here[outcome.name].name}: rename one")
            elif isinstance(outcome, Persona):
                here[outcome.name], personas[outcome.name] = path, outcome
                sources[outcome.name] = str(path)
                refused.discard(outcome.name)
            else:
                faults.extend(outcome.faults)
                refused.add(outcome.name)
                personas.pop(outcome.name, None)
                sources.pop(outcome.name, None)
    return PersonaSet(dict(sorted(personas.items())), tuple(faults), sources, frozenset(refused))


@dataclass(frozen=True, slots=True)
class _Refusal:
    name: str
    faults: list[str]


def _files(folder: Path, faults: list[str]) -> Iterator[Path]:
    try:
        yield from listed(folder, (".yaml", ".yml"))
    except FileNotFoundError:
        return
    except OSError as error:
        faults.append(f"{folder}:1: personas cannot be read: {(error.strerror or str(error)).lower()}")


def _read(path: Path, known_tools: frozenset[str]) -> Persona | _Refusal:
    try:
        document = strict_yaml.parse(read_bounded(path, strict_yaml.LARGEST_BYTES), source=str(path))
    except OSError as error:
        return _Refusal(path.stem, [f"{path}:1: cannot be read: {(error.strerror or str(error)).lower()}"])
    except ConfigError as error:
        return _Refusal(path.stem, error.faults)
    data = document.data
    if not isinstance(data, dict):
        return _Refusal(path.stem, [f"{path}:1: a persona is a mapping: start with `schema_version: 1`"])
    name = data["name"] if isinstance(data.get("name"), str) else path.stem
    if fault := version_fault(data):
        return _Refusal(name, [document.fault(("schema_version",), fault)])
    try:
        return Persona.model_validate(data, context={"known_tools": known_tools})
    except ValidationError as error:
        return _Refusal(name, [document.fault(at, problem) for at, problem in schema.faults_of(error)])


def version_fault(data: Mapping[str, Any]) -> str | None:
    """What is wrong with the schema version of a file; None if it is one that this version reads."""
    version = data.get("schema_version")
    if "schema_version" not in data:
        near = [key for key in data if isinstance(key, str) and schema.suggestion(key, ["schema_version"])]
        found = f", and `{near[0]}` is unknown" if near else ""
        return f"`schema_version` is missing{found}: write `schema_version: {schema.SCHEMA_VERSION}`"
    if type(version) is not int or version < 1:
        return f"`schema_version` is `{version}`: write {schema.SCHEMA_VERSION}"
    if version > schema.SCHEMA_VERSION:
        return f"`schema_version` {version} is newer than this version reads: upgrade, or write {schema.SCHEMA_VERSION}"
    return None
