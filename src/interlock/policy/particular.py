"""Programs whose arguments need a reading of their own: `find`, `sed`, `chmod`, `sqlite3`, and those that write files.

How a script is walked through is not known here.
"""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from interlock.policy import git, kinds, paths, programs, sql
from interlock.policy.kinds import by
from interlock.policy.secrets import names_secret
from interlock.policy.shell import UNKNOWN, Command
from interlock.policy.verbs import asks_for_act

if TYPE_CHECKING:
    from interlock.policy.commands import Script

REMOTE = re.compile(r"^(?:[\w.-]+@)?[\w.-]{2,}:(?!//)|^[a-z][a-z0-9+.-]*://")
ASKS = frozenset("--version -version --help -help help version -V".split())
_TARGET_WORDS = re.compile(r"[\w][\w:./-]{0,80}")
_OPENS = re.compile(r"(?:^|,)[ugoa]*[+=][rxX]*[st]|(?:^|,)(?:[ug]*[oa][ugoa]*|)[+=][rxXst]*w")
_DOTTED = re.compile(r"\s*(?:\.|\\)(?!tables|schema|dt|d\b|l\b|headers|mode|indexes|du\b|databases|width)")
_RUNNING_OPTIONS = (
    "--to-command", "--checkpoint-action", "--use-compress", "--compress-prog", "--rsh", "-TT",
    "--unzip-command", "--pre",
)  # fmt: skip
SOME_VALUE = "a1b2" * 5
"""What a variable of a secret name might hold."""
_AWK = re.compile(r"system\s*\(|getline|\|\s*&?\s*[\"'$a-z]|/inet|>\s*[\"$a-z]|@load|@include|ENVIRON", re.IGNORECASE)
_SED = re.compile(r"(?:^|[;\n{}])\s*[0-9$,/~+]*\s*[erwRW]\b\s*\S|/[gpimI0-9]*[ew]\w*\s*(?:$|[;\n}]|\s\S)")


def harmless(name: str, args: Sequence[str], command: Command, script: "Script") -> None:
    """Judges the arguments of a program that looks, computes, or writes where it is told."""
    if name in ("cd", "pushd"):
        script.elsewhere = bool(args) and paths.plain(args[0]).startswith(("/tmp", "/var/tmp", "/dev/shm"))
        script.away = (bool(args) and paths.is_outside(args[0])) or (script.away and not (args and args[0] == "-"))
    elif (
        name in ("export", "declare", "set", "typeset", "readonly")
        and not command.assigned
        and (not args or list(args) == ["-p"])
    ):
        script.add(by(kinds.READS_SECRETS, name))
    elif name == "history" and any(arg.startswith(("-c", "-d")) for arg in args):
        script.add(by(kinds.DESTROYS, name))
    elif name in ("pg_dump", "mysqldump", "pg_dumpall") and any(arg.startswith(("-h", "--host")) for arg in args):
        script.add(by(kinds.LEAVES, name))
    elif (
        (name == "let" and any("$(" in arg or "`" in arg for arg in args))
        or (name == "java" and any(REMOTE.match(arg) or arg.startswith(("/tmp", "-javaagent")) for arg in args))
        or any(arg.startswith(_RUNNING_OPTIONS) for arg in args)
    ):
        script.add(kinds.HIDDEN)
    elif name in programs.WRITERS:
        _file_writer(name, args, script)
    elif (name == "hostname" and args and not args[0].startswith("-")) or (name == "date" and "-s" in args):
        script.add(by(kinds.ACCESS, name))
    elif name in ("sort", "yq") or name in programs.HARMLESS:
        for number, arg in enumerate(args):
            if arg in ("-o", "-O", "--output") and number + 1 < len(args):
                script.writes(args[number + 1])
            elif arg.startswith(("--output=", "--out=", "--compress-program", "--pre=", "--pre", "--hook")):
                script.writes(arg.partition("=")[2])
                if not arg.startswith("--out"):
                    script.add(kinds.HIDDEN)


def _runs_more(name: str, args: Sequence[str]) -> bool:
    """Whether the arguments of a harmless program make it run others."""
    if name == "let":
        return any("$(" in arg or "`" in arg for arg in args)
    if name == "java" and any(REMOTE.match(arg) or arg.startswith(("/tmp", "-javaagent")) for arg in args):
        return True
    return any(arg.startswith(_RUNNING_OPTIONS) for arg in args)


def _file_writer(name: str, args: Sequence[str], script: "Script") -> None:
    named = [arg for arg in args if not arg.startswith("-")]
    options = [arg for arg in args if arg.startswith("-")]
    if name in ("tar", "unzip", "7z", "gzip", "patch"):
        for number, arg in enumerate(args):
            if arg in ("-C", "-d", "--directory", "-I", "-F") and number + 1 < len(args):
                script.add(kinds.HIDDEN) if arg in ("-I", "-F") and name == "tar" else script.writes(args[number + 1])
            elif arg.startswith(("--directory=", "-C")):
                script.writes(arg.partition("=")[2] or arg[2:])
        return
    if name == "rsync":
        if any(REMOTE.match(arg) for arg in named) or "-e" in options:
            script.add(by(kinds.LEAVES, name))
        if any(arg.startswith("--del") or arg == "--remove-source-files" for arg in options):
            script.add(by(kinds.DESTROYS, name))
    if name == "ln" and any(paths.is_outside(arg) for arg in named):
        script.add(kinds.OUTSIDE_WORKSPACE)
    targets = named[-1:] if name in ("cp", "install", "rsync", "ln") else named
    for number, arg in enumerate(args):
        if arg == "-t" and number + 1 < len(args):
            targets = [*targets, args[number + 1]]
        elif arg.startswith("--target-directory="):
            targets = [*targets, arg.partition("=")[2]]
    for target in targets:
        script.writes(target)
    if name == "mv" and len(named) > 1 and named[-1] == "/dev/null":
        script.add(by(kinds.DESTROYS, name))


def _find(args: Sequence[str], command: Command, script: "Script", depth: int) -> None:
    for number, arg in enumerate(args):
        if arg == "-delete":
            script.add(by(kinds.DESTROYS, "find"))
        elif arg.startswith(("-fprint", "-fls")) and number + 1 < len(args):
            script.writes(args[number + 1])
        elif arg in ("-exec", "-execdir", "-ok", "-okdir", "-x", "--exec", "-X", "--exec-batch"):
            inner = list(args[number + 1 :])
            end = next((at for at, word in enumerate(inner) if word in (";", "+")), len(inner))
            script.run(command, [word for word in inner[:end] if word != "{}"] or [UNKNOWN], depth + 1)
            script.touches(args)


def _eval(args: Sequence[str], command: Command, script: "Script", depth: int) -> None:
    script.script(" ".join(args), depth + 1)


def _trap(args: Sequence[str], command: Command, script: "Script", depth: int) -> None:
    if args and args[0] not in ("-", "-l", "-p"):
        script.script(args[0], depth + 1)


def _alias(args: Sequence[str], command: Command, script: "Script", depth: int) -> None:
    for arg in args:
        script.script(arg.partition("=")[2], depth + 1)


def _source(args: Sequence[str], command: Command, script: "Script", depth: int) -> None:
    if args:
        script.own_script(args[0], depth)


def _git(args: Sequence[str], command: Command, script: "Script", depth: int) -> None:
    found, programs_run = git.judge(args)
    script.add(*found)
    for each in programs_run:
        script.script(each, depth + 1)


def _awk(args: Sequence[str], command: Command, script: "Script", depth: int) -> None:
    if any(_AWK.search(arg) for arg in args) or any(UNKNOWN in arg for arg in args[:1]):
        script.add(kinds.HIDDEN)


def _sed(args: Sequence[str], command: Command, script: "Script", depth: int) -> None:
    scripts = [arg for arg in args if not arg.startswith("-")]
    if any(_SED.search(arg) for arg in scripts[:1]) or any(
        _SED.search(b) for a, b in itertools.pairwise(args) if a == "-e"
    ):
        script.add(kinds.HIDDEN)
    if any(arg.startswith(("-i", "--in-place")) or re.match(r"-[nErsuz]*i", arg) for arg in args):
        for target in scripts[1:] or scripts:
            if "/" in target and not target.startswith("s/"):
                script.writes(target)


def _chmod(args: Sequence[str], command: Command, script: "Script", depth: int) -> None:
    named = [arg for arg in args if not arg.startswith("-") or re.fullmatch(r"-[rwxst]+", arg)]
    mode = named[0] if named else ""
    digits = mode.isdigit()
    if digits:
        opens = bool(int(mode[-1]) & 2) or (len(mode) > 3 and mode[-4] in "2467")
    else:
        opens = _OPENS.search(mode) is not None
    if opens or UNKNOWN in mode or not mode:
        script.add(by(kinds.ACCESS, "chmod"))
    for target in named[1:]:
        if paths.is_outside(target) or target in ("/", "~", "*"):
            script.add(by(kinds.ACCESS, "chmod"))


def _database(args: Sequence[str], command: Command, script: "Script", depth: int) -> None:
    statements = [b for a, b in itertools.pairwise(args) if a in ("-c", "-e", "--command", "--execute", "-cmd")]
    statements += [arg.partition("=")[2] for arg in args if arg.startswith(("--command=", "--execute="))]
    named = [arg for arg in args if not arg.startswith("-") and arg not in statements]
    statements += [arg for number, arg in enumerate(named) if " " in arg or (number and arg.startswith("."))]
    if any(
        arg.startswith(("-h", "--host", "-U")) or REMOTE.match(arg)
        for arg in args
        if arg not in ("-header", "--help", "-html")
    ):
        script.add(kinds.LEAVES)
    if not statements and (text := script.fed(command)) is not None:
        statements = [text]
    elif not statements:
        script.add(kinds.HIDDEN)
    for statement in statements:
        if UNKNOWN in statement or re.match(
            r"\s*(?:\.|\\)(?!tables|schema|dt|d\b|l\b|headers|mode|indexes|du\b|databases|width)", statement
        ):
            script.add(kinds.HIDDEN)
        elif not re.match(r"\s*[.\\]\w+", statement):
            script.add(*sql.judge(statement))


def _crontab(args: Sequence[str], command: Command, script: "Script", depth: int) -> None:
    if list(args) != ["-l"]:
        script.add(by(kinds.ACCESS, "crontab"))


def _printenv(args: Sequence[str], command: Command, script: "Script", depth: int) -> None:
    if not args or any(names_secret(arg, SOME_VALUE) or UNKNOWN in arg for arg in args):
        script.add(by(kinds.READS_SECRETS, "printenv"))


def _editor(args: Sequence[str], command: Command, script: "Script", depth: int) -> None:
    if any(arg.startswith(("-c", "+", "-s", "-S", "--cmd", "--eval", "--batch", "-e", "-l", "-f")) for arg in args):
        script.add(kinds.HIDDEN)
    for arg in args:
        if not arg.startswith("-"):
            script.writes(arg)


def subcommands(name: str, args: Sequence[str], command: Command, script: "Script", depth: int) -> None:
    """Judges a program of many commands by the one that it is given."""
    harmless, otherwise = programs.SUBCOMMANDS[name]
    rest = [arg for arg in args if not arg.startswith("-")] or list(args)
    if not rest:
        if name in ("docker", "ip") or not harmless:
            script.add(*(() if harmless else (by(otherwise, name),)))
        return
    first = rest[0].lower()
    if first == "compose" and name in ("docker", "podman", "nerdctl"):
        subcommands("docker-compose", rest[1:], command, script, depth)
        return
    if first in ASKS or (len(args) == 1 and args[0] in ASKS):
        return
    if first in programs.INNER.get(name, ()):
        at = args.index(rest[0]) + 1
        after = ["pip", *args[at:]] if first == "pip" else list(args[at:])
        while after and after[0].startswith("-"):
            after = after[2:] if after[0] in ("--with", "--python", "-p", "-n", "--extra", "--group") else after[1:]
        script.run(command, after, depth + 1)
        return
    if first not in harmless or (
        name in ("ip", "route") and any(a in ("add", "del", "set", "flush", "change") for a in rest)
    ):
        script.add(by(otherwise, name))
        return
    if name in programs.RUNS_TARGETS and first in ("run", "run-script", "run-task", "dev"):
        targets(rest[1:], script)
    if first in programs.FETCHES.get(name, ()):
        script.add(by(kinds.INSTALLS, name))
        if any(
            REMOTE.match(arg.partition("=")[2] or arg)
            or arg.startswith(("-i", "--index", "--extra-index", "--registry", "git+"))
            for arg in args
        ):
            script.add(by(kinds.LEAVES, name))
    if name == "journalctl" and any(arg.startswith("--vacuum") or arg == "--rotate" for arg in args):
        script.add(by(otherwise, name))


def targets(args: Sequence[str], script: "Script") -> None:
    """Names of a project's own recipes: `make test` is work, `make deploy` is what it says."""
    for number, arg in enumerate(args):
        if (
            arg in ("-C", "-f", "--file", "--directory")
            and number + 1 < len(args)
            and paths.is_outside(args[number + 1])
        ):
            script.add(kinds.OUTSIDE_WORKSPACE)
        if arg.startswith(("--eval", "SHELL=")):
            script.add(kinds.HIDDEN)
        if not arg.startswith("-") and (
            not _TARGET_WORDS.fullmatch(arg.partition("=")[0]) or asks_for_act(arg.partition("=")[0])
        ):
            script.add(kinds.ACTS if asks_for_act(arg) else kinds.HIDDEN)


_Special = Callable[[Sequence[str], Command, "Script", int], None]
SPECIAL: Mapping[str, _Special] = {
    "find": _find, "fd": _find, "fdfind": _find, "eval": _eval, "trap": _trap, "alias": _alias,
    "source": _source, ".": _source,
    "git": _git, "awk": _awk, "gawk": _awk, "mawk": _awk, "nawk": _awk, "sed": _sed, "gsed": _sed, "chmod": _chmod,
    "psql": _database, "mysql": _database, "mariadb": _database, "sqlite3": _database, "duckdb": _database,
    "sqlite": _database,
    "crontab": _crontab, "printenv": _printenv,
    **dict.fromkeys(("vi", "vim", "nvim", "emacs", "nano", "pico", "micro", "helix", "code", "subl"), _editor),
}  # fmt: skip
"""Programs that are judged by a function of their own."""
