"""Lists over HTTP: each is as long as was asked, and says whether there is more."""

from datetime import datetime
from pathlib import Path
from typing import Any

from interlock.store.auditing import audit
from interlock.store.tx import Tx
from tests.contract.web.house import House, house

LISTS = (
    "missions", "tasks", "runs", "agents", "alerts", "approvals?status=all", "budget?every=true", "activities",
    "lessons?every=true", "memories",
)  # fmt: skip


async def page(home: House, path: str, most: int) -> tuple[list[Any], str]:
    found = await home.client.get(f"/api/{path}{'&' if '?' in path else '?'}limit={most}")
    assert found.status_code == 200, found.text
    return found.json(), found.headers["x-more"]


def raise_alerts(tx: Tx, now: datetime) -> None:
    for n in range(3):
        audit.alert(tx, now, project_id="default", severity="info", kind="TEST", key=f"{n}", text=f"alert {n}")


async def test_list_says_whether_it_was_cut(tmp_path: Path, database_url: str) -> None:
    async with house(tmp_path, executes=False, database_url=database_url) as home:
        await home.box.runtime.store.write(raise_alerts, home.box.runtime.clock.now())
        for n in range(3):
            await home.post("/api/missions", {"goal": f"Compare {n}"}, 201)
        for path in LISTS:
            rows, more = await page(home, path, 1_000)
            assert more == "false", path
            if len(rows) > 1:
                cut, more = await page(home, path, len(rows) - 1)
                assert (len(cut), more) == (len(rows) - 1, "true"), path
                assert cut == (rows[1:] if path == "activities" else rows[:-1]), path
        for path in ("missions", "runs", "agents", "alerts", "activities"):
            assert len((await page(home, path, 1_000))[0]) >= 3, path
        alerts, _ = await page(home, "alerts", 1_000)
        assert [each["text"] for each in alerts if each["kind"] == "TEST"] == ["alert 2", "alert 1", "alert 0"]


async def test_channels_and_what_was_said_in_one_are_cut_where_it_was_asked(tmp_path: Path, database_url: str) -> None:
    async with house(tmp_path, executes=False, database_url=database_url) as home:
        made = [await home.post("/api/channels", {"name": name}, 201) for name in ("tea", "coffee", "milk")]
        for text in ("one", "two", "three"):
            await home.post("/api/messages", {"channel_id": made[0]["id"], "text": text}, 201)
        assert [each["name"] for each in (await page(home, "channels", 3))[0]] == ["coffee", "milk", "tea"]
        rows, more = await page(home, "channels", 2)
        assert ([each["name"] for each in rows], more) == (["coffee", "milk"], "true")
        said = f"channels/{made[0]['id']}/messages"
        rows, more = await page(home, said, 2)
        assert ([each["text"] for each in rows], more) == (["two", "three"], "true")
        rows, more = await page(home, f"{said}?before={rows[0]['id']}", 2)
        assert ([each["text"] for each in rows], more) == (["one"], "false")
        assert len((await page(home, said, 200))[0]) == 3


async def test_thread_and_transitions_of_a_task_are_read_from_an_id_on(tmp_path: Path, database_url: str) -> None:
    async with house(tmp_path, executes=False, database_url=database_url) as home:
        mission = (await home.post("/api/missions", {"goal": "Compare"}, 201))["id"]
        other = (await home.post("/api/missions", {"goal": "Another"}, 201))["id"]
        for text in ("one", "two", "three"):
            await home.post(f"/api/tasks/{mission}/messages", {"text": text}, 201)
        theirs = (await home.post(f"/api/tasks/{other}/messages", {"text": "theirs"}, 201))["id"]
        thread = f"tasks/{mission}/messages"
        rows, more = await page(home, thread, 2)
        assert ([each["text"] for each in rows], more) == (["two", "three"], "true")
        every, more = await page(home, thread, 1_000)
        assert ([each["text"] for each in every], more) == (["one", "two", "three"], "false")
        rows, more = await page(home, f"{thread}?after={every[0]['id']}", 1)
        assert ([each["text"] for each in rows], more) == (["two"], "true")
        rows, more = await page(home, f"{thread}?after={every[1]['id']}", 1)
        assert ([each["text"] for each in rows], more) == (["three"], "false")
        for strange in (theirs, "msg_none"):
            assert (await home.client.get(f"/api/{thread}?after={strange}")).status_code == 404
        await home.post(f"/api/tasks/{mission}/transition", {"to": "CANCELED", "reason": "enough"})
        moves, more = await page(home, f"tasks/{mission}/transitions", 1_000)
        assert ([each["to_status"] for each in moves], more) == (["CANCELED"], "false")
        assert (await page(home, f"tasks/{mission}/transitions?after={moves[0]['id']}", 1)) == ([], "false")
        assert (await home.client.get(f"/api/tasks/{mission}/transitions?limit=0")).status_code == 422


async def test_audit_log_is_read_from_an_id_on(tmp_path: Path, database_url: str) -> None:
    async with house(tmp_path, executes=False, database_url=database_url) as home:
        for n in range(3):
            await home.post("/api/missions", {"goal": f"Compare {n}"}, 201)
        every, _ = await page(home, "activities", 1_000)
        seen: list[Any] = []
        more = "true"
        while more == "true":
            rows, more = await page(home, f"activities?after={seen[-1]['id'] if seen else 0}", 1)
            seen += rows
    assert [each["id"] for each in seen] == [each["id"] for each in every]
