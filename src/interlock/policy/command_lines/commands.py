"""Judges shell scripts: what each command sends, destroys, opens up or hides.

Scripts are parsed in `shell`; which program does what is defined in `programs`.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from interlock.policy import kinds
from interlock.policy.calls import Raised
from interlock.policy.code import exhaustion, other_code, python_code
from interlock.policy.command_lines import (
    appended,
    build_targets,
    globs,
    options,
    program_rules,
    programs,
    project_code,
    services,
    shell,
    shell_options,
    status_commands,
    windows,
)
from interlock.policy.command_lines.report import Report, output_of
from interlock.policy.command_lines.shell import UNKNOWN, Command, Unreadable
from interlock.policy.kinds import by
from interlock.policy.secrets import names_secret
from interlock.policy.values import paths
from interlock.policy.values.folding import fold, is_turned

DEEPEST = 5
_PLACES = frozenset(("PWD", "OLDPWD"))
_EVALUATING = frozenset(
    "let test [ [[ printf read declare typeset local export readonly unset mapfile readarray wait getopts".split()
)
"""Builtins that evaluate array subscripts in their arguments."""
_SUSPECT_GLOB = re.compile(r"[*?\[{]|[;|&\n]\s*\w")
"""A program's name that the shell would expand, or that contains another command."""


class Script(Report):
    """The judgement of a script while its commands are visited."""

    def script(self, text: str, depth: int) -> None:
        """Judges a text that a shell would run."""
        _script(text, self, depth)

    def run(self, command: Command, words: Sequence[str], depth: int) -> None:
        """Judges a program and its arguments that a command starts."""
        _run(command, words, self, depth)

    def own_script(self, path: str, depth: int) -> None:
        """Judges the execution of a script file."""
        _own_script(path, self, depth)

    def own_python(self, path: str, depth: int) -> None:
        """Judges the execution of a Python file."""
        _own_script(path, self, depth, python=True)

    def standard_input(self, command: Command) -> str | None:
        """The standard input of a command; None, with a finding, if it is unknown."""
        return _source_on_standard_input(command, self)


@lru_cache(maxsize=512)
def judge(text: str) -> tuple[Raised, ...]:
    """Findings for a shell script; empty for harmless work in the workspace. Total."""
    report = Script().check_shares(text)
    plain = fold(text) if not text.isascii() else text
    for reading in dict.fromkeys((text, plain)):
        _script(reading, report, 0)
    return tuple(report.found.values())


def judge_words(words: Sequence[str]) -> tuple[Raised, ...]:
    """Findings for a program and its arguments that are executed without a shell."""
    report = Script().check_shares(*words)
    plain = tuple(fold(word) for word in words)
    _run(Command(plain), plain, report, 0)
    return tuple(report.found.values())


def _script(text: str, report: "Script", depth: int) -> None:
    if depth > DEEPEST or UNKNOWN in text or is_turned(text):
        report.add(kinds.HIDDEN)
        if depth > DEEPEST:
            return
    text = windows.evaluated(text)
    for reading in (text, text.replace("\\\n", "")) if "\\\n" in text else (text,):
        try:
            found = shell.commands(reading)
            report.functions |= {command.in_function for command in found if command.in_function is not None}
            if exhaustion.loops_forever(reading, found):
                report.add(by(kinds.DESTROYS, "a loop without an end"))
            for command in found:
                _command(command, report, depth)
        except Unreadable:
            report.add(kinds.UNREADABLE)


def _command(command: Command, report: "Script", depth: int) -> None:
    for name, value in command.assigned:
        _variable(name, value, report, depth)
    for operator, target in command.redirects:
        report.redirect(command, operator, target)
    words = command.words
    if command.inner or words[:1] not in (("echo",), ("printf",)):
        report.touches(words)
        if globs.may_name_secret(command.globs, words[:1]):
            report.add(kinds.READS_SECRETS)
        if command.text_in is not None and len(command.text_in) < 200:
            report.touches(("", *command.text_in.split()[:20]))
    if any(name not in _PLACES and names_secret(name, program_rules.SOME_VALUE) for name in command.reads):
        report.add(kinds.READS_SECRETS)
    if command.decodes or report.splits(command) or "@P" in command.reads or ("IFS" in command.reads and words):
        report.add(kinds.HIDDEN)
    if words and words[0] != "for":
        if command.in_function is not None and fold(words[0]) == command.in_function:
            report.add(by(kinds.DESTROYS, "a function that calls itself"))
            return
        _run(command, words, report, depth)


def _variable(name: str, value: str, report: "Script", depth: int) -> None:
    raised, is_program = options.judge_variable(name, value)
    if raised is not None:
        report.add(raised)
    if is_program and value.strip():
        _script(value, report, depth + 1)
    if name == "IFS" and any(letter.isalnum() for letter in value):
        report.add(kinds.HIDDEN)
    if "[" in value and ("$(" in value or "`" in value):
        report.add(kinds.HIDDEN)
    if paths.touches_secret(value):
        report.add(kinds.READS_SECRETS)


def _run(command: Command, words: Sequence[str], report: "Script", depth: int) -> None:
    """Judges a program and its arguments; wrappers such as `env` or `timeout` are unwrapped first."""
    for _ in range(12):
        if not words:
            return
        globbed = _SUSPECT_GLOB.search(words[0]) and words[0] not in ("[", "[[") and not windows.filters(words)
        if UNKNOWN in words[0] or globbed:
            report.add(kinds.HIDDEN)
            return
        name, standard = programs.name_of(words[0])
        if name in programs.WRAPPERS and (standard or name in ("busybox", "npx")):
            if name in programs.AS_ANOTHER:
                report.add(by(kinds.ACCESS, name))
            given, words = words, _wrapped_command(name, words[1:], report, depth)
            if name in ("xargs", "parallel"):
                words = appended.with_input(name, given, words, command, report)
            continue
        break
    else:
        report.add(kinds.HIDDEN)
        return
    _program(name, standard, words, command, report, depth)


def _judge_as_flag(words: Sequence[str], command: Command, report: "Script", depth: int) -> None:
    """Judges the other reading of a wrapper's unknown option: that it takes the next word as its value."""
    other = Script()
    _run(command, words, other, depth + 1)
    report.add(*(each for each in other.found.values() if each is not kinds.UNKNOWN_PROGRAM))


def _wrapped_command(name: str, words: Sequence[str], report: "Script", depth: int) -> Sequence[str]:
    """The command that a wrapper starts."""
    rest, skip = list(words), name in programs.SKIPS
    while rest:
        word = rest[0]
        if name == "env" and word.startswith(("-S", "--split-string")):
            report.add(kinds.HIDDEN)
            return ()
        if (name == "command" and word in ("-v", "-V")) or (name == "time" and word.lower() == "/t"):
            return ()
        if name == "direnv" and word in ("exec", "status", "version"):
            return rest[2:] if word == "exec" else ()
        if name in ("sudo", "doas") and word in ("-i", "-s", "-e", "-v", "-l", "--login", "--shell"):
            rest.pop(0)
            continue
        if word.startswith("-") and len(word) > 1:
            rest.pop(0)
            _wrapper_option(name, word, rest, report, depth)
            if word == "--":
                break
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


def _wrapper_option(name: str, word: str, rest: list[str], report: "Script", depth: int) -> None:
    """Judges an option of a wrapper, and takes its value from the words that follow it."""
    report.add(*options.judge(name, (word, *rest[:1])))
    if name == "flock" and word in ("-c", "--command") and rest:
        _script(rest[0], report, depth + 1)
    if word == "--":
        return
    if not word.startswith("--") and word[-1] in programs.WRAPPERS[name] and len(word) == 2 and rest:
        rest.pop(0)
    elif word in programs.TAKE_VALUES:
        del rest[:1]
    elif (
        not programs.stands_alone(name, word)
        and len(rest) > 1
        and (len(word) == 2 or word.startswith("--"))
        and depth < DEEPEST
    ):
        _judge_as_flag(rest[1:], Command(tuple(rest[1:])), report, depth)
    if name == "npx" and word in ("-c", "--call"):
        report.add(kinds.HIDDEN)


def _program(name: str, standard: bool, words: Sequence[str], command: Command, report: "Script", depth: int) -> None:
    args = words[1:]
    report.add(*options.judge(name, args))
    for inner in windows.blocks(args) if name in windows.BLOCKS else ():
        report.run(command, inner, depth + 1)
    if exhaustion.fills_disk(name, args, command):
        report.add(by(kinds.DESTROYS, name))
    if name in _EVALUATING and any("[" in word and ("$(" in word or "`" in word) for word in args):
        report.add(kinds.HIDDEN)
    if report.written and project_code.concerns(name):
        project_code.judge(name, args, report)
    if standard and status_commands.only_reports(name, args):
        return
    if not standard and paths.plain(words[0]) in report.written:
        _own_script(words[0], report, depth)
    if (special := program_rules.SPECIAL.get(name)) is not None:
        special(args, command, report, depth)
        return
    if (sure := programs.SURE.get(name)) is not None:
        if (len(args) == 1 and args[0] in program_rules.ASKS) or windows.only_tries(name, args):
            return
        if services.knows(name) and services.reads(name, args):
            report.add(by(kinds.READS_ELSEWHERE, name))
            return
        report.add(by(sure, name))
    elif name in programs.SHELLS:
        _shell(args, command, report, depth)
    elif name in programs.INTERPRETERS:
        _interpreter(name, args, command, report, depth)
    elif name in programs.SUBCOMMANDS:
        program_rules.subcommands(name, args, command, report, depth)
    elif name in programs.RUNS_TARGETS:
        build_targets.judge_targets(name, args, report, depth)
    elif name in programs.HARMLESS:
        program_rules.harmless(name, args, command, report)
    elif words[0] in report.functions:
        if any(paths.is_system(arg) for arg in args):
            report.add(kinds.OUTSIDE_WORKSPACE)
    elif not standard:
        _own_script(words[0], report, depth)
        build_targets.judge_arguments(words[0], args, report)
    elif name.startswith(("mkfs.", "mount.", "systemd-")):
        report.add(kinds.DESTROYS)
    elif services.unknown_only_reports(name, args):
        report.add(kinds.ASKS_UNKNOWN)
    else:
        report.add(kinds.UNKNOWN_PROGRAM)


def _own_script(path: str, report: "Script", depth: int, *, python: bool = False) -> None:
    """Judges running a file: workspace files are the agent's own work, unless this script wrote them."""
    if UNKNOWN in path or "*" in path or build_targets.starts_another(path):
        report.add(kinds.HIDDEN)
        return
    if (
        report.away
        or report.elsewhere
        or paths.is_outside(path)
        or paths.plain(path).startswith(("/tmp/", "/var/tmp/", "/dev/"))
    ):
        report.add(kinds.OUTSIDE_WORKSPACE)
    if build_targets.is_act(path):
        report.add(kinds.ACTS)
    plain = paths.plain(path)
    if plain in report.written:
        text = report.written[plain]
        if text is None:
            report.add(kinds.HIDDEN)
        elif python:
            report.add(*python_code.judge(text))
        else:
            _script(text, report, depth + 1)


def _shell(args: Sequence[str], command: Command, report: "Script", depth: int) -> None:
    given = shell_options.read(args)
    if given.hides:
        report.add(kinds.HIDDEN)
    if given.script is not None:
        _script(given.script, report, depth + 1)
    elif given.file is not None and not (given.file.isdigit() and command.redirects):
        _own_script(given.file, report, depth)
    elif not given.tells and (text := _source_on_standard_input(command, report)) is not None:
        _script(text, report, depth + 1)


def _source_on_standard_input(command: Command, report: "Script") -> str | None:
    """The source that an interpreter reads from standard input; None, with a finding, if it is unknown."""
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
    if (text := output_of(source)) is None:
        report.add(kinds.HIDDEN)
    return text


def _interpreter(name: str, args: Sequence[str], command: Command, report: "Script", depth: int) -> None:
    takes, rest = programs.INTERPRETERS[name], list(args)
    python = name in ("python", "pypy")
    while rest and rest[0].startswith("-") and rest[0] != "-":
        option = rest.pop(0)
        if python and option.startswith("-m"):
            project_code.module(option[2:] or (rest.pop(0) if rest else ""), rest, command, report, depth)
            return
        letters = option[1:] if not option.startswith("--") else ""
        if not python and (
            letters[:1] in ("r", "M", "I", "m") or option.startswith(("--require", "--import", "--loader"))
        ):
            report.add(kinds.HIDDEN)
            return
        if option in ("--eval", "--print", "--execute") or any(letter in takes for letter in letters):
            at = next((number for number, letter in enumerate(letters) if letter in takes), len(letters))
            code = letters[at + 1 :] if python else ""
            code = code or (rest.pop(0) if rest else UNKNOWN)
            report.add(*_code(python, code))
            return
        if python and letters[:1] in ("W", "X") and len(letters) == 1 and rest:
            rest.pop(0)
        if option in ("--version", "-V", "-v", "--help", "-h"):
            return
    if name in ("deno", "bun") and rest and rest[0] in ("run", "test", "fmt", "lint", "check", "install"):
        rest.pop(0)
        rest = [arg for arg in rest if not arg.startswith("-")]
        if not rest:
            return
    if name == "bun" and rest[:1] == ["exec"]:
        _script(rest[1] if len(rest) > 1 else UNKNOWN, report, depth + 1)
        return
    if rest and rest[0] not in ("-", "/dev/stdin"):
        if program_rules.REMOTE.match(rest[0]):
            report.add(kinds.LEAVES)
        _own_script(rest[0], report, depth, python=python)
        build_targets.judge_arguments(rest[0], rest[1:], report)
        return
    if (text := _source_on_standard_input(command, report)) is not None:
        report.add(*_code(python, text))


def _code(python: bool, code: str) -> tuple[Raised, ...]:
    if UNKNOWN in code:
        return (kinds.HIDDEN,)
    return python_code.judge(code) if python else other_code.judge(code)
