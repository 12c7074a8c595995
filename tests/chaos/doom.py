"""A million random operations on a ledger and a hundred thousand random walks of a task, for `make chaos`.

The operations take five minutes of one core, longer on a slow disk: `--basetemp=/dev/shm/doom` avoids it.
`DOOM_OPERATIONS` and `DOOM_WALKS` change the numbers. `make test` runs some thousands: `test_ledger_walk`,
`test_random_walks`.
"""

import os
import random
from collections import Counter
from pathlib import Path

import pytest

from interlock.state_machine.table import TRANSITIONS
from interlock.store.engine import Store
from interlock.store.upkeep.migrate import upgrade
from tests.contract.store.ledger_walk import OUTCOMES, Walk
from tests.unit.state_machine.random_walk import walk

OPERATIONS = int(os.environ.get("DOOM_OPERATIONS", "1000000"))
WALKS = int(os.environ.get("DOOM_WALKS", "100000"))
LIVES = 10
"""So many ledgers, each from a seed of its own, share the operations."""


@pytest.mark.parametrize("seed", range(LIVES))
async def test_ledger_says_what_its_model_says_after_any_number_of_operations(tmp_path: Path, seed: int) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    await upgrade(url)
    async with Store(url) as store:
        life = Walk(store, 1_000 + seed)
        await life.run(OPERATIONS // LIVES)
    print(f"\n{OPERATIONS // LIVES:,} operations: {dict(life.seen)}")
    assert life.seen["settle"] > life.seen["refused"] > 0
    assert set(life.seen) >= OUTCOMES or OPERATIONS < 1_000_000, OUTCOMES - set(life.seen)


def test_no_life_of_a_task_breaks_an_invariant() -> None:
    dice, seen = random.Random(2), Counter[tuple[str, str]]()
    for _ in range(WALKS):
        walk(dice, seen)
    allowed = {(t.source.value, t.dest.value) for t in TRANSITIONS}
    print(f"\n{WALKS:,} lives, {sum(seen.values()):,} changes of {len(seen)} of {len(allowed)} kinds")
    assert set(seen) <= allowed
    assert len(seen) == len(allowed) or WALKS < 100_000, allowed - set(seen)
