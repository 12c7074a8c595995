"""Compiled statements: made once where they are used again, and let go where they are not."""

import weakref

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import dialect

from interlock.store.schema import Task, table
from interlock.store.statements import NEW_SIZE, Statements

TASKS = table(Task)


@pytest.fixture
def statements() -> Statements:
    return Statements(dialect(paramstyle="qmark"))


def test_a_statement_that_is_used_again_is_compiled_once(statements: Statements) -> None:
    kept = sa.select(TASKS.c.id)
    first = statements.of(kept)
    assert statements.of(kept) is first
    for most in range(3 * NEW_SIZE):
        statements.of(sa.select(TASKS.c.id).limit(most))
    assert statements.of(kept) is first


def test_statements_that_were_put_together_for_one_question_are_let_go(statements: Statements) -> None:
    made = []
    for most in range(3 * NEW_SIZE):
        query = sa.select(TASKS.c.id).limit(most)
        statements.of(query)
        made.append(weakref.ref(query))
        del query
    assert sum(each() is not None for each in made) <= NEW_SIZE


def test_a_model_is_inserted_by_one_statement(statements: Statements) -> None:
    assert statements.insert(Task) is statements.insert(Task)
