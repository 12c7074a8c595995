"""Determines the language of a piece of code, and judges it by the module for that language.

Where arguments may contain code is determined in `meaning`.
"""

import re
from collections.abc import Mapping
from typing import Any

from interlock.policy import kinds
from interlock.policy.calls import Raised
from interlock.policy.code import other_code, python_code
from interlock.policy.command_lines import commands
from interlock.policy.queries import sql
from interlock.policy.values.folding import fold

_SHELL_NAMES = frozenset("bash sh shell zsh console terminal shellscript fish ksh dash".split())
_WINDOWS_NAMES = frozenset("powershell pwsh cmd batch bat".split())
_STORES = re.compile(r"\b(?:Env|HKLM|HKCU|Cert):", re.IGNORECASE)
"""Windows drives for variables, settings and certificates."""
_PYTHON_NAMES = frozenset("python py python3 ipython jupyter".split())
_OTHER_NAMES = frozenset(
    "javascript js node nodejs typescript ts ruby perl php lua r go golang rust java "
    "c cpp c++ csharp kotlin swift scala julia".split()
)
_SCRIPTS_A_PAGE = re.compile(
    r"\b(?:document|window|page|driver)\s*(?:\.[^;\n]{0,60})?\.(?:click|submit|send_?keys)\s*\(|\bdocument\.cookie|\blocalStorage\b|"
    r"\brequire\(\s*['\"](?:node:)?(?:child_process|fs|net|https?|vm|os)['\"]"
)
"""JavaScript, of a page or a server, that does more than read."""


def code(text: str, language: str, *, python: bool) -> tuple[Raised, ...]:
    """Findings for code in a named language, or in an unnamed one."""
    if language in _WINDOWS_NAMES:
        found = (*commands.judge(text), *commands.judge(text.replace("\\", "/")))
        return (*found, kinds.READS_SECRETS) if _STORES.search(text) else found
    if language in _SHELL_NAMES:
        return commands.judge(text)
    if language in _PYTHON_NAMES:
        return python_code.judge(text)
    if language == "sql":
        return sql.judge(text)
    if language in _OTHER_NAMES:
        return other_code.judge(text)
    if _SCRIPTS_A_PAGE.search(text[:8_000]):
        return (kinds.HIDDEN,)
    if python_code.parsed(text) is None:
        return commands.judge(text) if not python else (*python_code.judge(text), *commands.judge(text))
    found = python_code.judge(text)
    if "(" not in text and "=" not in text and "import" not in text:
        found += tuple(each for each in commands.judge(text) if each is not kinds.UNKNOWN_PROGRAM)
    return found


def language_of(args: Mapping[str, Any]) -> str:
    """The language that arguments name; empty if none."""
    for key in ("language", "lang", "runtime", "interpreter", "type", "kind"):
        value = args.get(key)
        if isinstance(value, str):
            return fold(value).strip().lower()
    return ""
