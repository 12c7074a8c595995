"""Other readings of a text: the quick look never leaves one out."""

from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.policy import folding
from interlock.policy.folding import is_odd

PIECES = st.lists(st.text("abcz", min_size=1, max_size=11), min_size=1, max_size=7)
PLAIN = st.tuples(
    PIECES, st.sampled_from(" _/.-"), st.text("0189", max_size=4), st.sampled_from(["", ".md", ".json", "."])
).map(lambda made: made[1].join(made[0]) + made[2] + made[3])


@settings(max_examples=400)
@given(PLAIN)
def test_plain_words_are_odd_only_where_the_whole_look_says_so(text: str) -> None:
    assert is_odd(text) == folding._may_be_odd(text)
