"""Scores, and who is chosen when the one who was named cannot be had."""

import json
import sys
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from interlock.agents.persona import load_personas
from interlock.graph.delegation import MOST_SHOWN, Candidate, Need, choose, score
from interlock.settings.agency import DelegationSettings

PERSONAS = load_personas(True, [], known_tools=frozenset()).personas
NEED = Need("coder", "engineering", "Fix the bug in the parser")


def member(persona: str, **more: int | str | None) -> Candidate:
    who = PERSONAS[persona]
    base = Candidate(f"mem_{persona}", who, who.trust, daily_limit_microusd=100, daily_left_microusd=100)
    return replace(base, **more)  # type: ignore[arg-type]


def test_each_part_of_a_score_is_worth_what_the_table_says() -> None:
    newcomer = score(member("coder"), NEED)
    assert (newcomer.capability, newcomer.track_record, newcomer.trust) == (20, 12.5, 10)
    assert (newcomer.headroom, newcomer.trigger, newcomer.workload) == (10, 10, 0)
    assert newcomer.total == 62.5


def test_capabilities_count_by_the_share_that_is_met() -> None:
    need = replace(NEED, capabilities=("debugging", "refactoring", "cooking", "singing"))
    assert score(member("coder"), need).capability == 20
    assert score(member("designer"), need).capability == 0
    assert score(member("coder"), replace(NEED, capabilities=("debugging",))).capability == 40


def test_a_good_record_lifts_and_a_bad_one_lowers() -> None:
    good, bad = score(member("coder", done_count=98), NEED), score(member("coder", failed_count=98), NEED)
    assert (good.track_record, bad.track_record) == (24.75, 0.25)


def test_trust_is_the_members_own() -> None:
    assert [score(member("coder", trust=t), NEED).trust for t in ("intern", "specialist", "lead")] == [5, 10, 15]


def test_one_trigger_word_is_worth_half() -> None:
    assert score(member("coder"), replace(NEED, text="Implement it")).trigger == 5
    assert score(member("coder"), replace(NEED, text="Nothing of that")).trigger == 0


def test_work_at_hand_lowers_down_to_ten() -> None:
    assert [score(member("coder", active_tasks=n), NEED).workload for n in (0, 1, 4, 9)] == [0, -2.5, -10, -10]


def test_headroom_follows_the_money_left() -> None:
    assert score(member("coder", daily_left_microusd=25), NEED).headroom == 2.5
    assert score(member("coder", daily_left_microusd=-5), NEED).headroom == 0


def test_points_are_those_of_the_settings() -> None:
    points = DelegationSettings(
        capabilities=1, none_required=2, track_record=6, specialist=4, headroom=5, triggers=8, active_task=1, workload=2
    )
    found = score(member("coder", active_tasks=9), NEED, points)
    assert (found.capability, found.track_record, found.trust) == (2, 3, 4)
    assert (found.headroom, found.trigger, found.workload) == (5, 8, -2)
    busy, record = member("coder", active_tasks=1), member("coder", failed_count=2)
    another = replace(record, member_id="mem_another")
    for track_record, chosen in ((25.0, busy), (0.0, another)):
        choice = choose([busy, another], NEED, DelegationSettings(track_record=track_record))
        assert choice.candidate is chosen


counts = st.integers(min_value=0, max_value=10**6)


@given(counts, counts, counts, counts, st.integers(), st.lists(st.sampled_from(["debugging", "x"])).map(tuple))
def test_a_score_stays_between_0_and_100(
    done: int, failed: int, active: int, limit: int, left: int, wanted: tuple[str, ...]
) -> None:
    candidate = member(
        "coder", done_count=done, failed_count=failed, active_tasks=active, daily_limit_microusd=limit,
        daily_left_microusd=left,
    )  # fmt: skip
    assert 0 <= score(candidate, replace(NEED, capabilities=wanted)).total <= 100


def test_the_named_persona_is_chosen_even_where_another_scores_higher() -> None:
    found = choose([member("qa", trust="lead", done_count=99), member("coder", active_tasks=4)], NEED)
    assert found.candidate is not None
    assert found.candidate.persona.name == "coder"
    assert not found.substitute
    assert found.reason == "`coder` as planned, 52.5 points"


def test_the_best_of_several_members_of_the_named_persona_is_chosen() -> None:
    busy, free = member("coder", member_id="mem_1", active_tasks=2), member("coder", member_id="mem_2")
    assert choose([busy, free], NEED).candidate == free


def test_where_the_named_one_cannot_be_had_the_next_best_for_the_type_is_chosen() -> None:
    found = choose([member("coder", obstacle="quarantined"), member("qa"), member("designer")], NEED)
    assert found.candidate is not None
    assert found.candidate.persona.name == "qa"
    assert found.substitute
    assert found.reason.startswith("`coder` is not available (quarantined); `qa` is the best of 1 that may take")


def test_nobody_eligible_leaves_the_task_waiting_with_the_reason() -> None:
    found = choose([member("coder", obstacle="no budget left today"), member("designer"), member("learner")], NEED)
    assert (found.candidate, found.score) == (None, None)
    assert found.reason == (
        "`coder` is not available (no budget left today); nobody else may take `engineering` tasks now"
    )


def test_a_persona_without_a_member_is_named_as_such() -> None:
    assert choose([], NEED).reason.startswith("`coder` is not available (no such member)")


def test_an_author_does_not_review_its_own_work() -> None:
    need = Need("qa", "engineering", "Review it", author="coder")
    found = choose([member("qa", obstacle="paused"), member("coder")], need)
    assert found.candidate is None


def test_equal_scores_are_settled_the_same_way_every_time() -> None:
    one, two = member("coder", member_id="mem_1"), member("coder", member_id="mem_2")
    assert choose([two, one], NEED).candidate == choose([one, two], NEED).candidate == one


def test_the_log_has_everyone_who_was_considered_with_every_part() -> None:
    entry = json.loads(json.dumps(choose([member("coder"), member("qa", obstacle="paused")], NEED).to_json()))
    assert entry["persona"] == "coder"
    assert entry["score"]["total"] == 62.5
    assert [(c["persona"], c["obstacle"]) for c in entry["considered"]] == [("coder", None), ("qa", "paused")]
    assert set(entry["considered"][1]["score"]) == {
        "capability", "track_record", "trust", "headroom", "trigger", "workload", "total",
    }  # fmt: skip


def test_of_very_many_the_log_has_the_chosen_one_and_the_best() -> None:
    crowd = [member("coder", member_id=f"mem_{n}", done_count=n) for n in range(MOST_SHOWN * 3)]
    entry = choose([member("qa"), *crowd], replace(NEED, persona="qa")).to_json()
    assert entry["persona"] == entry["considered"][0]["persona"] == "qa"
    best = [f"mem_{n}" for n in range(MOST_SHOWN * 3 - 1, 0, -1)]
    assert [each["member"] for each in entry["considered"][1:]] == best[: MOST_SHOWN - 1]
    assert entry["others"] == MOST_SHOWN * 2 + 1


def test_text_is_read_once_however_many_there_are_to_choose_from() -> None:
    def more(count: int) -> int:
        """How many calls a long text takes above a short one."""
        crowd = [member("coder", member_id=f"mem_{n}") for n in range(count)]
        long = f"Fix the bug in the parser of {count}. " + "It happens where nobody has looked yet. " * 50
        return _calls(crowd, replace(NEED, text=long)) - _calls(crowd, replace(NEED, text=f"Fix the bug of {count}"))

    assert more(100) < 2 * more(1)


def _calls(crowd: list[Candidate], need: Need) -> int:
    count = 0

    def seen(_frame: object, event: str, _arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        choose(crowd, need)
    finally:
        sys.setprofile(before)
    return count
