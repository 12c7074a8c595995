"""How PostgreSQL goes about a recall does not depend on what it knows of the tables: nobody may have analyzed them."""

from typing import Any

import psycopg
import pytest

from interlock.memory.words import query_terms
from interlock.store.engine import driver_for
from interlock.store.knowledge import memories

OWN = 20_000
ASKED = "one two three four five six seven eight"
FILL = (
    "TRUNCATE memory_words",
    "DELETE FROM pg_statistic WHERE starelid = 'memory_words'::regclass",
    "SET session_replication_role = replica",
    f"INSERT INTO memory_words SELECT 'p', 'coder', 'word' || n % 500, 'mem_' || n, 1 FROM generate_series(1, {OWN}) n",
    (
        f"INSERT INTO memory_words SELECT 'p', 'coder', word, 'mem_x' || n, 1"
        f" FROM unnest(string_to_array('{ASKED}', ' ')) WITH ORDINALITY AS asked (word, n)"
    ),
)


def scans(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Where a plan reads the words of memories."""
    found = [each for part in plan.get("Plans", ()) for each in scans(part)]
    return [*found, plan] if plan.get("Relation Name") == "memory_words" else found


@pytest.mark.parametrize("plans", ["force_generic_plan", "force_custom_plan"])
async def test_recall_reads_the_words_that_were_asked_for_and_no_others(migrated_postgres_url: str, plans: str) -> None:
    core, params = memories.candidates("p", "coder", query_terms(ASKED))
    made = driver_for(migrated_postgres_url).statements.of(core)
    with psycopg.connect(migrated_postgres_url) as connection:
        for statement in FILL:
            connection.execute(statement.encode())
        connection.execute(f"SET LOCAL plan_cache_mode = {plans}".encode())
        connection.execute(b"PREPARE recall AS " + made.wired)
        given = ", ".join(f"'{value}'" for value in made.bind(params))
        [plan] = (
            connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE recall ({given})".encode()).fetchone() or ()
        )
        connection.rollback()
    found = scans(plan[0]["Plan"])
    assert len(found) > len(ASKED.split())
    assert not [each for each in found if "word" not in each.get("Index Cond", "")], found
    assert sum(each["Actual Rows"] * each["Actual Loops"] for each in found) < OWN / 100
