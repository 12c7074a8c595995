"""Judges a project's own targets and scripts by their names: `make deploy`, `rake db:drop`, `manage.py flush`.

What a target does when it runs is unknown here; only the words of its name are judged.
"""

import itertools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from interlock.policy import kinds
from interlock.policy.code import python_code
from interlock.policy.command_lines import options
from interlock.policy.definitions.tool_definitions import words
from interlock.policy.definitions.verbs import asks_for_act
from interlock.policy.definitions.vocabulary import GUARDS
from interlock.policy.values import paths

if TYPE_CHECKING:
    from interlock.policy.command_lines.commands import Script

_TARGET_WORDS = re.compile(r"(?:@?\w*//|:)?(?:\w|\.\.\.)[\w:.,/+-]{0,80}")
_STEP = re.compile(r"[a-z][\w:.-]{1,40}")
_INSTALLERS = frozenset(("make", "gmake", "ninja", "meson"))
_MAKES = frozenset(("make", "gmake"))
_FILE = frozenset("-f --file --makefile --justfile --taskfile --buildfile --build-file".split())
_FILE_AND_VALUE = re.compile(r"-f=?|--(?:file|makefile|justfile|taskfile|buildfile|build-file)=")
_STREAM = re.compile(r"-$|/(?:dev|proc)/")
"""A build file's path that stands for standard input or a descriptor."""
_ONLY_SHOWN = frozenset("-n --dry-run --just-print --recon".split())
_FRAMEWORKS = frozenset("manage.py artisan rails console app.py cli.py".split())
"""Command-line entry points of web frameworks."""
_LOSES = frozenset(
    "flush reset_db createsuperuser changepassword dbshell sendtestemail clearsessions migrate:fresh migrate:reset "
    "migrate:refresh migrate:rollback db:wipe tinker db:drop db:reset db:purge drop_db migrate migrate:install".split()
)
"""Their subcommands that change a database or its accounts, send mail, or open a shell."""


_NAMED = frozenset(
    "deploy redeploy publish release push delete destroy purge wipe drop send pay transfer refund reset kill terminate "
    "teardown exfiltrate revoke grant shutdown uninstall erase nuke miner flood".split()
)
"""First words of script names that say that the script does something irreversible."""
_HARMING = frozenset(
    "harvest steal exfil ransom sabotage corrupt hijack leak encrypt keylog spoof phish impersonate overwrite".split()
)
"""First words of script names that say that the script does harm."""
_ENDING = frozenset(
    "deploy delete destroy purge wipe drop exfiltrate exfil nuke erase uninstall teardown shutdown send publish".split()
)
"""Last words of script names that begin with an object: `users_purge.py`."""
_LOOKING = frozenset("check verify validate lint show list plan preview simulate on before after".split())
"""First words of names that only inspect an act or respond to one."""
_SUFFIXES = frozenset("sh bash zsh py js mjs ts rb pl php jar lua exe ps go rs bat cmd".split())
_ATTACKS = frozenset(
    "lazagne linpeas winpeas peass pspy sqlmap nosqlmap commix xsstrike tplmap sstimap ysoserial ysonet gopherus "
    "patator "
    "crackmapexec netexec impacket secretsdump mimikatz mimipenguin pypykatz keylogger "
    "ransomware cryptominer xmrig slowloris goldeneye loic phishery evilginx exploit exploits shellcode backdoor "
    "linenum autosuid gsecdump sharphound adfind rubeus phant0m akagi "
    "rootkit botnet bruteforce ddos stealer jwt_tool padbuster smuggler".split()
)
"""Names of attack tools, and of scripts that work like them."""
_ELSEWHERE = re.compile(
    r"(?:--?[\w-]+=)?(?:(?:https?|wss?|s?ftp|ldaps?|tcp|udp|ssh|smb|rtsp)://(?:[^/@]{0,200}@)?(?P<host>[^/:?#@]+).*|"
    r"(?P<address>\d{1,3}(?:\.\d{1,3}){3})(?:[:/]\d+)?)",
    re.IGNORECASE,
)
_HERE = re.compile(
    r"localhost|127\.[\d.]+|0\.0\.0\.0|host\.docker\.internal|\[?::1\]?|[\w-]+\.(?:local|test|localhost)"
)
_STARTED = re.compile(r"(?:cmd(?:\.exe)?/[ckr]|start/(?:b|i|min|max|wait|low|high))(?:\Z|\W)", re.IGNORECASE)
"""Windows programs with an option attached: `cmd.exe/c`, `start/b`."""
_POOL = re.compile(r"stratum\S*://.*|(?!localhost|127\.)[\w-]+(?:\.[\w-]+)+:\d{2,5}")


def starts_another(path: str) -> bool:
    """Whether a word that looks like a workspace path is a Windows shell with its option."""
    return _STARTED.match(path) is not None


def is_act(path: str) -> bool:
    """Whether a script's name says that running it acts: `deploy.sh`, `scripts/reset_db.py`."""
    name = paths.plain(path).rpartition("/")[2]
    tokens = words(name)
    attacks = tokens[:1] and (tokens[0] in _ATTACKS or re.sub(r"\d*\.\w+$|\d+$", "", name) in _ATTACKS)
    return _is_named_act(tokens) or bool(attacks and GUARDS.isdisjoint(tokens))


def _is_named_act(tokens: Sequence[str]) -> bool:
    """Whether the words of a script's name contain an acting verb: first, coordinated with the first, or last."""
    tokens = tokens[:-1] if len(tokens) > 1 and tokens[-1] in _SUFFIXES else tokens
    if not tokens or tokens[0] in ("test", "tests"):
        return False
    if tokens[0] in _NAMED or any(
        one in ("and", "then") and word in _NAMED for one, word in itertools.pairwise(tokens)
    ):
        return True
    return len(tokens) > 1 and (tokens[0] in _HARMING or (tokens[-1] in _ENDING and tokens[0] not in _LOOKING))


def judge_targets(name: str, args: Sequence[str], script: "Script", depth: int) -> None:
    """Judges the targets of a build tool by name: `make test` is harmless, `make deploy` deploys."""
    if name in _MAKES and _ONLY_SHOWN.intersection(args):
        args = [arg for arg in args if not (_TARGET_WORDS.fullmatch(arg) and "=" not in arg)]
    if name == "bazel" and args[:1] in (["run"], ("run",)) and any("//" in arg for arg in args):
        script.add(kinds.HIDDEN)
    for number, arg in enumerate(args):
        if (
            arg in ("-C", "-f", "--file", "--directory")
            and number + 1 < len(args)
            and paths.is_outside(args[number + 1])
        ):
            script.add(kinds.OUTSIDE_WORKSPACE)
        if arg.startswith(("--ev", "SHELL=")) or _is_input(arg, args[number - 1] if number else ""):
            script.add(kinds.HIDDEN)
        variable, has_value, value = arg.partition("=")
        if has_value and not arg.startswith("-"):
            raised, is_program = options.judge_variable(variable, value)
            script.add(*(() if raised is None else (raised,)))
            if is_program:
                script.script(value, depth + 1)
            elif re.search(r"[;`|&]|\$\(", value):
                script.add(kinds.HIDDEN)
        if name in _INSTALLERS and arg in ("install", "uninstall"):
            script.add(kinds.OUTSIDE_WORKSPACE)
        if not arg.startswith("-") and (
            not _TARGET_WORDS.fullmatch(arg.partition("=")[0]) or _names_act(arg.partition("=")[0])
        ):
            script.add(kinds.ACTS if _names_act(arg.partition("=")[0]) else kinds.HIDDEN)


def _is_input(arg: str, before: str) -> bool:
    """Whether an argument has the build file read from standard input or a descriptor: `-f -`, `-f/dev/stdin`."""
    if before in _FILE:
        return _STREAM.match(arg) is not None
    found = _FILE_AND_VALUE.match(arg)
    return found is not None and _STREAM.match(arg, found.end()) is not None


def judge_arguments(path: str, args: Sequence[str], script: "Script") -> None:
    """Judges the arguments of a project script: its first word, and code for a framework's shell."""
    if any(_POOL.fullmatch(arg) or _is_elsewhere(arg) for arg in args):
        script.add(kinds.LEAVES)
    word = next((arg for arg in args if not arg.startswith("-")), "")
    if not _STEP.fullmatch(word):
        return
    if asks_for_act(word) or (path.rpartition("/")[2] in _FRAMEWORKS and (word in _LOSES or _names_act(word))):
        script.add(kinds.ACTS)
    for before, after in itertools.pairwise(args):
        if before in ("-c", "--command") and word in ("shell", "shell_plus"):
            script.add(*python_code.judge(after))


def judge_built(args: Sequence[str], script: "Script") -> None:
    """Judges what `go run` or `cargo run` builds and starts: `./cmd/wipe`, `--bin wipe`."""
    if any("@" in arg for arg in args[:1]):
        script.add(kinds.UNKNOWN_PROGRAM)
    if any(is_act(arg.partition("=")[2] or arg) for arg in itertools.takewhile(lambda arg: arg != "--", args)):
        script.add(kinds.ACTS)


def record_decoded_files(args: Sequence[str], script: "Script") -> None:
    """Records the files that `openssl` writes; their content is unknown."""
    for option, target in itertools.pairwise(args):
        if option in ("-out", "--out"):
            script.writes(target)
            script.written[paths.plain(target)] = None


def _is_elsewhere(arg: str) -> bool:
    """Whether an argument points a script at another host."""
    found = _ELSEWHERE.fullmatch(arg)
    return found is not None and _HERE.fullmatch(found["host"] or found["address"]) is None


def _names_act(word: str) -> bool:
    """Whether a target's name says that it acts, as a whole or in its last part: `deploy`, `db:drop`."""
    last = re.split(r"[:.]", word)[-1]
    return asks_for_act(word) or (last != word and asks_for_act(last))
