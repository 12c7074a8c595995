"""Lists and counts of what there are many of: none is cut before it is sifted, none counts only as far as a page."""

from interlock import Interlock
from interlock.desk.reading import listings
from interlock.store.auditing import audit
from interlock.store.tx import Tx
from interlock.store.work import tasks
from tests.contract.store.furniture import PROJECT, T0, after, in_progress

ALERTS = 1_001


def raise_alerts(tx: Tx) -> None:
    for n in range(ALERTS):
        audit.alert(tx, T0, project_id=PROJECT, severity="info", kind="TEST", key=f"{n}", text=f"alert {n}")


async def test_status_counts_all_alerts(box: Interlock) -> None:
    await box.runtime.store.write(raise_alerts)
    assert (await listings.status(box.runtime))["alerts_open"] == ALERTS


def add_roots(tx: Tx, count: int) -> None:
    words = {"title": "a title", "description": "a description", "type": "engineering"}
    for n in range(count):
        common = {"project_id": PROJECT, "mission_id": f"mis_{n}", "created_at": after(n), "updated_at": after(n)}
        tasks.add(tx, id=f"mis_{n}", key="root", idempotency_key=f"mis_{n}", **common, **words)


async def test_tasks_are_listed_behind_any_number_of_newer_missions(box: Interlock) -> None:
    made = await box.runtime.store.write(in_progress)
    await box.runtime.store.write(add_roots, listings.MOST_TASKS)
    assert [row["id"] for row in await listings.tasks(box.runtime)] == [made.task_id]
