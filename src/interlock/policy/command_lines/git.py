"""Judges git commands: what they send, what they lose, what they would run.

Other shell commands are judged elsewhere; the `action` argument of a git tool is judged here too.
"""

import itertools
import re
from collections.abc import Mapping, Sequence

from interlock.policy import kinds
from interlock.policy.calls import Raised
from interlock.policy.kinds import by
from interlock.policy.values import paths

LOCAL = frozenset("status log diff show blame add commit branch checkout switch restore init stash tag".split())
"""Actions of a git tool that stay in the workspace. Source: numbers, "Risk and trust"."""
_HARMLESS = LOCAL | frozenset(
    "rev-parse rev-list ls-files ls-tree cat-file grep describe shortlog reflog merge rebase cherry-pick "
    "revert mv rm merge-base name-rev show-ref symbolic-ref for-each-ref diff-tree diff-index whatchanged "
    "annotate bisect notes worktree config remote apply am format-patch archive count-objects fsck "
    "check-ignore check-attr cherry range-diff help version sparse-checkout hash-object var verify-commit "
    "diff-files show-branch stripspace mergetool difftool clean reset gc prune repack maintenance "
    "update-index read-tree write-tree submodule lfs verify-tag verify-pack check-mailmap check-ref-format show-index "
    "merge-tree patch-id get-tar-commit-id column".split()
)
_BRINGS_IN = frozenset("fetch pull clone ls-remote".split())
_LEAVES = frozenset("push send-email credential daemon instaweb svn p4 request-pull send-pack".split())
_RUNNING = (
    "--open-f", "--exec=", "--upload-p", "--receive-p", "--ext-d", "--templ", "--unsafe-p", "--textconv", "--tool=",
)  # fmt: skip
_QUIET_VALUES = frozenset(("cat", "less", "", "false", "true", "never", "/dev/null", "0", "1"))
_FILE = re.compile(r"[\w./-]*\.[a-z][a-z0-9]{0,4}")
_VALUED = frozenset(
    "-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env --attr-source".split()
)
_RUNS = re.compile(
    r"^(?:core\.(?:sshcommand|pager|editor|fsmonitor|hookspath|gitproxy|askpass|attributesfile|worktree)|alias\..*|pager\..*|"
    r".*\.(?:command|cmd|driver|textconv|clean|smudge|process|helper|external|program)|diff\.external|sequence\.editor|"
    r"uploadpack\..*|include.*|credential.*|url\..*|http\..*|remote\..*|protocol\..*|filter\..*|gpg\..*|user\.signingkey)$",
    re.IGNORECASE,
)


def _options(rest: list[str]) -> list[Raised]:
    """Removes the global options before a subcommand, and returns their findings."""
    found: list[Raised] = []
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in ("--version", "--help", "-h", "--no-pager", "-p", "--paginate", "--bare", "--no-optional-locks"):
            continue
        name, has_value, value = option.partition("=")
        if not has_value:
            value = rest.pop(0) if option in _VALUED and rest else ""
        if name in ("-c", "--config-env"):
            key, _, setting = value.partition("=")
            if _RUNS.match(key) and (name != "-c" or setting not in _QUIET_VALUES):
                found.append(kinds.HIDDEN)
        elif name == "--exec-path" and value:
            found.append(kinds.HIDDEN)
        elif name in ("-C", "--git-dir", "--work-tree") and (paths.is_outside(value) or _is_open(value)):
            found.append(kinds.OUTSIDE_WORKSPACE if name != "--git-dir" else kinds.HIDDEN)
    return found


def _is_open(path: str) -> bool:
    """Whether a repository path is in a world-writable place; its configuration may contain programs."""
    return paths.plain(path).startswith(("/tmp/", "/var/tmp/", "/dev/"))


def judge(args: Sequence[str]) -> tuple[list[Raised], list[str]]:
    """Findings for `git args…`, and programs that it was told to run."""
    rest = list(args)
    found = _options(rest)
    runs: list[str] = []
    if not rest:
        return found, runs
    command, rest = rest[0].lower(), rest[1:]
    if command in _BRINGS_IN:
        return found + _brought_in(command, rest), runs
    if command not in _HARMLESS:
        found.append(by(kinds.LEAVES, "git push") if command in _LEAVES else kinds.UNKNOWN_PROGRAM)
        return found, runs
    found += _local(command, rest)
    if command in ("bisect", "rebase", "submodule", "difftool", "mergetool"):
        runs += _programs(command, rest)
    return found, runs


def _brought_in(command: str, rest: Sequence[str]) -> list[Raised]:
    """Findings for a command that fetches from another repository."""
    found = [by(kinds.INSTALLS, "git")]
    if any(arg.startswith(("ext::", "fd::", "--upload-p", "-u", "--config", "-c", "--templ")) for arg in rest):
        found.append(kinds.HIDDEN)
    if command == "clone":
        targets = [arg for arg in rest if not arg.startswith("-")][1:]
        found += [kinds.OUTSIDE_WORKSPACE for target in targets if paths.is_outside(target)]
    return found


def _local(command: str, rest: Sequence[str]) -> list[Raised]:
    """Findings for a command that stays in the repository, unless its options say otherwise."""
    found: list[Raised] = []
    if any(arg.startswith(_RUNNING) for arg in rest) or (
        command == "grep" and any(arg.startswith("-O") for arg in rest)
    ):
        found.append(kinds.HIDDEN)
    for target in _written(command, rest):
        if paths.is_outside(target):
            found.append(kinds.OUTSIDE_WORKSPACE)
        found += paths.written(target)
    if command == "archive" and any(arg.startswith(("--remote", "--exec")) for arg in rest):
        found.append(by(kinds.LEAVES, "git archive"))
    if command == "maintenance" and rest[:1] in (["start"], ["register"]):
        found.append(by(kinds.ACCESS, "git"))
    if _loses_work(command, rest):
        found.append(by(kinds.DESTROYS, "git"))
    if command == "remote" and rest and rest[0] not in ("-v", "--verbose", "show", "get-url"):
        found.append(by(kinds.LEAVES, "git remote"))
    if command in ("submodule", "lfs") and rest and rest[0] not in ("status", "summary", "ls-files", "env", "track"):
        found.append(
            by(kinds.INSTALLS if command == "submodule" and rest[0] in ("update", "init") else kinds.LEAVES, "git")
        )
    if command == "config":
        found += _config(rest)
    return found


def _written(command: str, rest: Sequence[str]) -> list[str]:
    """The paths that a command's options write to."""
    out = [
        arg.partition("=")[2] for arg in rest if arg.startswith(("--directory=", "--output=", "--output-directory="))
    ]
    out += [arg[2:] for arg in rest if command in ("format-patch", "archive") and arg.startswith("-o") and len(arg) > 2]
    return out + [
        b for a, b in itertools.pairwise(rest) if a in ("-o", "--directory", "--output", "--output-directory")
    ]


def _loses_work(command: str, rest: Sequence[str]) -> bool:
    """Whether a command would lose uncommitted work, or commits that nothing else references."""
    options = {arg for arg in rest if arg.startswith("-")}
    short = "".join(arg[1:] for arg in options if not arg.startswith("--"))
    if command == "clean":
        return not ("n" in short or "--dry-run" in options)
    if command == "reset":
        return "--hard" in options or "--merge" in options
    if command == "branch":
        return (
            "D" in short
            or "d" in short
            or "--delete" in options
            or "f" in short
            or "--force" in options
            or "M" in short
        )
    if command == "tag":
        return "d" in short or "--delete" in options or "f" in short
    if command == "stash":
        return bool(rest) and rest[0] in ("drop", "clear")
    if command == "reflog":
        return bool(rest) and rest[0] in ("expire", "delete")
    if command in ("checkout", "restore", "switch"):
        everything = "." in rest or "*" in rest or ":/" in rest
        staged = (
            command == "restore"
            and ("--staged" in options or "S" in short)
            and not ("--worktree" in options or "W" in short)
        )
        named = [arg for arg in rest if not arg.startswith("-")]
        files = (
            command == "checkout" and ("--" in rest or any(_FILE.fullmatch(arg) for arg in named))
        ) or command == "restore"
        everything |= bool(files and named and "b" not in short.lower())
        return "f" in short or "--force" in options or "--discard-changes" in options or (everything and not staged)
    if command == "worktree":
        return bool(rest) and rest[0] == "remove"
    if command == "rm":
        return "f" in short or "--force" in options
    return (command == "prune" and not {"-n", "--dry-run"} & options) or (
        command == "gc" and any(arg.startswith("--prune=") for arg in options)
    )


def _config(rest: Sequence[str]) -> list[Raised]:
    named = [arg for arg in rest if not arg.startswith("-")]
    reads = {"--get", "--list", "-l", "--get-all", "--get-regexp", "get", "list"} & set(rest)
    if reads or len(named) < 2:
        return []
    if {"--global", "--system"} & set(rest):
        return [by(kinds.ACCESS, "git config")]
    return [kinds.HIDDEN] if _RUNS.match(named[0]) else []


def _programs(command: str, rest: Sequence[str]) -> list[str]:
    if command == "bisect" and rest and rest[0] == "run":
        return [" ".join(rest[1:])]
    if command == "submodule" and rest and rest[0] == "foreach":
        return [" ".join(rest[1:])]
    out = [arg.partition("=")[2] for arg in rest if arg.startswith(("--exec=", "--extcmd="))]
    return out + [b for a, b in itertools.pairwise(rest) if a in ("-x", "--exec", "--extcmd")]


def judge_action(args: Mapping[str, object]) -> list[Raised]:
    """Findings for a call of a git tool with an `action`; a call without one cannot be judged and is raised."""
    action = args.get("action")
    if not isinstance(action, str):
        return [kinds.GIT_LEAVES]
    name = action.strip().lower()
    if name not in LOCAL:
        return [kinds.GIT_LEAVES]
    words: list[str] = [name]
    for key, value in args.items():
        if key == "action":
            continue
        if value is True and len(key) < 30:
            words.append(f"--{key.lower().replace('_', '-')}")
        elif isinstance(value, str) and key.lower() in ("args", "options", "flags", "arguments", "extra"):
            words += value.split()
        elif isinstance(value, list):
            words += [each for each in value if isinstance(each, str)]
        elif isinstance(value, str) and len(value) < 300:
            words.append(value)
    found, runs = judge(words)
    lost = [kinds.DESTROYS] if "--delete" in words or "--hard" in words or "--force" in words else []
    return found + lost + ([kinds.HIDDEN] if runs else [])
