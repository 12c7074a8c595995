"""A mission killed at a sample of its points: each kind of transaction, each effect, model calls, here and there.

All points are `every_point`'s. Source: rows A16, E9.
"""

from pathlib import Path
from typing import Any

from tests.chaos.conftest import Databases
from tests.chaos.siege import Siege

WHEN = ("before", "after")
BESIDE = ("leaders.", "firings.", "seals.", "runner.Scheduler.", "leases.leave", "leases.beat")
"""What a process commits beside its missions: while it stops, and every few seconds, so that it may come too late."""
SIEGES = 3
"""A unit that happens once in a mission may be committed together with one that the process dies of just then; such
units are met in a mission of their own."""
ANYWHERE = (57, 38, 27, 16)
"""Transactions of one process after the other, so that the deaths are spread over the mission to its end."""
EFFECTS = [
    ("effect", 1, "before"), ("effect", 2, "after"),
    ("effect", 4, "before"), ("effect", 5, "after"),
    ("effect", 6, "before"), ("effect", 7, "after"),
]  # fmt: skip
"""The first may be repeated as it is, for the other two a person is asked: each of the three is killed twice over."""
MODEL = [("model", "plan", "after"), ("model", "compile", "before")]
"""While no effect is on its way."""


async def test_mission_survives_the_death_of_its_process_at_each_kind_of_transaction(
    databases: Databases, tmp_path: Path
) -> None:
    calm = await Siege(tmp_path / "calm", databases()).endure()
    kinds, turn = dict.fromkeys(calm.lives[0]), calm.url.startswith("sqlite")
    dooms: list[dict[str, Any]] = [{"when": WHEN[(n + turn) % 2], "unit": unit} for n, unit in enumerate(kinds)]
    for siege_number in range(SIEGES):
        siege = await Siege(tmp_path / f"siege {siege_number}", databases(), dooms).endure()
        assert siege.deaths == len(siege.hits)
        reached = {unit for _, _, unit in siege.hits}
        dooms = [doom for doom in dooms if doom["unit"] not in reached and not doom["unit"].startswith(BESIDE)]
        if not dooms:
            return
    assert dooms == []


async def test_mission_survives_the_death_of_its_process_anywhere_between_start_and_end(
    databases: Databases, tmp_path: Path
) -> None:
    dooms = [{"when": WHEN[n % 2], "number": number} for n, number in enumerate(ANYWHERE)]
    siege = await Siege(tmp_path / "siege", databases(), dooms).endure()
    assert siege.deaths == len(siege.hits) == len(ANYWHERE)


async def test_effects_happen_once_and_cut_model_calls_are_paid_wherever_the_process_dies(
    databases: Databases, tmp_path: Path
) -> None:
    siege = await Siege(tmp_path / "siege", databases(), [], [*EFFECTS, *MODEL]).endure()
    assert siege.deaths == len(siege.hits) == len(EFFECTS) + len(MODEL)
    tried = [one.tool for one in siege.effects.asked]
    assert tried == ["set_stock"] * 3 + ["pay"] * 2 + ["ship"] * 2
    assert len({one.token for one in siege.effects.asked}) == 3
