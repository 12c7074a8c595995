"""What is left in the home goes once it is old, and nothing that somebody works with."""

import os
from pathlib import Path

from interlock.oversight.cleanup import tidy
from interlock.store.engine import Store
from tests.contract.oversight.test_retention import LATER, runtime_of
from tests.contract.store.furniture import agent, claimed

DAYS = 86_400


def made(path: Path, age_days: float) -> Path:
    """A file of an age, in a folder of the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    then = LATER.timestamp() - age_days * DAYS
    for each in (path, path.parent):
        os.utime(each, (then, then))
    return path


async def test_old_leftovers_go_and_what_is_young_or_at_work_stays(store: Store, tmp_path: Path) -> None:
    await store.write(lambda tx: claimed(tx, agent(tx, "a"), "run_live"))
    left = made(tmp_path / "workspaces" / "demo" / "run_cut" / "a", 2)
    young = made(tmp_path / "workspaces" / "demo" / "run_young" / "a", 0.5)
    live = made(tmp_path / "workspaces" / "demo" / "run_live" / "a", 2)
    draft, record = made(tmp_path / "children" / ".draft", 2), made(tmp_path / "children" / "record", 2)
    backups = [made(tmp_path / f"replaced-2020010{n}T000000.backup", 40) for n in range(1, 6)]
    assert await tidy(runtime_of(store, tmp_path)) == 4
    assert [path.exists() for path in (left, young, live, draft, record)] == [False, True, True, False, True]
    assert [path.exists() for path in backups] == [False, False, True, True, True]
    assert await tidy(runtime_of(store, tmp_path)) == 0


async def test_home_without_anything_in_it_is_tidy(store: Store, tmp_path: Path) -> None:
    assert await tidy(runtime_of(store, tmp_path / "nothing")) == 0
