"""Shared parts of the parsers for policy files and tests: faults with line numbers, mappings, names, enumerations.

The contents of policies and tests are parsed in `policy_file` and `case_file`.
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
"""The longest tool name for which a similar one is suggested, in characters."""
_TOOL = re.compile(r"[A-Za-z0-9_.:/*-]{1,128}")


@dataclass(slots=True)
class Reader:
    """Parses a document and collects all faults."""

    document: Document
    tools: Collection[str] | None = None
    """The existing tools; None: any name is valid."""
    personas: Collection[str] | None = None
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Remarks to report that are no faults."""

    def fault(self, path: Path, problem: str) -> None:
        """Adds a fault, up to a readable number."""
        if len(self.faults) < MOST_FAULTS:
            told = problem if len(problem) <= LONGEST_FAULT else f"{problem[:LONGEST_FAULT]}…"
            self.faults.append(self.document.fault(path, told))

    def mapping(self, path: Path, data: Any, known: Collection[str], otherwise: str) -> Mapping[str, Any]:
        """A mapping with keys from `known` only; empty if the data is no mapping."""
        if not isinstance(data, dict):
            self.fault(path, otherwise)
            return {}
        for key in data:
            if key not in known and len(self.faults) < MOST_FAULTS:
                self.fault((*path, key), f"unknown key `{key}`{near(key, known)}")
        return data

    def each(self, name: str, data: Any, read: Callable[[Path, Any], Any]) -> Iterable[Any]:
        """The results of `read` for the items of a list, without None."""
        if data is None:
            return []
        if not isinstance(data, list):
            self.fault((name,), f"`{name}` is a list")
            return []
        found = [read((name, number), item) for number, item in enumerate(data)]
        return [item for item in found if item is not None]

    def tool(self, path: Path, name: str, *, noted: bool = True) -> None:
        """Checks the name or pattern of a tool. An unknown name is a fault if it is similar to a known one."""
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
        """A member of an enumeration."""
        if isinstance(data, str) and data in [kind.value for kind in kinds]:
            return kinds(data)
        *most, last = (kind.value for kind in kinds)
        self.fault(path, f"`{data}` is not a valid {name}: use {', '.join(most)} or {last}")
        return None

    def text(self, path: Path, data: Any) -> str:
        """A single line of text."""
        if isinstance(data, str):
            return " ".join(data.split())
        self.fault(path, f"`{path[-1]}` is text")
        return ""

    def truth(self, path: Path, fields: Mapping[str, Any], name: str) -> bool:
        """A boolean field, false if it is missing."""
        value = fields.get(name, False)
        if type(value) is not bool:
            self.fault((*path, name), f"`{name}` is true or false")
            return False
        return value


def is_known(name: str, known: Collection[str]) -> bool:
    """Whether a tool's name or a pattern matches an existing tool."""
    return name in known or ("*" in name and any(fnmatchcase(each, name) for each in known))


def near(name: str, known: Collection[str], cutoff: float = 0.6) -> str:
    """A suggestion of the known name that is most similar, if any is."""
    if len(name) > LONGEST_NAME:
        return ""
    close = difflib.get_close_matches(name, known, n=1, cutoff=cutoff)
    return f": did you mean `{close[0]}`?" if close else ""
