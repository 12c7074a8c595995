"""Validates arguments against a tool's JSON Schema, with errors exact enough for a model to correct its call.

Schemas are written by the authors of tools.
"""

import functools
import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import jsonschema
from referencing import Registry
from referencing.exceptions import Unresolvable

from interlock.core.errors import UsageError

MOST_ERRORS = 10
DEEPEST = 32
_NOTHING_REMOTE: Registry[Any] = Registry()
_MESSAGE_HEAD, _MESSAGE_TAIL = 80, 160
_HALF = re.compile("[\ud800-\udfff]")
_TYPES: Mapping[Any, type] = {"string": str, "integer": int, "boolean": bool}
_SILENT = frozenset({"title", "description", "default", "examples", "deprecated"})
"""Keywords that do not constrain values."""


class ArgumentCheck:
    """A compiled schema. References are resolved within the schema only, never fetched.

    Raises UsageError if it is not a JSON Schema 2020-12 of type object.
    """

    def __init__(self, tool: str, schema: Mapping[str, Any]) -> None:
        if schema.get("type") != "object":
            raise UsageError(f'the schema of tool `{tool}` must have "type": "object"')
        try:
            compiled = _compiled(schema)
        except (jsonschema.SchemaError, RecursionError) as error:
            why = error.message if isinstance(error, jsonschema.SchemaError) else "it is nested too deeply"
            raise UsageError(f"the schema of tool `{tool}` is not valid: {_short(why)}") from error
        for reference in compiled.references:
            if not reference.startswith("#"):
                raise UsageError(f"the schema of tool `{tool}` refers to `{reference}`: only `#/…` is followed")
        self._validator, self._plain, self._required = compiled.validator, compiled.plain, compiled.required

    def errors(self, args: object) -> list[str]:
        """What is wrong with the arguments, each as "`path`: problem"; empty if they are valid."""
        if not isinstance(args, dict):
            return ["the arguments are not a JSON object"]
        if self._plainly_fit(args):
            return []
        if unfit := list(_unfit(args, "", 0)):
            return unfit[:MOST_ERRORS]
        try:
            found = sorted(self._validator.iter_errors(args), key=lambda e: [str(p) for p in e.absolute_path])
        except (RecursionError, Unresolvable):
            return ["the tool's own schema cannot be applied: it refers to itself, or to what is not there"]
        messages = [_located(_path(error.absolute_path), _short(error.message)) for error in found]
        return [
            *messages[:MOST_ERRORS],
            *([f"and {len(messages) - MOST_ERRORS} more"] if len(messages) > MOST_ERRORS else []),
        ]

    def _plainly_fit(self, args: dict[Any, Any]) -> bool:
        """Fast path: True only for plain values in fields that are constrained by type only."""
        if self._plain is None or not args.keys() >= self._required:
            return False
        for name, value in args.items():
            kind = type(value)
            if kind is not self._plain.get(name) or (kind is str and not _is_plain(value)):
                return False
        return True


class _Compiled(NamedTuple):
    references: tuple[str, ...]
    validator: jsonschema.Draft202012Validator
    plain: Mapping[str, type] | None
    required: frozenset[str]


def _compiled(schema: Mapping[str, Any]) -> _Compiled:
    """Raises SchemaError for an invalid JSON Schema; compiled schemas are cached."""
    try:
        text = json.dumps(schema)
        is_text = json.loads(text) == schema
    except (TypeError, ValueError):
        is_text = False
    return _compiled_text(text) if is_text else _compile(schema)


@functools.lru_cache(maxsize=512)
def _compiled_text(text: str) -> _Compiled:
    return _compile(json.loads(text))


def _compile(schema: Mapping[str, Any]) -> _Compiled:
    jsonschema.Draft202012Validator.check_schema(schema)
    return _Compiled(
        tuple(_references(schema)),
        jsonschema.Draft202012Validator(schema, registry=_NOTHING_REMOTE),
        _plain_fields(schema),
        frozenset(schema.get("required", ())),
    )


def _plain_fields(schema: Mapping[str, Any]) -> dict[str, type] | None:
    """The type of each field that is constrained by type only; None if the schema constrains them jointly."""
    if not schema.keys() <= {"type", "properties", "required", "additionalProperties", "$defs", *_SILENT}:
        return None
    fields: Mapping[str, Any] = schema.get("properties", {})
    return {
        name: kind
        for name, field in fields.items()
        if _is_plain(name)
        and isinstance(field, Mapping)
        and field.keys() <= {"type", *_SILENT}
        and isinstance(field.get("type"), str)
        and (kind := _TYPES.get(field["type"])) is not None
    }


def _is_plain(text: str) -> bool:
    return text.isascii() and "\x00" not in text


def _unfit(value: object, path: str, depth: int) -> Iterator[str]:
    """Values that Python's JSON parser accepts but neither database nor any service does."""
    if depth > DEEPEST:
        yield _located(path, f"is nested more than {DEEPEST} levels deep")
    elif isinstance(value, str):
        if "\x00" in value:
            yield _located(path, "contains a NUL character")
        if not value.isascii() and _HALF.search(value):
            yield _located(path, "contains half of a surrogate pair")
    elif isinstance(value, float) and not math.isfinite(value):
        yield _located(path, "is not a finite number")
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _unfit(key, path, depth + 1)
            yield from _unfit(inner, _path([key], path), depth + 1)
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from _unfit(inner, _path([position], path), depth + 1)


def _path(parts: Any, base: str = "") -> str:
    for part in parts:
        base += f"[{part}]" if isinstance(part, int) else f".{part}" if base else str(part)
    return base


def _located(path: str, problem: str) -> str:
    return f"`{_short(path)}`: {problem}" if path else problem


def _short(text: str) -> str:
    text = " ".join(text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd").split())
    if len(text) <= _MESSAGE_HEAD + _MESSAGE_TAIL:
        return text
    return f"{text[:_MESSAGE_HEAD]} … {text[-_MESSAGE_TAIL:]}"


def _references(schema: object) -> Iterator[str]:
    if isinstance(schema, Mapping):
        for key, inner in schema.items():
            if key in ("$ref", "$dynamicRef") and isinstance(inner, str):
                yield inner
            yield from _references(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _references(inner)
