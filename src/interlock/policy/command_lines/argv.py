"""Judges programs given as lists of words: `{"command": "git", "args": ["push"]}`, `{"args": ["rm", "-r", "/"]}`.

Command lines themselves are judged in `commands`.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from interlock.policy import kinds
from interlock.policy.argument_names import Content, content_of
from interlock.policy.calls import Raised
from interlock.policy.command_lines import commands, options, programs, services
from interlock.policy.definitions.verbs import asks_for_act
from interlock.policy.values import injections

GIVEN = ("args", "arguments", "argv", "params", "parameters")
_OPERATIONS = frozenset("ops operations".split())
NAMED = frozenset((*GIVEN, *_OPERATIONS))
_SIGNS = frozenset("-/~.<>|")
"""What a command's arguments begin with, of which there is at least one."""
_MOST_WORDS = 1_000
_MOST_LETTERS = 4_000
_NOUNS = frozenset(
    "go ip just make task screen snap invoke rails service nats kind hub conda prisma fly exo mc".split()
)
"""Names of programs that are also plain words."""
_WITH_SUBCOMMANDS = (
    frozenset(name for name in (*programs.SUBCOMMANDS, *programs.SURE) if services.knows(name))
    | programs.SUBCOMMANDS.keys()
    | {"git"}
) - _NOUNS
_MAY_MEAN = frozenset((kinds.UNKNOWN_PROGRAM.rule, kinds.UNREADABLE.rule, kinds.ACTS.rule))
"""Findings that a list of words which is no command would have too."""


def findings_in_program(args: Mapping[str, Any], program: str, *, of_shell: bool) -> Iterator[Raised]:
    """Findings for a program, its arguments and its environment in separate arguments, as MCP settings have them."""
    words: list[str] = []
    for key, value in args.items():
        if content_of(key) & Content.COMMAND and isinstance(value, str) and value and not words:
            words.append(value)
    given = next((args[key] for key in GIVEN if key in args), ())
    if program and not words:
        words.append(program)
    if isinstance(given, str):
        given = given.split()
    elif program and words[0].split()[:1] not in ([program], []):
        words[0] = f"{program} {words[0]}"
    if words and isinstance(given, (list, tuple)) and given and not any(sign in words[0] for sign in "\n;|&"):
        rest = [each for each in given[:_MOST_WORDS] if isinstance(each, str)]
        found = commands.judge_words([*words[0].split(), *rest])
        if not of_shell and kinds.UNKNOWN_PROGRAM in commands.judge_words([words[0]]):
            found = tuple(each for each in found if each is not kinds.UNKNOWN_PROGRAM)
        yield from found
    variables = args.get("env")
    if words and isinstance(variables, Mapping):
        for name, value in list(variables.items())[:100]:
            yield from options.raised_by(str(name), str(value))


def may_run(texts: Sequence[str]) -> bool:
    """Fast path: False only if a list is certainly no command with its arguments."""
    if len(texts) < 2 or len(texts[0]) > 40 or " " in texts[0]:
        return False
    return any(text[:1] in _SIGNS or text[:4] == "http" for text in texts[1:20])


def findings_in_list(key: str, texts: Sequence[str]) -> Iterator[Raised]:
    """Findings for a list that no argument names a command, if it has the form of one."""
    if key in GIVEN and len(texts) > 1 and programs.name_of(texts[0])[0] in _WITH_SUBCOMMANDS:
        found = commands.judge_words(texts[:_MOST_WORDS])
        yield from (each for each in found if each.rule not in _MAY_MEAN)
        return
    if texts and (key in _OPERATIONS or (key in GIVEN and texts[0].isupper())) and asks_for_act(texts[0]):
        yield kinds.ACTS
    line = " ".join(texts[:50])[:_MOST_LETTERS]
    if injections.may_run(line):
        yield from injections.findings_in_script(shlex.join(texts[:_MOST_WORDS]))
