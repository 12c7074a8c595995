"""Texts come down to the words by which they are found, whatever is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.memory.words import LONGEST_WORD, MOST_WORDS, query_terms, same_text, words_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Reports", "report"), ("policies", "policy"), ("movies", "movie"), ("boxes", "box"), ("matches", "match"),
        ("caches", "cache"), ("houses", "house"), ("classes", "class"), ("keys", "key"), ("monkeys", "monkey"),
        ("Café", "cafe\u0301"), ("CAFE", "café"), ("Straße", "STRASSE"), ("ﬁle", "file"), ("ＡＢＣ", "abc"),
        ("naïve", "naive"), ("Ελλάδα", "ελλαδα"), ("soft\u00adware", "software"), ("Ana's", "Ana"), ("Ana’s", "Ana"),
        ("deploy_guide", "deploy guide"), ("a@b.example", "b example"), ("the deploy", "deploy"),
    ],
)  # fmt: skip
def test_words_that_mean_the_same_are_the_same(one: str, other: str) -> None:
    assert words_of(one).keys() == words_of(other).keys()
    assert words_of(one)


@pytest.mark.parametrize(
    ("one", "other"), [("bus", "bu"), ("class", "clas"), ("status", "statu"), ("C", "D"), ("1", "2")]
)
def test_words_that_differ_stay_apart(one: str, other: str) -> None:
    assert words_of(one).keys() != words_of(other).keys()


def test_small_words_count_only_where_there_are_no_others() -> None:
    assert set(words_of("what is it with the deploy")) == {"deploi"}
    assert words_of("what is it")
    assert not words_of("?! … —")


def test_scripts_without_spaces_are_found_by_parts() -> None:
    assert words_of("東京都の天気").keys() & words_of("東京").keys()
    assert words_of("ภาษาไทย").keys() & words_of("ไทย").keys()
    assert words_of("हिन्दी में").keys() & words_of("हिन्दी").keys()


def test_few_words_of_a_long_question_are_looked_for_always_the_same() -> None:
    text = " ".join(f"word{n} verylongword{n}" for n in range(100))
    assert len(query_terms(text)) == MOST_WORDS
    assert query_terms(text) == query_terms(text.upper())
    assert all(word.startswith("verylong") for word in query_terms(text))


def test_a_text_is_the_same_however_it_is_spaced_and_ended() -> None:
    assert same_text("We use  Postgres.") == same_text("we use\npostgres")
    assert same_text("We use C") != same_text("We use C++")


@given(st.text(max_size=400))
def test_any_text_has_words_that_fit_an_index(text: str) -> None:
    found = words_of(text)
    assert all(0 < len(word) <= LONGEST_WORD and times > 0 for word, times in found.items())
    assert set(query_terms(text)) <= set(found)
    assert len(query_terms(text)) == min(len(found), MOST_WORDS)


@given(st.text(max_size=100), st.text(max_size=100))
def test_a_text_has_the_words_of_its_lines(one: str, other: str) -> None:
    assert words_of(f"zebra {one}\nokapi {other}") == words_of(f"zebra {one}") + words_of(f"okapi {other}")
