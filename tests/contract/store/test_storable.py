"""What models and tools may send is stored and read back alike on both databases."""

from datetime import UTC, datetime
from typing import Any

import pytest

from interlock.core.text import storable, storable_json
from interlock.core.values import SYSTEM
from interlock.store.auditing import audit
from interlock.store.engine import Store

T0 = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("a\x00b", "a\ufffdb"),
        ("half \ud83d of a pair", "half \ufffd of a pair"),
        ("whole \U0001f600 pair", "whole \U0001f600 pair"),
        ("the words \\u0000 and \\ud83d", "the words \\u0000 and \\ud83d"),
        ("\ud83d\ude00", "\ufffd\ufffd"),
    ],
)
async def test_text_that_no_database_takes_is_stored_without_it(store: Store, given: str, kept: str) -> None:
    await store.write(audit.note, given, SYSTEM, T0, project_id="default", said={given: [given]})
    row: Any = (await store.read(audit.activities))[-1]
    joined = kept if given != "\ud83d\ude00" else "\U0001f600"
    assert (row.action, row.data) == (kept, {"said": {joined: [joined]}})


def test_what_can_be_stored_is_left_alone() -> None:
    assert storable("Grüße \U0001f600") == "Grüße \U0001f600"
    assert storable_json({"a": "\\\\u0000"}) == '{"a": "\\\\\\\\u0000"}'


def test_a_number_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        storable_json(float("nan"))
