"""Tasks that are added to a mission over HTTP."""

import asyncio
from pathlib import Path
from typing import Any

from interlock.desk.reading.progress import Standing, progress
from tests.contract.web.house import House, house

SHOP: dict[str, Any] = {"shop": {}}


async def planned(home: House, mission: str) -> None:
    """Waits until a mission waits for a person, its plan being made."""
    async with asyncio.timeout(60):
        while (await progress(home.box.runtime, mission)).standing is Standing.MOVING:
            await asyncio.sleep(0.01)


async def test_task_is_added_by_who_may_and_where_it_may_be(tmp_path: Path, migrated_sqlite_url: str) -> None:
    offline = {"model": "rehearsal/offline"}
    async with house(tmp_path, database_url=migrated_sqlite_url, projects=SHOP) as home:
        goal = {"goal": "Compare A and B and e-mail the result to board@example.com", **offline}
        mission = (await home.post("/api/missions", goal, 201))["id"]
        await planned(home, mission)
        wish = {"mission": mission, "title": "Count the kiosks", "persona": "research", "idempotency_key": "k"}
        added = await home.post("/api/tasks", wish, 201)
        assert (await home.post("/api/tasks", wish, 201))["id"] == added["id"]
        assert (await home.get(f"/api/tasks/{added['id']}"))["title"] == "Count the kiosks"
        assert (await home.post("/api/tasks", {**wish, "mission": "mis_none"}, 404))["status"] == 404
        assert "not a type of task" in (await home.post("/api/tasks", {**wish, "type": "x"}, 422))["detail"]
        for token, status in ((await home.token_of("viewer"), 403), (await home.token_of(project="shop"), 404)):
            headers = {"Authorization": f"Bearer {token}"}
            assert (await home.client.post("/api/tasks", json=wish, headers=headers)).status_code == status
