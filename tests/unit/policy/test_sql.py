"""SQL as every database reads it: statements that hide, reads that stay reads, and the parser as a second opinion."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import TokenError

from interlock.policy.kinds import DATABASE_UNREADABLE
from interlock.policy.queries import sql
from interlock.policy.queries.sql_functions import COMPUTES
from interlock.policy.queries.sql_tokens import readings
from interlock.policy.risk import Risk
from tests.examples import times
from tests.unit.policy.test_meaning import groups_of

HOSTILE: list[str] = groups_of("hostile")["sql"]
HONEST: list[str] = groups_of("honest")["sql"]
WRITES = [
    "SELECT * FROM users FOR UPDATE",
    "SELECT * FROM users FOR NO KEY UPDATE SKIP LOCKED",
    "SELECT * FROM users FOR SHARE",
    "SELECT * FROM users LOCK IN SHARE MODE",
    "SELECT * FROM users WITH (UPDLOCK, HOLDLOCK)",
    "SELECT nextval('s')",
    "SELECT NEXT VALUE FOR s",
    "SELECT recalculated(3)",
    "WITH a AS (SELECT 1) INSERT INTO users SELECT * FROM a",
    "WITH a AS (UPDATE t SET b = 1 WHERE c = 2 RETURNING *) SELECT * FROM a",
    "INSERT INTO t (a, b) VALUES (1, 2) ON CONFLICT (a) DO UPDATE SET b = excluded.b",
    "INSERT INTO t (a) VALUES (1) ON CONFLICT DO NOTHING",
    "INSERT INTO t (a) VALUES (1) ON DUPLICATE KEY UPDATE a = 2",
    "MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN UPDATE SET b = 1 WHEN NOT MATCHED THEN INSERT (a) VALUES (b)",
    "UPDATE t SET a = replace(a, 'x', 'y') WHERE b = 3",
    "REPLACE INTO t VALUES (1)",
    "BEGIN; UPDATE t SET a = 1 WHERE b = 2; COMMIT",
    "LOCK TABLE users IN SHARE UPDATE EXCLUSIVE MODE",
    "NOTIFY x, 'y'",
    "ANALYZE users",
]


@pytest.mark.parametrize("text", WRITES)
def test_what_is_not_plainly_a_read_is_yellow(text: str) -> None:
    assert {found.risk for found in sql.judge(text)} == {Risk.YELLOW}


def test_reads_of_the_table_raise_nothing() -> None:
    assert [text for text in HONEST if sql.judge(text)] == []


GAPS = st.sampled_from([" ", "\n", "\t", " /* x */ ", " -- y\n", "/**/"])


@times(3)
@given(
    st.sampled_from(HOSTILE),
    st.sampled_from(["lower", "upper", "swapcase"]),
    GAPS,
    st.sampled_from(["", ";", " ;  ", " -- z"]),
)
def test_case_gaps_and_comments_do_not_lower_red(text: str, case: str, gap: str, end: str) -> None:
    quoted = any(sign in text for sign in "'\"`$\\/#[\n\r") or "--" in text
    spaced = text if quoted else gap.join(text.split(" "))
    for each in (spaced + end, spaced if quoted else getattr(spaced, case)()):
        assert any(found.risk is Risk.RED for found in sql.judge(each)), each


@times(2)
@given(st.sampled_from(HONEST), st.sampled_from(HOSTILE))
def test_a_read_before_it_does_not_lower_red(read: str, text: str) -> None:
    opened = read.count("'") % 2 or "\\" in read or "--" in read or read.endswith(";")
    if not opened and not text.startswith((".", "\\")):
        assert any(found.risk is Risk.RED for found in sql.judge(f"{read}; {text}")), (read, text)


def test_some_reading_has_the_statements_that_a_parser_finds() -> None:
    """INVARIANT: what a parser cuts into statements is cut so by some reading, where the text is read at all."""
    compared = 0
    for text in (*HONEST, *HOSTILE):
        try:
            tokens = Dialect.get_or_raise("postgres").tokenize(text)
        except TokenError:
            continue
        if DATABASE_UNREADABLE not in sql.judge(text):
            ends = sum(token.token_type.name == "SEMICOLON" for token in tokens)
            assert ends in {reading.words.count(";") for reading in readings(text)}, text
            compared += 1
    assert compared > 250


QUOTED = st.text(st.sampled_from("ab';-/*\\\"`$#[]().\n "), max_size=14)


@times(3)
@given(QUOTED, QUOTED)
def test_what_stands_outside_quotes_of_standard_sql_is_always_seen(inside: str, after: str) -> None:
    quoted = "'" + inside.replace("'", "''") + "'"
    text = f"SELECT {quoted}; DROP TABLE users; {after}"
    assert any(found.risk is Risk.RED for found in sql.judge(text))


@given(st.text(max_size=60))
def test_any_text_is_judged_alike_twice(text: str) -> None:
    assert sql.judge(text) == sql.judge(text)


def test_functions_that_compute_are_none_that_reach() -> None:
    assert COMPUTES.isdisjoint(
        "pg_read_file pg_sleep dblink lo_import lo_export set_config setval nextval load_extension load_file url file "
        "http_get system query pg_terminate_backend pg_notify query_to_xml readfile writefile xp_cmdshell sleep "
        "benchmark get_lock pg_stat_reset ts_stat crosstab read_csv glob getenv pgp_sym_decrypt decrypt".split()
    )


@pytest.mark.parametrize(
    "piece",
    [
        "'",
        '"',
        "`",
        "\\'",
        "$a$",
        "[",
        "(",
        "--\n",
        "''",
        "a.",
        "a(",
        "@ ",
        "FROM 'a/b' ",
        ",a(",
        "UPDATE ",
        "EXPLAIN ANALYZE ",
        "FROM a, 'x.csv', ",
        ",'x.csv'",
    ],
)
def test_hostile_statements_are_judged_in_time_in_proportion(piece: str) -> None:
    def seconds(size: int) -> float:
        text = ("WITH a AS (SELECT 1) " + piece * size)[:size]
        begun = time.process_time()
        sql.judge(text)
        return time.process_time() - begun

    assert seconds(19_000) < 60 * max(seconds(1_900), 0.02)
