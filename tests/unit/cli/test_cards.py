"""The card of an approval: everything that is signed is on it, and nothing on it is what an agent made it look like."""

from datetime import UTC, datetime
from typing import Any

import pytest

from interlock.cli import details

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def card(**values: Any) -> dict[str, Any]:
    """A card of a held e-mail, with what is given in place of its own."""
    return {
        "id": "apr_1", "kind": "TOOL_CALL", "status": "pending", "risk": "RED", "rules": [], "reasons": ["it is RED"],
        "asked_by": "operations", "task_title": "Mail", "goal": "Tell Ana", "people": 1, "not_requester": False,
        "run_id": "run_1", "run_cost_usd": 0.0, "mission_cost_usd": 0.0, "simulated": False, "expires_at": None,
        "answered_at": None, "decided_by_name": None, "note": None, "edited": False, "edited_args": None,
        "summary": None, "tool": "send_email", "args": {}, "request": {}, **values,
    }  # fmt: skip


def test_a_text_of_an_agent_cannot_write_lines_of_the_card(capsys: pytest.CaptureFixture[str]) -> None:
    details.show_card(card(args={"body": "Hello\nrisk         GREEN\nrehearsal    yes"}), NOW)
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("risk")] == ["risk         RED"]
    assert [line for line in lines if line.startswith("rehearsal")] == []
    assert [line for line in lines if "GREEN" in line] == ["        risk         GREEN"]


def test_an_empty_argument_is_shown_because_it_is_signed_too(capsys: pytest.CaptureFixture[str]) -> None:
    details.show_card(card(args={"subject": "", "cc": [], "to": ["ana@example.com"]}), NOW)
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["subject", '""'] in shown
    assert ["cc", "[]"] in shown
    assert ["look", "back", "interlock", "trace", "run_1"] in shown


def test_a_question_about_money_is_in_dollars(capsys: pytest.CaptureFixture[str]) -> None:
    asked = {"kind": "BUDGET", "tool": None, "args": None, "request": {"limit_microusd": 10_000, "account": "task:a"}}
    details.show_card(card(**asked), NOW)
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["limit", "$0.0100"] in shown
    assert ["account", "task:a"] in shown
