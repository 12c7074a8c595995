"""Converts the schemas of tools to what providers of chat completions accept.

Checking arguments against a schema is `tools`' job.
"""

from collections.abc import Mapping
from typing import Any

_PLAIN = frozenset(
    {
        "type", "format", "title", "description", "nullable", "enum", "properties", "required", "items", "minItems",
        "maxItems", "minimum", "maximum", "minLength", "maxLength", "pattern", "anyOf", "default",
        "propertyOrdering",
    }
)  # fmt: skip
"""Source: https://ai.google.dev/api/caching#Schema."""
_FORMATS = frozenset({"enum", "date-time", "int32", "int64", "float", "double"})
_TOP = ("anyOf", "oneOf", "allOf", "not", "enum")
_DEEPEST = 24


def parameters(schema: Mapping[str, Any], *, plain: bool) -> dict[str, Any]:
    """The parameters of a function: an object schema, without keywords that are rejected at the top level.

    With `plain`, only the keywords of OpenAPI, with references resolved.
    """
    out = {key: value for key, value in schema.items() if key not in _TOP and key != "$schema"}
    out["type"] = "object"
    if not isinstance(out.get("properties"), Mapping):
        out["properties"] = {}
    if not plain:
        return out
    return _plain(out, {**_defs(schema)}, 0)


def _defs(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {
        f"#/{home}/{name}": inner
        for home in ("$defs", "definitions")
        for name, inner in (schema.get(home) or {}).items()
    }


def _plain(schema: Any, defs: Mapping[str, Any], depth: int) -> dict[str, Any]:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return {"type": "object"} if depth > _DEEPEST else {}
    found = dict(schema)
    if "$ref" in found:
        found = {**dict(defs.get(str(found.pop("$ref"))) or {}), **found}
        return _plain(found, defs, depth + 1)
    for part in found.pop("allOf", ()):
        found = {**_plain(part, defs, depth + 1), **found}
    if "oneOf" in found:
        found.setdefault("anyOf", found.pop("oneOf"))
    if "const" in found:
        found["enum"] = [found.pop("const")]
    _one_type(found)
    out = {key: value for key, value in found.items() if key in _PLAIN}
    if out.get("format") not in _FORMATS:
        out.pop("format", None)
    if "enum" in out:
        # Only words can be listed.
        out["enum"] = [each for each in out["enum"] if isinstance(each, str) and each]
        if not out["enum"] or out.get("type", "string") != "string":
            del out["enum"]
        else:
            out["type"] = "string"
    if isinstance(out.get("properties"), Mapping):
        out["properties"] = {name: _plain(each, defs, depth + 1) for name, each in out["properties"].items()}
        out["required"] = [name for name in out.get("required", ()) if name in out["properties"]]
        if not out["required"]:
            del out["required"]
    if "items" in out or out.get("type") == "array":
        out["items"] = _plain(out.get("items") or {"type": "string"}, defs, depth + 1)
    if "anyOf" in out:
        out["anyOf"] = [_plain(each, defs, depth + 1) for each in out["anyOf"]]
    return out


def _one_type(found: dict[str, Any]) -> None:
    """A list of types, or a choice with null, as a single nullable type."""
    kind = found.get("type")
    if isinstance(kind, list):
        rest = [each for each in kind if each != "null"]
        if len(rest) < len(kind):
            found["nullable"] = True
        if len(rest) == 1:
            found["type"] = rest[0]
        else:
            del found["type"]
            found.setdefault("anyOf", [{"type": each} for each in rest])
    options = found.get("anyOf")
    if isinstance(options, list):
        rest = [each for each in options if not (isinstance(each, Mapping) and each.get("type") == "null")]
        if len(rest) < len(options):
            found["nullable"] = True
            del found["anyOf"]
            if len(rest) == 1 and isinstance(rest[0], Mapping):
                found.update({key: value for key, value in rest[0].items() if key not in found})
            elif rest:
                found["anyOf"] = rest
