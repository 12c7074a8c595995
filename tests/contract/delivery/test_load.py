"""The outbox on PostgreSQL under load: limits, dropped connections, and processes killed while they deliver."""

from pathlib import Path

from bench.outbox import Service, round_of


async def test_each_message_arrives_once_and_in_order_whoever_is_killed(
    migrated_postgres_url: str, tmp_path: Path
) -> None:
    service = Service(limited=0.05, dropped=0.1)
    found = await round_of(migrated_postgres_url, str(tmp_path), service, 60, 6, kills=True, kill_count=2)
    assert found["killed"] >= 1
    assert (found["by status"], found["twice"], found["missing"]) == ({"delivered": 60}, 0, 0)
    assert found["conversations out of order"] == 0
