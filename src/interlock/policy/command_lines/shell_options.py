"""Reads the options of a shell: which script it runs, given on the command line, in a file or on standard input."""

from collections.abc import Sequence
from typing import NamedTuple

_STARTS = frozenset(("--rcfile", "--init-file"))
"""Options whose value is a file that the shell runs first."""
_TELLS = frozenset(("--version", "--help"))
_ENDS = frozenset(("-", "--"))


class Given(NamedTuple):
    """What a shell is started with; without script and file it reads standard input."""

    script: str | None = None
    """The script of `-c`."""
    file: str | None = None
    hides: bool = False
    """Whether it runs something that is not known."""
    tells: bool = False
    """Whether it only prints something about itself."""


def read(args: Sequence[str]) -> Given:
    """What the arguments of a shell say: `-eo pipefail -c 'ls'`, `run.sh`, `-s`."""
    rest, is_script, hides = list(args), False, False
    while rest and rest[0].startswith(("-", "+")):
        option = rest.pop(0)
        if option in _ENDS:
            break
        if option in _TELLS:
            return Given(hides=hides, tells=True)
        if option.startswith("--"):
            hides |= option.partition("=")[0] in _STARTS
            del rest[: option in _STARTS]
            continue
        is_script |= "c" in option
        del rest[: option.count("o") + option.count("O")]
        if "s" in option and not is_script:
            return Given(hides=hides)
    if is_script:
        return Given(rest[0], hides=hides) if rest else Given(hides=True)
    if rest and rest[0] not in ("-", "/dev/stdin"):
        return Given(file=rest[0], hides=hides or rest[0].startswith("-"))
    return Given(hides=hides)
