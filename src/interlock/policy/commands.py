"""What a shell script does: what it sends, destroys, opens up or hides, command by command.

How text becomes commands is `shell`'s, which program does what is `programs`'.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from interlock.policy import git, kinds, paths, programs, python_code, shell
from interlock.policy.calls import Raised
from interlock.policy.folding import fold
from interlock.policy.kinds import by
from interlock.policy.secrets import names_secret
from interlock.policy.shell import UNKNOWN, Command, Unreadable
from interlock.policy.verbs import asks_for_act

DEEPEST = 5
_STANDARD = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/opt/homebrew/bin/", "/usr/games/")
_DANGEROUS_VARIABLES = frozenset(
    "LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES BASH_ENV ENV IFS PYTHONSTARTUP PYTHONINSPECT PERL5OPT "
    "RUBYOPT NODE_OPTIONS JAVA_TOOL_OPTIONS SHELLOPTS BASHOPTS PS4 LESSOPEN LESSCLOSE GIT_EXEC_PATH GIT_CONFIG_GLOBAL "
    "GCONV_PATH".split()
)
_PROGRAM_VARIABLES = re.compile(r"(?:GIT_\w*(?:COMMAND|EDITOR|DIFF|SSH|ASKPASS)|\w*PAGER|EDITOR|VISUAL|PROMPT_COMMAND|BROWSER)")
_ASKS = frozenset("--version -version --help -help help version -V".split())
_RISKY_CODE = re.compile(
    r"system|exec|`|open|unlink|socket|require|import|eval|spawn|fork|popen|process|child|fetch|http|file|\bio\b|rmdir|"
    r"mkdir|rename|kill|chmod|chown|send|net|%x|const_|instance_|function|constructor|globalthis|qx|<>|\buse\b|load|dir\b|"
    r"\$env|getenv|\bENV\b|passthru|proc_|curl|write|syscall|::",
    re.IGNORECASE,
)
_AWK = re.compile(r"system\s*\(|getline|\|\s*&?\s*[\"'$a-z]|/inet|>\s*[\"$a-z]|@load|@include|ENVIRON", re.IGNORECASE)
_SED = re.compile(r"(?:^|[;\n{}])\s*[0-9$,/~+]*\s*[erwRW]\b\s*\S|/[gpimI0-9]*[ew]\w*\s*(?:$|[;\n}]|\s\S)")
_MODULES = frozenset(
    "pytest unittest doctest venv virtualenv json.tool timeit compileall py_compile cprofile profile trace dis tokenize ast "
    "ensurepip calendar this black mypy ruff flake8 isort pylint build sphinx coverage site platform sysconfig "
    "zipfile tarfile gzip base64 inspect pydoc tabnanny pip".split()
)
_BAD_MODULES = frozenset(
    "http http.server smtpd smtplib ftplib telnetlib socketserver webbrowser twine socket ssl urllib asyncio xmlrpc aiosmtpd "
    "pyftpdlib imaplib poplib nntplib awscli antigravity".split()
)
_WORLD = re.compile(r"0?[0-7]?[0-7]{0,2}[2367]|0?[4-7][0-7]{3}|(?:[ugoa,]*[oa]?[+=][rwxX]*)")
_TARGET_WORDS = re.compile(r"[\w][\w:./-]{0,80}")
_REMOTE = re.compile(r"^(?:[\w.-]+@)?[\w.-]{2,}:(?!//)|^[a-z][a-z0-9+.-]*://")
_SOME_VALUE = "a1b2" * 5
_SUSPECT_GLOB = re.compile(r"[*?\[{]")


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

    def add(self, *found: Raised) -> None:
        for each in found:
            self.found.setdefault(each.rule, each)


@lru_cache(maxsize=512)
def judge(text: str) -> tuple[Raised, ...]:
    """What raises a shell script; empty for harmless work in the workspace. Total."""
    report = Report()
    plain = fold(text) if not text.isascii() else text
    for reading in dict.fromkeys((text, plain)):
        _script(reading, report, 0)
    return tuple(report.found.values())


def judge_other(code: str) -> tuple[Raised, ...]:
    """What raises a piece of code in a language that is not parsed here: whatever is more than plain computing."""
    return _code(False, code)


def judge_words(words: Sequence[str]) -> tuple[Raised, ...]:
    """The same for a program and its arguments that no shell will read."""
    report = Report()
    plain = tuple(fold(word) for word in words)
    _run(Command(plain), plain, report, 0)
    return tuple(report.found.values())


def _script(text: str, report: Report, depth: int) -> None:
    if depth > DEEPEST or UNKNOWN in text:
        report.add(kinds.HIDDEN)
        if depth > DEEPEST:
            return
    try:
        found = shell.commands(text)
        report.functions |= {command.in_function for command in found if command.in_function is not None}
        for command in found:
            _command(command, report, depth)
    except Unreadable:
        report.add(kinds.UNREADABLE)


def _command(command: Command, report: Report, depth: int) -> None:
    for name, value in command.assigned:
        _variable(name, value, report, depth)
    for operator, target in command.redirects:
        _redirect(command, operator, target, report)
    if command.inner or command.words[:1] not in (("echo",), ("printf",)):
        _paths(command.words, report)
    if any(names_secret(name, _SOME_VALUE) for name in command.reads):
        report.add(kinds.READS_SECRETS)
    if "IFS" in command.reads:
        report.add(kinds.HIDDEN)
    if command.words:
        if command.in_function is not None and fold(command.words[0]) == command.in_function:
            report.add(by(kinds.DESTROYS, "a function that calls itself"))
            return
        _run(command, command.words, report, depth)


def _variable(name: str, value: str, report: Report, depth: int) -> None:
    if name in _DANGEROUS_VARIABLES:
        report.add(kinds.HIDDEN)
    elif _PROGRAM_VARIABLES.fullmatch(name):
        _script(value, report, depth + 1)
    if paths.touches_secret(value):
        report.add(kinds.READS_SECRETS)


def _redirect(command: Command, operator: str, target: str, report: Report) -> None:
    where = target.lower()
    if where.startswith(("/dev/tcp", "/dev/udp")):
        report.add(kinds.LEAVES)
    if target.isdigit() or where == "-":
        return
    if paths.touches_secret(target):
        report.add(kinds.READS_SECRETS)
    if operator.startswith("<"):
        return
    _writes(target, report)
    report.written[paths.plain(target)] = command.text_in if command.words[:1] == ("cat",) else _said(command)


def _said(command: Command) -> str | None:
    """What a command prints, where its words say it."""
    words = command.words
    if words[:1] not in (("echo",), ("printf",)) or any(UNKNOWN in word for word in words):
        return None
    return " ".join(word for word in words[1:] if word not in ("-n", "-e", "-ne"))


def _writes(target: str, report: Report) -> None:
    if paths.is_outside(target) or (report.away and not target.startswith("/dev/")):
        report.add(kinds.OUTSIDE_WORKSPACE)
    report.add(*paths.written(target))


def _paths(words: Sequence[str], report: Report) -> None:
    for word in words[1:]:
        if len(word) > 512 or "\n" in word or word.count(" ") > 3:
            continue
        for part in dict.fromkeys((word, word.partition("=")[2], word.partition(":")[2], word[2:] if word[:1] == "-" else "")):
            if part and paths.touches_secret(part.lstrip("@")):
                report.add(kinds.READS_SECRETS)
                return
            if part and paths.reads_system(part):
                report.add(kinds.OUTSIDE_WORKSPACE)


def _name_of(word: str) -> tuple[str, bool]:
    """The bare name of a program, and whether it is one of the system's own, called by its name."""
    text = fold(word).strip()
    low = text.lower().replace("\\", "/")
    name = low.rsplit("/", 1)[-1].removesuffix(".exe").removesuffix(".cmd")
    name = re.sub(r"(?<=[a-z])-?\d+(?:\.\d+)*$", "", name) if re.match(r"(?:python|pypy|pip|perl|ruby|php|lua|gcc|clang|node|g\+\+)\W?\d", name) else name
    return name, "/" not in low or low.startswith(_STANDARD)


def _run(command: Command, words: Sequence[str], report: Report, depth: int) -> None:
    """Judges a program and its arguments; wrappers are taken off until the program itself is left."""
    for _ in range(12):
        if not words:
            return
        if UNKNOWN in words[0] or (_SUSPECT_GLOB.search(words[0]) and words[0] not in ("[", "[[")):
            report.add(kinds.HIDDEN)
            return
        name, standard = _name_of(words[0])
        if name in programs.WRAPPERS and (standard or name in ("busybox", "npx")):
            if name in programs.AS_ANOTHER:
                report.add(by(kinds.ACCESS, name))
            words = _inside(name, words[1:], report, depth)
            continue
        break
    else:
        report.add(kinds.HIDDEN)
        return
    _program(name, standard, words, command, report, depth)


def _inside(name: str, words: Sequence[str], report: Report, depth: int) -> Sequence[str]:
    """What a wrapper starts."""
    takes, rest = programs.WRAPPERS[name], list(words)
    skip = name in programs.SKIPS
    while rest:
        word = rest[0]
        if name == "env" and word.startswith(("-S", "--split-string")):
            report.add(kinds.HIDDEN)
            return ()
        if name == "command" and word in ("-v", "-V"):
            return ()
        if name in ("sudo", "doas") and word in ("-i", "-s", "-e", "-v", "-l", "--login", "--shell"):
            rest.pop(0)
            continue
        if word.startswith("-") and len(word) > 1:
            rest.pop(0)
            if word == "--":
                break
            if not word.startswith("--") and word[-1] in takes and len(word) == 2 and rest:
                rest.pop(0)
            elif word in ("--max-args", "--max-procs", "--delimiter", "--replace", "--adjustment", "--package", "--signal"):
                del rest[:1]
            if name == "npx" and word in ("-c", "--call"):
                report.add(kinds.HIDDEN)
        elif "=" in word and name in ("env", "sudo", "doas") and not word.startswith("/"):
            variable, _, value = word.partition("=")
            _variable(variable, value, report, depth)
            rest.pop(0)
        elif skip:
            skip = False
            rest.pop(0)
        else:
            break
    if not rest:
        if name == "env":
            report.add(by(kinds.READS_SECRETS, "env"))
        return ()
    if name in ("parallel", "watch", "flock") and len(rest) == 1 and " " in rest[0]:
        _script(rest[0], report, depth + 1)
        return ()
    return rest


def _program(name: str, standard: bool, words: Sequence[str], command: Command, report: Report, depth: int) -> None:
    args = words[1:]
    if (special := _SPECIAL.get(name)) is not None:
        special(args, command, report, depth)
        return
    if (sure := programs.SURE.get(name)) is not None:
        if len(args) == 1 and args[0] in _ASKS:
            return
        report.add(by(sure, name))
    elif name in programs.SHELLS:
        _shell(args, command, report, depth)
    elif name in programs.INTERPRETERS:
        _interpreter(name, args, command, report, depth)
    elif name in programs.SUBCOMMANDS:
        _subcommands(name, args, command, report, depth)
    elif name in programs.RUNS_TARGETS:
        _targets(args, report)
    elif name in programs.HARMLESS:
        _harmless(name, args, command, report)
    elif words[0] in report.functions:
        return
    elif not standard:
        _own_script(words[0], report, depth)
    elif name.startswith(("mkfs.", "mount.", "systemd-")):
        report.add(kinds.DESTROYS)
    else:
        report.add(kinds.UNKNOWN_PROGRAM)


def _harmless(name: str, args: Sequence[str], command: Command, report: Report) -> None:
    if name == "cd" or name == "pushd":
        report.away = (bool(args) and paths.is_outside(args[0])) or (report.away and not (args and args[0] == "-"))
    elif name in ("export", "declare", "set", "typeset", "readonly") and not command.assigned and (
        not args or list(args) == ["-p"]
    ):
        report.add(by(kinds.READS_SECRETS, name))
    elif name == "history" and any(arg.startswith("-c") or arg.startswith("-d") for arg in args):
        report.add(by(kinds.DESTROYS, name))
    elif name in programs.WRITERS:
        _file_writer(name, args, report)
    elif (name == "hostname" and args and not args[0].startswith("-")) or (name == "date" and "-s" in args):
        report.add(by(kinds.ACCESS, name))
    elif name in ("sort", "yq") or name in programs.HARMLESS:
        for number, arg in enumerate(args):
            if arg in ("-o", "-O", "--output") and number + 1 < len(args):
                _writes(args[number + 1], report)
            elif arg.startswith(("--output=", "--out=", "--compress-program", "--pre=", "--pre", "--hook")):
                _writes(arg.partition("=")[2], report)
                if not arg.startswith("--out"):
                    report.add(kinds.HIDDEN)


def _file_writer(name: str, args: Sequence[str], report: Report) -> None:
    named = [arg for arg in args if not arg.startswith("-")]
    options = [arg for arg in args if arg.startswith("-")]
    if any(arg.startswith(("--to-command", "--checkpoint-action", "--use-compress", "--rsh", "-TT", "--unzip-command")) for arg in options):
        report.add(kinds.HIDDEN)
    if name in ("tar", "unzip", "7z", "gzip", "patch"):
        for number, arg in enumerate(args):
            if arg in ("-C", "-d", "--directory", "-I", "-F") and number + 1 < len(args):
                report.add(kinds.HIDDEN) if arg in ("-I", "-F") and name == "tar" else _writes(args[number + 1], report)
            elif arg.startswith(("--directory=", "-C")):
                _writes(arg.partition("=")[2] or arg[2:], report)
        return
    if name == "rsync":
        if any(_REMOTE.match(arg) for arg in named) or "-e" in options:
            report.add(by(kinds.LEAVES, name))
        if any(arg.startswith("--del") or arg == "--remove-source-files" for arg in options):
            report.add(by(kinds.DESTROYS, name))
    if name == "ln" and any(paths.is_outside(arg) for arg in named):
        report.add(kinds.OUTSIDE_WORKSPACE)
    targets = named[-1:] if name in ("cp", "install", "rsync", "ln") else named
    for number, arg in enumerate(args):
        if arg == "-t" and number + 1 < len(args):
            targets = [*targets, args[number + 1]]
        elif arg.startswith("--target-directory="):
            targets = [*targets, arg.partition("=")[2]]
    for target in targets:
        _writes(target, report)
    if name == "mv" and len(named) > 1 and named[-1] == "/dev/null":
        report.add(by(kinds.DESTROYS, name))


def _own_script(path: str, report: Report, depth: int, *, python: bool = False) -> None:
    """Running a file: one of the workspace is the workspace's own work, unless this script has just written it."""
    if UNKNOWN in path or "*" in path:
        report.add(kinds.HIDDEN)
        return
    if report.away or paths.is_outside(path) or paths.plain(path).startswith(("/tmp/", "/var/tmp/", "/dev/")):
        report.add(kinds.OUTSIDE_WORKSPACE)
    plain = paths.plain(path)
    if plain in report.written:
        text = report.written[plain]
        if text is None:
            report.add(kinds.HIDDEN)
        elif python:
            report.add(*python_code.judge(text))
        else:
            _script(text, report, depth + 1)


def _shell(args: Sequence[str], command: Command, report: Report, depth: int) -> None:
    rest = list(args)
    while rest and rest[0].startswith(("-", "+")) and rest[0] not in ("-", "--"):
        option = rest.pop(0)
        if not option.startswith("--") and "c" in option[1:]:
            report.add(*(() if rest else (kinds.HIDDEN,)))
            if rest:
                _script(rest[0], report, depth + 1)
            return
        if option in ("-o", "-O", "+o", "+O", "--rcfile", "--init-file"):
            if option.startswith("--"):
                report.add(kinds.HIDDEN)
            del rest[:1]
        if option == "-s" or option in ("--version", "--help"):
            rest = []
            if option != "-s":
                return
    if rest and rest[0] not in ("-", "--", "/dev/stdin"):
        _own_script(rest[0], report, depth)
        return
    if (text := _fed(command, report)) is not None:
        _script(text, report, depth + 1)


def _fed(command: Command, report: Report) -> str | None:
    """The text that an interpreter reads; None (with a finding) where it cannot be told."""
    if command.text_in is not None:
        return command.text_in
    source = command.fed_by
    if source is None:
        report.add(kinds.HIDDEN)
        return None
    if source.words[:1] == ("cat",) and len(source.words) == 2 and not source.words[1].startswith("-"):
        _own_script(source.words[1], report, 0)
        return None
    if source.words[:1] == ("cat",) and source.text_in is not None:
        return source.text_in
    if (said := _said(source)) is None:
        report.add(kinds.HIDDEN)
    return said


def _interpreter(name: str, args: Sequence[str], command: Command, report: Report, depth: int) -> None:
    takes, rest = programs.INTERPRETERS[name], list(args)
    python = name in ("python", "pypy")
    while rest and rest[0].startswith("-") and rest[0] != "-":
        option = rest.pop(0)
        if python and option.startswith("-m"):
            _module(option[2:] or (rest.pop(0) if rest else ""), rest, command, report, depth)
            return
        letters = option[1:] if not option.startswith("--") else ""
        if option in ("--eval", "--print", "--execute") or any(letter in takes for letter in letters):
            at = next((number for number, letter in enumerate(letters) if letter in takes), len(letters))
            code = letters[at + 1 :] if python else ""
            code = code or (rest.pop(0) if rest else UNKNOWN)
            report.add(*_code(python, code))
            return
        if python and letters[:1] in ("W", "X") and len(letters) == 1 and rest:
            rest.pop(0)
        if not python and (letters[:1] in ("r", "M", "I") or option in ("--require", "--import", "--loader")):
            report.add(kinds.HIDDEN)
        if option in ("--version", "-V", "-v", "--help", "-h"):
            return
    if name in ("deno", "bun") and rest and rest[0] in ("run", "test", "fmt", "lint", "check", "install"):
        rest.pop(0)
        rest = [arg for arg in rest if not arg.startswith("-")]
        if not rest:
            return
    if rest and rest[0] not in ("-", "/dev/stdin"):
        if _REMOTE.match(rest[0]):
            report.add(kinds.LEAVES)
        _own_script(rest[0], report, depth, python=python)
        return
    if (text := _fed(command, report)) is not None:
        report.add(*_code(python, text))


def _code(python: bool, code: str) -> tuple[Raised, ...]:
    if UNKNOWN in code:
        return (kinds.HIDDEN,)
    if python:
        return python_code.judge(code)
    return (kinds.HIDDEN,) if len(code) > 400 or _RISKY_CODE.search(code) else ()


def _module(module: str, rest: Sequence[str], command: Command, report: Report, depth: int) -> None:
    name = module.lower()
    if name == "pip":
        _subcommands("pip", rest, command, report, depth)
    elif name in _BAD_MODULES or name.partition(".")[0] in _BAD_MODULES:
        report.add(kinds.LEAVES)
    elif UNKNOWN in name or (report.away and name not in _MODULES):
        report.add(kinds.HIDDEN)


def _subcommands(name: str, args: Sequence[str], command: Command, report: Report, depth: int) -> None:
    harmless, otherwise = programs.SUBCOMMANDS[name]
    rest = [arg for arg in args if not arg.startswith("-")] or list(args)
    if not rest:
        if name in ("docker", "ip") or not harmless:
            report.add(*(() if harmless else (by(otherwise, name),)))
        return
    first = rest[0].lower()
    if first == "compose" and name in ("docker", "podman", "nerdctl"):
        _subcommands("docker-compose", rest[1:], command, report, depth)
        return
    if first in _ASKS or (len(args) == 1 and args[0] in _ASKS):
        return
    if first in programs.INNER.get(name, ()):
        at = args.index(rest[0]) + 1
        after = args[at:]
        while after and after[0].startswith("-"):
            after = after[2:] if after[0] in ("--with", "--python", "-p", "-n", "--extra", "--group") else after[1:]
        _run(command, after, report, depth + 1)
        return
    if first not in harmless or (name in ("ip", "route") and any(a in ("add", "del", "set", "flush", "change") for a in rest)):
        report.add(by(otherwise, name))
        return
    if name in programs.RUNS_TARGETS and first in ("run", "run-script", "run-task", "dev"):
        _targets(rest[1:], report)
    if first in programs.FETCHES.get(name, ()):
        report.add(by(kinds.INSTALLS, name))
        if any(_REMOTE.match(arg.partition("=")[2] or arg) or arg.startswith(("-i", "--index", "--extra-index", "--registry", "git+")) for arg in args):
            report.add(by(kinds.LEAVES, name))
    if name == "journalctl" and any(arg.startswith("--vacuum") or arg == "--rotate" for arg in args):
        report.add(by(otherwise, name))


def _targets(args: Sequence[str], report: Report) -> None:
    """Names of a project's own recipes: `make test` is work, `make deploy` is what it says."""
    for number, arg in enumerate(args):
        if arg in ("-C", "-f", "--file", "--directory") and number + 1 < len(args) and paths.is_outside(args[number + 1]):
            report.add(kinds.OUTSIDE_WORKSPACE)
        if arg.startswith(("--eval", "SHELL=")):
            report.add(kinds.HIDDEN)
        if not arg.startswith("-") and (not _TARGET_WORDS.fullmatch(arg.partition("=")[0]) or asks_for_act(arg.partition("=")[0])):
            report.add(kinds.ACTS if asks_for_act(arg) else kinds.HIDDEN)


def _find(args: Sequence[str], command: Command, report: Report, depth: int) -> None:
    for number, arg in enumerate(args):
        if arg == "-delete":
            report.add(by(kinds.DESTROYS, "find"))
        elif arg.startswith(("-fprint", "-fls")) and number + 1 < len(args):
            _writes(args[number + 1], report)
        elif arg in ("-exec", "-execdir", "-ok", "-okdir", "-x", "--exec", "-X", "--exec-batch"):
            inner = list(args[number + 1 :])
            end = next((at for at, word in enumerate(inner) if word in (";", "+")), len(inner))
            _run(command, [word for word in inner[:end] if word != "{}"] or [UNKNOWN], report, depth + 1)
            _paths(args, report)


def _eval(args: Sequence[str], command: Command, report: Report, depth: int) -> None:
    _script(" ".join(args), report, depth + 1)


def _trap(args: Sequence[str], command: Command, report: Report, depth: int) -> None:
    if args and args[0] not in ("-", "-l", "-p"):
        _script(args[0], report, depth + 1)


def _alias(args: Sequence[str], command: Command, report: Report, depth: int) -> None:
    for arg in args:
        _script(arg.partition("=")[2], report, depth + 1)


def _source(args: Sequence[str], command: Command, report: Report, depth: int) -> None:
    if args:
        _own_script(args[0], report, depth)


def _git(args: Sequence[str], command: Command, report: Report, depth: int) -> None:
    found, programs_run = git.judge(args)
    report.add(*found)
    for each in programs_run:
        _script(each, report, depth + 1)


def _awk(args: Sequence[str], command: Command, report: Report, depth: int) -> None:
    if any(_AWK.search(arg) for arg in args) or any(UNKNOWN in arg for arg in args[:1]):
        report.add(kinds.HIDDEN)


def _sed(args: Sequence[str], command: Command, report: Report, depth: int) -> None:
    scripts = [arg for arg in args if not arg.startswith("-")]
    if any(_SED.search(arg) for arg in scripts[:1]) or any(_SED.search(b) for a, b in zip(args, args[1:], strict=False) if a == "-e"):
        report.add(kinds.HIDDEN)
    if any(arg.startswith("-i") or arg.startswith("--in-place") or re.match(r"-[nErsuz]*i", arg) for arg in args):
        for target in scripts[1:] or scripts:
            if "/" in target and not target.startswith("s/"):
                _writes(target, report)


def _chmod(args: Sequence[str], command: Command, report: Report, depth: int) -> None:
    named = [arg for arg in args if not arg.startswith("-") or re.fullmatch(r"-[rwxst]+", arg)]
    mode = named[0] if named else ""
    digits = mode.isdigit()
    opens = digits and (int(mode[-1]) & 2 or (len(mode) > 3 and mode[-4] in "2467"))
    opens = opens or (not digits and re.search(r"(?:^|,)[ugoa]*[+=][rxX]*[st]|(?:^|,)(?:[ug]*[oa][ugoa]*|)[+=][rxXst]*w", mode))
    if opens or UNKNOWN in mode or not mode:
        report.add(by(kinds.ACCESS, "chmod"))
    for target in named[1:]:
        if paths.is_outside(target) or target in ("/", "~", "*"):
            report.add(by(kinds.ACCESS, "chmod"))


def _database(args: Sequence[str], command: Command, report: Report, depth: int) -> None:
    from interlock.policy import sql

    statements = [b for a, b in zip(args, args[1:], strict=False) if a in ("-c", "-e", "--command", "--execute", "-cmd")]
    statements += [arg.partition("=")[2] for arg in args if arg.startswith(("--command=", "--execute="))]
    named = [arg for arg in args if not arg.startswith("-") and arg not in statements]
    statements += [arg for number, arg in enumerate(named) if " " in arg or (number and arg.startswith("."))]
    if any(arg.startswith(("-h", "--host", "-U")) or _REMOTE.match(arg) for arg in args if arg not in ("-header", "--help", "-html")):
        report.add(kinds.LEAVES)
    if not statements and (text := _fed(command, report)) is not None:
        statements = [text]
    for statement in statements:
        if UNKNOWN in statement or re.match(r"\s*(?:\.|\\)(?!tables|schema|dt|d\b|l\b|headers|mode|indexes|du\b|databases|width)", statement):
            report.add(kinds.HIDDEN)
        elif not re.match(r"\s*[.\\]\w+", statement):
            report.add(*sql.judge(statement))


def _crontab(args: Sequence[str], command: Command, report: Report, depth: int) -> None:
    if list(args) != ["-l"]:
        report.add(by(kinds.ACCESS, "crontab"))


def _printenv(args: Sequence[str], command: Command, report: Report, depth: int) -> None:
    if not args or any(names_secret(arg, _SOME_VALUE) or UNKNOWN in arg for arg in args):
        report.add(by(kinds.READS_SECRETS, "printenv"))


def _editor(args: Sequence[str], command: Command, report: Report, depth: int) -> None:
    if any(arg.startswith(("-c", "+", "-s", "-S", "--cmd", "--eval", "--batch", "-e", "-l", "-f")) for arg in args):
        report.add(kinds.HIDDEN)
    for arg in args:
        if not arg.startswith("-"):
            _writes(arg, report)


_Special = Callable[[Sequence[str], Command, Report, int], None]
_SPECIAL: dict[str, _Special] = {
    "find": _find, "fd": _find, "fdfind": _find, "eval": _eval, "trap": _trap, "alias": _alias, "source": _source, ".": _source,
    "git": _git, "awk": _awk, "gawk": _awk, "mawk": _awk, "nawk": _awk, "sed": _sed, "gsed": _sed, "chmod": _chmod,
    "psql": _database, "mysql": _database, "mariadb": _database, "sqlite3": _database, "duckdb": _database, "sqlite": _database,
    "crontab": _crontab, "printenv": _printenv,
    **dict.fromkeys(("vi", "vim", "nvim", "emacs", "nano", "pico", "micro", "helix", "code", "subl"), _editor),
}  # fmt: skip
