"""Writers of JSON write what `json.dumps` does."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.json_text import writer

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
PLAIN, TIGHT = writer(), writer(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@given(VALUES)
def test_texts_are_those_of_the_standard_library(value: Any) -> None:
    assert PLAIN(value) == json.dumps(value)
    assert TIGHT(value) == json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize("value", [math.nan, [math.inf], {"a": -math.inf}])
def test_numbers_that_are_none_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        PLAIN(value)


def test_what_is_not_json_is_refused() -> None:
    with pytest.raises(TypeError, match="not JSON serializable"):
        PLAIN({"a": object()})


def test_what_holds_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(RecursionError):
        PLAIN(value)
