"""Parses the addressee at the start of a text: `@research …`, `Research: …`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from interlock.agents.persona import Persona

_OPENING = re.compile(r"\s*(?:@(?P<at>[\w-]{1,64})[,:]?|(?P<name>[\w-]{1,64}(?: [\w-]{1,64}){0,3})[:,])(?:\s+|$)")


@dataclass(frozen=True, slots=True)
class Addressed:
    """An addressee, and the text without its name."""

    persona: str
    text: str


def addressed(text: str, personas: Mapping[str, Persona]) -> Addressed | None:
    """The persona whose name or title (in any case) a text begins with; None if there is none."""
    found = _OPENING.match(text)
    if found is None:
        return None
    written = (found["at"] or found["name"]).casefold()
    for name, persona in personas.items():
        if written in (name.casefold(), persona.title.casefold()):
            return Addressed(name, text[found.end() :].strip())
    return None
