"""Conditions over single values instead of mappings, which the engine takes in half the time: `agent.trust` as one.

What a condition means stays the same; where that is not certain, it is left as it is.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

OWNERS = ("args", "agent", "task")
"""Variables that are mappings."""


@dataclass(frozen=True, slots=True)
class Flat:
    """A condition over single values."""

    source: str
    needs: frozenset[str]
    """Fields of `args` that must be there; without one of them the condition is evaluated as it was written."""
    values: frozenset[tuple[str, str, str]]
    """Variables, and of which mapping they are which field; without one for `tool` and `project`."""


def flattened(
    source: str, plain: str, reads: Mapping[str, frozenset[str] | None], bound: Collection[str]
) -> Flat | None:
    """The condition with a variable for each field; `plain` is it without texts, `bound` what its loops name.

    None if it asks for the presence of fields, reads a mapping as a whole, or has names that could be mistaken.
    """
    if re.search(r"\bhas\s*\(|\b__", plain) or any(owner in bound for owner in (*OWNERS, "tool", "project")):
        return None
    uses: list[tuple[int, int, str, str]] = []
    for owner in OWNERS:
        if owner not in reads:
            continue
        if (fields := reads[owner]) is None:
            return None
        found = list(re.finditer(rf"(?<![\w.]){owner}\s*\.\s*([A-Za-z_]\w*)", plain))
        if len(found) != len(re.findall(rf"\b{owner}\b", plain)) or {use[1] for use in found} != fields:
            return None
        uses += [(use.start(), use.end(), owner, use[1]) for use in found]
    text, position = [], 0
    for start, end, owner, field in sorted(uses):
        text += [source[position:start], variable(owner, field)]
        position = end
    values = {(variable(owner, field), owner, field) for _, _, owner, field in uses}
    values |= {(name, name, "") for name in ("tool", "project") if name in reads}
    needs = frozenset(field for _, _, owner, field in uses if owner == "args")
    return Flat("".join([*text, source[position:]]), needs, frozenset(values))


def variable(owner: str, field: str) -> str:
    """What a field is called."""
    return f"__{owner}_{field}"
