"""The same fleet at its full size: `make chaos`.

`make test` runs the sample in `test_fleet`.
"""

from pathlib import Path

from tests.chaos.conftest import Databases
from tests.chaos.test_fleet import check_fleet


async def test_hundred_kills_lose_double_and_reorder_none_of_a_thousand_runs(
    postgresql_databases: Databases, tmp_path: Path
) -> None:
    await check_fleet(tmp_path, postgresql_databases(), agents=100, runs=1000, kills=100)
