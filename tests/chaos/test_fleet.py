"""Workers on one PostgreSQL, killed at random and replaced: no run is lost, doubled or out of order.

The long version is `whole_fleet`'s. Source: rows A16, E10.
"""

from pathlib import Path

import psycopg

from interlock.app.local import open_desk
from tests.chaos.conftest import Databases
from tests.chaos.fleet import Fleet, furnish, settings_of
from tests.e2e.books import check_books


async def check_fleet(folder: Path, url: str, *, agents: int, runs: int, kills: int) -> None:
    """Has a fleet of four do so many runs under so many kills, and checks what it has written."""
    await furnish(folder, url, agents=agents, runs=runs)
    fleet = Fleet(folder, url)
    try:
        await fleet.work(workers=4, runs=runs, kills=kills)
    finally:
        fleet.close()
    assert fleet.kills == kills
    with psycopg.connect(url) as eye:
        assert eye.execute("SELECT status, count(*) FROM runs GROUP BY 1").fetchall() == [("completed", runs)]
        noted = eye.execute("SELECT array_agg(number ORDER BY id) FROM chaos_notes GROUP BY agent").fetchall()
        order = "SELECT array_agg(seq ORDER BY completed_at, seq) FROM runs GROUP BY agent_id"
        ended = eye.execute(order).fetchall()
        steps = "SELECT count(*) FROM (SELECT run_id, step_number FROM run_steps GROUP BY 1, 2 HAVING count(*) > 1) t"
        assert eye.execute(steps).fetchone() == (0,)
    assert noted == [(list(range(runs // agents)),)] * agents
    assert all(seqs == sorted(seqs) for (seqs,) in ended)
    async with open_desk(settings_of(folder, url), surface="cli") as (context, _):
        money = await check_books(context)
    assert money["estimated"] > 0


async def test_killed_workers_of_a_fleet_lose_double_and_reorder_no_runs(
    postgresql_databases: Databases, tmp_path: Path
) -> None:
    await check_fleet(tmp_path, postgresql_databases(), agents=20, runs=200, kills=12)
