"""When a failed call is tried again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.llm.messages import RETRYABLE, ModelError, ModelFault
from interlock.llm.retries import RetryPolicy, delay_s, is_too_long


def error(fault: ModelFault = ModelFault.SERVER, retry_after_s: float | None = None) -> ModelError:
    return ModelError(fault, "it broke", provider="anthropic", retry_after_s=retry_after_s)


@pytest.mark.parametrize("fault", sorted(set(ModelFault) - RETRYABLE))
def test_what_cannot_get_better_is_not_tried_again(fault: ModelFault) -> None:
    assert delay_s(1, error(fault), jitter=0.5) is None


@pytest.mark.parametrize("fault", sorted(RETRYABLE))
def test_a_passing_fault_is_tried_three_times_more(fault: ModelFault) -> None:
    assert all(delay_s(attempt, error(fault), jitter=0.5) is not None for attempt in (1, 2, 3))
    assert delay_s(4, error(fault), jitter=0.5) is None


def test_the_wait_doubles_up_to_the_cap() -> None:
    policy = RetryPolicy(max_attempts=9, base_s=1, cap_s=6)
    assert [delay_s(n, error(), jitter=1.0, policy=policy) for n in (1, 2, 3, 4, 5)] == [1, 2, 4, 6, 6]


def test_a_wait_that_the_provider_asks_for_is_honoured() -> None:
    assert delay_s(1, error(ModelFault.RATE_LIMITED, 17.0), jitter=0.0) == 17.0


def test_a_wait_of_hours_is_not_sat_out() -> None:
    assert delay_s(1, error(ModelFault.RATE_LIMITED, 86_400.0), jitter=1.0) is None


@given(st.integers(1, 3), st.floats(0, 1), st.one_of(st.none(), st.floats(0, 60)))
def test_a_wait_is_never_shorter_than_what_was_asked_for_nor_past_the_caps(
    attempt: int, jitter: float, wish: float | None
) -> None:
    wait = delay_s(attempt, error(retry_after_s=wish), jitter=jitter)
    assert wait is not None
    assert (wish or 0) <= wait <= 66


@pytest.mark.parametrize(
    ("status", "detail", "found"),
    [
        (400, "prompt is too long: 210432 tokens > 200000 maximum (status 400)", True),
        (400, "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens", True),
        (400, "the input token count (1200000) exceeds the maximum number of tokens allowed", True),
        (400, "Please reduce the length of the messages or completion", True),
        (400, "request (9001 tokens) exceeds the available context size (8192 tokens)", True),
        (413, "request entity too large", True),
        (400, "max_tokens: must be greater than thinking.budget_tokens", False),
        (400, "messages.1.content: tool_use ids must be unique", False),
        (404, "no such model", False),
    ],
)
def test_a_request_that_is_too_long_is_known_by_what_the_provider_says(status: int, detail: str, found: bool) -> None:
    assert is_too_long(ModelError(ModelFault.INVALID, detail, provider="any", status=status)) is found
    assert not is_too_long(ModelError(ModelFault.SERVER, detail, provider="any", status=500))
