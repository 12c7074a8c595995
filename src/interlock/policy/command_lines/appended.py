"""Judges the program that `xargs` or `parallel` starts, with the input that they append or fill in."""

import itertools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from interlock.policy import kinds
from interlock.policy.command_lines import programs
from interlock.policy.command_lines.printing import DECODERS
from interlock.policy.command_lines.report import output_of
from interlock.policy.command_lines.shell import Command
from interlock.policy.values import paths

if TYPE_CHECKING:
    from interlock.policy.command_lines.commands import Script

_FILLED = re.compile(r"(?:^|[;&|(`\n])\s*(?:\{\}|%)(?=\s|$|[;&|])")
"""A placeholder in the position of a program."""
_PLACEHOLDER = re.compile(r"-(?:[rtpx0]*[IJi]=?|-replace=)(?P<own>.*)", re.DOTALL)
"""The option that names what stands for the input: `-I %`, `-i%`, `--replace=%`."""


def with_input(
    name: str, given: Sequence[str], words: Sequence[str], command: Command, report: "Script"
) -> Sequence[str]:
    """The words of the program that a command line `given` starts, with the input that it appends."""
    at, words = _read_from(given, command.fed_by), _marked(given, words)
    fed = command.text_in if command.text_in is not None else output_of(command.fed_by) if command.fed_by else None
    if at:
        fed = report.written.get(paths.plain(at), fed)
        report.touches(("", at, *(fed or "").split()[:50]))
    if command.fed_by is not None and command.fed_by.words[:1] and command.fed_by.words[0] in DECODERS:
        report.add(kinds.HIDDEN)
    if not words:
        if name == "parallel" and fed is None:
            report.add(kinds.HIDDEN)
        elif name == "parallel" and fed is not None:
            return ("sh", "-c", fed)
        return ()
    _judge_found_elsewhere(words, command.fed_by, report)
    if programs.name_of(words[0])[0] in programs.SHELLS and (
        all(word.startswith("-") for word in words[1:]) or any(_FILLED.search(word) for word in words[1:])
    ):
        report.add(kinds.HIDDEN)
    return words if fed is None else (*words, *fed.split()[:50])


def _marked(given: Sequence[str], words: Sequence[str]) -> Sequence[str]:
    """The words with `{}` in the place of a placeholder that the command line chooses: `xargs -I ls ls tides.txt`."""
    for at, word in enumerate(given[1:], 1):
        if not word.startswith("-"):
            continue
        found = _PLACEHOLDER.fullmatch(word)
        own = "" if found is None else found["own"] or (given[at + 1] if at + 1 < len(given) else "")
        if found is not None and own and word not in ("-i", "--replace="):
            return tuple(each.replace(own, "{}") for each in words)
        if word == "--":
            break
    return words


def _read_from(words: Sequence[str], source: Command | None) -> str:
    """The file from which `xargs` reads what it appends: its option's, or one that `cat` feeds to it; else empty."""
    for at, word in enumerate(words[1:], 1):
        if word in ("-a", "--arg-file", "--arg-file="):
            return words[at + 1] if at + 1 < len(words) else ""
        if word.startswith(("--arg-file=", "-a")):
            return word.partition("=")[2] or word[2:]
        if not word.startswith("-"):
            break
    fed = source.words if source is not None else ()
    return fed[1] if fed[:1] == ("cat",) and len(fed) == 2 else ""


def _judge_found_elsewhere(words: Sequence[str], source: Command | None, script: "Script") -> None:
    """Judges a program that is fed the files found by a `find` outside the workspace."""
    if source is None or source.words[:1] != ("find",) or not words:
        return
    name = words[0].rpartition("/")[2]
    writes = name in programs.WRITERS or (name == "sed" and any(word.startswith(("-i", "--in-p")) for word in words))
    if writes and any(paths.is_outside(root) for root in itertools.takewhile(_is_root, source.words[1:])):
        script.add(kinds.OUTSIDE_WORKSPACE)


def _is_root(word: str) -> bool:
    return not word.startswith(("-", "(", "!"))
