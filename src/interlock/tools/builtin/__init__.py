"""The tools that come with Interlock, one module a topic; who may use them is said by personas and policy."""

from dataclasses import replace

from interlock.tools.builtin import email, files, memory, people, quiet, web, work
from interlock.tools.contract import Tool


def builtin_tools() -> tuple[Tool, ...]:
    """All built-in tools."""
    every = (*files.TOOLS, *work.TOOLS, *people.TOOLS, *quiet.TOOLS, *memory.TOOLS, *web.TOOLS, *email.TOOLS)
    return tuple(replace(tool, builtin=True) for tool in every)
