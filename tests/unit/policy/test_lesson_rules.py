"""What lessons earn, lose and are: confidence by outcomes, standing by confidence, likeness by words."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.policy.learning import lesson_rules as rules
from interlock.policy.learning.lesson_rules import USUAL, Outcome, Standing
from interlock.policy.learning.lesson_similarity import Likeness, likeness

NOW = datetime(2026, 3, 1, tzinfo=UTC)
OUTCOMES = st.lists(st.sampled_from(list(Outcome)), max_size=40)


@dataclass(frozen=True)
class Row:
    """A lesson as the rules see it."""

    id: str
    confidence: float = 0.5
    status: str = "probation"
    persona: str | None = None
    task_type: str | None = None
    labels: Sequence[str] = ()
    contradicts: Sequence[str] | None = None
    evidence_at: datetime = field(default=NOW)


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([], 0.5),
        (["helped"], 2 / 3),
        (["hurt"], 1 / 3),
        (["helped"] * 4, 5 / 6),
        (["helped"] * 20, 21 / 22),
        (["hurt"] * 20 + ["helped"] * 20, 1 / 22),
        (["neither"] * 20 + ["helped"] * 20, 0.5),
        (["helped", "neither", "hurt"], 0.5),
    ],
)
def test_confidence_is_earned_over_the_last_twenty_uses(outcomes: list[str], expected: float) -> None:
    assert rules.confidence(outcomes) == pytest.approx(expected)


@given(OUTCOMES)
def test_confidence_stays_between_never_and_always(outcomes: list[str]) -> None:
    assert 0 < rules.confidence(outcomes) < 1


@given(OUTCOMES)
def test_help_raises_confidence_and_harm_lowers_it(outcomes: list[str]) -> None:
    short = outcomes[: rules.WINDOW - 1]
    before = rules.confidence(short)
    assert rules.confidence([Outcome.HURT, *short]) < before < rules.confidence([Outcome.HELPED, *short])


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_nobody_claims_more_than_one_observation_is_worth(claimed: float) -> None:
    assert 0 <= rules.first_confidence(claimed) <= 0.5


@pytest.mark.parametrize(
    ("status", "kind", "tries", "cycles", "expected"),
    [
        ("DONE", None, 0, 0, Outcome.HELPED),
        ("DONE", None, 0, 1, Outcome.NEITHER),
        ("DONE", None, 1, 0, Outcome.NEITHER),
        ("DONE", None, 2, 0, Outcome.HURT),
        ("BLOCKED", "FAILURE", 3, 0, Outcome.HURT),
        ("BLOCKED", "LOOP", 0, 4, Outcome.HURT),
        ("BLOCKED", "OPERATOR", 0, 0, Outcome.NEITHER),
        ("CANCELED", None, 0, 0, Outcome.NEITHER),
        ("CANCELED", None, 3, 0, Outcome.HURT),
    ],
)
def test_end_of_a_task_says_what_its_lessons_were_worth(
    status: str, kind: str | None, tries: int, cycles: int, expected: Outcome
) -> None:
    assert rules.outcome(status, kind, tries, cycles) is expected


def stand(now: str, earned: float, applied: int, helped: int, latest: str, *labels: str) -> Standing:
    return rules.standing(now, earned, applied, helped, latest, labels, USUAL)


def test_lesson_is_on_probation_until_it_has_helped_once() -> None:
    assert stand("probation", 0.5, 9, 0, "neither") is Standing.PROBATION
    assert stand("probation", 2 / 3, 1, 1, "helped") is Standing.ACTIVE


def test_lesson_becomes_a_rule_above_four_fifths_and_three_uses() -> None:
    assert stand("active", 0.81, 3, 3, "helped") is Standing.PROMOTED
    assert stand("active", 0.8, 3, 3, "helped") is Standing.ACTIVE
    assert stand("active", 0.9, 2, 2, "helped") is Standing.ACTIVE


def test_rule_that_does_harm_is_none_any_more() -> None:
    assert stand("promoted", 0.9, 20, 19, "hurt") is Standing.ACTIVE
    assert stand("promoted", 0.9, 20, 19, "neither") is Standing.PROMOTED
    assert stand("promoted", 0.7, 20, 9, "neither") is Standing.ACTIVE


@given(st.sampled_from(["probation", "active", "promoted"]), st.floats(0, 1), st.integers(0, 99), st.integers(0, 99))
def test_strangers_words_never_become_a_rule_by_themselves(now: str, earned: float, applied: int, helped: int) -> None:
    assert stand(now, earned, applied, helped, "helped", "private", "untrusted") is Standing.PROBATION


def test_strangers_words_are_not_held_against_what_they_had_no_hand_in() -> None:
    clean = [Row(f"clean{n}") for n in range(4)]
    rule = Row("rule", 0.9, "promoted", contradicts=("tainted",))
    tainted = Row("tainted", 0.5, labels=("untrusted",), contradicts=("rule",), evidence_at=NOW + timedelta(days=1))
    rows = [tainted, *clean, rule]
    assert shown(*rows) == ["rule", *(row.id for row in clean)]
    assert rules.disputes(rule, rows) == []
    assert rules.disputes(tainted, rows) == [rule]


@pytest.mark.parametrize("gone", ["archived", "pruned", "merged"])
def test_lesson_out_of_use_stays_out_of_use(gone: str) -> None:
    assert stand(gone, 0.99, 50, 50, "helped") == gone


@pytest.mark.parametrize(
    ("earned", "applied", "age_d", "idle_d", "expected"),
    [
        (0.29, 5, 200, 90, Standing.PRUNED),
        (0.29, 5, 200, 89, None),
        (0.3, 5, 200, 120, None),
        (0.49, 0, 60, None, Standing.ARCHIVED),
        (0.49, 0, 59, None, None),
        (0.49, 1, 60, 60, None),
        (0.5, 0, 400, None, None),
        (0.2, 0, 90, None, Standing.PRUNED),
    ],
)
def test_lessons_go_when_their_time_is_up(
    earned: float, applied: int, age_d: int, idle_d: int | None, expected: Standing | None
) -> None:
    used_at = None if idle_d is None else NOW - timedelta(days=idle_d)
    assert rules.retained(earned, applied, NOW - timedelta(days=age_d), used_at, NOW, USUAL) is expected


def shown(*rows: Row, rehearsal: bool = False) -> list[str]:
    return [row.id for row in rules.best(rows, rehearsal=rehearsal, most=5)]


def test_rules_come_first_then_confidence_then_the_closer_fit_then_the_newer() -> None:
    old = NOW - timedelta(days=1)
    assert shown(
        Row("older", evidence_at=old), Row("newer"), Row("close", persona="coder", evidence_at=old), Row("sure", 0.7),
        Row("rule", 0.6, "promoted"),
    ) == ["rule", "sure", "close", "newer", "older"]  # fmt: skip


def test_five_are_shown_and_the_clean_before_the_tainted() -> None:
    rows = [Row(f"clean{n}") for n in range(5)] + [Row("tainted", 0.9, labels=("untrusted",))]
    assert "tainted" not in shown(*rows)
    assert len(shown(*rows)) == 5


def test_what_a_rehearsal_taught_is_for_rehearsals() -> None:
    rows = [Row("real"), Row("played", 0.9, labels=("rehearsal",))]
    assert shown(*rows) == ["real"]
    assert shown(*rows, rehearsal=True) == ["played", "real"]


def test_of_two_that_contradict_both_are_shown_the_newer_first() -> None:
    old = Row("old", 0.9, contradicts=("new",), evidence_at=NOW - timedelta(days=3))
    new = Row("new", 0.4, contradicts=("old",))
    others = [Row(f"other{n}", 0.6) for n in range(4)]
    assert shown(old, *others, new)[:2] == ["new", "old"]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Check the totals twice.", "check totals twice", Likeness.SAME),
        ("Ask for the file name first.", "Do not ask for the file name first.", Likeness.OPPOSITE),
        ("Send the draft to the client first.", "Never send the draft to the client first.", Likeness.OPPOSITE),
        ("Call `a` with `x` from the start.", "Call `b` with `x` from the start.", Likeness.OTHER),
        ("Keep it below 500 words in all cases.", "Keep it below 900 words in all cases.", Likeness.OTHER),
        ("Check the totals twice.", "Name your sources.", Likeness.OTHER),
        (
            "Before reading a file of a task, list the folder; runs failed on files that were not there.",
            "Before reading a file of a task, do not list the folder; runs failed on files that were not there.",
            Likeness.OPPOSITE,
        ),
        (
            "Search broadly first, and read pages only once you know which three you need for the question.",
            "First search broadly; read pages only after you know which three the question needs.",
            Likeness.SAME,
        ),
        (
            "List the whole folder before reading files.",
            "List the whole folder after reading files.",
            Likeness.OPPOSITE,
        ),
        ("Always ask for the file name first.", "Never ask for the file name first.", Likeness.OPPOSITE),
        ("Write all tests before the code.", "Write all code before the tests.", Likeness.OTHER),
        ("Before the tests, write all code.", "Before the code, write all tests.", Likeness.OTHER),
        (
            "Send drafts to the client before the editor.",
            "Before the editor, send drafts to the client.",
            Likeness.SAME,
        ),
        ("Use `a` instead of `b` for sums.", "Use `b` instead of `a` for sums.", Likeness.OTHER),
        ("Do not send the draft without a note.", "Send the draft with a note.", Likeness.OTHER),
    ],
)
def test_rules_are_alike_opposite_or_neither(one: str, other: str, expected: Likeness) -> None:
    assert likeness(one, other) is expected
    assert likeness(other, one) is expected


@given(st.text(), st.text())
def test_likeness_knows_no_order(one: str, other: str) -> None:
    assert likeness(one, other) is likeness(other, one)


def test_a_task_is_looked_at_once_for_each_end_and_each_fault() -> None:
    def due(status: str, kind: str | None = None, tries: int = 0, parent: str | None = "mis_1") -> str | None:
        return rules.due("tsk_1", parent, status, kind, tries, 0)

    assert due("DONE") == due("CANCELED") == "learn:tsk_1:end"
    assert due("BLOCKED", "FAILURE", 3) != due("BLOCKED", "FAILURE", 6)
    assert due("BLOCKED", "OPERATOR") is due("IN_PROGRESS") is due("BLOCKED", "FAILURE", parent=None) is None
    assert due("DONE", parent=None) == "learn:tsk_1"
