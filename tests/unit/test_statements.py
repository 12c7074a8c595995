"""Compiled statements: made once where they are used again, and let go where they are not."""

import weakref

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import dialect

from interlock.store.schema import Task, table
from interlock.store.statements import Statements

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
