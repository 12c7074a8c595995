"""The list of names and labels is that of the tools themselves, and their risks are those of the built-in policy."""

from interlock.policy.builtin import BASE
from interlock.tools.builtin import builtin_tools
from interlock.tools.catalogue import BUILTIN


def test_catalogue_says_of_every_tool_what_the_tool_says_of_itself() -> None:
    tools = builtin_tools()
    assert {tool.name: tool.labels for tool in tools} == BUILTIN
    assert {tool.name: tool.risk for tool in tools} == {name: str(BASE[name]) for name in BUILTIN}
