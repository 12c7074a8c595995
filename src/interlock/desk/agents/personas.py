"""The personas of this home for operations that open no runtime; how their files are read is `agents.persona`'s."""

import difflib
from typing import TYPE_CHECKING

from interlock.core.errors import NotFound
from interlock.desk.context import DeskContext
from interlock.desk.reading.finding import as_id

if TYPE_CHECKING:
    from interlock.agents.persona import Persona


def persona_named(context: DeskContext, given: str) -> "Persona":
    """A persona by its name, whether it has worked here or not. Reads files.

    Raises NotFound if there is none of that name.
    """
    from interlock.agents.persona import load_personas
    from interlock.tools.builtin import builtin_tools

    known = frozenset(tool.name for tool in builtin_tools())
    found = load_personas(True, context.settings.personas, known_tools=known)
    name = as_id(given)
    if name in found.personas:
        return found.personas[name]
    near = difflib.get_close_matches(name, found.personas, n=1)
    meant = f", did you mean `{near[0]}`" if near else ""
    message = f"no agent `{given}`{meant}: give a persona or an id, as `interlock agents` lists them"
    raise NotFound("agent", given, message=message)
