"""Arguments for a tool from what there is to say and the schema of the tool, as any model would read it.

Which tool to call is decided in `working`.
"""

from collections.abc import Mapping
from typing import Any

_SAME = {
    "query": ("query", "q", "search", "question"),
    "path": ("path", "file", "filename", "file_path"),
    "content": ("content", "text", "body", "deliverable", "markdown", "html", "message", "progress", "note"),
    "summary": ("summary", "abstract", "reason"),
    "title": ("title", "name", "subject", "heading"),
    "to": ("to", "recipient", "recipients", "address"),
    "verdict": ("verdict",),
    "format": ("format", "kind", "media_type"),
}
_MEANING = {name: meaning for meaning, names in _SAME.items() for name in names}
_EMPTY: dict[str, Any] = {"integer": 1, "number": 1, "boolean": False, "array": [], "object": {}}


def arguments(schema: Mapping[str, Any], said: Mapping[str, str]) -> dict[str, Any]:
    """Values for the properties of `schema` by their meaning; required ones always get one."""
    required = schema.get("required", ())
    out: dict[str, Any] = {}
    for name, rule in schema.get("properties", {}).items():
        value = said.get(name, said.get(_MEANING.get(name, "")))
        if value is not None:
            out[name] = _fitting(value, rule)
        elif name in required:
            out[name] = _neutral(rule, said)
    return out


def _fitting(value: str, rule: Mapping[str, Any]) -> Any:
    if choices := rule.get("enum"):
        return value if value in choices else choices[0]
    if _type(rule) == "array":
        return [value]
    return value[: rule["maxLength"]] if "maxLength" in rule else value


def _neutral(rule: Mapping[str, Any], said: Mapping[str, str]) -> Any:
    if choices := rule.get("enum"):
        return choices[0]
    if "default" in rule:
        return rule["default"]
    kind = _type(rule)
    return said.get("title", "rehearsal") if kind == "string" else _EMPTY.get(kind)


def _type(rule: Mapping[str, Any]) -> str:
    kind = rule.get("type", "string")
    return str(kind[0] if isinstance(kind, list) else kind)
