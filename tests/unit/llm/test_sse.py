"""Server-sent events as servers really send them."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.llm.sse import DONE, EventReader

A, B = {"a": "ä 😀\n"}, {"b": [1, None]}
PLAIN = f"data: {json.dumps(A, ensure_ascii=False)}\n\ndata: {json.dumps(B)}\n\ndata: [DONE]\n\n".encode()


def read(*pieces: bytes) -> list[dict[str, Any]]:
    reader = EventReader()
    events = [event for piece in pieces for event in reader.feed(piece)]
    events += reader.end()
    if reader.fault is not None:
        raise reader.fault
    return events


@given(st.lists(st.integers(0, len(PLAIN)), max_size=8), st.sampled_from([b"\n", b"\r\n", b"\r"]), st.booleans())
def test_events_are_whole_however_the_bytes_were_cut(cuts: list[int], ending: bytes, marked: bool) -> None:
    body = (b"\xef\xbb\xbf" if marked else b"") + PLAIN.replace(b"\n", ending)
    places = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    assert read(*(body[a:b] for a, b in itertools.pairwise(places))) == [A, B, DONE]


@pytest.mark.parametrize(
    "body",
    [
        b': keep-alive\n\ndata: {"a": 1}\n\n',
        b'data:{"a": 1}',
        b'data: {"a": 1}\n',
        b'event: chunk\nid: 7\nretry: 10\ndata: {"a": 1}\n\n',
        b'data: {"a":\ndata:  1}\n\n',
        b'<p>hello</p>\nno field\n\xff\xfe\n\ndata: {"a": 1}\n\n',
        b'event: ping\ndata: {"type": "ping"}\n\ndata: {"a": 1}\n\n',
        b'data:\n\ndata\n\ndata: {"a": 1}\n\n',
        b'{"a": 1}\n',
        b'data: [{"a": 1}]\n\n',
    ],
)
def test_what_is_no_data_is_passed_over(body: bytes) -> None:
    assert read(body) == [{"a": 1}]


def test_lines_of_data_without_blank_lines_between_them_are_events() -> None:
    assert read(b'data: {"a": 1}\ndata: {"b": 2}\ndata: [DONE]\n') == [{"a": 1}, {"b": 2}, DONE]


@pytest.mark.parametrize("junk", [b"{junk", b'"words"', b"3", b"null", b"\xff\xfe", b"[" * 100_000])
def test_junk_is_a_fault_after_what_came_before_it(junk: bytes) -> None:
    reader = EventReader()
    assert reader.feed(b'data: {"a": 1}\n\ndata: ' + junk + b"\n\n") == [{"a": 1}]
    assert isinstance(reader.fault, (ValueError, RecursionError))


@pytest.mark.parametrize(
    ("data", "error"),
    [('{"message": "no"}', {"message": "no"}), ('{"error": "no"}', "no"), ("just words", {"message": "just words"})],
)
def test_an_event_named_error_is_an_error_whatever_it_says(data: str, error: Any) -> None:
    (event,) = read(f"event: error\ndata: {data}\n\n".encode())
    assert event["error"] == error


def test_numbers_that_are_none_and_depths_that_nobody_needs_do_not_come_through() -> None:
    assert read(b'data: {"a": NaN, "b": -Infinity}\n\n') == [{"a": None, "b": None}]
    deep = b'{"a": ' + b"[" * 300 + b"]" * 300 + b"}"
    with pytest.raises(ValueError, match="too deep"):
        read(b"data: " + deep + b"\n\n")
    wide = b'{"a": [' + b",".join([b"[[1]]"] * 300) + b"]}"
    assert len(read(b"data: " + wide + b"\n\n")[0]["a"]) == 300
