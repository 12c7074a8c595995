"""Tools of others that run what they are given, and whether that only looks: `bash` with `grep -rn main src`.

Such a tool is no sandbox of ours: what starts a program of the project, writes, or fetches is not let here.
"""

import itertools
import re
from collections.abc import Set
from functools import lru_cache

from interlock.policy import awk, commands, computing, shell, tells, windows
from interlock.policy import services as s
from interlock.policy.calls import Call
from interlock.policy.choices import verbs_like
from interlock.policy.printing import UNKNOWN
from interlock.policy.programs import name_of
from interlock.policy.risk import Risk
from interlock.policy.shell import Command, Unreadable
from interlock.policy.spelling import parts
from interlock.policy.words import looks_red

_RUNNERS = frozenset(
    "run execute exec bash shell terminal command commands cmd invoke cli console sh zsh call "
    "powershell pwsh prompt".split()
)
_NEUTRAL = frozenset("tool a in the local system linux unix windows session mcp aws kubectl gcloud git docker".split())
_OF_CODE = frozenset("python code interpreter ipython jupyter repl snippet cell".split())
_CODE_KEYS = frozenset(("code", "python_code", "source_code"))
_KEYS = frozenset("command cmd cli_command bash_command shell_command".split())
_BESIDE = frozenset(
    "timeout timeout_ms timeout_s timeout_seconds cwd workdir working_dir working_directory description explanation "
    "reason thought security_risk is_input blocking session session_id title".split()
)
_LOOKS = (
    frozenset(
        """
    ls dir tree pwd cd pushd popd dirs cat tac head tail less more nl wc cut paste join comm column fold expand
    unexpand tr rev grep egrep fgrep zgrep rg ag ack locate basename dirname realpath readlink stat file du df free
    uptime uname hostname whoami id groups who w date cal echo printf seq expr test [ [[ true false : type which
    whereis sleep diff diff3 cmp sdiff colordiff md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum
    sum od hexdump hd strings jq ps pgrep pidof pstree lscpu lsblk lsmem lsof vmstat nproc arch tty locale zcat
    bzcat xzcat zipinfo getconf man help whatis apropos netstat ss for do then break continue read lsmod modinfo
    lsb_release nm objdump readelf size getent journalctl dpkg-query
    """.split()
    )
    | windows.CMDLETS
    | windows.PROGRAMS
)
_GIT = frozenset(
    "status log diff show blame rev-parse rev-list ls-files ls-tree cat-file grep describe shortlog name-rev "
    "merge-base for-each-ref show-ref diff-tree diff-index diff-files whatchanged annotate count-objects cherry "
    "range-diff help version check-ignore check-attr verify-commit verify-tag show-branch".split()
)
_GIT_ASKED = re.compile(
    r"branch(?: (?:-[avr]+|--list|--all|--show-current|--contains|--merged|--no-merged|[\w./*-]+(?<=\*)))*|"
    r"tag(?: (?:-l|--list|-n\d*|--sort=\S+|[\w.*]*\*[\w.*]*))*|remote(?: -v| show \w+| get-url \w+)?|stash "
    r"list|reflog(?: show)?|"
    r"config (?:--get|--list|-l|--get-all|get|list)(?: [\w.-]+)?|worktree list|submodule status|notes show"
)
_ASKS = re.compile(
    r"(?:python[\d.]*|node|npm|pip[\d.]*|ruby|java|go|cargo|rustc|gcc|make|cmake|git|docker|pytest|mypy|ruff|"
    r"uv|poetry|yarn|pnpm)"
    r" (?:--version|-V|-version|version)|pip[\d.]* (?:list|show|freeze)(?: [\w.-]+)*|npm (?:ls|list|view)(?: "
    r"[\w@/.-]+)*|"
    r"docker (?:ps|images|logs|inspect|version|info|top|port|history)(?: [\w@/.:=-]+)*"
)
_SHOWN = re.compile(r"(?:\d+|\$|/[^/]+/)(?:,(?:\+?\d+|\$|/[^/]+/))?[p=]")
"""Lines that `sed -n` shows."""
_TAKES = re.compile(r"-[nPLIsEad]$")
_WRITES = re.compile(r"-[a-zA-Z]*[oO]|--output|--log-file|--LOG-FILE")
_SHARED = re.compile(r"\\\\[\w.]|%logonserver%", re.IGNORECASE)
"""A place of another machine."""
_OF_WINDOWS = re.compile(r"\b[A-Za-z]:\\|%\w+%\\|(?<!\S)\.{1,2}\\\w")
"""Paths that a POSIX shell would read as others."""
_STORES = re.compile(r"(?<![\w/\\])(?:Env|Cert|HKCU|HKLM|WSMan|Variable|Function|AD):", re.IGNORECASE)
"""Where Windows keeps variables, certificates and settings."""
_QUIET = frozenset(("/dev/null", "1", "2"))


def looks(call: Call) -> bool:
    """Whether a call of a tool that runs what it is given, and says no more of itself, is for a look."""
    words = frozenset(parts(call.tool.rpartition("__")[2]))
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
    if len(given) != 1 or not call.args.keys() <= given | _BESIDE:
        return False
    text = call.args[next(iter(given))]
    return isinstance(text, str) and only_looks(text) and not _says_more(call)


def _only_computes(call: Call, given: Set[str]) -> bool:
    """Whether a tool that runs code is given Python that computes and does nothing else."""
    text = call.args[next(iter(given))]
    beside = call.args.keys() - given - _BESIDE
    if len(given) != 1 or not isinstance(text, str) or beside - {"language", "lang"}:
        return False
    named = {call.args[key] for key in beside}
    return named <= {"python", "python3", "Python", "py"} and computing.only(text) and not _says_more(call)


def _says_more(call: Call) -> bool:
    """Whether its description, schema or annotations say anything graver than that it runs and changes things."""
    said = re.sub(r"[A-Za-z]+", lambda found: _as_read(found.group()), call.description)
    return looks_red("read", said, call.input_schema, call.hints) is not None


def _as_read(word: str) -> str:
    """A verb that runs or changes things as one that reads, in its form."""
    if word.lower() not in verbs_like("runs something"):
        return word
    return "reading" if word.endswith("ing") else "reads" if word.endswith("s") else "read"


@lru_cache(maxsize=512)
def only_looks(text: str) -> bool:
    """Whether a script does nothing but look: programs that read, plain git, services that are asked. Total."""
    if _SHARED.search(text) or _STORES.search(text):
        return False
    if _OF_WINDOWS.search(text):
        text = text.replace("\\", "/")
    if any(found.risk is Risk.RED for found in commands.judge(text)):
        return False
    try:
        found = shell.commands(text)
    except Unreadable:
        return False
    return bool(found) and all(_looks(command) for command in found)


def _looks(command: Command) -> bool:
    if command.in_function is not None or command.decodes or command.text_in is not None or command.assigned:
        return False
    if any(not operator.startswith("<") and target not in _QUIET for operator, target in command.redirects):
        return False
    return _program(tuple(command.words))


def _program(words: tuple[str, ...]) -> bool:
    if not words or UNKNOWN in words[0]:
        return not words
    name, standard = name_of(words[0])
    args = words[1:]
    if not standard:
        return False
    line = " ".join((name, *args))
    if name in _LOOKS:
        return name not in ("tree", "less") or not any(_WRITES.match(arg) for arg in args)
    if name == "find":
        return not any(arg.startswith(("-exec", "-ok", "-delete", "-fprint", "-fls")) for arg in args)
    if name in ("sort", "uniq"):
        plain = [arg for arg in args if not arg.startswith("-")]
        return not any(_WRITES.match(arg) for arg in args) and (name == "sort" or len(plain) < 2)
    if name in ("awk", "gawk"):
        return all(awk.effects(arg) == (False, []) for arg in args)
    if name == "sed":
        return (
            args[0:1] == ("-n",)
            and len(args) > 1
            and _SHOWN.fullmatch(args[1]) is not None
            and not any(arg.startswith("-") for arg in args[2:])
        )
    if name == "git":
        return _git(list(args))
    if name in ("xargs", "timeout", "time"):
        return _program(tuple(_inside(name, list(args))))
    return _ASKS.fullmatch(line) is not None or tells.only(name, args) or (s.knows(name) and s.reads(name, args))


def _git(args: list[str]) -> bool:
    while args and args[0] in ("--no-pager", "-P", "-C"):
        del args[: 2 if args[0] == "-C" else 1]
    if not args or any(arg.startswith(("--output", "-o")) for arg in args):
        return False
    return args[0] in _GIT or _GIT_ASKED.fullmatch(" ".join(args)) is not None


def _inside(name: str, args: list[str]) -> list[str]:
    """What a wrapper starts, behind its options and the time that it is given."""
    rest = list(itertools.dropwhile(lambda arg: arg.startswith("-") and not _TAKES.match(arg), args))
    while rest and rest[0].startswith("-"):
        rest = rest[2:] if _TAKES.match(rest[0]) else rest[1:]
    return rest[1:] if name == "timeout" else rest
