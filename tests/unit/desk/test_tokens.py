"""What a token's time may be written like, and that what looks like a token is kept out of texts."""

import pytest

from interlock.core.errors import UsageError
from interlock.desk.identities.tokens import PREFIX, span_s
from interlock.policy.secrets import scrub


def test_time_is_written_with_a_unit() -> None:
    assert [span_s(text) for text in ("30d", "12h", "90m", " 5 S ", "2w")] == [2_592_000, 43_200, 5_400, 5, 1_209_600]


@pytest.mark.parametrize("text", ["", "30", "d", "0d", "-1d", "1.5h", "30days", "9999999d"])
def test_anything_else_is_no_time(text: str) -> None:
    with pytest.raises(UsageError, match="write it like"):
        span_s(text)


def test_token_in_a_text_is_masked() -> None:
    token = PREFIX + "aB3_" * 10
    assert scrub(f"I used {token} for it") == "I used [secret: Interlock token] for it"
