"""Persona files: what loads, what is refused and how the refusal reads."""

import json
from pathlib import Path

import pytest

from interlock.agents.persona import Persona, PersonaSet, load_personas
from interlock.core.errors import ConfigError

GOOD = """\
schema_version: 1
name: tester
title: Tester
role: Tries things
trust: specialist
risk_profile: GREEN
triggers: [try out]
capabilities: [testing]
task_types: [engineering]
tools: [file_read]
soul: |
  You try things.
"""


def load(folder: Path, text: str, *, name: str = "tester.yaml", tools: frozenset[str] = frozenset()) -> PersonaSet:
    (folder / name).write_text(text, encoding="utf-8")
    return load_personas(False, [folder], known_tools=tools)


def only(found: PersonaSet) -> Persona:
    assert found.faults == ()
    [persona] = found.personas.values()
    return persona


def test_a_persona_without_a_budget_gets_that_of_its_trust(tmp_path: Path) -> None:
    persona = only(load(tmp_path, GOOD.replace("specialist", "intern")))
    assert (persona.daily_microusd, persona.run_microusd(), persona.run_microusd(chat=True)) == (
        2_000_000,
        250_000,
        100_000,
    )


def test_a_budget_given_in_part_is_completed(tmp_path: Path) -> None:
    persona = only(load(tmp_path, GOOD + "budget: {daily_usd: 3}\n"))
    assert (persona.budget.daily_usd, persona.budget.run_usd) == (3, 0.75)


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ("triggers:", "tigers:", 7, "unknown key `tigers`: did you mean `triggers`?"),
        ("trust: specialist", "trust: boss", 5, "`trust` is `boss`: write intern or specialist or lead"),
        ("trust: specialist", "trust: led", 5, "`trust` is `led`: did you mean `lead`?"),
        ("GREEN", "GREENISH", 6, "`risk_profile` is `GREENISH`: did you mean `GREEN`?"),
        ("[engineering]", "[enginering]", 9, "`task_types[0]` is `enginering`: did you mean `engineering`?"),
        ("[file_read]", "[file_read, file_wriet]", 10, "`tools` names no tool by `file_wriet`: did you mean `file_wr"),
        ("[file_read]", "[file_read, file_read]", 10, "`tools` names `file_read` twice"),
        ("[file_read]", "file_read", 10, "`tools` must be a list, not text"),
        ("title: Tester", "title: 7", 3, "`title` must be text, not a number"),
        ("name: tester", "name: Tester", 2, "`name` is `Tester`: write a lower-case letter"),
        ("try out", '"try (out)"', 7, "`triggers[0]` is `try (out)`: write one to five words without punctuation"),
        ("title: Tester\n", "", 1, "`title` is missing"),
        ("soul: |\n  You try things.\n", "soul: ''\n", 11, "`soul` is empty"),
        ("soul: |", "model: sonnet\nsoul: |", 11, "`model`: `sonnet` is not a model: write `provider/model`"),
        ("soul: |", "mbti: ABCD\nsoul: |", 11, "`mbti` is `ABCD`: write four letters, such as INTP"),
        ("soul: |", "max_tokens: 3.5\nsoul: |", 11, "`max_tokens` must be a whole number"),
        ("soul: |", "max_tokens: 10\nsoul: |", 11, "`max_tokens` is `10`: it must be greater than or equal to 256"),
        ("soul: |", "temperature: 3\nsoul: |", 11, "`temperature` is `3`: it must be less than or equal to 2"),
        ("soul: |", "temperature: .nan\nsoul: |", 11, "`.nan` is not a finite number"),
        ("soul: |", "budget: {daly_usd: 3}\nsoul: |", 11, "unknown key `budget.daly_usd`: did you mean `daily_usd`?"),
        ("soul: |", "budget: {run_usd: 9}\nsoul: |", 11, "`budget` has `run_usd` 9 above `daily_usd` 5"),
        ("soul: |", "budget: none\nsoul: |", 11, "`budget` must be a mapping, not text"),
        ("soul: |", "limits: {max_turns: true}\nsoul: |", 11, "`limits.max_turns` must be a whole number, not true"),
        ("soul: |", "prompt: Hello {{projct}}\nsoul: |", 11, "`prompt` has no value for `{{projct}}`: did you"),
        ("schema_version: 1", "schema_version: 2", 1, "`schema_version` 2 is newer than this version reads"),
        ("schema_version: 1", "schema_version: '1'", 1, "`schema_version` is `1`: write 1"),
        ("schema_version: 1", "schema_verson: 1", 1, "`schema_version` is missing, and `schema_verson` is unknown"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_file_line_and_reason(
    tmp_path: Path, old: str, new: str, line: int, problem: str
) -> None:
    assert old in GOOD
    found = load(tmp_path, GOOD.replace(old, new, 1))
    assert not found.personas
    assert any(f.startswith(f"{tmp_path / 'tester.yaml'}:{line}: {problem}") for f in found.faults), found.faults


def test_all_faults_of_a_file_are_reported_at_once(tmp_path: Path) -> None:
    text = GOOD.replace("trust: specialist", "trust: boss").replace("file_read", "nope").replace("triggers", "tigers")
    found = load(tmp_path, text + "max_tokens: 1\n")
    assert len(found.faults) == 4
    assert [int(fault.split(":")[1]) for fault in sorted(found.faults)] == [10, 13, 5, 7]


@pytest.mark.parametrize(
    "text",
    [
        b"name: a\nname: b\n",
        b"a: &a [x]\nb: *a\n",
        b"!!python/object/apply:os.system ['true']\n",
        b"soul: \xff\xfe\n",
        b"{" * 5000,
        b"",
        b"just words\n",
        b"- a list\n",
    ],
)
def test_what_is_not_a_plain_mapping_is_refused_with_a_place(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "odd.yaml").write_bytes(text)
    found = load_personas(True, [tmp_path], known_tools=frozenset())
    assert len(found.personas) == 11
    assert found.faults
    assert all(fault.startswith(f"{tmp_path / 'odd.yaml'}:") for fault in found.faults)


def test_a_bad_file_leaves_the_others_loaded(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(GOOD, encoding="utf-8")
    found = load(tmp_path, GOOD.replace("name: tester", "name: 7"), name="bad.yaml")
    assert set(found.personas) == {"tester"}
    assert len(found.faults) == 1


def test_a_user_file_overrides_the_built_in_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "mine.yml").write_text(GOOD.replace("name: tester", "name: coder"), encoding="utf-8")
    found = load_personas(True, [tmp_path], known_tools=frozenset())
    assert found.personas["coder"].title == "Tester"
    assert found.sources["coder"] == str(tmp_path / "mine.yml")
    assert len(found.personas) == 11


def test_a_refused_override_does_not_bring_the_built_in_back(tmp_path: Path) -> None:
    found_text = GOOD.replace("name: tester", "name: coder").replace("GREEN", "BLUE")
    (tmp_path / "mine.yaml").write_text(found_text, encoding="utf-8")
    found = load_personas(True, [tmp_path], known_tools=frozenset())
    assert "coder" not in found.personas
    assert found.refused == {"coder"}


def test_nor_does_one_whose_link_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "coder.yaml").symlink_to(tmp_path / "gone" / "coder.yaml")
    found = load_personas(True, [tmp_path], known_tools=frozenset())
    assert "coder" not in found.personas
    assert found.refused == {"coder"}


def test_two_files_of_a_folder_cannot_share_a_name(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "b.yaml").write_text(GOOD, encoding="utf-8")
    found = load_personas(False, [tmp_path], known_tools=frozenset())
    assert found.sources["tester"].endswith("a.yaml")
    assert found.faults == (f"{tmp_path / 'b.yaml'}:1: persona `tester` is already in a.yaml: rename one",)


def test_a_folder_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert load_personas(False, [tmp_path / "none"], known_tools=frozenset()).faults == ()


def test_a_file_in_place_of_a_folder_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "personas").write_text("x", encoding="utf-8")
    [fault] = load_personas(False, [tmp_path / "personas"], known_tools=frozenset()).faults
    assert fault == f"{tmp_path / 'personas'}:1: personas cannot be read: not a directory"


def test_a_registered_tool_may_be_named_and_an_unknown_one_not(tmp_path: Path) -> None:
    text = GOOD.replace("[file_read]", "[lookup_order]")
    assert only(load(tmp_path, text, tools=frozenset({"lookup_order"}))).tools == ("lookup_order",)
    assert load(tmp_path, text).faults


def test_every_persona_is_offered_the_common_tools(tmp_path: Path) -> None:
    offered = only(load(tmp_path, GOOD)).offered_tools
    assert {"file_read", "submit_deliverable", "ask_operator", "do_nothing", "memory_search"} <= offered
    assert "file_write" not in offered


def test_the_digest_follows_the_content_and_not_the_layout(tmp_path: Path) -> None:
    one = only(load(tmp_path, GOOD))
    same = only(load(tmp_path, "# a comment\n" + GOOD.replace("[testing]", "\n  - testing")))
    other = only(load(tmp_path, GOOD.replace("You try", "You really try")))
    assert one.digest == same.digest != other.digest


def test_a_stored_persona_comes_back_as_it_was() -> None:
    for persona in load_personas(True, [], known_tools=frozenset()).personas.values():
        back = Persona.from_json(json.loads(json.dumps(persona.to_json())))
        assert back == persona
        assert back.digest == persona.digest


def test_stored_data_that_is_no_persona_is_an_error() -> None:
    with pytest.raises(ConfigError, match="stored persona: `soul` is missing"):
        Persona.from_json({"name": "x", "title": "X", "role": "r", "trust": "lead", "risk_profile": "GREEN"})
