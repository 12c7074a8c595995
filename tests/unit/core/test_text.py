"""Texts as people see them: nothing in them turns, hides or blanks what stands there, and scripts stay readable."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.text import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rm \u202e-rf", "rm \\u202e-rf"),
        ("pay\u200bpal", "pay\\u200bpal"),
        ("exam\u200dple.com", "exam\\u200dple.com"),
        ("\u200cexample.com", "\\u200cexample.com"),
        ("a\ufe0fb", "a\\ufe0fb"),
        ("x\u3164y", "x\\u3164y"),
        ("x\u2800y", "x\\u2800y"),
        ("x\u034fy", "x\\u034fy"),
        ("x\ufff9y", "x\\ufff9y"),
        ("exam\U0001bca0ple.com", "exam\\U0001bca0ple.com"),
        ("hi\U000e0041", "hi\\U000e0041"),
        ("😀\U000e0102\U000e0141", "😀\U000e0102\\U000e0141"),
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
    ],
)
def test_what_misleads_is_spelled_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize("text", ["می‌خواهم", "👩‍💻 and ❤️", "1️⃣ first", "葛󠄀城", "tab\tand\nline"])
def test_what_scripts_and_emoji_need_stays(text: str) -> None:
    assert visible(text) == text


@given(st.text())
def test_spelled_out_text_stays_as_it_is(text: str) -> None:
    once = visible(text)
    assert visible(once) == once
