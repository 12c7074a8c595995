"""The schema of a workflow file, key by key; consistency is checked in `workflow_file`."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, Strict

from interlock.agents.persona_schema import (
    SCHEMA_VERSION,
    Capability,
    Line,
    Name,
    Prose,
    Schema,
    TaskType,
    Trigger,
    Usd,
    Word,
    distinct,
)
from interlock.graph.workflow import RETRIES
from interlock.policy.checks import MOST as MOST_CHECKS

MOST_STEPS = 20
MOST_INPUTS = 20
LONGEST_EXPECTED = 4_000
LEAST_TIMEOUT_S, MOST_TIMEOUT_S = 10, 86_400
_SPAN = re.compile(r"(\d{1,5}) ?(s|m|min|h)")
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600}


def _span(value: Any) -> int:
    found = _SPAN.fullmatch(value) if isinstance(value, str) else None
    seconds = int(found[1]) * _SECONDS[found[2]] if found else 0
    if not LEAST_TIMEOUT_S <= seconds <= MOST_TIMEOUT_S:
        raise ValueError(f"is `{str(value)[:60]}`: write a time from 10s to 24h, such as 30m")
    return seconds


def _short(value: str) -> str:
    if len(value) > LONGEST_EXPECTED:
        raise ValueError(f"has {len(value):,} characters: {LONGEST_EXPECTED:,} are the most")
    return value.strip()


Share = Annotated[float, Strict(), Field(gt=0, le=1, allow_inf_nan=False)]
Names = Annotated[tuple[Name, ...], AfterValidator(distinct)]


class InputFields(Schema):
    """A value given at the start of the workflow, optional if it has a default."""

    description: Line | None = None
    default: Annotated[Word, Field(max_length=2_000)] | None = None


class StepFields(Schema):
    """One step of a workflow file."""

    name: Name
    title: Line | None = None
    persona: Name
    task: Prose
    expected: Annotated[Prose, AfterValidator(_short)]
    type: TaskType | None = None
    depends_on: Names = ()
    capabilities: Annotated[tuple[Capability, ...], AfterValidator(distinct)] = ()
    priority: Literal["low", "medium", "high", "urgent"] = "medium"
    minutes: Annotated[int, Strict(), Field(ge=1, le=10_000)] = 30
    budget_share: Share | None = None
    budget_usd: Usd | None = None
    retries: Annotated[int, Strict(), Field(ge=0, le=10)] = RETRIES
    timeout: Annotated[Any, AfterValidator(_span)] = None
    checks: Annotated[tuple[Any, ...], Field(max_length=MOST_CHECKS)] = ()
    review: Name | None = None


class WorkflowFields(Schema):
    """A workflow file, key by key. Source: row A14."""

    schema_version: Literal[1] = SCHEMA_VERSION
    name: Name
    title: Line
    description: Prose | None = None
    triggers: Annotated[tuple[Trigger, ...], AfterValidator(distinct)] = ()
    inputs: Annotated[dict[Name, InputFields], Field(max_length=MOST_INPUTS, default_factory=dict)]
    steps: Annotated[tuple[StepFields, ...], Field(min_length=1, max_length=MOST_STEPS)]


def keys_beside(path: tuple[str | int, ...]) -> list[str]:
    """The valid keys at the place of an unknown one."""
    owners: Mapping[str, type[Schema]] = {"steps": StepFields, "inputs": InputFields}
    owner = owners.get(str(path[0]), WorkflowFields) if len(path) > 1 else WorkflowFields
    return list(owner.model_fields)
