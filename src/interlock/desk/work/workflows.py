"""Workflows for people: listing, checking, and choosing one for a goal."""

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path

from interlock.agents.persona import Persona
from interlock.agents.persona_schema import suggestion
from interlock.agents.runtime import Runtime
from interlock.agents.triggers import own_words
from interlock.core.errors import ConfigError, NotFound, UsageError
from interlock.core.values import MICRO, usd
from interlock.desk.reading.views import View
from interlock.graph.workflow import Workflow
from interlock.graph.workflow_file import WorkflowSet, load_workflow, load_workflows, shipped_folder
from interlock.settings import Settings

LONGEST_INPUT = 2_000
_LEAD = r"(?:using|uses?|with|by|via|per|follow(?:ing|s)?|run|mit|per|nach|avec|selon|con|usando|según)"
_OUT = re.compile(
    r"\b(?:without|not|never|don['’]?t|instead of|rather than|ohne|nicht|kein\w*|sans|sin|no)\b[^.!?;\n]{0,40}$",
    re.IGNORECASE,
)
"""Negations before a name."""


def load(settings: Settings, personas: Mapping[str, Persona]) -> WorkflowSet:
    """Loads the built-in workflows and those in the settings' folders."""
    return load_workflows(settings.workflows, personas, workspaces=settings.home / "workspaces")


def check(settings: Settings, personas: Mapping[str, Persona], files: list[Path]) -> list[Workflow]:
    """Loads the workflows of some files, or all.

    Raises ConfigError with every fault.
    """
    if not files:
        found = load(settings, personas)
        if found.faults:
            raise ConfigError(list(found.faults))
        return list(found.workflows.values())
    good, faults = [], []
    for path in files:
        try:
            good.append(load_workflow(path, personas, workspaces=settings.home / "workspaces"))
        except ConfigError as error:
            faults += error.faults
    if faults:
        raise ConfigError(faults)
    return good


def view_of(workflow: Workflow) -> View:
    """A workflow for display."""
    return {
        "name": workflow.name, "title": workflow.title, "description": workflow.description,
        "triggers": list(workflow.triggers), "inputs": dict(workflow.inputs), "source": workflow.source,
        "is_shipped": Path(workflow.source).parent == shipped_folder(),
        "steps": [
            {
                "name": step.key, "title": step.title, "persona": step.persona, "type": step.type,
                "depends_on": list(step.depends_on), "review": step.review, "retries": step.retries,
                "timeout_s": step.timeout_s, "expected": step.expected,
            }
            for step in workflow.steps
        ],
    }  # fmt: skip


async def workflow_for(
    runtime: Runtime, goal: str, named: str | None, inputs: Mapping[str, str], budget_microusd: int
) -> Workflow | None:
    """The workflow for a goal: the one given, else the one named in the goal, else None.

    Raises NotFound, and UsageError if it is invalid, lacks an input, or exceeds the mission's budget.
    """
    if named is None and not inputs and "workflow" not in goal.casefold():
        return None
    found = await asyncio.to_thread(load, runtime.settings, runtime.personas.personas)
    name = named if named is not None else named_in(goal, (*found.workflows, *found.refused))
    if name is None:
        if inputs:
            raise UsageError("inputs are for a workflow, and none is named: say which with `--workflow`")
        return None
    if name in found.refused:
        raise UsageError(f"the workflow `{name}` has faults: {found.refused[name][0]}; see `interlock workflow check`")
    if name not in found.workflows:
        hint = suggestion(name, found.workflows) or f": there are {', '.join(found.workflows)}"
        raise NotFound("workflow", name, message=f"no workflow `{name[:60]}`{hint}")
    return instantiate(found.workflows[name], inputs, budget_microusd)


def instantiate(workflow: Workflow, inputs: Mapping[str, str], budget_microusd: int) -> Workflow:
    """A workflow with its inputs, for a mission with a budget.

    Raises UsageError.
    """
    for name, value in inputs.items():
        if name not in workflow.inputs:
            known = f": there are {', '.join(workflow.inputs)}" if workflow.inputs else ", which takes none"
            raise UsageError(f"no input `{name[:60]}` in the workflow `{workflow.name}`{known}")
        if not value.strip() or len(value) > LONGEST_INPUT or "\x00" in value:
            raise UsageError(f"the input `{name}` is text of 1 to {LONGEST_INPUT:,} characters")
    filled = Workflow.from_json({**workflow.to_json(), "inputs": {**workflow.inputs, **inputs}})
    if filled.missing:
        wanted = " ".join(f"--input {name}=…" for name in filled.missing)
        raise UsageError(f"the workflow `{workflow.name}` needs {wanted}")
    if (least := filled.least_microusd(budget_microusd)) > budget_microusd:
        need = least / MICRO
        raise UsageError(
            f"the steps of the workflow `{workflow.name}` take {usd(least)} and the mission has "
            f"{usd(budget_microusd)}: give `--budget {need:g}` at least"
        )
    return filled


def named_in(goal: str, names: tuple[str, ...]) -> str | None:
    """The workflow named in a goal (`… using workflow incident`, `follow the incident workflow`); None if there are
    two.

    Quoted and negated names (`without the incident workflow`) do not count. Source: row A14.
    """
    text = own_words(goal, most_quoted=1)
    found = set()
    for name in names:
        spelled = re.escape(name).replace(r"\-", "[- _]")
        mark = "[\"'`“”«»]?"
        article = r"(?:(?:the|our|dem|le|el)\s{1,5})?"
        lead, gap = rf"\b{_LEAD}\s{{1,5}}{article}", r"\s{0,5}"
        forms = (
            rf"(?:^|[(\[,;:.\n]{gap}|{lead})workflow{gap}[:=]?{gap}{mark}{spelled}",
            rf"{lead}{mark}{spelled}{mark}[\s-]{{1,5}}workflow",
        )
        for form in forms:
            for match in re.finditer(rf"{form}(?![\w-])", text, re.IGNORECASE):
                if not _OUT.search(text[: match.start()]):
                    found.add(name)
    return found.pop() if len(found) == 1 else None
