"""What readers of configuration in policy files share: faults with their lines, mappings, names, words.

What a policy or a test is made of is not known here.
"""

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, TypeVar

from interlock.core.strict_yaml import Document, Path

Word = TypeVar("Word", bound=StrEnum)
MOST_STARS = 4
MOST_FAULTS = 1_000
LONGEST_FAULT = 500
LONGEST_NAME = 200
"""Characters of what could be a name that was mistyped."""
_TOOL = re.compile(r"[A-Za-z0-9_.:/*-]{1,128}")


@dataclass(slots=True)
class Reader:
    """Reads a document and collects all that is wrong with it."""

    document: Document
    tools: Collection[str] | None = None
    """The tools that there are; None: any name will do."""
    personas: Collection[str] | None = None
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What is no fault, and should be told."""

    def fault(self, path: Path, problem: str) -> None:
        """Notes that something is wrong, as far as somebody would read it."""
        if len(self.faults) < MOST_FAULTS:
            told = problem if len(problem) <= LONGEST_FAULT else f"{problem[:LONGEST_FAULT]}…"
            self.faults.append(self.document.fault(path, told))

    def mapping(self, path: Path, data: Any, known: Collection[str], otherwise: str) -> Mapping[str, Any]:
        """A mapping with no other keys than the `known`; empty if it is none."""
        if not isinstance(data, dict):
            self.fault(path, otherwise)
            return {}
        for key in data:
            if key not in known and len(self.faults) < MOST_FAULTS:
                self.fault((*path, key), f"unknown key `{key}`{near(key, known)}")
        return data

    def each(self, name: str, data: Any, read: Callable[[Path, Any], Any]) -> Iterable[Any]:
        """What `read` makes of every item of a list, without None."""
        if data is None:
            return []
        if not isinstance(data, list):
            self.fault((name,), f"`{name}` is a list")
            return []
        found = [read((name, number), item) for number, item in enumerate(data)]
        return [item for item in found if item is not None]

    def tool(self, path: Path, name: str, *, noted: bool = True) -> None:
        """Checks the name or the pattern of a tool. One that is not known is a fault where it is near to one."""
        if not _TOOL.fullmatch(name):
            self.fault(path, f"`{name}` is not a tool name")
        elif name.count("*") > MOST_STARS:
            self.fault(path, f"`{name}` has more than {MOST_STARS} `*`")
        elif self.tools is not None and not is_known(name, self.tools):
            if hint := near(name, self.tools, 0.8):
                self.fault(path, f"there is no tool `{name}`{hint}")
            elif noted:
                self.notes.append(self.document.fault(path, f"no tool `{name}` is known here"))

    def choice(self, path: Path, data: Any, kinds: type[Word], name: str) -> Word | None:
        """One of the words of an enumeration."""
        if isinstance(data, str) and data in [kind.value for kind in kinds]:
            return kinds(data)
        *most, last = (kind.value for kind in kinds)
        self.fault(path, f"`{data}` is not a valid {name}: use {', '.join(most)} or {last}")
        return None

    def text(self, path: Path, data: Any) -> str:
        """Text on one line."""
        if isinstance(data, str):
            return " ".join(data.split())
        self.fault(path, f"`{path[-1]}` is text")
        return ""

    def truth(self, path: Path, fields: Mapping[str, Any], name: str) -> bool:
        """A field that is true or false, false where it is missing."""
        value = fields.get(name, False)
        if type(value) is not bool:
            self.fault((*path, name), f"`{name}` is true or false")
            return False
        return value


def is_known(name: str, known: Collection[str]) -> bool:
    """Whether a tool's name, or a pattern, fits one that there is."""
    return name in known or ("*" in name and any(fnmatchcase(each, name) for each in known))


def near(name: str, known: Collection[str], cutoff: float = 0.6) -> str:
    """A hint at the known name that is meant, if one is near."""
    if len(name) > LONGEST_NAME:
        return ""
    close = difflib.get_close_matches(name, known, n=1, cutoff=cutoff)
    return f": did you mean `{close[0]}`?" if close else ""
