"""Judges programs that take a script as an argument or start another program: `cmake -E`, `rsync -e`, editors.

Plain wrappers are in `programs`; the traversal of a script is in `commands`.
"""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from interlock.policy import kinds
from interlock.policy.command_lines import programs
from interlock.policy.command_lines.shell import UNKNOWN, Command
from interlock.policy.kinds import by
from interlock.policy.values import paths

if TYPE_CHECKING:
    from interlock.policy.command_lines.commands import Script


def _editor(args: Sequence[str], command: Command, script: "Script", depth: int) -> None:
    if any(
        arg.startswith(
            ("-c", "+", "-s", "-S", "-es", "--cmd", "--eval", "--batch", "-e", "-l", "-f", "--script", "--headless")
        )
        for arg in args
    ):
        script.add(kinds.HIDDEN)
    for arg in args:
        if not arg.startswith("-"):
            script.writes(arg)


def _cmake(args: Sequence[str], command: Command, script: "Script", depth: int) -> None:
    if args[:1] == ["-E"] or args[:1] == ("-E",):
        what, rest = (args[1] if len(args) > 1 else ""), args[2:]
        if what in ("env", "time", "chdir"):
            rest = rest[1:] if what == "chdir" else [arg for arg in rest if "=" not in arg and not arg.startswith("-")]
            script.run(command, rest, depth + 1)
        elif what in ("rm", "remove", "remove_directory"):
            script.add(by(kinds.DESTROYS, "cmake"))
        else:
            for arg in rest:
                script.writes(arg)
    if "--install" in args or ("--target" in args and "install" in args):
        script.add(by(kinds.OUTSIDE_WORKSPACE, "cmake"))
    for before, after in itertools.pairwise(args):
        if before == "-P":
            script.own_script(after, depth)


def _scripts(args: Sequence[str], command: Command, script: "Script", depth: int) -> None:
    for arg in args:
        if not arg.startswith("-") and not re.fullmatch(r"[\d.,]+", arg):
            script.script(arg, depth + 1)
        elif "=" in arg:
            script.script(arg.partition("=")[2], depth + 1)


def _coverage(args: Sequence[str], command: Command, script: "Script", depth: int) -> None:
    if args[:1] in (["run"], ("run",)):
        rest = [
            arg
            for arg in args[1:]
            if not re.match(r"--?(?:p|a|branch|source|omit|include|parallel|append|rcfile)", arg)
        ]
        script.run(command, ["python", *rest], depth + 1)


def _interlock(args: Sequence[str], command: Command, script: "Script", depth: int) -> None:
    """Of `interlock` itself an agent may run only what reads: approvals and controls are for people."""
    first = next((arg for arg in args if not arg.startswith("-")), "")
    if first and first not in ("version", "missions", "tasks", "task", "deliverable", "doctor", "demo"):
        script.add(by(kinds.ACCESS, "interlock"))


def _valgrind(args: Sequence[str], command: Command, script: "Script", depth: int) -> None:
    rest = list(args)
    while rest and (rest[0].startswith("-") or rest[0] in ("stat", "record", "trace", "sched", "mem", "c2c", "lock")):
        if rest.pop(0) in ("-e", "-o", "-p", "-F", "-C") and rest:
            rest.pop(0)
    if rest and rest[0] not in ("report", "list", "annotate", "script", "top", "diff", "version", "help"):
        script.run(command, rest, depth + 1)


_APPENDING = frozenset(("-x", "--exec", "-X", "--exec-batch"))
"""Options after which results are appended to the command line."""
_RSYNC = re.compile(
    r"-[avzrlptgoDHAXSchnPiuqx0WRdkLKEIJOU8]+|--(?:archive|verbose|compress|recursive|links|perms|times|group|"
    r"owner|devices|"
    r"specials|hard-links|acls|xattrs|sparse|checksum|human-readable|dry-run|progress|partial|itemize-changes|"
    r"update|quiet|"
    r"one-file-system|whole-file|relative|dirs|copy-links|safe-links|copy-dirlinks|keep-dirlinks|executability|"
    r"ignore-existing|existing|size-only|stats|list-only|prune-empty-dirs|no-[a-z-]+|from0|inplace|append|"
    r"ignore-times|"
    r"(?:exclude|include|filter|max-size|min-size|bwlimit|out-format|info|chmod|exclude-from|include-from|"
    r"files-from)(?:=.*)?)"
)
_RSYNC_VALUED = re.compile(
    r"--(?:exclude|include|filter|max-size|min-size|exclude-from|include-from|files-from|chmod|info)|-f"
)


def _rsync(args: Sequence[str], command: Command, script: "Script", depth: int) -> None:
    """Judges a copy within the machine; deleting, starting programs and copying to other hosts are raised."""
    named: list[str] = []
    rest, tries = list(args), any(re.fullmatch(r"-[a-zA-Z]*n[a-zA-Z]*|--dry-run", arg) for arg in args)
    while rest:
        arg = rest.pop(0)
        if not arg.startswith("-"):
            named.append(arg)
        elif _RSYNC_VALUED.fullmatch(arg) and rest:
            rest.pop(0)
        elif arg.startswith(("--del", "--remove-s")):
            script.add(*(() if tries else (by(kinds.DESTROYS, "rsync"),)))
        elif not _RSYNC.fullmatch(arg):
            script.add(by(kinds.LEAVES, "rsync"))
    if any(":" in arg.partition("/")[0] or arg.startswith("rsync:") or UNKNOWN in arg for arg in named):
        script.add(by(kinds.LEAVES, "rsync"))
    if any(paths.is_system(arg) for arg in named[:-1]):
        script.add(kinds.OUTSIDE_WORKSPACE)
    for target in named[-1:] if len(named) > 1 and not tries else ():
        script.writes(target)
        if any(paths.is_outside(arg) for arg in named[:-1]):
            script.written[paths.plain(target)] = None


def _find(args: Sequence[str], command: Command, script: "Script", depth: int) -> None:
    for number, arg in enumerate(args):
        if arg == "-delete":
            script.add(by(kinds.DESTROYS, "find"))
        elif arg.startswith(("-fprint", "-fls")) and number + 1 < len(args):
            script.writes(args[number + 1])
        elif arg in ("-exec", "-execdir", "-ok", "-okdir", "-x", "--exec", "-X", "--exec-batch"):
            inner = list(args[number + 1 :])
            end = next((at for at, word in enumerate(inner) if word in (";", "+")), len(inner))
            root = next((word for word in args[:1] if not word.startswith("-")), ".")
            inner = inner[:end]
            if arg not in _APPENDING or any("{}" in word for word in inner):
                place = UNKNOWN if _starts_what_it_finds(inner) else f"{root}/found"
            else:
                inner, place = [*inner, "{}"], UNKNOWN if _starts_what_it_finds(inner) else f"{root}/found"
            found = [UNKNOWN if "{}" in word and not at else word.replace("{}", place)
                     for at, word in enumerate(inner)]  # fmt: skip
            script.run(command, found or [UNKNOWN], depth + 1)
            script.touches(args)


def _starts_what_it_finds(words: Sequence[str]) -> bool:
    """Whether a shell or an interpreter would execute each file found, rather than only check its syntax."""
    rest = list(words)
    while rest and programs.name_of(rest[0])[0] in programs.WRAPPERS:
        rest = list(itertools.dropwhile(lambda word: word.startswith("-") or "=" in word, rest[1:]))
    if not rest or rest[0] == "{}":
        return len(rest) < len(words) or not words
    words = rest
    name = words[0].rpartition("/")[2].rstrip("0123456789.")
    checks = "-n" if name in programs.SHELLS else {"php": "-l", "python": "-m"}.get(name, "")
    return (name in programs.SHELLS or name in programs.INTERPRETERS) and checks not in words[1:2]


STARTERS: Mapping[str, Callable[[Sequence[str], Command, "Script", int], None]] = {
    **dict.fromkeys(("find", "gfind", "bfs", "fd", "fdfind"), _find),
    "cmake": _cmake, "hyperfine": _scripts, "coverage": _coverage, "interlock": _interlock,
    "valgrind": _valgrind, "perf": _valgrind, "rsync": _rsync,
    **dict.fromkeys(("vi", "vim", "nvim", "emacs", "nano", "pico", "micro", "helix", "code", "subl"), _editor),
}  # fmt: skip
"""The programs that are judged here."""
