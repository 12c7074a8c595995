"""Other readings of a text: the quick look never leaves one out."""

from hypothesis import given
from hypothesis import strategies as st

from interlock.policy.values.folding import is_odd, nested, readings
from tests.examples import times

PIECES = st.lists(st.text("abcz", min_size=2, max_size=9), min_size=1, max_size=7)
PLAIN = st.tuples(
    PIECES, st.sampled_from(" _/.-"), st.text("0189", max_size=4), st.sampled_from(["", ".md", ".json", "."])
).map(lambda made: made[1].join(made[0]) + made[2] + made[3])
SIGNED = st.lists(
    st.sampled_from(["%41", "%", "&amp", "&#65;", "&", "\\x41", "\\", "=", "==", "[", "{", '"', " ", "a", "p r o d",
                     "70", "Zm9v", "é"]),
    min_size=1, max_size=9,
).map("".join)  # fmt: skip


@times(4)
@given(SIGNED)
def test_a_text_with_a_sign_of_encoding_is_odd_where_it_has_another_reading(text: str) -> None:
    if any(sign in text for sign in '%&\\=[{"') or not text.isascii():
        assert is_odd(text) or (list(readings(text)) == [] and nested(text) is None)


@times(2)
@given(PLAIN)
def test_plain_words_have_no_other_reading(text: str) -> None:
    assert not is_odd(text)


def test_ordinary_statements_and_commands_have_no_other_reading() -> None:
    for text in (
        "select id from notes where day = 5 and name like 'x'",
        "git log --oneline && cat notes/5.md | head -3",
        'echo "hello there" > out.txt',
        "f(a[0], {b: 1})",
        "src/interlock/app.py",
    ):
        assert not is_odd(text)
