"""What a persona file may say, field by field, and how a fault in it is worded.

No files are read here, and nothing here knows how a persona is used.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, ValidationError, ValidationInfo
from pydantic import field_validator as check
from pydantic import model_validator as check_all
from pydantic_core import ErrorDetails

from interlock.agents.tool_names import COORDINATION_TOOLS, COORDINATOR, FIXED_TOOLS
from interlock.core.values import TaskType as TaskType
from interlock.llm.messages import ModelRef
from interlock.policy.budgets import AGENT_DAY, CHAT_RUN, RUN, USD

SCHEMA_VERSION: Literal[1] = 1
Trust = Literal["intern", "specialist", "lead"]
Risk = Literal["GREEN", "YELLOW", "RED"]
BUDGETS_USD: Mapping[str, Mapping[str, float]] = {
    str(trust): {"daily_usd": daily / USD, "run_usd": RUN[trust] / USD} for trust, daily in AGENT_DAY.items()
}
"""Dollars where a persona names none. Source: numbers, "Budgets"."""
TEMPLATE_NAMES = ("name", "title", "role", "project")
"""What `{{…}}` in a prompt may name."""
LONGEST_TEXT = 20_000
HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""Marks that turn the direction of text, or are not seen at all; no script needs them in a persona."""
KeysBeside = Callable[[tuple[str | int, ...]], list[str]]
_TEMPLATE = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")


def _shaped(pattern: str, expected: str) -> Callable[[str], str]:
    regex = re.compile(pattern)

    def checked(value: str) -> str:
        if not regex.fullmatch(value):
            raise ValueError(f"is `{value}`: {expected}")
        return value

    return checked


def distinct(values: tuple[str, ...]) -> tuple[str, ...]:
    """The values, if none occurs twice, ignoring case. Raises ValueError."""
    seen: set[str] = set()
    for value in values:
        if value.casefold() in seen:
            raise ValueError(f"names `{value}` twice")
        seen.add(value.casefold())
    return values


def _one_line(value: str) -> str:
    if not value.strip() or not value.isprintable():
        raise ValueError("must be one line of text")
    return value.strip()


def _prose(value: str) -> str:
    if not value.strip():
        raise ValueError("is empty")
    if found := HIDDEN.search(value):
        raise ValueError(f"has the invisible character U+{ord(found.group()):04X}, which hides words from readers")
    if len(value) > LONGEST_TEXT:
        raise ValueError(f"has {len(value):,} characters: {LONGEST_TEXT:,} are the most")
    return value.strip() + "\n"


def _model(value: str) -> str:
    ModelRef.parse(value)
    return value


Word = Annotated[str, Strict()]
Name = Annotated[
    Word,
    AfterValidator(
        _shaped("[a-z][a-z0-9_-]{0,39}", "write a lower-case letter, then letters, digits, - or _ (40 at most)")
    ),
]
Capability = Annotated[
    Word, AfterValidator(_shaped("[a-z][a-z0-9_]{0,59}", "write lower-case words joined by _, such as code_generation"))
]
Trigger = Annotated[
    Word, AfterValidator(_shaped(r"\w[\w'&/+.-]*( [\w'&/+.-]+){0,4}", "write one to five words without punctuation"))
]
Tool = Annotated[Word, AfterValidator(_shaped("[A-Za-z_][A-Za-z0-9_.-]{0,127}", "write the name of a tool"))]
Mbti = Annotated[Word, AfterValidator(_shaped("[EI][NS][TF][JP]", "write four letters, such as INTP"))]
Model = Annotated[Word, AfterValidator(_model)]
Line = Annotated[Word, AfterValidator(_one_line), Field(max_length=200)]
Prose = Annotated[Word, AfterValidator(_prose)]
Usd = Annotated[float, Strict(), Field(gt=0, le=100_000, allow_inf_nan=False)]
Turns = Annotated[int, Strict(), Field(ge=1, le=200)]


class Schema(BaseModel):
    """The base of a persona file's parts: immutable; unknown keys are faults."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Budget(Schema):
    """A persona's budget in dollars: per day, per run of a task, per run of a chat."""

    daily_usd: Usd
    run_usd: Usd
    chat_run_usd: Usd = CHAT_RUN / USD

    @check_all(mode="after")
    def _fits(self) -> Self:
        if self.run_usd > self.daily_usd:
            raise ValueError(f"has `run_usd` {self.run_usd:g} above `daily_usd` {self.daily_usd:g}")
        return self


class Limits(Schema):
    """The most model calls in one run, of a task and of a chat."""

    max_turns: Turns = 10
    chat_max_turns: Turns = 5


class PersonaFields(Schema):
    """A persona file, key by key. Source: interfaces, "Persona file"."""

    schema_version: Literal[1] = SCHEMA_VERSION
    name: Name
    title: Line
    role: Line
    trust: Trust
    risk_profile: Risk
    triggers: Annotated[tuple[Trigger, ...], AfterValidator(distinct)] = ()
    capabilities: Annotated[tuple[Capability, ...], AfterValidator(distinct)] = ()
    task_types: Annotated[tuple[TaskType, ...], AfterValidator(distinct)] = ()
    tools: Annotated[tuple[Tool, ...], AfterValidator(distinct)] = ()
    model: Model | None = None
    fallbacks: Annotated[tuple[Model, ...], AfterValidator(distinct)] = ()
    budget: Budget
    limits: Limits = Limits()
    max_tokens: Annotated[int, Strict(), Field(ge=256, le=128_000)] = 4096
    thinking: Literal["adaptive"] | None = None
    temperature: Annotated[float, Strict(), Field(ge=0, le=2, allow_inf_nan=False)] | None = None
    mbti: Mbti | None = None
    soul: Prose
    prompt: Prose | None = None
    prompt_mode: Literal["full", "minimal", "none"] | None = None

    @check_all(mode="before")
    @classmethod
    def _budget_by_trust(cls, data: Any) -> Any:
        given = data.get("budget", {}) if isinstance(data, dict) else None
        if not isinstance(given, dict):
            return data
        usual = BUDGETS_USD.get(str(data.get("trust")), BUDGETS_USD["intern"])
        return {**data, "budget": {**usual, **given}}

    @check("tools", mode="after")
    @classmethod
    def _installed(cls, tools: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if info.context is None:
            return tools
        known = frozenset(info.context["known_tools"]) | FIXED_TOOLS
        unknown = [f"`{tool}`{suggestion(tool, known)}" for tool in tools if tool not in known]
        if unknown:
            raise ValueError(f"names no tool by {', '.join(unknown)}")
        if info.data.get("name") == COORDINATOR and (others := [t for t in tools if t not in COORDINATION_TOOLS]):
            raise ValueError(
                f"gives the coordinator {', '.join(f'`{each}`' for each in others)}: it does no work itself, and may "
                f"have {', '.join(sorted(COORDINATION_TOOLS))}"
            )
        return tools

    @check("task_types", mode="after")
    @classmethod
    def _works(cls, task_types: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if info.context is not None and task_types and info.data.get("name") == COORDINATOR:
            raise ValueError("gives the coordinator work: it gives out tasks and takes none, write []")
        return task_types

    @check("prompt", mode="after")
    @classmethod
    def _fillable(cls, prompt: str | None) -> str | None:
        for name in _TEMPLATE.findall(prompt or ""):
            if name not in TEMPLATE_NAMES:
                hint = suggestion(name, TEMPLATE_NAMES) or f": write {', '.join(TEMPLATE_NAMES)}"
                raise ValueError(f"has no value for `{{{{{name}}}}}`{hint}")
        return prompt


def filled(template: str, values: Mapping[str, str]) -> str:
    """A persona's prompt with `{{name}}` and the like replaced.

    Raises KeyError for a name that `values` lacks.
    """
    return _TEMPLATE.sub(lambda found: values[found[1]], template)


def suggestion(word: str, known: Iterable[str]) -> str:
    """`: did you mean …?` where a known word is near, else nothing."""
    near = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    return f": did you mean `{near[0]}`?" if near else ""


def faults_of(error: ValidationError, beside: KeysBeside | None = None) -> list[tuple[tuple[str | int, ...], str]]:
    """Each fault as the path of the value that has it (a missing key: of its parent) and the problem in words.

    `beside` gives the keys that there are where an unknown one was found; without it, those of a persona.
    """
    out = []
    found = error.errors(include_url=False)
    for detail in found:
        path = detail["loc"]
        if detail["type"] == "too_short" and any(other["loc"][: len(path)] == path != other["loc"] for other in found):
            continue
        at = path[:-1] if detail["type"] == "missing" else path
        out.append((at, _worded(detail, path, beside or _keys_beside)))
    return out


def _worded(detail: ErrorDetails, path: tuple[str | int, ...], beside: KeysBeside) -> str:
    label = f"`{_dotted(path)}`"
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "missing":
        return f"{label} is missing"
    if kind == "extra_forbidden":
        known = beside(path)
        hint = suggestion(str(path[-1]), known) or f": the keys are {', '.join(known)}"
        return f"unknown key {label}{hint}"
    if kind == "value_error":
        problem = str(context["error"])
        return f"{label}: {problem}" if problem.startswith("`") else f"{label} {problem}"
    if kind == "literal_error":
        options = re.findall(r"'([^']*)'", str(context["expected"])) or [str(context["expected"])]
        hint = suggestion(str(detail["input"]), options) or f": write {' or '.join(filter(None, options))}"
        return f"{label} is `{_shown(detail['input'])}`{hint}"
    if kind in ("too_short", "too_long") and isinstance(detail["input"], list | tuple):
        bound = f"at least {context['min_length']}" if kind == "too_short" else f"at most {context['max_length']}"
        return f"{label} has {len(detail['input'])}: write {bound}"
    if kind in _EXPECTED:
        return f"{label} must be {_EXPECTED[kind]}, not {_called(detail['input'])}"
    message = detail["msg"].removeprefix("Input should ").removeprefix("String should ").removeprefix("be ")
    return f"{label} is `{_shown(detail['input'])}`: it must be {message}"


_EXPECTED = {
    "string_type": "text",
    "tuple_type": "a list",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "float_type": "a number",
    "finite_number": "a finite number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
}


def _dotted(path: tuple[str | int, ...]) -> str:
    out = ""
    for part in path:
        out += f"[{part}]" if isinstance(part, int) else f".{part}" if out else part
    return out


def _keys_beside(path: tuple[str | int, ...]) -> list[str]:
    nested: dict[str, type[Schema]] = {"budget": Budget, "limits": Limits}
    owner = nested.get(str(path[0]), PersonaFields) if len(path) > 1 else PersonaFields
    return list(owner.model_fields)


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _called(value: Any) -> str:
    if value is None:
        return "empty"
    names = {str: "text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "a mapping"}
    return names.get(type(value), type(value).__name__)
