"""Judges programs whose arguments need rules of their own: `find`, `sed`, `chmod`, `sqlite3`, and file writers.

The traversal of a script is in `commands`.
"""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from interlock.policy import kinds
from interlock.policy.command_lines import awk, build_targets, git, options, programs, sed, services
from interlock.policy.command_lines.launchers import STARTERS
from interlock.policy.command_lines.report import output_of
from interlock.policy.command_lines.shell import UNKNOWN, Command
from interlock.policy.kinds import by
from interlock.policy.queries import sql
from interlock.policy.secrets import names_secret
from interlock.policy.values import paths

if TYPE_CHECKING:
    from interlock.policy.command_lines.commands import Script

REMOTE = re.compile(r"^(?:[\w.-]+@)?[\w.-]{2,}:(?!//)|^[a-z][a-z0-9+.-]*://")
ASKS = frozenset("--info --version -version --help -help help version -V".split())
_HERE = re.compile(r"localhost|127\.[\d.]+|::1|/(?:var/)?run/[\w./-]+|/tmp")
_ELSEWHERE = re.compile(r"(?:-h|--host=)(?!localhost$|127\.[\d.]+$).")
_OPENS = re.compile(r"(?:^|,)[ugoa]*[+=][rxX]*[st]|(?:^|,)(?:[ug]*[oa][ugoa]*|)[+=][rxXst]*w")
_DOTTED = re.compile(r"\s*(?:\.|\\)(?!tables|schema|dt|d\b|l\b|headers|mode|indexes|du\b|databases|width)")
_RUNNING_OPTIONS = (
    "--to-command", "--checkpoint-action", "--use-compress", "--compress-prog", "--rsh", "-TT",
    "--unzip-command", "--pre",
)  # fmt: skip
_ODD = frozenset("xml xmlstarlet m4 dc rename prename perl-rename file-rename split yq envsubst".split())
_PS_SHOWS_VARIABLES = re.compile(r"[axuwjlrg]*e[axuwjlrg]*")
_STARTS_BARE = frozenset("tmux screen nginx apachectl apache2ctl httpd apache2".split())
"""Programs that start something when called without an option that only asks for information."""
_SEARCHES = frozenset("rg ag ack ugrep".split())
_GREPS = frozenset("grep egrep fgrep zgrep ggrep".split()) | _SEARCHES
_RECURSES = re.compile(r"-[A-Za-z]*[rR]|--(?:dereference-)?recursive$|--directories=recurse")
_HOMES = frozenset(("/", "/*", "~", "/home", "/root", "/users", "/proc"))
_SYSTEMS = frozenset(("/etc", "/var", "/sys", "/boot", "/run"))
SOME_VALUE = "a1b2" * 5
"""A stand-in for the value of a variable whose name is that of a secret."""
_RENAMES = re.compile(
    r"\b(?:unlink|system|exec|eval|open|require|use|qx|do)\b|`|;\s*\S|\(\?\??\{|@\{|^[^sy]*\(|[^\w\s][a-z]*e[a-z]*\s*$"
)


def harmless(name: str, args: Sequence[str], command: Command, script: "Script") -> None:
    """Judges the arguments of a program that inspects, computes, or writes the files it is given."""
    if name in ("cd", "pushd"):
        script.elsewhere = bool(args) and paths.plain(args[0]).startswith(("/tmp", "/var/tmp", "/dev/shm"))
        script.away = (bool(args) and paths.is_outside(args[0])) or (script.away and not (args and args[0] == "-"))
    elif _shows_variables(name, args, command):
        script.add(by(kinds.READS_SECRETS, name))
    elif name in _GREPS:
        searches(name, args, script)
    elif name in _ODD:
        _odd(name, args, command, script)
    elif name == "history" and any(arg.startswith(("-c", "-d")) for arg in args):
        script.add(by(kinds.DESTROYS, name))
    elif name in ("pg_dump", "mysqldump", "pg_dumpall") and any(arg.startswith(("-h", "--host")) for arg in args):
        script.add(by(kinds.LEAVES, name))
    elif (name == "java" and any(arg.startswith("/tmp") for arg in args)) or any(
        arg.startswith(_RUNNING_OPTIONS) for arg in args
    ):
        script.add(kinds.HIDDEN)
    elif name in programs.WRITERS:
        _file_writer(name, args, script)
        if name == "tee":
            text = command.text_in if command.fed_by is None else output_of(command.fed_by)
            script.written.update({paths.plain(arg): text for arg in args if not arg.startswith("-")})
    elif name == "hostname" and args and not args[0].startswith("-"):
        script.add(by(kinds.ACCESS, name))
    elif name in ("sort", "yq") or name in programs.HARMLESS:
        for number, arg in enumerate(args):
            if arg in ("-o", "-O", "--output") and number + 1 < len(args):
                script.fills(args[number + 1])
            elif arg.startswith(("--output=", "--out=", "--compress-program", "--pre=", "--pre", "--hook")):
                script.writes(arg.partition("=")[2])
                if not arg.startswith("--out"):
                    script.add(kinds.HIDDEN)


def _shows_variables(name: str, args: Sequence[str], command: Command) -> bool:
    """Whether a program would print the environment: `export -p`, `ps auxe`."""
    if name == "ps":
        return bool(args) and _PS_SHOWS_VARIABLES.fullmatch(args[0]) is not None
    shown = ("-p", "-x", "-px", "-xp") if name != "set" else ("-p",)
    names = name in ("export", "declare", "set", "typeset", "readonly")
    return names and not command.assigned and all(arg in shown for arg in args)


def _odd(name: str, args: Sequence[str], command: Command, script: "Script") -> None:
    """Judges dangerous arguments of individual programs."""
    if name in ("m4", "dc"):
        if command.fed_by is not None or command.text_in is not None:
            text = script.standard_input(command)
            script.add(*options.judge(name, (text,) if text is not None else ()))
    elif name in ("rename", "prename", "perl-rename", "file-rename"):
        expression = next((arg for arg in args if not arg.startswith("-")), "")
        if _RENAMES.search(expression):
            script.add(kinds.HIDDEN)
        _file_writer(name, args, script)
    elif name == "split":
        _file_writer(name, args, script)
        for before, arg in itertools.pairwise(("", *args)):
            if arg.startswith("--fil") and "=" in arg:
                script.script(arg.partition("=")[2], 2)
            elif before.startswith("--fil") and "=" not in before:
                script.script(arg, 2)
    elif name == "yq":
        for arg in args[1:] if any(re.match(r"-\w*i|--inplace", arg) for arg in args) else ():
            script.writes(arg)
    elif name in ("xml", "xmlstarlet") and {"-L", "--inplace"} & set(args):
        script.writes(args[-1])
    elif name == "envsubst" and any(names_secret(word, SOME_VALUE) for arg in args for word in re.findall(r"\w+", arg)):
        script.add(kinds.READS_SECRETS)


def searches(name: str, args: Sequence[str], script: "Script") -> None:
    """Judges a text search: its pager, and recursion over system or home directories."""
    script.add(*[kinds.HIDDEN for arg in args if arg.startswith("--pager")])
    if not (name in _SEARCHES or any(_RECURSES.match(arg) for arg in args)):
        return
    for arg in args[1:]:
        place = paths.plain(arg)
        if place in _HOMES or re.fullmatch(r"(?:/home|/users)/[^/]+", place):
            script.add(kinds.READS_SECRETS)
        elif place in _SYSTEMS:
            script.add(kinds.OUTSIDE_WORKSPACE)


def _file_writer(name: str, args: Sequence[str], script: "Script") -> None:
    named = [arg for arg in args if not arg.startswith("-")]
    options = [arg for arg in args if arg.startswith("-")]
    if name == "tar":
        bundle = args[0] if args else ""
        takes_out = "x" in bundle.partition("=")[0] or "--extract" in args
        if takes_out and (re.fullmatch(r"-?[A-Za-z]*P[A-Za-z]*", bundle) or {"-P", "--absolute-names"} & set(args)):
            script.add(kinds.OUTSIDE_WORKSPACE)
        for arg in args:
            if arg.startswith("--one-top-level="):
                script.writes(arg.partition("=")[2])
    if name == "cpio" and named and any(re.match(r"-\w*p|--pass", arg) for arg in options):
        script.writes(named[-1])
    if name in ("tar", "unzip", "7z", "gzip", "patch", "cpio"):
        for number, arg in enumerate(args):
            if arg in ("-C", "-d", "-D", "--directory") and number + 1 < len(args):
                script.writes(args[number + 1])
            elif arg.startswith(("--directory=", "-C")) or (name == "7z" and arg.startswith("-o")):
                script.writes(arg.partition("=")[2] or arg[2:])
        return
    if name == "ln" and any(paths.is_outside(arg) for arg in named):
        script.add(kinds.OUTSIDE_WORKSPACE)
    targets = named[-1:] if name in ("cp", "install", "ln") else named
    for number, arg in enumerate(args):
        if arg == "-t" and number + 1 < len(args):
            targets = [*targets, args[number + 1]]
        elif arg.startswith("-t") and name in ("cp", "mv", "install", "ln"):
            targets = [*targets, arg[2:]]
        elif arg.startswith("--target-directory="):
            targets = [*targets, arg.partition("=")[2]]
    brought = name in ("cp", "mv", "install") and any(UNKNOWN in arg or paths.is_outside(arg) for arg in named[:-1])
    for target in targets:
        script.writes(target)
        if brought:
            script.written[paths.plain(target)] = None
    if name == "mv" and len(named) > 1 and named[-1] == "/dev/null":
        script.add(by(kinds.DESTROYS, name))


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
    for arg in args:
        runs, targets = awk.effects(arg)
        for target in targets:
            script.fills(target)
        if runs or any(UNKNOWN in target for target in targets):
            script.add(kinds.HIDDEN)
    if any(UNKNOWN in arg for arg in args[:1]):
        script.add(kinds.HIDDEN)
    for before, after in itertools.pairwise(args):
        if before in ("-f", "--file"):
            script.own_script(after, depth)


def _sed(args: Sequence[str], command: Command, script: "Script", depth: int) -> None:
    scripts, named, in_place, rest = [], [], False, list(args)
    while rest:
        arg = rest.pop(0)
        if arg.startswith("--"):
            name, _, value = arg.partition("=")
            if name in ("--expression", "--file", "--line-length") and "=" not in arg and rest:
                value = rest.pop(0)
            if "--expression".startswith(name) and len(name) > 3:
                scripts.append(value)
            elif "--file".startswith(name) and name.startswith("--fi"):
                script.own_script(value, depth)
                scripts.append("")
            in_place |= name.startswith("--i")
        elif arg.startswith("-") and len(arg) > 1:
            letters = re.match(r"-([nErszubl]*)([efil]?)(.*)", arg, re.DOTALL)
            kind, value = (letters[2], letters[3]) if letters is not None else ("", "")
            in_place |= kind == "i"
            if kind in ("e", "f") and not value:
                value = rest.pop(0) if rest else UNKNOWN
            if kind == "e":
                scripts.append(value)
            elif kind == "f":
                script.own_script(value, depth)
                scripts.append("")
        else:
            named.append(arg)
    if in_place and not scripts and len(named) > 1 and re.fullmatch(r"\.\w{1,6}", named[0]):
        named.pop(0)
    if not scripts and named:
        scripts.append(named.pop(0))
    for each in scripts:
        done = sed.effects(each.replace(UNKNOWN, "x"))
        if done.runs:
            script.add(kinds.HIDDEN)
        for target in done.writes:
            script.fills(target)
        script.touches(("sed", *done.reads))
    if in_place:
        for target in named:
            script.writes(target)


def _chmod(args: Sequence[str], command: Command, script: "Script", depth: int) -> None:
    named = [arg for arg in args if not arg.startswith("-") or re.fullmatch(r"-[rwxXst][rwxXst+,=ugoa-]*", arg)]
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
        (before in ("-h", "--host") and not _HERE.fullmatch(arg)) or REMOTE.match(arg) or _ELSEWHERE.match(arg)
        for before, arg in itertools.pairwise(("", *args))
        if arg not in ("-header", "--help", "-html")
    ):
        script.add(kinds.LEAVES)
    if not statements and {"-l", "--list"} & set(args):
        return
    if not statements and (text := script.standard_input(command)) is not None:
        statements = [text]
    elif not statements:
        script.add(kinds.HIDDEN)
    for statement in statements:
        if UNKNOWN in statement or _DOTTED.match(statement):
            script.add(kinds.HIDDEN)
        elif not re.match(r"\s*[.\\]\w+", statement):
            script.add(*sql.judge(statement))


def _crontab(args: Sequence[str], command: Command, script: "Script", depth: int) -> None:
    if list(args) != ["-l"]:
        script.add(by(kinds.ACCESS, "crontab"))


def _printenv(args: Sequence[str], command: Command, script: "Script", depth: int) -> None:
    if not args or any(names_secret(arg, SOME_VALUE) or UNKNOWN in arg for arg in args):
        script.add(by(kinds.READS_SECRETS, "printenv"))


def subcommands(name: str, args: Sequence[str], command: Command, script: "Script", depth: int) -> None:
    """Judges a program with subcommands by the one it is given."""
    harmless, otherwise = programs.SUBCOMMANDS[name]
    after, sure = services.command_of(name, args)
    rest = [arg for arg in after if not arg.startswith("-")] or list(args)
    if not sure and len(rest) > 1 and rest[1].lower() not in harmless and rest[0].lower() in harmless:
        script.add(by(otherwise, name))
    if not rest:
        if name in _STARTS_BARE:
            script.add(by(otherwise, name))
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
        _inner_command(name, rest[0], args, command, script, depth)
        return
    if services.knows(name) and services.reads(name, args):
        script.add(by(kinds.READS_ELSEWHERE, name))
        return
    if first not in harmless or (
        name == "ip"
        and rest[1:2] not in ([], ["show"], ["list"], ["ls"], ["get"], ["help"], ["s"], ["sh"], ["l"], ["g"])
    ):
        script.add(by(kinds.DESTROYS if first == "uninstall" else otherwise, name))
        return
    if name in ("go", "cargo") and first == "run":
        build_targets.judge_built(rest[1:], script)
    if name == "openssl":
        build_targets.record_decoded_files(args, script)
    if name in programs.RUNS_TARGETS and (name == "mvn" or first in ("run", "run-script", "run-task", "dev")):
        build_targets.judge_targets(name, rest[1:], script, depth)
    if first in programs.FETCHES.get(name, ()):
        _fetches(name, args, script)
    if name == "journalctl" and any(arg.startswith("--vacuum") or arg == "--rotate" for arg in args):
        script.add(by(otherwise, name))


def _inner_command(
    name: str, subcommand: str, args: Sequence[str], command: Command, script: "Script", depth: int
) -> None:
    """Judges the command that a subcommand such as `uv run` starts."""
    after = args.index(subcommand) + 1
    words = ["pip", *args[after:]] if subcommand.lower() == "pip" else list(args[after:])
    if any(word in ("--with", "--spec", "--from") for word in words):
        script.add(by(kinds.INSTALLS, name))
    while words and words[0].startswith("-"):
        has_value = words[0] in ("--with", "--python", "-p", "-n", "--extra", "--group", "--spec", "--from")
        words = words[2:] if has_value else words[1:]
    script.run(command, words, depth + 1)


def _fetches(name: str, args: Sequence[str], script: "Script") -> None:
    """Judges a subcommand that installs packages."""
    script.add(by(kinds.INSTALLS, name))
    if any(arg in ("-g", "--global", "--location=global") for arg in args):
        script.add(by(kinds.OUTSIDE_WORKSPACE, name))
    if any(
        REMOTE.match(arg.partition("=")[2] or arg)
        or (arg == "-f" or arg.startswith("--find-l"))
        or arg.startswith(("-i", "--index", "--extra-index", "--registry", "git+"))
        for arg in args
    ):
        script.add(by(kinds.LEAVES, name))


_Special = Callable[[Sequence[str], Command, "Script", int], None]
SPECIAL: Mapping[str, _Special] = {
    "eval": _eval, "trap": _trap, "alias": _alias,
    "source": _source, ".": _source,
    "git": _git, "awk": _awk, "gawk": _awk, "mawk": _awk, "nawk": _awk, "sed": _sed, "gsed": _sed, "chmod": _chmod,
    "psql": _database, "mysql": _database, "mariadb": _database, "sqlite3": _database, "duckdb": _database,
    "sqlite": _database,
    "crontab": _crontab, "printenv": _printenv,
    **STARTERS,
}  # fmt: skip
"""Programs with a judging function of their own."""
