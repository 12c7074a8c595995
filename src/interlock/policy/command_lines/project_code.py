"""Judges the parts of a project that programs run: Python modules by name, test files, targets of build tools.

The traversal of a script is in `commands`.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from interlock.policy import kinds
from interlock.policy.code import other_code, python_code
from interlock.policy.command_lines import options, programs
from interlock.policy.command_lines.report import Report
from interlock.policy.command_lines.shell import UNKNOWN, Command
from interlock.policy.values import paths

if TYPE_CHECKING:
    from interlock.policy.command_lines.commands import Script

_TESTERS = frozenset("pytest py.test tox nox coverage hypothesis".split())
_RECIPE = re.compile(
    r"(?:^|/)(?:gnu)?(?:makefile|gemfile|rakefile|justfile|jakefile|taskfile\.ya?ml|package\.json|setup\.cfg|pyproject\.toml|"
    r"tox\.ini|noxfile\.py|build\.gradle(?:\.kts)?|pom\.xml|build\.xml|cargo\.toml|build\.rs|composer\.json|tasks\.py|dodo\.py|"
    r"[\w.-]+\.gemspec|jest\.config\.\w+|webpack\.config\.\w+|vite\.config\.\w+|\.npmrc|\.yarnrc(?:\.yml)?)$"
)
"""Files that define targets."""
_RUN_SOURCES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "go": (".go", ("run", "test", "generate")),
    "cargo": (".rs", ("run", "test", "bench")),
    "dotnet": (".cs", ("run", "test")),
    "java": (".java", ()),
    "kotlin": (".kts", ()),
    "swift": (".swift", ()),
}
"""Programs that run source files, by the ending of these, and their subcommands that do."""
_COMPILERS = frozenset("gcc g++ cc c++ clang clang++ rustc ghc swiftc gfortran dmd fpc zig nim ocamlopt".split())
_ENGINES = frozenset("code pty idlelib turtledemo ctypes".split())
_MODULES = frozenset(
    "pytest unittest doctest venv virtualenv json.tool timeit compileall py_compile cprofile profile trace "
    "dis tokenize ast ensurepip calendar this black mypy ruff flake8 isort pylint build sphinx coverage "
    "site platform sysconfig zipfile tarfile gzip base64 inspect pydoc tabnanny pip".split()
)
_BAD_MODULES = frozenset(
    "http http.server smtpd smtplib ftplib telnetlib socketserver webbrowser twine socket ssl urllib "
    "asyncio xmlrpc aiosmtpd pyftpdlib imaplib poplib nntplib awscli antigravity".split()
)
_MORE = frozenset(("coverage", "interlock", "cmake", "sqlite3", "awscli", "twine", "ansible"))


def concerns(name: str) -> bool:
    """Whether a program runs parts of a project, or compiles them."""
    return _follows_recipes(name) or name in _RUN_SOURCES or name in _COMPILERS


def _follows_recipes(name: str) -> bool:
    return name in programs.RUNS_TARGETS or name in programs.SUBCOMMANDS or name in _TESTERS


def judge(name: str, args: Sequence[str], report: Report) -> None:
    """Judges what a program would run of the files that the script has just written."""
    if name in _COMPILERS:
        _record_compiled(args, report)
        return
    source, subcommands = _RUN_SOURCES.get(name, ("", ()))
    runs_source = source and (not subcommands or (args and args[0] in subcommands))
    for path, text in report.written.items():
        if path.endswith(".py") and (name in _TESTERS or path.endswith("setup.py")):
            report.add(*((kinds.HIDDEN,) if text is None else python_code.judge(text)))
        elif runs_source and path.endswith(source):
            report.add(*((kinds.HIDDEN,) if text is None else other_code.judge(text)))
        elif _RECIPE.search(path) and _follows_recipes(name):
            report.add(kinds.HIDDEN)


def _record_compiled(args: Sequence[str], report: Report) -> None:
    """Records the programs that a compiler makes of files that the script has just written."""
    for arg in args:
        source = paths.plain(arg)
        if source in report.written and not source.startswith("-"):
            for made in (source.rpartition(".")[0], source.rpartition("/")[2].rpartition(".")[0], "a.out"):
                report.written[made] = None


def module(named: str, rest: Sequence[str], command: Command, script: "Script", depth: int) -> None:
    """Judges `python -m module rest…`."""
    name = named.lower()
    program = name.replace("_", "-")
    if name in ("timeit", "cprofile", "profile", "trace", "pdb", "runpy"):
        if name == "timeit":
            script.add(*(found for arg in rest if not arg.startswith("-") for found in python_code.judge(arg)))
        files = [arg for arg in rest if not arg.startswith("-")]
        if name != "timeit" and files and "-m" not in rest:
            script.own_python(files[0], depth)
        elif "-m" in rest:
            module((*rest[rest.index("-m") + 1 :], "")[0], (), command, script, depth)
        if "-c" in rest:
            script.add(kinds.HIDDEN)
    elif name in _BAD_MODULES or name.partition(".")[0] in _BAD_MODULES:
        script.add(kinds.LEAVES)
    elif name in _ENGINES or UNKNOWN in name or (script.away and name not in _MODULES):
        script.add(kinds.HIDDEN)
    elif program in programs.SUBCOMMANDS or program in programs.RUNS_TARGETS or program in _MORE:
        script.run(command, (program, *rest), depth)
    elif name in ("zipfile", "tarfile"):
        for arg in rest[1:]:
            script.writes(arg)
    else:
        for arg in rest if name in ("venv", "virtualenv") else ():
            script.writes(arg)
        script.add(*options.judge(program, rest))
