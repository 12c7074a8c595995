"""Workflow files: the built-in ones and a user's, parsed strictly, every fault with its line.

What a workflow means is in `workflow`; the desk selects one for a goal. Source: row A14.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from pydantic import ValidationError

from interlock.agents.persona import Persona, version_fault
from interlock.agents.persona_schema import faults_of, suggestion
from interlock.core import strict_yaml
from interlock.core.errors import ConfigError
from interlock.core.values import digest
from interlock.graph.workflow import REVIEW, TEMPLATE, Step, Workflow
from interlock.graph.workflow_schema import StepFields, WorkflowFields, keys_beside
from interlock.policy.checks import problems_of
from interlock.settings.reading import listed, read_bounded

At = tuple[str | int, ...]
SUFFIXES = frozenset({".yaml", ".yml"})
_OVER = 1e-9


@dataclass(frozen=True, slots=True)
class WorkflowSet:
    """The workflows that loaded, by name, and the faults of those that did not."""

    workflows: Mapping[str, Workflow]
    faults: tuple[str, ...]
    """Every fault, each `file:line: problem`."""
    refused: Mapping[str, tuple[str, ...]]
    """Names whose file has faults, with these; a shipped one of that name does not stand in for it."""


def shipped_folder() -> Path:
    """The directory of the three built-in workflows."""
    return Path(__file__).parent / "workflows"


def load_workflows(
    folders: Sequence[Path], personas: Mapping[str, Persona], *, workspaces: Path | None = None
) -> WorkflowSet:
    """The built-in workflows and those of `folders`, a later folder overriding an earlier one by name.

    A bad file is rejected with all its faults, and the others still load; so is one inside `workspaces`, directly or
    by a link, because agents write there. A folder that does not exist is empty.
    """
    found: dict[str, Workflow] = {}
    faults: list[str] = []
    refused: dict[str, tuple[str, ...]] = {}
    for folder in (shipped_folder(), *folders):
        here: dict[str, Path] = {}
        for path in _files(folder, faults):
            name, outcome = _outcome(path, personas, workspaces)
            if isinstance(outcome, Workflow) and name in here:
                outcome = [f"{path}:1: workflow `{name}` is already in {here[name].name}: rename one"]
                faults += outcome
            elif isinstance(outcome, Workflow):
                here[name], found[name] = path, outcome
                refused.pop(name, None)
            else:
                faults += outcome
                refused[name] = tuple(outcome)
                found.pop(name, None)
    return WorkflowSet(dict(sorted(found.items())), tuple(faults), refused)


def load_workflow(path: Path, personas: Mapping[str, Persona], *, workspaces: Path | None = None) -> Workflow:
    """The workflow of one file.

    Raises ConfigError with every fault.
    """
    outcome = _outcome(path, personas, workspaces)[1]
    if not isinstance(outcome, Workflow):
        raise ConfigError(outcome)
    return outcome


def _files(folder: Path, faults: list[str]) -> Iterator[Path]:
    try:
        yield from listed(folder, SUFFIXES)
    except FileNotFoundError:
        return
    except OSError as error:
        faults.append(f"{folder}:1: workflows cannot be read: {(error.strerror or str(error)).lower()}")


def _outcome(path: Path, personas: Mapping[str, Persona], workspaces: Path | None) -> tuple[str, Workflow | list[str]]:
    """The name that a file claims, and its workflow or its faults."""
    if workspaces is not None and path.resolve().is_relative_to(workspaces.resolve()):
        return path.stem, [f"{path}:1: is in a workspace, where agents write: put it elsewhere"]
    try:
        document = strict_yaml.parse(read_bounded(path, strict_yaml.LARGEST_BYTES), source=str(path))
    except OSError as error:
        return path.stem, [f"{path}:1: cannot be read: {(error.strerror or str(error)).lower()}"]
    except ConfigError as error:
        return path.stem, error.faults
    data = document.data
    if not isinstance(data, dict):
        return path.stem, [f"{path}:1: a workflow is a mapping: start with `schema_version: 1`"]
    name = data["name"] if isinstance(data.get("name"), str) else path.stem
    if fault := version_fault(data):
        return name, [document.fault(("schema_version",), fault)]
    try:
        fields = WorkflowFields.model_validate(data)
    except ValidationError as error:
        return name, [document.fault(at, problem) for at, problem in faults_of(error, keys_beside)]
    if faults := [document.fault(at, problem) for at, problem in _faults(fields, personas)]:
        return name, faults
    return name, _made(fields, personas, source=str(path), data_digest=digest(data))


def _made(fields: WorkflowFields, personas: Mapping[str, Persona], *, source: str, data_digest: str) -> Workflow:
    steps = tuple(
        Step(
            key=step.name, title=step.title or step.name.replace("-", " ").replace("_", " ").capitalize(),
            persona=step.persona, task=step.task, expected=step.expected,
            type=step.type or personas[step.persona].task_types[0], depends_on=step.depends_on,
            capabilities=step.capabilities, priority=step.priority, minutes=step.minutes,
            budget_share=step.budget_share, budget_usd=step.budget_usd, retries=step.retries, timeout_s=step.timeout,
            checks=step.checks, review=step.review,
            review_type=personas[step.review].task_types[0] if step.review else "other",
        )
        for step in fields.steps
    )  # fmt: skip
    return Workflow(
        name=fields.name, title=fields.title, description=(fields.description or "").strip(),
        triggers=fields.triggers, inputs={name: given.default for name, given in fields.inputs.items()}, steps=steps,
        source=source, digest=data_digest,
    )  # fmt: skip


def _faults(fields: WorkflowFields, personas: Mapping[str, Persona]) -> Iterator[tuple[At, str]]:
    """Inconsistencies between parts that are valid by themselves, each with the path of the part."""
    steps = {step.name: step for step in reversed(fields.steps)}
    for number, step in enumerate(fields.steps):
        at: At = ("steps", number)
        label = f"step `{step.name}`"
        if steps[step.name] is not step:
            yield (*at, "name"), f"{label}: two steps have this name"
        for other in fields.steps:
            if step.name == f"{other.name}-{REVIEW}" and other.review is not None:
                yield (*at, "name"), f"{label}: the review of `{other.name}` has this name"
        yield from _persona_faults(step, at, personas)
        yield from _reference_faults(step, at, steps, fields)
        if step.budget_share is not None and step.budget_usd is not None:
            yield (*at, "budget_usd"), f"{label}: give either `budget_share` or `budget_usd`"
        for place, check in enumerate(step.checks):
            for problem in problems_of(check):
                yield (*at, "checks", place), f"{label}: check {place + 1}: {problem}"
            if isinstance(check, Mapping) and check.get("kind") == "verdict" and step.review is None:
                yield (*at, "checks", place), f"{label}: nobody reviews it: name who with `review`"
    if (total := sum(step.budget_share or 0 for step in fields.steps)) > 1 + _OVER:
        yield ("steps",), f"budget shares add up to {total:.4g}: at most 1"
    yield from _cycle_faults(fields, steps)


def _persona_faults(step: StepFields, at: At, personas: Mapping[str, Persona]) -> Iterator[tuple[At, str]]:
    takers = sorted(name for name, persona in personas.items() if persona.takes_tasks)
    for key, name in (("persona", step.persona), ("review", step.review)):
        if name is None or name in takers:
            continue
        if name in personas:
            yield (*at, key), f"step `{step.name}`: `{name}` takes no tasks: write one of {', '.join(takers)}"
        else:
            hint = suggestion(name, takers) or f": there are {', '.join(takers)}"
            yield (*at, key), f"step `{step.name}`: no persona `{name}`{hint}"
    if step.review is not None and step.review == step.persona:
        yield (*at, "review"), f"step `{step.name}`: `{step.persona}` would review its own work: name another persona"
    kinds = personas[step.persona].task_types if step.persona in takers else ()
    if step.type is not None and kinds and step.type not in kinds:
        yield (
            (*at, "type"),
            (f"step `{step.name}`: `{step.persona}` takes no `{step.type}` tasks: write one of {', '.join(kinds)}"),
        )


def _reference_faults(
    step: StepFields, at: At, steps: Mapping[str, StepFields], fields: WorkflowFields
) -> Iterator[tuple[At, str]]:
    label = f"step `{step.name}`"
    for place, name in enumerate(step.depends_on):
        if name == step.name:
            yield (*at, "depends_on", place), f"{label} depends on itself"
        elif name not in steps:
            yield (*at, "depends_on", place), f"{label}: no step `{name}`{suggestion(name, steps)}"
    for written in dict.fromkeys(TEMPLATE.findall(step.task)):
        kind, _, name = written.partition(".")
        if kind == "inputs" and name in fields.inputs:
            continue
        if kind == "steps" and name in steps:
            if name not in step.depends_on:
                yield (*at, "task"), f"{label} names the step `{name}`: add it to its `depends_on`"
            continue
        if written != "goal":
            known = ["goal", *(f"inputs.{each}" for each in fields.inputs), *(f"steps.{each}" for each in steps)]
            hint = suggestion(written, known) or ": write goal, inputs.NAME or steps.NAME"
            yield (*at, "task"), f"{label}: no value for `{{{{{written[:60]}}}}}`{hint}"


def _cycle_faults(fields: WorkflowFields, steps: Mapping[str, StepFields]) -> Iterator[tuple[At, str]]:
    try:
        TopologicalSorter({
            name: [each for each in step.depends_on if each in steps and each != name] for name, step in steps.items()
        }).prepare()  # fmt: skip
    except CycleError as error:
        path = list(reversed(error.args[1]))
        place = next(number for number, step in enumerate(fields.steps) if step.name == path[0])
        yield ("steps", place, "depends_on"), f"dependency cycle: {' → '.join(f'`{name}`' for name in path)}"
