"""Whom a text is meant for, by how it begins."""

import pytest

from interlock.agents.persona import load_personas
from interlock.desk.chats.addressing import addressed

PERSONAS = load_personas(True, (), known_tools=frozenset()).personas


@pytest.mark.parametrize(
    ("text", "persona", "rest"),
    [
        ("@research what did you find?", "research", "what did you find?"),
        ("  @Research: and the prices", "research", "and the prices"),
        ("@QA, look", "qa", "look"),
        ("Finance: how much?", "finance", "how much?"),
        ("operations, where is the file", "operations", "where is the file"),
        ("@coder", "coder", ""),
        ("@research\nline two", "research", "line two"),
    ],
)
def test_a_name_at_the_beginning_addresses_a_persona(text: str, persona: str, rest: str) -> None:
    found = addressed(text, PERSONAS)
    assert found is not None
    assert (found.persona, found.text) == (persona, rest)


@pytest.mark.parametrize(
    "text",
    [
        "research the market", "ask @research", "@nobody hello", "finance", "well, research: no", "12:30 is fine",
        "@research-team hello", "", "@", "https://research: x", "@" + "a" * 100_000,
    ],
)  # fmt: skip
def test_anything_else_addresses_nobody(text: str) -> None:
    assert addressed(text, PERSONAS) is None
