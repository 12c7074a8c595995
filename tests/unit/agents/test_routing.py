"""Whom a text that is addressed to nobody is for, by its words; and reading what a model says of it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.agents.persona import load_personas
from interlock.agents.special.routing import (
    NOBODY,
    WORKFLOW,
    Candidate,
    Choice,
    best,
    candidates,
    corrected,
    question,
    read,
    router,
)
from interlock.agents.triggers import own_words

PERSONAS = load_personas(True, [], known_tools=frozenset()).personas
FLOWS = [Candidate(WORKFLOW, "feature", "From a wish to code", ("new feature", "implement feature"))]
KNOWN = candidates(PERSONAS, FLOWS)
KINDS = {each.name: each.kind for each in KNOWN}
SURE = 0.9


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("compare the three vendors", "research"),
        ("Can you please research the market for me?", "research"),
        ("What is the ROI?", "finance"),
        ("fix the login bug", "coder"),
        ("Schedule a meeting", "operations"),
        ("do not research anything, just write the pitch", "storyteller"),
        ("They said “research it”. Write the pitch.", "storyteller"),
        ("> please compare\nWrite the pitch", "storyteller"),
        ("IMPLEMENT THE PARSER", "coder"),
        ("Implement the search feature", "workflow feature"),
    ],
)
def test_an_obvious_text_has_its_target_with_confidence(text: str, target: str) -> None:
    found = best(text, KNOWN)
    assert (found.target, found.confidence >= SURE) == (target, True)


@pytest.mark.parametrize(
    "text",
    [
        "plan the budget",
        "hello there",
        "",
        "do not compare them",
        "don't write anything",
        "Why did you never compare them?",
        "without research",
        "nicht research, bitte",
        "pas de research",
        "не research",
        "“compare” is a verb",
        "`compare` does nothing",
        "'compare'",
        "run compare.py",
        "see https://example.com/research/compare",
        "mail research@example.com",
        "/usr/share/research",
        "preview it",
        "```\ncompare a b\n```",
        "research it, but do not research it now",
    ],
)
def test_ties_negations_and_quotations_decide_nothing(text: str) -> None:
    assert best(text, KNOWN).confidence < SURE


def test_a_word_deep_in_a_long_text_is_not_obvious() -> None:
    talk = "we met at noon and spoke of many things that have little to do with each other " * 4
    assert best(f"{talk} and somebody had to compare them", KNOWN).confidence < SURE
    assert best(f"Compare them. {talk}", KNOWN).confidence >= SURE


@pytest.mark.parametrize(
    ("trigger", "text"),
    [
        ("straße", "Die STRASSE sperren"),
        ("research", "Ｒｅｓｅａｒｃｈ the market"),
        ("kılavuz", "KILAVUZ yaz"),
        ("inceleme", "İNCELEME yap"),
        ("résumé", "Re\u0301sume\u0301 schreiben"),
        ("研究", "请研究一下市场"),
        ("調査", "市場を調査してください"),
        ("हिंदी", "हिंदी में लिखो"),
        ("исследуй", "ИССЛЕДУЙ рынок"),
        ("R&D", "r&d costs"),
    ],
)
def test_triggers_are_found_in_every_language_whatever_their_case(trigger: str, text: str) -> None:
    known = [Candidate("persona", "one", "role", (trigger,))]
    assert best(text, known).name == "one"


def test_what_a_language_without_spaces_takes_back_is_no_trigger() -> None:
    assert best("不要研究市场", [Candidate("persona", "one", "role", ("研究",))]).kind == NOBODY


def test_a_choice_is_shown_with_its_confidence_and_its_reason() -> None:
    assert best("compare them", KNOWN).line == "→ research (0.93: `compare`)"


@pytest.mark.parametrize(
    ("text", "name", "rest"),
    [
        ("no, finance", "finance", ""),
        ("No: ask @Research. compare these", "research", "compare these"),
        ("nein, lieber Finance!", "finance", ""),
        ("non, pour QA", "qa", ""),
        ("нет, finance", "finance", ""),
        ("不，finance", "finance", ""),
    ],
)
def test_a_person_sets_a_choice_right_in_a_few_words(text: str, name: str, rest: str) -> None:
    assert corrected(text, PERSONAS) == (name, rest)


@pytest.mark.parametrize(
    "text", ["no, thanks", "no finance", "finance", "no", "", "note, finance", "no, " + "a" * 5000]
)
def test_other_words_set_nothing_right(text: str) -> None:
    assert corrected(text, PERSONAS) is None


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("I think finance", "not one JSON object"),
        ("[1]", "not one JSON object"),
        ("[" * 5000, "not one JSON object"),
        ('{"target": "finance", "confidence": NaN, "reason": "x"}', "not one JSON object"),
        ('{"target": "finance", "confidence": true, "reason": "x"}', "not a number from 0 to 1"),
        ('{"target": "finance", "confidence": -1, "reason": "x"}', "not a number from 0 to 1"),
        ('{"target": null, "confidence": 1, "reason": "x"}', "are not text"),
        ('{"target": "coordinator", "confidence": 1, "reason": "x"}', "which there is not"),
        ('{"target": "workflow:finance", "confidence": 1, "reason": "x"}', "which there is not"),
        ('{"target": "finanze", "confidence": 1, "reason": "x"}', "did you mean `finance`?"),
    ],
)
def test_an_answer_that_cannot_be_used_says_why(answer: str, said: str) -> None:
    found = read(answer, KINDS)
    assert isinstance(found, str)
    assert said in found


@pytest.mark.parametrize("target", ["finance", "persona:finance", "workflow:feature", "feature", "mission", "nobody"])
def test_an_answer_names_a_persona_a_workflow_a_mission_or_nobody(target: str) -> None:
    answer = f"```json\n{json.dumps({'target': target, 'work': True, 'confidence': 0.5, 'reason': 'so'})}\n```"
    found = read(answer, KINDS)
    assert isinstance(found, Choice)
    assert (found.kind, found.name, found.asks_for_work) == (
        KINDS.get(target.rpartition(":")[2], target), target.rpartition(":")[2] if found.name else "", True
    )  # fmt: skip


@given(st.text(max_size=300))
def test_no_text_breaks_a_choice_a_question_or_a_reading(text: str) -> None:
    found = best(text, KNOWN)
    assert 0 <= found.confidence <= 1
    assert question(text.replace("\x00", ""), KNOWN).count("\n## Answer\n") == 1
    read(text, KINDS)
    corrected(text, PERSONAS)
    own_words(text)


def test_who_sorts_messages_has_no_tools_and_next_to_no_money() -> None:
    sorter = router(PERSONAS["coordinator"])
    assert (sorter.tools, sorter.limits.max_turns, sorter.max_tokens) == ((), 1, 512)
    assert sorter.budget.run_usd <= 0.10
    assert type(sorter).from_json(sorter.to_json()) == sorter


@pytest.mark.parametrize("unit", ["@", "“", "'", "a.", ".", "\n", "no, ", "`", "http:", "not ", "「"])
def test_text_that_is_made_to_take_long_is_judged_like_any_other(unit: str) -> None:
    text = unit * (20_000 // len(unit)) + "compare"
    assert best(text, KNOWN).confidence <= SURE
    assert corrected(text, PERSONAS) is None
    assert len(own_words(text)) <= len(text) * 5
