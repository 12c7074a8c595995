"""Whether a shell glob, such as `.e*` or `{.env,x}`, could expand to the path of a secret.

Patterns of other programs (`grep`, `find -name`) are not globs.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from interlock.policy.values import paths

_NAMES = (
    ".env .env.local .env.production .ssh .aws .azure .kube .docker .gnupg .netrc .pgpass .npmrc .pypirc "
    ".git-credentials "
    ".htpasswd .vault-token .s3cfg .my.cnf .bash_history .zsh_history .mysql_history .psql_history .python_history "
    "id_rsa id_ed25519 id_ecdsa id_dsa shadow gshadow passwd sudoers credentials authorized_keys .password-store "
    ".config .mozilla .claude.json environ kcore"
).split()
_LISTS = frozenset("ls dir echo printf du stat file tree find wc for test exa eza lsd git chmod".split())
_NONE = frozenset("[ [[ unset let read declare local export tldr help man type select bg fg kill wait".split())
_REGEX = re.compile(r"^\^|[$\\]|\[\[:")
_SIGNS = re.compile(r"[*?\[]")
_CHOICE = re.compile(r"\{([^{}\n]{0,200})\}")
MOST = 64


def may_name_secret(globs: Sequence[str], program: Sequence[str]) -> bool:
    """Whether a glob of a command could expand to the path of a secret; commands that only list files are exempt."""
    if not globs or (program and program[0] in _NONE):
        return False
    lists = bool(program) and program[0] in _LISTS
    return any(_may(glob, lists) for glob in globs)


@lru_cache(maxsize=1024)
def _may(glob: str, lists: bool) -> bool:
    for text in braces(glob):
        if paths.touches_secret(text) or (not lists and "/" in text and paths.reads_system(text)):
            return True
        if lists or not _SIGNS.search(text):
            continue
        steps = text.split("/")
        for number, step in enumerate(steps):
            if (
                not _SIGNS.search(step)
                or _REGEX.search(step)
                or not _is_whole(step)
                or (step[0] == "*" and not (number and steps[number - 1] == "etc"))
            ):
                continue
            pattern = _compiled(step)
            if pattern is None or any(pattern.fullmatch(name) for name in _NAMES):
                return True
    return False


def _is_whole(step: str) -> bool:
    return "[" not in step or "]" in step[step.index("[") + 2 :]


@lru_cache(maxsize=1024)
def _compiled(step: str) -> re.Pattern[str] | None:
    out = re.sub(r"\[!", "[^", step.replace("[[", "[\\["))
    out = re.sub(r"[.+(){}|$]", lambda m: "\\" + m[0], out).replace("*", ".*").replace("?", ".")
    try:
        return re.compile(out)
    except re.error:
        return None


def braces(text: str) -> Iterator[str]:
    """The brace expansion of a word, up to a limit."""
    rest, made = [text], 0
    while rest and made < MOST:
        each = rest.pop()
        made += 1
        match = next(
            (m for m in _CHOICE.finditer(each) if "," in m[1] and each[m.start() - 1 : m.start()] != "$"), None
        )
        if match is None:
            yield each
        else:
            rest += [each[: match.start()] + one + each[match.end() :] for one in match[1].split(",")][:MOST]
