"""The built-in tools, one module per topic; personas and policy determine who may use them."""

from dataclasses import replace

from interlock.tools.builtin import agents, email, files, memory, people, quiet, rooms, web, work
from interlock.tools.contract import Tool


def builtin_tools() -> tuple[Tool, ...]:
    """All built-in tools."""
    every = (
        *files.TOOLS, *work.TOOLS, *people.TOOLS, *quiet.TOOLS, *memory.TOOLS, *rooms.TOOLS, *web.TOOLS, *email.TOOLS,
        *agents.TOOLS,
    )  # fmt: skip
    return tuple(replace(tool, builtin=True) for tool in every)
