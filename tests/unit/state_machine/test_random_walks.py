"""Hundreds of random lives of a task; `make chaos` has a hundred thousand."""

import random
from collections import Counter

from interlock.state_machine.table import TRANSITIONS
from tests.unit.state_machine.random_walk import walk

WALKS = 500


def test_no_life_of_a_task_breaks_an_invariant() -> None:
    dice, seen = random.Random(1), Counter[tuple[str, str]]()
    for _ in range(WALKS):
        walk(dice, seen)
    allowed = {(t.source.value, t.dest.value) for t in TRANSITIONS}
    assert set(seen) <= allowed
    assert len(seen) > len(allowed) * 0.6, allowed - set(seen)
