"""The tools of one process by name; offers them to models and validates arguments.

Permissions and risks are decided elsewhere.
"""

from collections.abc import Callable, Iterable

from interlock.core.errors import UsageError
from interlock.llm.messages import ToolSpec
from interlock.tools.contract import Outcome, Tool, ToolContext, ToolFunction, Write, write
from interlock.tools.decorated import tool, tool_of
from interlock.tools.errors import OutcomeUnknown, ToolError
from interlock.tools.schema import ArgumentCheck

__all__ = [
    "Outcome",
    "OutcomeUnknown",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolFunction",
    "Toolbox",
    "Write",
    "tool",
    "tool_of",
    "write",
]


class Toolbox:
    """Tools, and functions marked with `@tool`.

    Raises UsageError if two have the same name, or a schema is invalid.
    """

    def __init__(self, tools: Iterable[Tool | Callable[..., object]]) -> None:
        self._tools: dict[str, Tool] = {}
        self._checks: dict[str, ArgumentCheck] = {}
        self.met: dict[str, bool] = {}
        """By project that has met these tools: whether some of them are barred."""
        for each in tools:
            found = tool_of(each)
            if found.name in self._tools:
                raise UsageError(f"there are two tools named `{found.name}`: give one another name")
            self._tools[found.name] = found
            self._checks[found.name] = ArgumentCheck(found.name, found.input_schema)

    @property
    def names(self) -> tuple[str, ...]:
        """All names, sorted."""
        return tuple(sorted(self._tools))

    @property
    def foreign(self) -> tuple[Tool, ...]:
        """Those that are not built in."""
        return tuple(tool for tool in self._tools.values() if not tool.builtin)

    def get(self, name: str) -> Tool | None:
        """The tool of that name."""
        return self._tools.get(name)

    def offered(self, names: Iterable[str]) -> tuple[ToolSpec, ...]:
        """Those of `names` that are installed, always in the same order, for the prompt cache."""
        return tuple(self._tools[name].spec for name in sorted(set(names)) if name in self._tools)

    def needs(self, names: Iterable[str]) -> frozenset[str]:
        """The worker capabilities that the installed tools among `names` need together."""
        return frozenset().union(*(self._tools[name].needs for name in names if name in self._tools))

    def validate(self, tool: Tool, args: object) -> list[str]:
        """What is wrong with the arguments of a call, each as "`path`: problem"; empty if they are valid.

        Source: row G6.
        """
        known = self._checks[tool.name] if self._tools.get(tool.name) is tool else None
        return (known or ArgumentCheck(tool.name, tool.input_schema)).errors(args)
