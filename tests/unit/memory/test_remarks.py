"""What people say of themselves is found by how it is put, and nothing in what they ask, quote or paste."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.memory.remarks import MOST, remarks


@pytest.mark.parametrize(
    ("said", "kind", "kept"),
    [
        ("Please remember that the report is due on Fridays.", "fact", "the report is due on Fridays."),
        ("Remember to always write in British English", "fact", "to always write in British English"),
        ("don’t forget: invoices go to Eve", "fact", "invoices go to Eve"),
        ("Hi, my name is Ana", "fact", "my name is Ana"),
        ("Call me Bo.", "fact", "Call me Bo."),
        ("We use Postgres 16 for everything", "fact", "We use Postgres 16 for everything"),
        ("we don't use Slack any more", "fact", "we don't use Slack any more"),
        ("Our staging database is db-2", "fact", "Our staging database is db-2"),
        ("I prefer short answers.", "observation", "I prefer short answers."),
        ("I'd rather have tables than prose", "observation", "I'd rather have tables than prose"),
        ("We have decided to drop Oracle", "decision", "We have decided to drop Oracle"),
        ("Let's go with option B", "decision", "Let's go with option B"),
        ("My email is ana@example.com", "fact", "My email is ana@example.com"),
    ],
)
def test_remarks_are_found(said: str, kind: str, kept: str) -> None:
    (found,) = remarks(said)
    assert (found.type, found.text) == (kind, kept)
    assert 0 < found.importance <= 0.9


@pytest.mark.parametrize(
    "said",
    [
        "Do you remember that we use Postgres?", "What if we use Oracle?", "remember when we lost the demo",
        "Write a report about the three vendors.", "call me back later", "my question is why this fails",
        "> we use Oracle", "```\nwe use Oracle\n```", "`we use Oracle` is what the page says", "<b>we use Oracle</b>",
        "thanks, that was good", "", "remember this", "I prefer it", "we use " + "x" * 400,
    ],
)  # fmt: skip
def test_requests_questions_quotations_and_small_talk_are_no_remarks(said: str) -> None:
    assert remarks(said) == []


def test_a_message_gives_a_few_each_once() -> None:
    many = "\n".join(f"We use tool{n} for everything." for n in range(20))
    assert len(remarks(many)) == MOST
    assert len(remarks("We use Postgres. we use postgres. WE USE POSTGRES.")) == 1


@given(st.text(max_size=500))
def test_no_text_makes_it_fail(text: str) -> None:
    assert all(remark.text for remark in remarks(text))


@pytest.mark.parametrize(
    "part", ["remember that ", "my a b ", "we always ", "`", "i really ", "```x", "- ", "I am the "]
)
def test_hostile_texts_are_read_at_once(part: str) -> None:
    assert len(remarks(part * 100_000)) <= MOST
