"""`@tool`: turns a user's function into a tool, with a schema derived from its type hints.

The built-in tools have hand-written schemas and do not use this.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar, get_type_hints, overload

import pydantic
from pydantic.json_schema import GenerateJsonSchema

from interlock.core.errors import UsageError
from interlock.tools.contract import Tool, ToolContext, ToolFunction
from interlock.tools.errors import ToolError
from interlock.tools.schema import ArgumentCheck
from interlock.tools.threads import in_a_thread

P = ParamSpec("P")
T = TypeVar("T")
_MARK = "__interlock_tool__"
_PREFIX = "arg_"
"""Keeps parameters from clashing with attributes of pydantic models, such as `copy` and `json`."""


@overload
def tool(fn: Callable[P, T], /) -> Callable[P, T]: ...


@overload
def tool(
    *,
    risk: str | None = None,
    idempotent: bool = False,
    read_only: bool = False,
    outside: bool = True,
    name: str | None = None,
    description: str | None = None,
    reads: Callable[[dict[str, Any]], tuple[str, ...]] | None = None,
    labels: frozenset[str] = frozenset(),
    timeout_s: float | None = None,
    simulate: Callable[[dict[str, Any]], str] | None = None,
    needs: Iterable[str] = (),
) -> Callable[[Callable[P, T]], Callable[P, T]]: ...


def tool(fn: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Marks a function as a tool and returns it unchanged, so that it can still be called and tested.

    The model sees its name, the first paragraph of its docstring and its type hints, including `Annotated` and
    defaults. If the first parameter is `ctx: ToolContext`, it is filled in and not shown to the model. A function that
    is not async runs in a thread of its own. `risk` is GREEN, YELLOW or RED; without it, the policy judges the tool by
    its name, description and schema. The other options are the fields of `Tool`. Source: row G7.

    Raises UsageError for a function that cannot be a tool.
    """

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        setattr(function, _MARK, _tool(function, **options))
        return function

    return mark if fn is None else mark(fn)


def tool_of(value: Tool | Callable[..., object]) -> Tool:
    """A tool as it is, or the tool of a function that is marked with `@tool`.

    Raises UsageError for any other function.
    """
    if isinstance(value, Tool):
        return value
    found = getattr(value, _MARK, None)
    if not isinstance(found, Tool):
        raise UsageError(f"`{getattr(value, '__name__', value)}` is not a tool: write `@tool` above it")
    return found


def _tool(
    fn: Callable[..., Any], *, name: str | None = None, description: str | None = None, **fields: Any
) -> Tool:  # fmt: skip
    called = str(name or getattr(fn, "__name__", type(fn).__name__))
    about = description or (inspect.getdoc(fn) or "").split("\n\n")[0]
    if not about.strip():
        raise UsageError(f"`{called}` needs a docstring: its first paragraph tells the model what the tool does")
    hints, with_context = _parameters(fn, called)
    model = _arguments(fn, called, hints)
    schema = _schema(model, called)
    ArgumentCheck(called, schema)
    return Tool(
        name=called,
        description=" ".join(about.split()),
        input_schema=schema,
        fn=_calling(fn, model, with_context=with_context),
        **fields,
    )


def _parameters(fn: Callable[..., Any], called: str) -> tuple[dict[str, Any], bool]:
    """The type of each parameter that the model fills in, and whether a context comes before them."""
    try:
        hints = get_type_hints(fn, include_extras=True)
    except (NameError, TypeError) as error:
        raise UsageError(f"the type hints of `{called}` cannot be read: {error}") from error
    parameters = list(inspect.signature(fn).parameters.values())
    with_context = bool(parameters) and parameters[0].name == "ctx" and hints.get("ctx") is ToolContext
    wanted: dict[str, Any] = {}
    for each in parameters[with_context:]:
        if each.kind not in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY):
            raise UsageError(f"`{called}` takes `{each}`: a tool's parameters are passed by name")
        if each.name not in hints:
            raise UsageError(f"parameter `{each.name}` of `{called}` needs a type hint: the model is told what to pass")
        wanted[each.name] = hints[each.name]
    return wanted, with_context


def _arguments(fn: Callable[..., Any], called: str, hints: Mapping[str, Any]) -> type[pydantic.BaseModel]:
    parameters = inspect.signature(fn).parameters
    fields: dict[str, Any] = {}
    for name, hint in hints.items():
        default = parameters[name].default
        fields[_PREFIX + name] = (hint, ... if default is inspect.Parameter.empty else default)
    config = pydantic.ConfigDict(extra="forbid", alias_generator=lambda field: field.removeprefix(_PREFIX))
    try:
        return pydantic.create_model(called, __config__=config, **fields)
    except (pydantic.PydanticUserError, TypeError) as error:
        raise UsageError(f"the type hints of `{called}` cannot become a schema: {_line(error)}") from error


class _Untitled(GenerateJsonSchema):
    """Omits field titles, which only repeat the names to the model."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _schema(model: type[pydantic.BaseModel], called: str) -> dict[str, Any]:
    try:
        schema = model.model_json_schema(schema_generator=_Untitled)
    except pydantic.PydanticUserError as error:
        raise UsageError(f"the type hints of `{called}` cannot become a schema: {_line(error)}") from error
    return {key: value for key, value in schema.items() if key != "title"}


def _calling(fn: Callable[..., Any], model: type[pydantic.BaseModel], *, with_context: bool) -> ToolFunction:
    names = [(field.removeprefix(_PREFIX), field) for field in model.model_fields]
    is_async = inspect.iscoroutinefunction(fn)

    async def call(context: ToolContext, /, **args: Any) -> object:
        try:
            given = model.model_validate(args)
        except pydantic.ValidationError as error:
            problems = (f"`{'.'.join(map(str, e['loc']))}`: {e['msg']}" for e in error.errors(include_url=False))
            raise ToolError("the arguments are not valid: " + "; ".join(problems)) from error
        values = {name: getattr(given, field) for name, field in names}
        first = (context,) if with_context else ()
        if is_async:
            return await fn(*first, **values)
        result = await in_a_thread(fn, *first, **values)
        return await result if inspect.isawaitable(result) else result

    return call


def _line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
