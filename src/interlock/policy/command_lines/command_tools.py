"""Whether a call of a foreign tool that runs what it is given only reads: `bash` with `grep -rn main src`.

Such a tool is not our sandbox: starting a project's programs, writing and fetching do not count as reading.
"""

import itertools
import re
import shlex
from collections.abc import Callable, Mapping, Sequence, Set
from functools import lru_cache
from typing import Any

from interlock.policy.calls import Call
from interlock.policy.code import python_computing
from interlock.policy.command_lines import (
    awk,
    commands,
    options,
    read_only_commands,
    sed,
    shell,
    shell_options,
    status_commands,
    windows,
)
from interlock.policy.command_lines import services as s
from interlock.policy.command_lines.printing import UNKNOWN
from interlock.policy.command_lines.programs import name_of
from interlock.policy.command_lines.shell import Command, Unreadable
from interlock.policy.definitions.choices import verbs_like
from interlock.policy.definitions.tool_definitions import looks_red
from interlock.policy.queries import sql
from interlock.policy.risk import Risk
from interlock.policy.values.spelling import parts

_RUNNERS = frozenset(
    "run execute exec bash shell terminal command commands cmd invoke cli console sh zsh call "
    "powershell pwsh prompt".split()
)
_NEUTRAL = frozenset(
    "tool a in the local system linux unix windows session mcp aws kubectl gcloud git docker "
    "podman azure az gh github "
    "glab helm terraform heroku doctl".split()
)
_OF_CODE = frozenset("python code interpreter ipython jupyter repl snippet cell".split())
_OF_SQL = frozenset(
    "sql soql query queries statement database db postgres postgresql mysql mariadb sqlite duckdb snowflake".split()
)
_WITH_SQL = frozenset("raw read only select readonly data".split())
_SQL_KEYS = frozenset("sql query statement sql_query sql_statement".split())
_BESIDE_SQL = frozenset(
    "database database_name db db_path connection project_id project schema limit max_rows row_limit page page_size "
    "timeout timeout_ms explanation description reason read_only readonly".split()
)
_CODE_KEYS = frozenset(("code", "python_code", "source_code"))
_KEYS = frozenset("command cmd cli_command bash_command shell_command".split())
_BESIDE = frozenset(
    "timeout timeout_ms timeout_s timeout_seconds cwd workdir working_dir working_directory directory dir_path "
    "description explanation justification reason thought security_risk is_input blocking session session_id title "
    "background is_background isBackground run_in_background requires_approval".split()
)
_FILTERS = re.compile(r"-[nErsuz]+|--quiet|--silent|--regexp-extended")
"""Options of `sed` that only change what it prints."""
_FILL_IN = frozenset("read mapfile readarray printf".split())
"""Commands that assign the variables named by their arguments."""
_DECLARES = frozenset("local declare typeset".split())
_SETS = re.compile(r"[-+][efhnuvxBCEHPT]*o?|pipefail|errexit|nounset|noglob|globstar|nullglob")
_SHELLS = frozenset("sh bash zsh dash".split())
_TAKES = re.compile(r"-[nPLIsEad]$")
_WRITES = re.compile(r"-[a-zA-Z]*[oO]|--output|--log-?file|--LOG-FILE|--Logfile")
_PLAINLY = re.compile(r"-[lceu]*o?|pipefail")
"""Options of a shell that do not change what its script does."""
_CALM = re.compile(
    r"(?:LC_[A-Z]+|LANG|LANGUAGE|TZ|COLUMNS|LINES|TERM|NO_COLOR|CLICOLOR|FORCE_COLOR)=[\w.,:/+@-]*|[A-Z_]*PAGER=(?:cat|less|more)?"
)
"""Settings of the environment that only change how something is shown."""
_SHARED = re.compile(r"\\\\(?!(?:[abfnrtv]|0?[0-3][0-7]{2}|\d)(?![\w.$\\-]))[\w.]|%logonserver%", re.IGNORECASE)
"""A path on another host."""
_OF_WINDOWS = re.compile(r"\b[A-Za-z]:\\|%\w+%\\|(?<!\S)\.{1,2}\\\w")
"""Windows paths, which a POSIX shell would read differently."""
_STORES = re.compile(r"(?<![\w/\\])(?:Env|Cert|HKCU|HKLM|WSMan|Variable|Function|AD):", re.IGNORECASE)
"""Windows drives for variables, certificates and the registry."""
_WITH_OUTPUT = frozenset(("tree", "less", "mediainfo", "info"))
_AWK_OPTION = re.compile(r"-[Fv]|--(?:field-separator|assign)\b|-$|--$")
_DECLARED = re.compile(r"-[aAilrug]+|\w+")
_NOTHING = sed.Effects()
_NAMED = frozenset("command commands shell shells terminal terminals bash".split())
_TO_PROCESS = re.compile(
    r"\b[Ss]end(?:s|ing)? (?=(?:an? |the )?(?:empty|text|input|keys|keystrokes|control|signals?|ctrl)\b)"
)
"""Input that is sent to a program running in a shell."""
_STARTING = frozenset(("-x", "-X", "--exec", "--exec-batch"))
_DOUBLE = re.compile(r"\"[^\"]*\"")
_STATES = frozenset(("-c", "-e", "--command", "--execute"))
"""Options of databases' shells that take a statement."""
_QUIET = frozenset(("/dev/null", "1", "2"))


def call_only_reads(call: Call) -> bool:
    """Whether a call of a tool that runs commands, and whose definition says nothing graver, only reads."""
    words = frozenset(parts(call.tool.rpartition("__")[2]))
    if _OF_SQL & words and words <= _OF_SQL | _RUNNERS | _NEUTRAL | _WITH_SQL:
        return _only_queries(call)
    if (
        type(call.args) is not dict
        or not words <= _RUNNERS | _OF_CODE | _NEUTRAL
        or words.isdisjoint(_RUNNERS | _OF_CODE)
    ):
        return False
    given = _CODE_KEYS.intersection(call.args)
    if given and _OF_CODE & words:
        return _only_computes(call, given)
    given = _KEYS.intersection(call.args)
    asked = {key for key, value in call.args.items() if value is not False and value is not None}
    if len(given) != 1 or not asked <= given | _BESIDE:
        return False
    text = _script(call.args[next(iter(given))])
    return text is not None and script_only_reads(text) and not _definition_is_graver(call)


def _only_queries(call: Call) -> bool:
    """Whether a tool that runs statements is given one that certainly reads."""
    given = _SQL_KEYS.intersection(call.args) if type(call.args) is dict else ()
    if len(given) != 1:
        return False
    text = call.args[next(iter(given))]
    beside = call.args.keys() - given - _BESIDE_SQL
    if beside or not isinstance(text, str) or not sql.looks_like(text) or sql.judge(text):
        return False
    return not _definition_is_graver(call)


def _script(given: Any) -> str | None:
    """The script that a shell would run: as text, or a program's words, which may be a shell with its script."""
    if isinstance(given, str):
        return given
    if not isinstance(given, list) or not given or not all(isinstance(word, str) for word in given):
        return None
    name, standard = name_of(given[0])
    if standard and len(given) == 3 and name in _SHELLS and given[1] in ("-c", "-lc"):
        return str(given[2])
    return str(given[0]) if len(given) == 1 else shlex.join(given)


def _only_computes(call: Call, given: Set[str]) -> bool:
    """Whether a tool that runs code is given Python that only computes."""
    text = call.args[next(iter(given))]
    beside = call.args.keys() - given - _BESIDE
    if len(given) != 1 or not isinstance(text, str) or beside - {"language", "lang"}:
        return False
    named = {call.args[key] for key in beside}
    return (
        named <= {"python", "python3", "Python", "py"}
        and python_computing.only_computes(text)
        and not _definition_is_graver(call)
    )


def _definition_is_graver(call: Call) -> bool:
    """Whether its description, schema or annotations say anything graver than that it runs and changes things."""
    description = _TO_PROCESS.sub("reads ", call.description)
    neutral = re.sub(r"[A-Za-z]+", lambda found: _as_read(found.group()), description)
    return looks_red("read", neutral, call.input_schema, call.hints) is not None


def _as_read(word: str) -> str:
    """A verb for running or changing, replaced by a reading one in the same inflection."""
    if word.lower() in _NAMED or word.lower() not in verbs_like("runs something"):
        return word
    return "reading" if word.endswith("ing") else "reads" if word.endswith("s") else "read"


@lru_cache(maxsize=512)
def script_only_reads(text: str) -> bool:
    """Whether a script only reads: reading programs, reading git commands, queries of services. Total."""
    if _SHARED.search(text) or _STORES.search(text):
        return False
    text = windows.evaluated(text)
    if _OF_WINDOWS.search(text):
        text = text.replace("\\", "/")
    if any(found.risk is Risk.RED for found in commands.judge(text)):
        return False
    try:
        found = shell.commands(text)
    except Unreadable:
        return False
    own: dict[str, int] = {}
    for number, command in enumerate(found):
        if command.in_function is not None:
            own.setdefault(command.in_function, number)
    return bool(found) and all(_command_only_reads(command, own) for command in found)


def _command_only_reads(command: Command, own: Mapping[str, int]) -> bool:
    """Whether a command only reads; `own` maps the script's functions to where their commands begin."""
    words = tuple(command.words)
    if command.decodes or not _assigns(words, command.assigned):
        return False
    if any(not operator.startswith("<") and target not in _QUIET for operator, target in command.redirects):
        return False
    if words and words[0] in own:
        return command.in_function is None or own[words[0]] < own[command.in_function]
    return _program_only_reads(words)


def _assigns(words: tuple[str, ...], assigned: tuple[tuple[str, str], ...]) -> bool:
    """Whether a command assigns nothing but variables of the script itself."""
    if not assigned:
        return True
    if all(_CALM.fullmatch("=".join(each)) for each in assigned):
        return True
    if words and words[0] not in _DECLARES and not (words[0] == "read" and {name for name, _ in assigned} == {"IFS"}):
        return False
    return all(read_only_commands.OWN_NAME.fullmatch(name) and not name.endswith("_proxy") for name, _ in assigned)


def _program_only_reads(words: tuple[str, ...]) -> bool:
    if not words or UNKNOWN in words[0]:
        return not words
    name, standard = name_of(words[0])
    args = words[1:]
    if not standard:
        return False
    if name in _FILL_IN and any(options.raised_by(arg, "x") for arg in args):
        return False
    if name in read_only_commands.LOOKS:
        return not (name in _WITH_OUTPUT and any(_WRITES.match(arg) for arg in args))
    if name in _DECLARES:
        return all(_DECLARED.fullmatch(arg) for arg in args)
    if (judged := _JUDGED.get(name)) is not None:
        return judged(args)
    line = " ".join((name, *args))
    return (
        read_only_commands.ASKS.fullmatch(line) is not None
        or windows.only_tries(name, args)
        or status_commands.only_reports(name, args)
        or ((s.knows(name) or name not in read_only_commands.TABLED) and s.unknown_only_reports(name, args))
    )


def _find_only_reads(args: Sequence[str]) -> bool:
    """Whether a `find` writes nothing, and starts only programs that read."""
    rest = list(args)
    while rest:
        arg = rest.pop(0)
        if arg in ("-exec", "-execdir"):
            end = next((at for at, word in enumerate(rest) if word in (";", "+")), None)
            if end is None or not _started_only_reads(rest[:end]):
                return False
            del rest[: end + 1]
        elif arg.startswith(("-exec", "-ok", "-delete", "-fprint", "-fls")) and arg != "-executable":
            return False
    return True


def _started_only_reads(words: Sequence[str]) -> bool:
    """Whether what `find` starts for each file only reads; a shell must get the file as a quoted argument."""
    if not _starts_shell(words):
        return _program_only_reads(tuple(words))
    script = words[2] if len(words) > 2 and words[1] == "-c" else ""
    return bool(script) and "{}" not in script and "$" not in _DOUBLE.sub("", script) and script_only_reads(script)


def _sort_only_reads(args: Sequence[str]) -> bool:
    return not any(_WRITES.match(arg) for arg in args)


def _tar_only_reads(args: Sequence[str]) -> bool:
    """Whether an archive's contents are only listed: `tar tzf`, `unzip -l`."""
    first = args[0] if args else ""
    return re.fullmatch(r"-?[tzjJvfa]*t[tzjJvfa]*|--list|-[lvZ]+", first) is not None and _sort_only_reads(args[1:])


def _fd_only_reads(args: Sequence[str]) -> bool:
    """Whether `fd` starts only programs that read."""
    at = next((at for at, arg in enumerate(args) if arg.startswith(("-x", "-X", "--exec"))), None)
    return at is None or (
        args[at] in _STARTING and not _starts_shell(args[at + 1 :]) and _program_only_reads(tuple(args[at + 1 :]))
    )


def _database_only_reads(args: Sequence[str]) -> bool:
    """Whether a database's shell is given statements that certainly read."""
    given = [after for before, after in itertools.pairwise(args) if before in _STATES]
    given += [arg for arg in args[1:] if " " in arg and arg not in given]
    if args and (args[-1] in ("-l", "--list") or read_only_commands.META.fullmatch(args[-1])):
        return not given or given == [args[-1]]
    if any(arg.startswith(("-f", "--file", "-o", "--output", "-L", "--log")) for arg in args):
        return False
    return bool(given) and all(read_only_commands.META.fullmatch(each) or not sql.judge(each) for each in given)


def _uniq_only_reads(args: Sequence[str]) -> bool:
    return _sort_only_reads(args) and len([arg for arg in args if not arg.startswith("-")]) < 2


def _awk_only_reads(args: Sequence[str]) -> bool:
    """Whether an `awk` program is given on the command line, and only prints."""
    return all(
        awk.effects(arg) == (False, []) and not (arg.startswith("-") and not _AWK_OPTION.match(arg)) for arg in args
    )


def _sed_only_reads(args: Sequence[str]) -> bool:
    """Whether `sed` scripts are given on the command line, and only edit what is printed."""
    scripts, named, rest = [], [], list(args)
    while rest:
        arg = rest.pop(0)
        if re.fullmatch(r"-[nErsuz]*e", arg):
            scripts.append(rest.pop(0) if rest else UNKNOWN)
        elif arg.startswith("-") and not _FILTERS.fullmatch(arg):
            return False
        elif not arg.startswith("-"):
            named.append(arg)
    return bool(scripts or named) and all(UNKNOWN not in each and sed.effects(each) == _NOTHING
                                          for each in scripts or named[:1])  # fmt: skip


def _file_only_reads(args: Sequence[str]) -> bool:
    return not any(arg.startswith(("-C", "--compile")) for arg in args)


def _asks_for_program(args: Sequence[str]) -> bool:
    return args[:1] in (("-v",), ("-V",)) or (bool(args) and _program_only_reads(tuple(args)))


def _mapfile_only_reads(args: Sequence[str]) -> bool:
    return not any(arg.startswith(("-C", "-c")) for arg in args)


def _set_only_reads(args: Sequence[str]) -> bool:
    return bool(args) and all(_SETS.fullmatch(arg) for arg in args)


def _wrapped(name: str) -> Callable[[Sequence[str]], bool]:
    return lambda args: _program_only_reads(tuple(_wrapped_program(name, list(args))))


def _xargs_only_reads(args: Sequence[str]) -> bool:
    """Whether `xargs` starts a program that only reads what it is given."""
    rest = _wrapped_program("xargs", list(args))
    return not _starts_shell(rest) and _program_only_reads(tuple(rest))


def _git_only_reads(words: Sequence[str]) -> bool:
    args = list(words)
    while args and args[0] in ("--no-pager", "-P", "-C"):
        del args[: 2 if args[0] == "-C" else 1]
    if not args or any(arg.startswith(("--output", "-o")) for arg in args):
        return False
    return args[0] in read_only_commands.GIT or read_only_commands.GIT_ASKED.fullmatch(" ".join(args)) is not None


def _wrapped_program(name: str, args: list[str]) -> list[str]:
    """The program that a wrapper starts, after its options and its duration."""
    rest = list(itertools.dropwhile(lambda arg: arg.startswith("-") and not _TAKES.match(arg), args))
    while rest and rest[0].startswith("-"):
        rest = rest[2:] if _TAKES.match(rest[0]) else rest[1:]
    return rest[1:] if name == "timeout" else rest


def _env_only_reads(args: Sequence[str]) -> bool:
    """Whether `env` starts a program that only reads, with settings that only change how it shows things."""
    rest = list(itertools.dropwhile(_CALM.fullmatch, args))
    return bool(rest) and not rest[0].startswith("-") and "=" not in rest[0] and _program_only_reads(tuple(rest))


def _shell_only_reads(args: Sequence[str]) -> bool:
    """Whether a shell is given a script on the command line that only reads."""
    given = shell_options.read(args)
    plain = len(args) > 1 and all(_PLAINLY.fullmatch(arg) for arg in args[:-1])
    return plain and given.script == args[-1] and script_only_reads(given.script)


def _starts_shell(words: Sequence[str]) -> bool:
    return bool(words) and name_of(words[0])[0] in _SHELLS


_JUDGED: Mapping[str, Callable[[Sequence[str]], bool]] = {
    "find": _find_only_reads, "sort": _sort_only_reads, "uniq": _uniq_only_reads, "sed": _sed_only_reads,
    "shuf": _sort_only_reads, "expand": _uniq_only_reads, "unexpand": _uniq_only_reads, "cloc": _sort_only_reads,
    "scc": _sort_only_reads, "tokei": _sort_only_reads, "tar": _tar_only_reads, "unzip": _tar_only_reads,
    "fd": _fd_only_reads, "fdfind": _fd_only_reads,
    **dict.fromkeys(("psql", "mysql", "mariadb", "sqlite3", "duckdb"), _database_only_reads),
    "awk": _awk_only_reads, "gawk": _awk_only_reads, "git": _git_only_reads, "file": _file_only_reads,
    "mapfile": _mapfile_only_reads, "readarray": _mapfile_only_reads, "set": _set_only_reads,
    "command": _asks_for_program, "xargs": _xargs_only_reads, "env": _env_only_reads, "timeout": _wrapped("timeout"),
    "time": _wrapped("time"), "nice": _wrapped("nice"), "stdbuf": _wrapped("stdbuf"),
    **dict.fromkeys(_SHELLS, _shell_only_reads),
    "export": lambda args: not args, "tee": lambda args: all(arg in ("/dev/null", "-a") for arg in args),
}  # fmt: skip
"""Programs that read or act depending on their arguments."""
