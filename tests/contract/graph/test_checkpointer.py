"""The checkpointer keeps what LangGraph asks of one, in both databases; the coordinator is not tested here."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.conformance.initializer import RegisteredCheckpointer
from langgraph.checkpoint.conformance.validate import validate
from langgraph.types import Interrupt

from interlock.core.errors import Conflict
from interlock.graph.checkpointer import BufferedSaver, NotJson, StoreSaver
from interlock.store.engine import Store
from interlock.store.upkeep.migrate import upgrade
from interlock.testing import FakeClock

BASE = {"put", "put_writes", "get_tuple", "list", "delete_thread"}
CONFIG: Any = {"configurable": {"thread_id": "mission", "checkpoint_ns": ""}}


async def test_checkpointer_conforms_to_langgraphs_own_suite(database_url: str) -> None:
    await upgrade(database_url)
    async with Store(database_url) as store:

        async def savers() -> AsyncGenerator[BaseCheckpointSaver[int], None]:
            yield StoreSaver(store, FakeClock())

        report = await validate(RegisteredCheckpointer("StoreSaver", savers), capabilities=BASE)
    results = {name: result for name, result in report.results.items() if name in BASE}
    assert {name: result.failures for name, result in results.items()} == {name: [] for name in BASE}
    assert all(result.tests_passed for result in results.values())
    assert report.passed_all_base()


@pytest.mark.parametrize("value", [b"bytes", (1, 2), {1: "a"}, {"x": object()}, float("nan"), {"$interrupt": 1}])
async def test_state_that_is_not_json_is_refused(sqlite_url: str, value: Any) -> None:
    await upgrade(sqlite_url)
    async with Store(sqlite_url) as store:
        saver = StoreSaver(store, FakeClock())
        checkpoint = {**empty_checkpoint(), "channel_values": {"x": value}}
        with pytest.raises(NotJson):
            await saver.aput(CONFIG, checkpoint, {}, {"x": 1})  # type: ignore[arg-type]
        assert await saver.aget_tuple(CONFIG) is None


async def test_buffered_step_is_stored_by_its_unit_alone_with_its_interrupt(database_url: str) -> None:
    await upgrade(database_url)
    async with Store(database_url) as store:
        saver = BufferedSaver(store, FakeClock())
        stored = await saver.aput(CONFIG, empty_checkpoint(), {"step": 1}, {})
        asked = Interrupt({"mission": "m"}, id="abc")
        await saver.aput_writes(stored, [("__interrupt__", (asked,))], "task")
        assert await saver.aget_tuple(CONFIG) is None
        await store.write(saver.commit)
        found = await saver.aget_tuple(CONFIG)
    assert found is not None
    assert found.pending_writes == [("task", "__interrupt__", [asked])]


async def test_of_two_steps_from_one_checkpoint_the_second_conflicts(database_url: str) -> None:
    await upgrade(database_url)
    async with Store(database_url) as store:
        first = BufferedSaver(store, FakeClock())
        parent = await first.aput(CONFIG, empty_checkpoint(), {"step": 1}, {})
        await store.write(first.commit)
        ahead, behind = BufferedSaver(store, FakeClock()), BufferedSaver(store, FakeClock())
        kept = await ahead.aput(parent, empty_checkpoint(), {"step": 2}, {})
        await behind.aput(parent, empty_checkpoint(), {"step": 2}, {})
        await store.write(ahead.commit)
        with pytest.raises(Conflict):
            await store.write(behind.commit)
        found = await ahead.aget_tuple(CONFIG)
    assert found is not None
    assert found.checkpoint["id"] == kept["configurable"]["checkpoint_id"]
    assert found.parent_config == parent
