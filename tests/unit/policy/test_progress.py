"""Signs of progress: what is new counts, what only looks new does not."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.policy.progress import Watch


@dataclass(frozen=True)
class Call:
    """A tool call that has ended."""

    tool: str = "file_read"
    args: Any = None
    risk: str = "GREEN"
    status: str = "done"
    approval_id: str | None = None
    result: str | None = "text"


@dataclass(frozen=True)
class Limits:
    progress: bool = True
    idle_calls: int = 8
    idle_share: float = 0.25


def idle_after(*calls: Call) -> int:
    watch = Watch()
    for call in calls:
        watch.step(10, [call])
    return watch.idle_calls


NEW = [
    [Call(result="one"), Call(result="two")],
    [Call(args={"path": "a"}, result="1,2,3"), Call(args={"path": "b"}, result="4,5,6")],
    [Call("file_write", {"path": "a", "content": "x"}), Call("file_write", {"path": "a", "content": "y"})],
    [Call("send_email", {"to": "a"}, "RED", result="sent"), Call("send_email", {"to": "b"}, "RED", result="sent")],
    [Call("ask_operator", approval_id="apr_1", result="yes"), Call("ask_operator", approval_id="apr_2", result="yes")],
    [Call(result="a"), Call("x", status="denied", approval_id="apr_1")],
]
SAME = [
    [Call(), Call()],
    [Call(args={"a": "1"}), Call(args={"a": "2"})],
    [Call(args={"j": "x"}, result="12:00:01 running"), Call(args={"j": "x"}, result="12:00:07 running")],
    [Call(args={"q": "cats"}, result="no cats"), Call(args={"q": "dogs"}, result="no dogs")],
    [Call(args={"n": 4}, result="n 4"), Call(args={"n": 5}, result="n 5")],
    [
        Call("file_write", {"path": "a", "content": "x"}),
        Call("file_write", {"path": "b", "content": "x"}, result="new"),
    ],
    [Call("send_email", {"to": "a"}, "RED"), Call("send_email", {"to": "a"}, "RED", result="sent as msg_2")],
    [Call(), Call("post_comment", {"message": "something new"})],
    [Call(), Call(status="failed", result="another error")],
    [Call(), Call(status="denied", result="denied")],
    [Call(), Call(status="refused", args=None, result="unknown tool")],
    [Call(), Call(result="")],
]


@pytest.mark.parametrize("calls", NEW)
def test_what_is_new_is_progress(calls: list[Call]) -> None:
    assert idle_after(*calls) == 0


@pytest.mark.parametrize("calls", SAME)
def test_what_was_there_before_is_none(calls: list[Call]) -> None:
    assert idle_after(*calls) == 1


def test_call_without_tools_is_none() -> None:
    watch = Watch()
    for _ in range(8):
        watch.step(3, [])
    stuck = watch.stuck(Limits(), None)
    assert stuck is not None
    assert (stuck.calls, stuck.microusd) == (8, 24)
    assert "it called no tools" in stuck.diagnosis


def test_diagnosis_names_what_was_repeated_most() -> None:
    watch = Watch()
    watch.step(1, [Call(result="found")])
    for number in range(8):
        watch.step(1, [Call(args={"p": 1}, result="found"), Call("grep", {"n": number}, status="failed")])
    stuck = watch.stuck(Limits(), None)
    assert stuck is not None
    assert stuck.did[0] == '8 × file_read {"p":1}'
    assert 'grep {"n":0} → failed' in stuck.did


def test_money_alone_says_nothing_of_the_first_calls() -> None:
    watch = Watch()
    watch.step(10**9, [])
    watch.step(10**9, [])
    assert watch.stuck(Limits(), 1_000) is None
    watch.step(1, [])
    assert watch.stuck(Limits(), 1_000) is not None
    assert watch.stuck(Limits(), None) is None
    assert watch.stuck(Limits(progress=False), 1_000) is None


def test_what_earlier_runs_left_counts_on() -> None:
    watch = Watch(7, 100)
    assert watch.stuck(Limits(), None) is None
    watch.step(1, [])
    assert watch.stuck(Limits(), None) is not None


CALLS = st.builds(
    Call, tool=st.sampled_from(["file_read", "file_write", "post_comment", "send"]),
    args=st.dictionaries(st.sampled_from(["path", "content", "n"]), st.text(max_size=3) | st.integers(), max_size=3),
    risk=st.sampled_from(["GREEN", "RED"]), status=st.sampled_from(["done", "failed"]), result=st.text(max_size=5),
)  # fmt: skip


@given(st.lists(st.lists(CALLS, max_size=3), max_size=12))
def test_doing_the_same_again_never_gets_anywhere(steps: list[list[Call]]) -> None:
    watch = Watch()
    for calls in steps:
        watch.step(1, calls)
    before = watch.idle_calls
    for calls in steps:
        watch.step(1, calls)
    assert watch.idle_calls == before + len(steps)
