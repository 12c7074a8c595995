"""Matches a goal with the trigger words of personas; no choice is made here."""

from collections.abc import Mapping

from interlock.agents.persona import Persona
from interlock.agents.triggers import find_triggers as find_triggers
from interlock.agents.triggers import weight as weight


def match_triggers(text: str, personas: Mapping[str, Persona]) -> list[tuple[str, float]]:
    """The names of the personas whose triggers match, best first, each with its share of all matches (0 to 1).

    A trigger of several words has that many points. Personas that take no tasks are left out. Source: row A3.
    """
    weights = {name: weight(find_triggers(text, p.triggers)) for name, p in personas.items() if p.takes_tasks}
    total = sum(weights.values())
    found = [(name, value / total) for name, value in weights.items() if value]
    return sorted(found, key=lambda match: (-match[1], match[0]))
