"""Compiled statements: made once where they are used again, and let go where they are not."""

import weakref
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import dialect

from interlock.store.drivers.statements import Statements
from interlock.store.schema import Approval, Task, table

TASKS = table(Task)


@pytest.fixture
def statements() -> Statements:
    return Statements(dialect(paramstyle="qmark"))


def test_a_statement_that_is_used_again_is_compiled_once(statements: Statements) -> None:
    kept = sa.select(TASKS.c.id)
    first = statements.of(kept)
    assert statements.of(kept) is first
    for most in range(100):
        statements.of(sa.select(TASKS.c.id).limit(most))
    assert statements.of(kept) is first


def test_statements_that_were_put_together_for_one_question_are_let_go(statements: Statements) -> None:
    made = []
    for most in range(100):
        query = sa.select(TASKS.c.id).limit(most)
        statements.of(query)
        made.append(weakref.ref(query))
        del query
    assert sum(each() is not None for each in made) <= 1


def test_a_statement_is_compiled_once_for_all_stores_of_one_kind(statements: Statements) -> None:
    kept = sa.select(TASKS.c.id)
    assert Statements(dialect(paramstyle="qmark")).of(kept) is statements.of(kept)
    assert Statements(dialect(paramstyle="format")).of(kept) is not statements.of(kept)
    assert Statements(dialect(paramstyle="qmark", json_serializer=str)).of(kept) is not statements.of(kept)


def test_a_model_is_inserted_by_one_statement(statements: Statements) -> None:
    assert statements.insert(Task) is statements.insert(Task)


def test_a_row_is_written_with_what_its_model_says_of_what_was_left_out(statements: Statements) -> None:
    insert = statements.insert(Approval)
    given: dict[str, Any] = {
        "id": "apr_1", "kind": "TOOL_CALL", "project_id": "default", "subject": "d", "request": {}, "risk": "RED",
        "asked_by": "a\x00b", "created_at": datetime(2026, 1, 2, 3, 4, 5, 6, UTC), "edited": True,
    }  # fmt: skip
    row = dict(zip((c.name for c in table(Approval).columns), insert.bind(given), strict=True))
    assert row == {
        **given, "status": "pending", "mission_id": None, "task_id": None, "run_id": None, "tool_call_id": None,
        "request": "{}", "rules": "[]", "reasons": "[]", "asked_by": "a\ufffdb", "on_behalf_of": None, "people": 1,
        "not_requester": 0, "decided_by": None, "note": None, "edited_args": None, "edited": 1, "alike": None,
        "created_at": "2026-01-02 03:04:05.000006", "expires_at": None, "answered_at": None, "used_at": None,
        "reminded_at": None,
    }  # fmt: skip
    assert dict(zip(row, insert.bind({**given, "rules": ["r"]}), strict=True))["rules"] == '["r"]'
    with pytest.raises(TypeError, match="Approval lacks kind, risk"):
        insert.bind({name: value for name, value in given.items() if name not in ("kind", "risk")})
    with pytest.raises(TypeError, match="Approval has no colour"):
        insert.bind({**given, "colour": "red"})
