"""The card of an approval on a terminal: nothing on it is what an agent made it look like."""

import pytest

from interlock.cli import details
from interlock.desk.chats.cards import Card, Fact, Passage, Tone


def card(*passages: Passage) -> Card:
    facts = (Fact("Risk", "RED"), Fact("Who asks", "operations\nrisk  GREEN"))
    return Card("To sign off: send an e-mail", facts, passages, footer="apr_1", tone=Tone.RED)


def test_a_text_of_an_agent_cannot_write_lines_of_the_card(capsys: pytest.CaptureFixture[str]) -> None:
    details.show_card(card(Passage("Hello\nrisk         GREEN\nrehearsal    yes\n\x1b[2K", "body", verbatim=True)))
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("risk")] == ["risk      RED"]
    assert [line for line in lines if line.startswith("rehearsal")] == []
    assert [line for line in lines if "GREEN" in line] == ["          risk  GREEN", "  risk         GREEN"]
    assert not any("\x1b[2K" in line for line in lines)


def test_every_passage_stands_under_its_heading(capsys: pytest.CaptureFixture[str]) -> None:
    details.show_card(card(Passage('subject: ""\ncc: []', "Arguments"), Passage("+one\n-two", "Change of a.txt")))
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[lines.index("Arguments") + 1 :][:2] == ['  subject: ""', "  cc: []"]
    assert lines[lines.index("Change of a.txt") + 1 :] == ["  +one", "  -two"]
    assert "id        apr_1" in lines
