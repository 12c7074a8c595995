"""Conditions of rules in CEL: compiled and checked once, evaluated over one context per decision."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import cel
from cel import Context

from interlock.policy.as_code import condition_cost
from interlock.policy.as_code.condition_cost import Effort
from interlock.policy.as_code.flattening import Flat, flattened

__all__ = [
    "FIELDS", "LONGEST", "BadCondition", "Condition", "Context", "blanked", "compile_condition",
    "constant", "context_of",
]  # fmt: skip

LONGEST = 2_000
FIELDS: Mapping[str, frozenset[str] | None] = {
    "args": None,
    "tool": None,
    "agent": frozenset(("name", "trust", "persona")),
    "task": frozenset(("type", "project", "cost_usd")),
    "project": None,
}
"""The variables of a condition, and the fields of those that have fixed ones. Source: interfaces, "Policy file"."""

_FUNCTIONS = frozenset(
    "size contains startsWith endsWith matches int uint double string bytes timestamp duration type dyn has all exists "
    "exists_one existsOne map filter getFullYear getMonth getDayOfYear getDayOfMonth getDate getDayOfWeek getHours "
    "getMinutes getSeconds getMilliseconds".split()
)
_TYPES = frozenset(("int", "uint", "double", "string", "bytes", "bool", "list", "map", "null_type", "type"))
_LITERALS = re.compile(
    r"""
    //[^\n]*
  | (?:[bB]?[rR]|[rR][bB]) (?: \"{3}[\s\S]*?\"{3} | '{3}[\s\S]*?'{3} | "[^"\n]*" | '[^'\n]*' )
  | [bB]? (?:
        \"{3}(?:\\[\s\S]|[^\\])*?\"{3} | '{3}(?:\\[\s\S]|[^\\])*?'{3} | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
    )
    """,
    re.VERBOSE,
)
_BOUND = re.compile(r"\.\s*(?:all|exists|exists_one|existsOne|map|filter)\s*\(\s*([A-Za-z_]\w*)\s*,")
_FIELD = re.compile(r"(?<![\w.])(agent|task)\s*\.\s*([A-Za-z_]\w*)")
_SELECT = re.compile(r"\s*\.\s*([A-Za-z_]\w*)(?!\w|\s*\()")
_SYNTAX = re.compile(r"<input>:(\d+):(\d+): (?:Syntax error: )?([^\n|]*)")


class BadCondition(ValueError):
    """An invalid condition, with a one-line reason."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A compiled condition."""

    source: str
    program: cel.Program
    reads: Mapping[str, frozenset[str] | None]
    """The variables that it reads, and the fields of each; None if it may read any."""
    effort: Effort | None = None
    """Limits on its cost; None if it is cheap for any call."""
    flat: Flat | None = None
    """The same over scalar variables; None if it has to be evaluated over mappings."""
    flat_program: cel.Program | None = None

    def holds(self, context: Context, *, flat: bool = False) -> bool | str:
        """Whether it holds; an error text (without values of the call) if it cannot be evaluated.

        With `flat`, the context has the variables of the `flat` form.
        """
        program = self.flat_program if flat and self.flat_program is not None else self.program
        try:
            result = program.execute(context)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - a panic of the engine is no Exception
            return self._error_text(error)
        if result is True or result is False:
            return result
        return f"its condition gives a {type(result).__name__}, not true or false"

    def _error_text(self, error: BaseException) -> str:
        key = error.args[0] if isinstance(error, KeyError) and error.args else None
        if isinstance(key, str) and key in self.source:
            return f"there is no `{key}`"
        return f"its condition fails on this call ({type(error).__name__})"


def compile_condition(source: str) -> Condition:
    """A compiled condition in CEL, with its names checked.

    Raises BadCondition.
    """
    if len(source) > LONGEST:
        raise BadCondition(f"condition of {len(source)} characters: {LONGEST} at most")
    try:
        program = cel.compile(source)
        names, functions = program.variables(), program.functions()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        raise BadCondition(f"not a CEL condition: {_one_line(str(error))}") from error
    plain = blanked(source)
    bound = set(_BOUND.findall(plain))
    for name in names:
        if name not in FIELDS and name not in bound and name not in _TYPES:
            raise BadCondition(f"unknown name `{name}`: a condition sees {', '.join(FIELDS)}")
    for function in functions:
        if function.isidentifier() and not function.startswith("_") and function not in _FUNCTIONS:
            raise BadCondition(f"unknown function `{function}`")
    for owner, field in _FIELD.findall(plain):
        known = FIELDS[owner]
        if known is not None and field not in known and owner not in bound:
            raise BadCondition(f"unknown field `{owner}.{field}`: there are {', '.join(sorted(known))}")
    _check_patterns(source, plain)
    reads = {name: _fields(name, plain) for name in names if name in FIELDS}
    try:
        most = condition_cost.effort_of(plain, reads.get("args", frozenset()))
    except ValueError as error:
        raise BadCondition(str(error)) from error
    flat = flattened(source, plain, reads, bound)
    return Condition(source, program, reads, most, flat, None if flat is None else cel.compile(flat.source))


def blanked(source: str) -> str:
    """A condition with a number in place of each string literal, to search for operators; its length is kept."""
    return _LITERALS.sub(_blank, source)


def constant(source: str) -> Any:
    """The value of an expression without variables.

    Raises ValueError if it has variables or no value.
    """
    try:
        program = cel.compile(source)
        if program.variables():
            raise ValueError(f"`{source}` is not constant")
        return program.execute()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        raise ValueError(str(error)) from error


def _blank(literal: re.Match[str]) -> str:
    """A number as long as the string literal that it replaces, so that positions are kept; spaces for a comment."""
    return (" " if literal[0].startswith("//") else "0") * len(literal[0])


def _check_patterns(source: str, plain: str) -> None:
    for pattern in condition_cost.patterns(source, plain):
        if pattern is None:
            raise BadCondition("the pattern of `matches` is a text in quotes, not made of the call")
        if condition_cost.repeats_too_often(pattern):
            raise BadCondition("a pattern of `matches` repeats too often: it would be slow for every call")
        try:
            cel.compile(f'"".matches({pattern}\n)').execute()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            problem = str(error).split("error:")[-1].split(". Check")[0]
            raise BadCondition(f"not a pattern for `matches`: {' '.join(problem.split())[:120]}") from error


def _fields(variable: str, plain: str) -> frozenset[str] | None:
    """The fields of a variable that a condition reads, so that only these are converted; None for all."""
    if "'" in plain or '"' in plain:
        return None
    found = set()
    for use in re.finditer(rf"\b{variable}\b", plain):
        field = _SELECT.match(plain, use.end())
        if field is None:
            return None
        found.add(field[1])
    return frozenset(found)


def context_of(values: Mapping[str, Any]) -> Context:
    """The context for conditions; values are converted once, here.

    Raises ValueError for values that CEL cannot represent.
    """
    try:
        return Context(dict(values))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        raise ValueError(f"arguments that CEL cannot hold ({type(error).__name__})") from error


def _one_line(message: str) -> str:
    if found := _SYNTAX.search(message):
        line, column, problem = found.groups()
        return f"{problem.split(' expecting ')[0].strip()} (line {line}, column {column} of the condition)"
    return " ".join(message.split())[:200]
