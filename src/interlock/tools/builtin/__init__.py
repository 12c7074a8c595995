"""The tools that come with Interlock, one module a topic; who may use them is said by personas and policy."""

from interlock.tools.builtin import email, files, people, quiet, web, work
from interlock.tools.contract import Tool


def builtin_tools() -> tuple[Tool, ...]:
    """All built-in tools."""
    return (*files.TOOLS, *work.TOOLS, *people.TOOLS, *quiet.TOOLS, *web.TOOLS, *email.TOOLS)
