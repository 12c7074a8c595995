"""Files of sessions: every fault of a hostile one is said with its line, and none is more than a fault."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.agents.history import session_file
from interlock.core.errors import ConfigError

HEADER: dict[str, Any] = {
    "format": "interlock.session", "version": 1,
    "descriptor": {"kind": "user", "project": "default", "persona": "operations", "parts": {"user": "per_1"}},
    "persona": {"name": "operations", "digest": "d"}, "model": None,
    "permissions": {"tools": ["file_read"], "trust": "specialist"}, "markers": [],
}  # fmt: skip
RUN: dict[str, Any] = {
    "record": "run", "kind": "chat", "status": "completed", "stop_reason": "end_turn", "model": None,
    "simulated": False, "labels": [], "result": "hi", "error": None, "created_at": "2026-01-01T00:00:00+00:00",
    "completed_at": None,
}  # fmt: skip
SAID: dict[str, Any] = {
    "record": "user_message", "position": 1, "content": "hi", "tool_name": None, "tool_input": None,
    "blocks": [{"type": "text", "text": "hi"}],
}  # fmt: skip
RESULT = {"type": "tool_result", "call_id": "1", "content": "", "is_error": False}


def data(*lines: Any) -> bytes:
    return "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines).encode()


def faults(content: bytes) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        session_file.read(content, "s.jsonl")
    return caught.value.faults


def test_a_good_file_is_read() -> None:
    found = session_file.read(data(HEADER, RUN, SAID), "s.jsonl")
    ((columns, rows),) = found.runs
    assert (columns["kind"], columns["payload"]["imported"]["completed_at"]) == ("chat", None)
    assert [row["message_type"] for row in rows] == ["user_message"]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("",), "s.jsonl:1: it is not JSON"),
        ((RUN,), "s.jsonl:1: this is not a session"),
        ((HEADER, '{"activity": {}}'), "s.jsonl:2: `record` is missing or unknown: it is one of run, "),
        (({**HEADER, "version": 2},), "s.jsonl:1: `version` 2 is newer than this version reads"),
        (({**HEADER, "more": 1},), "s.jsonl:1: `more`"),
        (({**HEADER, "descriptor": {**HEADER["descriptor"], "kind": "task"}},), "s.jsonl:1: `descriptor.kind`"),
        ((HEADER, SAID), "s.jsonl:2: a message comes before the first run"),
        ((HEADER, RUN, {**SAID, "record": "system_message"}), "s.jsonl:3: "),
        ((HEADER, RUN, {**SAID, "position": -1}), "s.jsonl:3: `position`"),
        ((HEADER, RUN, SAID, SAID), "s.jsonl:4: `position` is 1, after 1"),
        ((HEADER, {**RUN, "status": "running"}), "s.jsonl:2: `status`"),
        ((HEADER, {**RUN, "labels": ["trusted"]}), "s.jsonl:2: `labels.0`"),
        ((HEADER, {**RUN, "cost_microusd": -5}), "s.jsonl:2: `cost_microusd`"),
        ((HEADER, RUN, {**SAID, "blocks": [{"type": "tool_use"}]}), "s.jsonl:3: `blocks.0"),
        (
            (HEADER, RUN, {**SAID, "blocks": [RESULT]}),
            "s.jsonl:3: a `user_message` has no block of type `tool_result`",
        ),
        (
            (HEADER, RUN, {**SAID, "blocks": [{"type": "image", "media_type": "image/png", "data": "?"}]}),
            "s.jsonl:3: `blocks.0.image.data`",
        ),
        ((HEADER, '{"record": NaN}'), "s.jsonl:2: `NaN` is not a number"),
        ((HEADER, '{"record": "run", "record": "run"}'), "s.jsonl:2: a key is there twice"),
        ((HEADER, "[" * 100_000), "s.jsonl:2: "),
        ((HEADER, '"' + "x" * 9_000_000 + '"'), "s.jsonl:2: the line has 9,000,002 bytes"),
        ((HEADER, "7" * 5_000), "s.jsonl:2: "),
    ],
)  # fmt: skip
def test_every_fault_has_its_line(lines: tuple[Any, ...], said: str) -> None:
    found = faults(data(*lines))
    assert found[0].startswith(said), found
    assert all("\n" not in fault for fault in found)


def test_all_faults_are_told_up_to_twenty() -> None:
    assert len(faults(data(HEADER, *["{"] * 5))) == 5
    assert len(faults(data({"format": "another"}, *["{"] * 5))) == 1
    assert len(faults(data(HEADER, *["{"] * 500))) == session_file.MOST_FAULTS


def test_what_no_database_stores_is_replaced() -> None:
    broken = json.dumps({**SAID, "content": "a\x00b\ud800"})
    found = session_file.read(data(HEADER, RUN, broken), "s.jsonl")
    assert found.runs[0][1][0]["content"] == "a\ufffdb\ufffd"


def test_other_bytes_than_utf_8_are_a_fault() -> None:
    assert faults(data(HEADER) + b"\n\xff\xfe") == ["s.jsonl:2: it is not UTF-8"]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def _faults_or_none(content: bytes) -> list[str]:
    try:
        session_file.read(content, "s.jsonl")
    except ConfigError as error:
        return error.faults or ["none are told"]
    return []


@st.composite
def _spoilt(draw: st.DrawFn) -> bytes:
    """A good file in which something was exchanged."""
    lines = [json.loads(json.dumps(line)) for line in (HEADER, RUN, SAID)]
    at = draw(st.integers(0, 2))
    key = draw(st.sampled_from(sorted(lines[at])))
    lines[at][key] = draw(_JSON)
    return data(*lines)


@settings(max_examples=60)
@given(_spoilt() | st.binary(max_size=60) | st.lists(_JSON, max_size=4).map(lambda lines: data(HEADER, *lines)))
def test_no_file_is_more_than_a_fault(content: bytes) -> None:
    assert all(fault.startswith("s.jsonl:") for fault in _faults_or_none(content))
