"""What configuration files may be made of, and how each fault is told."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core import strict_yaml
from interlock.core.errors import ConfigError


def faults(text: str | bytes) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        strict_yaml.parse(text, source="f.yaml")
    return caught.value.faults


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("triggers: [on, no, yes, off, y, n]", {"triggers": ["on", "no", "yes", "off", "y", "n"]}),
        ("on: 1\nno: 2", {"on": 1, "no": 2}),
        ("at: 1:30", {"at": "1:30"}),
        ("day: 2026-11-21", {"day": "2026-11-21"}),
        ("at: 2026-11-21T10:00:00Z", {"at": "2026-11-21T10:00:00Z"}),
        ("a: 1_000", {"a": "1_000"}),
        ("a: [true, False, null, ~, '', \"true\"]", {"a": [True, False, None, None, "", "true"]}),
        ("a: [12, -3, 0x1f, 0o17, 1.5, 1e3, .5]", {"a": [12, -3, 31, 15, 1.5, 1000.0, 0.5]}),
        ("a:\nb: |\n  two\n  lines\n", {"a": None, "b": "two\nlines\n"}),
        ("- a\n- {b: c}\n", ["a", {"b": "c"}]),
        ("\ufeffa: é\r\nb: 2\r\n", {"a": "é", "b": 2}),
        ("---\na: '#no comment'  # a comment\n...\n", {"a": "#no comment"}),
        ("", None),
        ("# only words\n", None),
    ],
)
def test_plain_values_follow_the_core_schema_of_yaml_1_2(text: str, data: Any) -> None:
    assert strict_yaml.parse(text, source="f.yaml").data == data
    assert strict_yaml.parse(text.encode(), source="f.yaml").data == data


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (b"a: 1\nb: \xff\n", "f.yaml:2: not UTF-8: save the file in that encoding"),
        ("a: \ud800", "f.yaml:1: half of a surrogate pair: it cannot be written as UTF-8"),
        ("a: 1\nb: \x00", "f.yaml:2: control character U+0000: remove it"),
        ("a: \x1b[31m", "f.yaml:1: control character U+001B: remove it"),
        ("a: 1\nb: 2\na: 3\n", "f.yaml:3: key `a` is already on line 1: keep one"),
        ("x:\n  - {a: 1, a: 2}\n", "f.yaml:2: key `a` is already on line 2: keep one"),
        ("a: &x 1\n", "f.yaml:1: anchor `&x`: write the value out where it is needed"),
        ("a: 1\nb: *x\n", "f.yaml:2: alias `*x`: write the value out"),
        ("a: !!python/name:os.system ''", "f.yaml:1: tag `tag:yaml.org,2002:python/name:os.system`: plain values only"),
        ("a:\n  !mine {}", "f.yaml:2: tag `!mine`: plain values only"),
        ("a: 1\n<<: {b: 2}", "f.yaml:2: merge key `<<`: write the values out"),
        ("a: 1\n---\nb: 2\n", "f.yaml:2: a second document: one file, one document"),
        ("# x\n%YAML 1.1\n---\na: 1\n", "f.yaml:2: directives (`%`) are not read: remove the line"),
        ("1: a", "f.yaml:1: key `1` is not text: put it in quotes"),
        ("a: 1\ntrue: a", "f.yaml:2: key `true` is not text: put it in quotes"),
        ("~: a", "f.yaml:1: key `null` is not text: put it in quotes"),
        ("? [a]\n: b", "f.yaml:1: key a list or mapping is not text: put it in quotes"),
        ("a:\n\tb: 1", "f.yaml:2: tab in the indentation: use spaces"),
        ("a: .inf", "f.yaml:1: `.inf` is not a finite number: put it in quotes if text is meant"),
        ("a: 1e999", "f.yaml:1: `1e999` is not a finite number: put it in quotes if text is meant"),
        (f"a: {'9' * 5000}", "f.yaml:1: number of 5000 characters: put it in quotes if text is meant"),
        ("[" * 100_000, "f.yaml:1: nested deeper than 40 levels"),
        ("- " * 60, "f.yaml:1: nested deeper than 40 levels"),
        ("a: " + "b" * 1_048_577, "f.yaml:1: larger than 1 MiB: split it, or move long texts to files of their own"),
        ("- a\n" * 100_500, "f.yaml:100001: more than 100,000 values: split the file"),
    ],
)
def test_each_surprise_is_told_with_its_line(text: str | bytes, fault: str) -> None:
    assert faults(text) == [fault]


@pytest.mark.parametrize("text", ["a: b: c", "a: [1,", "a: 'open", "key: - a", "a: @x", "{a: 1}}"])
def test_broken_syntax_is_one_fault_of_one_line(text: str) -> None:
    (fault,) = faults(text)
    assert fault.startswith("f.yaml:1: ")
    assert "\n" not in fault


def test_every_fault_of_a_file_is_told_at_once() -> None:
    assert [f.split(": ")[0] for f in faults("a: &x 1\nb: *x\na: 2\n3: !t c\n")] == [
        "f.yaml:1", "f.yaml:2", "f.yaml:3", "f.yaml:4", "f.yaml:4",
    ]  # fmt: skip


def test_an_alias_bomb_is_refused_before_it_grows() -> None:
    layers = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    layers += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 40)]
    assert faults("\n".join(layers))[0] == "f.yaml:1: anchor `&a0`: write the value out where it is needed"


def test_lines_lead_to_every_key_and_item() -> None:
    document = strict_yaml.parse("a: 1\nrules:\n  - id: x\n    when: y\n  -\n    id: z\n", source="p.yaml")
    assert document.at(("a",)) == "p.yaml:1"
    assert document.at(("rules", 0, "when")) == "p.yaml:4"
    assert document.at(("rules", 1, "id")) == "p.yaml:6"
    assert document.fault(("rules", 0, "risk"), "missing") == "p.yaml:3: missing"
    assert document.at(("nowhere", "at", "all")) == "p.yaml:1"


def read(text: str | bytes) -> tuple[Any, list[str]]:
    try:
        return strict_yaml.parse(text, source="f.yaml").data, []
    except ConfigError as error:
        return None, error.faults or ["no fault told"]


SOUP = st.text(st.sampled_from(list("ab1.:-?![]{}&*#|>%@`'\"\\,~<= \n\t\r\u0085\u2028é\x00")), max_size=200)


@given(st.one_of(SOUP, st.text(max_size=100), st.binary(max_size=100)))
def test_any_input_gives_plain_data_or_located_faults(text: str | bytes) -> None:
    data, told = read(text)
    json.dumps(data, allow_nan=False)
    assert all(f.startswith("f.yaml:") and f.split(":")[1].isdigit() and "\n" not in f for f in told)


LETTERS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | LETTERS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(LETTERS.filter(lambda k: k != "<<"), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_json_is_read_as_itself(value: Any) -> None:
    assert read(json.dumps(value, ensure_ascii=False)) == (value, [])
