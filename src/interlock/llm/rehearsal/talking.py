"""What the offline model says where somebody talks with it, alone or in a channel of the workspace chat."""

import re

from interlock.llm.messages import ModelRequest
from interlock.llm.rehearsal.protocol import Brief
from interlock.llm.rehearsal.working import Turn

_SAYS = re.compile(r'<system_message origin="system">.+?, (a person|another agent), says in [^<]*</system_message>\s*')
Call = tuple[str, dict[str, object]]
_SPEAK, _REST = "send_message", "do_nothing"


def talk(brief: Brief, request: ModelRequest) -> Turn:
    """An answer; in a channel it is said there, to people alone, and once."""
    offered = {tool.name for tool in request.tools}
    said = _SAYS.search(brief.title)
    if said is None or not {_SPEAK, _REST} <= offered:
        return Turn(_words(brief, brief.title))
    rest: Call = (_REST, {"reason": "a rehearsal has nothing more to say"})
    if said[1] != "a person" or any(message.tool_uses for message in request.messages):
        return Turn("", (rest,))
    answer: Call = (_SPEAK, {"text": _words(brief, brief.title[said.end() :].strip())})
    return Turn("", (answer, rest))


def _words(brief: Brief, asked: str) -> str:
    who = f" in the part of {brief.persona}" if brief.persona else ""
    wrote = f" You wrote: “{asked[:200]}”." if asked else ""
    return (
        f"This is the offline model{who}.{wrote} I rehearse plans, tool calls and deliverables, "
        "but I don't know anything: for a real answer choose a real model."
    )
