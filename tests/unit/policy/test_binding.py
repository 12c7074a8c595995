"""What an approval is bound to."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.policy.binding import same, subject_hash

CALL: dict[str, Any] = {
    "run_id": "run_1", "call_id": "c1", "tool_digest": "d1", "args": {"a": 1, "b": [1, 2]}, "files": {"x.md": "f1"},
}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"run_id": "run_2"}, {"call_id": "c2"}, {"tool_digest": "d2"}, {"args": {"a": 1, "b": [2, 1]}},
        {"args": {"a": 1.0, "b": [1, 2]}}, {"args": {"a": "1", "b": [1, 2]}}, {"args": {"a": True, "b": [1, 2]}},
        {"args": {}}, {"files": {}}, {"files": {"x.md": "f2"}}, {"files": {"y.md": "f1"}},
        {"run_id": "run_1c", "call_id": "1"},
    ],
)  # fmt: skip
def test_a_call_that_differs_in_anything_is_another_subject(change: dict[str, Any]) -> None:
    assert subject_hash(**CALL) != subject_hash(**{**CALL, **change})


def test_the_order_of_keys_does_not_matter() -> None:
    swapped = {**CALL, "args": {"b": [1, 2], "a": 1}}
    assert subject_hash(**CALL) == subject_hash(**swapped)


@given(st.dictionaries(st.text(), st.text()), st.dictionaries(st.text(), st.text()))
def test_arguments_and_files_do_not_run_into_each_other(one: dict[str, str], other: dict[str, str]) -> None:
    equal = subject_hash("r", "c", "d", one, other) == subject_hash("r", "c", "d", other, one)
    assert equal == (one == other)


def test_what_is_not_json_cannot_be_bound() -> None:
    with pytest.raises(ValueError, match="JSON"):
        subject_hash("r", "c", "d", {"a": math.nan}, {})


def test_empty_hashes_are_never_the_same() -> None:
    assert same("ab", "ab")
    assert not same("ab", "ac")
    assert not same("", "")
