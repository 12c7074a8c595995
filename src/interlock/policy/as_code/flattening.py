"""Rewrites conditions to scalar variables instead of mappings (`agent.trust` as one), which halves evaluation time.

A condition that cannot certainly be rewritten without changing its meaning is left as it is.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

OWNERS = ("args", "agent", "task")
"""Variables that are mappings."""


@dataclass(frozen=True, slots=True)
class Flat:
    """A condition over scalar variables."""

    source: str
    needs: frozenset[str]
    """Fields of `args` that must be present; without one of them, the original condition is evaluated."""
    values: frozenset[tuple[str, str, str]]
    """Variable, mapping and field of each; the field is empty for `tool` and `project`."""


def flattened(
    source: str, plain: str, reads: Mapping[str, frozenset[str] | None], bound: Collection[str]
) -> Flat | None:
    """The rewritten condition; `plain` is `source` without literals, `bound` are the variables of its loops.

    None if it tests the presence of fields, reads a mapping as a whole, or has names that could collide.
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
    """The name of a field's variable."""
    return f"__{owner}_{field}"
