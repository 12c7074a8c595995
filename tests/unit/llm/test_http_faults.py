"""What an answer that is no reply means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.llm.http_faults import fault_of, retry_after_s, summary
from interlock.llm.messages import ModelFault

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["error", "type", "message"]), inner),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("status", "fault"),
    [
        (400, ModelFault.INVALID),
        (401, ModelFault.AUTH),
        (402, ModelFault.BILLING),
        (403, ModelFault.AUTH),
        (404, ModelFault.INVALID),
        (408, ModelFault.TIMEOUT),
        (413, ModelFault.INVALID),
        (422, ModelFault.INVALID),
        (429, ModelFault.RATE_LIMITED),
        (500, ModelFault.SERVER),
        (503, ModelFault.SERVER),
        (529, ModelFault.OVERLOADED),
    ],
)
def test_a_status_has_its_fault(status: int, fault: ModelFault) -> None:
    assert fault_of(status, "") is fault


def test_an_empty_account_is_billing_whatever_the_status() -> None:
    body = {"error": {"type": "invalid_request_error", "message": "Your credit balance is too low to use the API"}}
    assert fault_of(400, body) is ModelFault.BILLING
    assert fault_of(200, {"error": {"type": "billing_error"}}) is ModelFault.BILLING


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        ("overloaded_error", ModelFault.OVERLOADED),
        ("rate_limit_error", ModelFault.RATE_LIMITED),
        ("api_error", ModelFault.SERVER),
        ("invalid_request_error", ModelFault.INVALID),
        ("never_heard_of_error", ModelFault.SERVER),
    ],
)
def test_an_error_event_within_an_answer_is_judged_by_its_type(kind: str, fault: ModelFault) -> None:
    assert fault_of(200, {"type": "error", "error": {"type": kind, "message": "x"}}) is fault


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, 86_400.0),
        ({"retry-after": "nan"}, 0.0),
        ({"retry-after-ms": "1e300"}, 86_400.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, None),
    ],
)
def test_a_wish_to_wait_is_read_in_every_spelling(headers: dict[str, str], wait: float | None) -> None:
    assert retry_after_s(headers) == wait


def test_a_page_of_html_is_named_and_not_shown() -> None:
    assert summary("<!DOCTYPE html><html>" + "x" * 100_000) == "an HTML page instead of an answer"


def test_a_long_message_is_cut() -> None:
    assert len(summary({"error": {"message": "very " * 1000}})) < 310


@given(st.integers(200, 599), json_values)
def test_no_body_breaks_the_reading_of_an_error(status: int, body: object) -> None:
    assert fault_of(status, body) in ModelFault
    assert "\n" not in summary(body)
