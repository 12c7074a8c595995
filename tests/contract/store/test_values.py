"""Values come back from the database as they went in, with their types."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.store import blobs, squad
from interlock.store.engine import Store
from interlock.store.schema import Blob, Deliverable, Lesson, Project, Task, table
from interlock.store.tx import Tx
from tests.contract.store.furniture import hand_in, in_progress

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(st.characters(codec="ascii", exclude_characters="\0")), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
MOMENTS = st.datetimes(
    min_value=datetime(1970, 1, 2), max_value=datetime(2200, 1, 1), timezones=st.sampled_from(  # noqa: DTZ001
        [UTC, timezone(timedelta(hours=-9, minutes=-30)), timezone(timedelta(hours=14))]
    )
)  # fmt: skip


@given(data=JSON, moment=MOMENTS, raw=st.binary(max_size=64), flag=st.booleans(), number=st.floats(0, 1))
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_values_come_back_as_they_went_in(
    store: Store, data: Any, moment: datetime, raw: bytes, flag: bool, number: float
) -> None:
    def write(tx: Tx) -> None:
        for model in (Deliverable, Task, Project, Blob, Lesson):
            tx.run(sa.delete(table(model)))
        squad.ensure_project(tx, "p", "UTC", moment)
        tx.add(
            Task, id="t", project_id="p", mission_id="m", key="k", title="", description="", type="other",
            idempotency_key="t", created_at=moment, updated_at=moment, ended_at=moment if flag else None,
        )  # fmt: skip
        tx.add(
            Deliverable, id="d", task_id="t", kind="data", title="", data=data, sha256="", simulated=flag,
            created_at=moment,
        )  # fmt: skip
        blobs.put(tx, raw, moment)
        tx.add(
            Lesson, id="l", kind="", rule="", rule_digest="", confidence=number, evidence=[], created_at=moment,
            updated_at=moment,
        )  # fmt: skip

    await store.write(write)
    row = await store.read(lambda tx: tx.one(sa.select(table(Deliverable))))
    assert row is not None
    assert (row.data, row.simulated, row.created_at, row.text, row.findings) == (data, flag, moment, None, [])
    assert (type(row.simulated), row.created_at.utcoffset()) == (bool, timedelta(0))
    task = await store.read(lambda tx: tx.one(sa.select(table(Task))))
    assert task is not None
    assert task.ended_at == (moment if flag else None)
    blob = await store.read(lambda tx: tx.one(sa.select(table(Blob))))
    assert blob is not None
    assert (blob.data, blob.size) == (raw, len(raw))
    lesson = await store.read(lambda tx: tx.one(sa.select(table(Lesson))))
    assert lesson is not None
    assert lesson.confidence == number


async def test_no_value_is_null_in_the_database(store: Store) -> None:
    made = await store.write(in_progress)
    await store.write(hand_in, made)
    nulls = sa.select(sa.func.count().label("n")).where(table(Deliverable).c.data.is_(None))
    assert await store.read(lambda tx: tx.rows(nulls)) == [(1,)]


async def test_time_without_a_zone_is_refused(store: Store) -> None:
    with pytest.raises(Exception, match=r"(?i)naive|timezone|aware"):
        await store.write(squad.ensure_project, "p", "UTC", datetime(2026, 1, 1))  # noqa: DTZ001
