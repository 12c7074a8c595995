"""The output gate: what is turned back at a glance, and honest work that must not be."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.values import digest
from interlock.policy.formats import declared
from interlock.policy.gate import Submission, faults


def names(**handed: Any) -> list[str]:
    return [fault.name for fault in faults(Submission(sha256="0", **handed))]


BAD: list[tuple[str, dict[str, Any]]] = [
    ("not empty", {"text": " \n\t"}),
    ("not empty", {"text": "\u200b\ufeff\n"}),
    ("not empty", {"data": []}),
    ("not empty", {"data": {"a": "", "b": [None, {"c": " "}]}}),
    ("not empty", {"path": "a.bin", "content": b""}),
    ("not empty", {"path": "a.md", "content": b"\n \n"}),
    ("not a placeholder", {"text": "TODO"}),
    ("not a placeholder", {"text": "# Report\n\n- tbd\n- **TODO:** write the summary\n"}),
    ("not a placeholder", {"text": "[insert the summary here]"}),
    ("not a placeholder", {"text": "Lorem ipsum dolor sit amet, consectetur"}),
    ("not a placeholder", {"text": "…"}),
    ("not a placeholder", {"data": {"summary": "TODO", "risks": ["tbd"]}}),
    ("not a placeholder", {"path": "report.md", "content": b"# Report\n\nComing soon."}),
    ("not a refusal", {"text": "I cannot help with that."}),
    ("not a refusal", {"text": "I’m sorry, but I can’t assist with this request."}),
    ("not a refusal", {"text": "As an AI language model, I am unable to complete this task."}),
    ("format", {"text": "# Code\n\n```python\nprint(1)\n"}),
    ("format", {"text": "~~~~\n```\n~~~\n"}),
    ("format", {"text": '{"a": 1', "spec": "a JSON object with the prices"}),
    ("format", {"text": "Here it is: {}", "spec": "JSON only"}),
    ("format", {"text": "a,b\n1\n", "spec": "the prices as CSV"}),
    ("format", {"path": "a.json", "content": b'{"a": NaN}'}),
    ("format", {"path": "a.json", "content": b'{"a": 1, "a": 2}'}),
    ("format", {"path": "a.json", "content": b"[" * 100_000}),
    ("format", {"path": "a.json", "content": b"\xff\xfe{}"}),
    ("format", {"path": "a.jsonl", "content": b"{}\n{\n"}),
    ("format", {"path": "a.CSV", "content": b'a;b\n"1;2\n'}),
    ("format", {"path": "a.toml", "content": b"a = "}),
    ("no secrets", {"text": "The key is sk-ant-REDACTED0"}),
    ("no secrets", {"data": {"config": {"password": "correct-horse-9"}}}),
    ("no secrets", {"path": "a.env", "content": b"API_KEY=sk_live_1234567890abcdef\n"}),
]


@pytest.mark.parametrize(("name", "handed"), BAD)
def test_glance_finds_it(name: str, handed: dict[str, Any]) -> None:
    assert names(**handed) == [name]


GOOD: list[dict[str, Any]] = [
    {"text": "x"},
    {"text": "42"},
    {"text": "No"},
    {"text": "# Result\n"},
    {"text": "The site could not be opened, it answers 503. Its cache says 12 EUR."},
    {"text": "I cannot provide the figure for 2024: `prices.csv` ends in 2023, where it is 12."},
    {"text": "I cannot find any fault.", "is_review": True},
    {"text": "We cannot be reached on Sundays. Call us from Monday on."},
    {"text": "A to-do list app\n\nTodo items are kept in order."},
    {"text": "# Plan\n\nTODO marks are left in the code on purpose, see the list below.\n\n- one\n"},
    {"text": "```\ncode\n```\n\n~~~\n```\n~~~\n"},
    {"text": "Use ``` for code and `x` inline"},
    {"text": '{"a": [1, 2.5, null]}', "spec": "a JSON object with the prices"},
    {"text": "prose about parsers", "spec": "a report on JSON parsers"},
    {"text": "it is wrong: {", "spec": "a JSON object", "is_review": True},
    {"text": "a;b\n1;2\n\n3;4\n", "spec": "one CSV table"},
    {"text": "max_tokens = 4096, primary_key = id, api_key = ${KEY}"},
    {"data": {"count": 0, "ok": False}},
    {"data": {"note": "none found", "status": "TODO"}},
    {"path": "a.py", "content": b"TODO = 1\n"},
    {"path": "a.bin", "content": b"\x00\x01"},
    {"path": "a.csv", "content": '\ufeffa,b\r\n1,"x\ny"\r\n'.encode()},
    {"path": "a.json", "content": b"\xef\xbb\xbf[]"},
    {"path": "README", "content": b"read me"},
]


@pytest.mark.parametrize("handed", GOOD)
def test_honest_work_is_not_turned_back(handed: dict[str, Any]) -> None:
    assert names(**handed) == []


def test_every_fault_is_told_and_none_tells_the_secret() -> None:
    found = faults(Submission(sha256="0", text="key: sk-ant-REDACTED0\n```\n"))
    assert [fault.name for fault in found] == ["format", "no secrets"]
    assert "sk-ant" not in "".join(fault.detail for fault in found)


def test_version_that_was_sent_back_is_known_by_its_digest() -> None:
    text = "the very same"
    assert [f.name for f in faults(Submission(sha256=digest(text), text=text), {digest(text)})] == ["changed"]
    assert faults(Submission(sha256=digest(text + "."), text=text + "."), {digest(text)}) == []


@pytest.mark.parametrize(
    ("spec", "form"),
    [
        ("a JSON object with prices", "JSON"), ("JSON", "JSON"), ("the list of prices as CSV", "CSV"),
        ("one json array", "JSON"), ("a report on JSON", None), ("a JSON parser", None), ("text", None), ("", None),
        ("changed files in the workspace, also of the JSON kind", None),
    ],
)  # fmt: skip
def test_format_is_declared_by_what_a_result_is_not_by_what_it_is_about(spec: str, form: str | None) -> None:
    assert declared(spec) == form


@pytest.mark.parametrize("inside", ["*", "_", "sorry ", "todo\n", "[", "insert ", "` ", "\u200b", "# "])
@pytest.mark.parametrize("around", ["a{}a", "{}"])
def test_hostile_text_is_judged_however_long_it_is(around: str, inside: str) -> None:
    """What took exponential time would never come to its end here."""
    long, short = (around.format(inside * times) for times in (60_000, 3_000))
    assert [fault.name for fault in faults(Submission(sha256="0", text=long))] == [
        fault.name for fault in faults(Submission(sha256="0", text=short))
    ]


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))  # fmt: skip # noqa: E501


@given(
    st.text() | JSON | st.binary(), st.text(), st.sampled_from(["a.json", "a.csv", "a.md", "a.toml", "a.jsonl", "a"])
)
def test_gate_is_total(value: Any, spec: str, path: str) -> None:
    if isinstance(value, bytes):
        found = faults(Submission(sha256="0", path=path, content=value))
    elif isinstance(value, str):
        found = faults(Submission(sha256="0", text=value, spec=spec))
    else:
        found = faults(Submission(sha256="0", data=value, spec=spec))
    assert all(fault.name and fault.detail for fault in found)
