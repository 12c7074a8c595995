"""Helpers for the JSON Schemas of the built-in tools' arguments."""

from typing import Any

Schema = dict[str, Any]


def arguments(*required: str, **properties: Schema) -> Schema:
    """An object with these properties and no others."""
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": list(required)} if required else schema


def text(description: str, *, longest: int, shortest: int = 1) -> Schema:
    """A string with its length in characters."""
    return {"type": "string", "description": description, "minLength": shortest, "maxLength": longest}


def choice(description: str, *values: str) -> Schema:
    """One of several words."""
    return {"type": "string", "description": description, "enum": list(values)}


def whole(description: str, *, least: int, most: int, default: int) -> Schema:
    """A whole number."""
    return {"type": "integer", "description": description, "minimum": least, "maximum": most, "default": default}


def many(description: str, items: Schema, *, most: int, least: int = 1) -> Schema:
    """A list."""
    return {"type": "array", "description": description, "items": items, "minItems": least, "maxItems": most}
