"""What was found in a shell script so far, and what of it concerns files.

Which program does what is not known here.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Self

from interlock.policy import kinds, paths
from interlock.policy.calls import Raised
from interlock.policy.printing import printed
from interlock.policy.shell import UNKNOWN, Command

_STARTS = frozenset(
    "-f --from-file -exec -execdir -ok -okdir -x -X --exec --exec-batch -fprint -fls -files0-from --files0-from".split()
)


_STREAM = re.compile(r"(?:[A-Za-z]:)?[^:]*\.\w{1,5}:[\w.-]+(?::\$DATA)?", re.IGNORECASE)
"""A stream behind a file of Windows, which no listing shows."""
_SHARE = re.compile(r"(?<![\\\w.)\]])\\\\[A-Za-z0-9][\w.-]+\\[\w$]")
"""The beginning of `\\\\server\\share`."""


@dataclass(slots=True)
class Report:
    """What was found in a script, each kind once."""

    found: dict[str, Raised] = field(default_factory=dict)
    functions: frozenset[str] = frozenset()
    """Names of the script's own functions, whose bodies are judged where they stand."""
    written: dict[str, str | None] = field(default_factory=dict)
    """Files that the script writes, and their content where the script says it."""
    away: bool = False
    """Whether it has gone to a place that is not the workspace."""

    elsewhere: bool = False
    """Whether it has gone to where anyone may have put a program."""

    def add(self, *found: Raised) -> None:
        """Notes findings, each rule once."""
        for each in found:
            self.found.setdefault(each.rule, each)

    def over(self, *texts: str) -> Self:
        """Notes shares of other machines, as Windows writes them: a POSIX shell reads their paths as other words."""
        if any("\\\\" in text and _SHARE.search(text) for text in texts):
            self.add(kinds.LEAVES)
        return self

    def redirect(self, command: Command, operator: str, target: str) -> None:
        """Notes where the output of a command goes, or its input comes from."""
        where = target.lower()
        if where.startswith(("/dev/tcp", "/dev/udp")):
            self.add(kinds.LEAVES)
        if target.isdigit() or where == "-":
            return
        if paths.touches_secret(target):
            self.add(kinds.READS_SECRETS)
        if operator.startswith("<"):
            if paths.reads_system(target):
                self.add(kinds.OUTSIDE_WORKSPACE)
            return
        self.writes(target)
        self.written[paths.plain(target)] = command.text_in if command.words[:1] == ("cat",) else said(command)

    def writes(self, target: str) -> None:
        """Notes that a file is written."""
        if _STREAM.fullmatch(target):
            self.add(kinds.HIDDEN)
        if paths.is_outside(target) or (self.away and not target.startswith("/dev/")):
            self.add(kinds.OUTSIDE_WORKSPACE)
        self.add(*paths.written(target))

    def touches(self, words: Sequence[str]) -> None:
        """Notes what the words of a command point at; what `find` only lists does not count as the system's."""
        lists = words[:1] in (("find",), ["find"]) and not _STARTS.intersection(words)
        if words[:1] and words[0] in ("jq", "yq") and not _STARTS.intersection(words):
            program = next((word for word in words[1:] if not word.startswith("-")), "")
            words = (words[0], *(word for word in words[1:] if word is not program))
        for word in words[1:]:
            if len(word) > 512 or "\n" in word or word.count(" ") > 3:
                continue
            secret, system = _points_at(word)
            if system and not lists:
                self.add(kinds.OUTSIDE_WORKSPACE)
            if secret:
                self.add(kinds.READS_SECRETS)
                return


@lru_cache(maxsize=2048)
def _points_at(word: str) -> tuple[bool, bool]:
    """Whether a word or the value in it is a path where secrets lie; and whether one of the system's stands before."""
    system = False
    for part in dict.fromkeys(
        (word, word.partition("=")[2], word.partition(":")[2], word[2:] if word[:1] == "-" else "")
    ):
        if not part or paths.is_free_to_read(part):
            continue
        if paths.touches_secret(part.lstrip("@")):
            return True, system
        system = system or paths.reads_system(part)
    return False, system


def said(command: Command) -> str | None:
    """What a command prints, where its words say it."""
    words = command.words
    if words[:1] not in (("echo",), ("printf",)) or any(UNKNOWN in word for word in words):
        return None
    return None if (text := printed(words)) == UNKNOWN else text
