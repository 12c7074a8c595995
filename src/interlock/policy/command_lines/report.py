"""Collects the findings of a shell script, and records which files and directories it uses.

Programs are judged in `commands` and `program_rules`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Self

from interlock.policy import kinds
from interlock.policy.calls import Raised
from interlock.policy.command_lines import windows
from interlock.policy.command_lines.printing import printed
from interlock.policy.command_lines.shell import UNKNOWN, Command
from interlock.policy.values import paths

_STARTS = frozenset(
    "-f --from-file -exec -execdir -ok -okdir -x -X --exec --exec-batch -fprint -fls -files0-from --files0-from".split()
)


_GIVEN_FIRST = {
    **dict.fromkeys(("jq", "yq"), re.compile(r"(?!-\w*f\w*$|--from-file).*")),
    **dict.fromkeys(
        "grep egrep fgrep rg ag ack ugrep".split(),
        re.compile(
            r"-[nirRlLcvwxosHhIqEFPaU]+|--(?:color|colour|ignore-case|line-number|recursive|hidden)(?:=.*)?|--(?:include|exclude(?:-dir)?)=.*"
        ),
    ),
}
"""Programs whose first operand is a program or a pattern, not a path, if there are only these options."""
_DECLARES = frozenset("local export declare typeset readonly".split())
_SAYS = frozenset("echo printf read [ [[ for test".split())
"""Commands whose words change nothing, however they are split."""
_STREAM = re.compile(r"(?:[A-Za-z]:)?[^:]*\.\w{1,5}:[\w.-]+(?::\$DATA)?", re.IGNORECASE)
"""An NTFS alternate data stream, which directory listings do not show."""
_SHARE = re.compile(r"(?<![\\\w.)\]])\\\\[A-Za-z0-9][\w.-]+\\[\w$]")
"""The start of a UNC path: `\\\\server\\share`."""


@dataclass(slots=True)
class Report:
    """The findings of a script, each kind once."""

    found: dict[str, Raised] = field(default_factory=dict)
    functions: frozenset[str] = frozenset()
    """Names of functions that the script defines; their bodies are judged where they are defined."""
    written: dict[str, str | None] = field(default_factory=dict)
    """Files that the script writes, with their content where the script determines it, else None."""
    away: bool = False
    """Whether it has changed to a directory outside the workspace."""

    elsewhere: bool = False
    """Whether it has changed to a directory in which anybody may have placed programs."""
    separators: str = ""
    """Characters at which it has the shell split variables, besides white space."""

    def add(self, *found: Raised) -> None:
        """Adds findings, each rule once."""
        for each in found:
            self.found.setdefault(each.rule, each)

    def check_shares(self, *texts: str) -> Self:
        """Checks texts for UNC paths of other machines and for secrets, named in the Windows way."""
        if any("\\\\" in text and _SHARE.search(text) for text in texts):
            self.add(kinds.LEAVES)
        if any(("\\" in text or ":" in text) and windows.reveals(text) for text in texts):
            self.add(kinds.READS_SECRETS)
        return self

    def redirect(self, command: Command, operator: str, target: str) -> None:
        """Judges a redirection of a command's input or output."""
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
        self.fills(target, command.text_in if command.words[:1] == ("cat",) else output_of(command))

    def writes(self, target: str) -> None:
        """Judges a file that is written, and records it."""
        if _STREAM.fullmatch(target):
            self.add(kinds.HIDDEN)
        if paths.is_outside(target) or (self.away and not target.startswith("/dev/")):
            self.add(kinds.OUTSIDE_WORKSPACE)
        self.add(*paths.written(target))

    def fills(self, target: str, text: str | None = None) -> None:
        """Judges a file that is written, and remembers its text, which may be run later."""
        self.writes(target)
        self.written[paths.plain(target)] = text

    def splits(self, command: Command) -> bool:
        """Whether the shell would split the words of a command otherwise than they are written: `IFS=,; $line`."""
        if not command.words or command.words[0] in _DECLARES:
            self.separators += "".join(value for name, value in command.assigned if name == "IFS").strip()
            return False
        if not self.separators or command.words[0] in _SAYS:
            return False
        return any(sign in word for word in command.words for sign in self.separators)

    def touches(self, words: Sequence[str]) -> None:
        """Judges the paths among a command's words; system paths that `find` only lists do not count."""
        lists = words[:1] in (("find",), ["find"]) and not _STARTS.intersection(words)
        given = _GIVEN_FIRST.get(words[0]) if words else None
        if given is not None and all(given.fullmatch(word) for word in words if word[:1] == "-" and len(word) > 1):
            program = next((at for at, word in enumerate(words) if at and not word.startswith("-")), len(words))
            words = (*words[:program], *words[program + 1 :])
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
    """Whether a word, or the value in it, is a path to a secret; and whether it names a system path."""
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


def output_of(command: Command) -> str | None:
    """The output of a command, if its words determine it; else None."""
    words = command.words
    if words[:1] not in (("echo",), ("printf",)) or any(UNKNOWN in word for word in words):
        return None
    return None if (text := printed(words)) == UNKNOWN else text
