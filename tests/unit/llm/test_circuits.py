"""When a provider that fails is left alone, and who finds out whether it works again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.llm.circuits import BREAKING, LONGEST_S, TRIAL_S, Circuits
from interlock.llm.messages import ModelError, ModelFault

ONE, OTHER = "anthropic", "openai"


def fault(kind: ModelFault = ModelFault.OVERLOADED) -> ModelError:
    return ModelError(kind, "it broke", provider=ONE)


def opened(open_after: int = 3, probe_s: float = 10.0) -> Circuits:
    """A circuit that opened at second 0."""
    circuits = Circuits(open_after, probe_s)
    for _ in range(open_after):
        circuits.failed(ONE, fault(), 0.0)
    return circuits


@pytest.mark.parametrize("kind", sorted(BREAKING))
def test_it_opens_after_so_many_faults_in_a_row(kind: ModelFault) -> None:
    circuits = Circuits(3, 10.0)
    for _ in range(2):
        circuits.failed(ONE, fault(kind), 0.0)
        assert circuits.enter(ONE, 0.0) == 0
    circuits.failed(ONE, fault(kind), 5.0)
    assert (circuits.enter(ONE, 5.0), circuits.enter(ONE, 9.0)) == (10.0, 6.0)
    found = circuits.of(ONE)
    assert found is not None
    assert (found.faults, str(found.last)) == (3, "anthropic: it broke")


@pytest.mark.parametrize("kind", sorted(set(ModelFault) - BREAKING))
def test_an_answer_shows_that_the_provider_is_there(kind: ModelFault) -> None:
    circuits = Circuits(3, 10.0)
    for each in [ModelFault.SERVER, ModelFault.SERVER, kind, ModelFault.SERVER, ModelFault.SERVER]:
        circuits.failed(ONE, fault(each), 0.0)
    assert circuits.enter(ONE, 0.0) == 0


def test_other_providers_are_called_all_the_same() -> None:
    assert opened().enter(OTHER, 0.0) == 0


def test_after_its_rest_one_caller_tries_and_the_others_wait_for_it() -> None:
    circuits = opened()
    assert circuits.enter(ONE, 10.0) == 0
    assert circuits.enter(ONE, 10.0) > 0
    assert circuits.wait_s(ONE, 11.0) > 0
    circuits.succeeded(ONE)
    assert [circuits.enter(ONE, 11.0) for _ in range(3)] == [0, 0, 0]
    assert circuits.of(ONE) is None


def test_looking_at_it_is_no_trial() -> None:
    circuits = opened()
    assert (circuits.wait_s(ONE, 10.0), circuits.wait_s(ONE, 10.0), circuits.enter(ONE, 10.0)) == (0, 0, 0)


def test_each_trial_that_fails_doubles_the_rest() -> None:
    circuits, now, rests = opened(), 0.0, []
    for _ in range(8):
        rests.append(circuits.wait_s(ONE, now))
        now += rests[-1]
        assert circuits.enter(ONE, now) == 0
        circuits.failed(ONE, fault(), now)
    assert rests == [10, 20, 40, 80, 160, 300, 300, 300]


def test_faults_of_calls_that_were_under_way_do_not_prolong_the_rest() -> None:
    circuits = opened()
    circuits.failed(ONE, fault(), 4.0)
    assert circuits.wait_s(ONE, 4.0) == 6


def test_a_trial_that_was_cut_off_is_somebody_else_s() -> None:
    circuits = opened()
    assert circuits.enter(ONE, 10.0) == 0
    circuits.left(ONE)
    assert circuits.enter(ONE, 10.0) == 0


def test_a_trial_that_is_never_heard_of_again_is_somebody_else_s_in_the_end() -> None:
    circuits = opened()
    assert circuits.enter(ONE, 10.0) == 0
    assert circuits.enter(ONE, 10.0 + TRIAL_S - 1) > 0
    assert circuits.enter(ONE, 10.0 + TRIAL_S) == 0


@given(
    st.integers(1, 5),
    st.lists(st.tuples(st.sampled_from(["enter", "worked", "broke", "refused", "left"]), st.floats(0, 100))),
)
def test_nobody_waits_for_ever_and_at_most_one_tries(open_after: int, story: list[tuple[str, float]]) -> None:
    circuits, now, trying = Circuits(open_after, 10.0), 0.0, 0.0
    for what, pause_s in story:
        now += pause_s
        was_open, wait_s = circuits.wait_s(ONE, 0.0) > 0, circuits.wait_s(ONE, now)
        assert 0 <= wait_s <= LONGEST_S
        if what == "enter":
            assert circuits.enter(ONE, now) == wait_s
            if was_open and not wait_s:
                assert circuits.enter(ONE, now) > 0, "a second one passed"
                trying = now
        elif what == "worked":
            circuits.succeeded(ONE)
        elif what == "left":
            circuits.left(ONE)
        else:
            circuits.failed(ONE, fault(ModelFault.SERVER if what == "broke" else ModelFault.AUTH), now)
    assert circuits.enter(ONE, max(now, trying) + TRIAL_S + LONGEST_S) == 0
