"""The same fleet at its full size: `make chaos`.

`make test` runs the sample in `test_fleet`.
"""

from pathlib import Path

from tests.chaos.conftest import Databases
from tests.chaos.test_fleet import check_fleet


async def test_a_thousand_runs_under_a_hundred_kills_are_neither_lost_nor_doubled_nor_out_of_order(
    postgresql_databases: Databases, tmp_path: Path
) -> None:
    await check_fleet(tmp_path, postgresql_databases(), agents=100, runs=1000, kills=100)
