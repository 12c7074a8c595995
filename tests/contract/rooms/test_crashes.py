"""A worker that dies at any moment of a round loses no turn, and has nothing said twice. Row E16."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from interlock.store.engine import Store
from interlock.store.mailboxes import leases
from interlock.store.messages import rounds
from tests.contract.rooms.house import House, housed, silent, speaks
from tests.contract.runner.stage import WORKER


class Died(BaseException):
    """The process is gone."""


class MortalStore(Store):
    """Dies before the write of a number is on record."""

    writes, dies_at = 0, 0

    async def write(self, unit: Any, *args: Any, **kwargs: Any) -> Any:
        """The same, unless it dies."""
        self.writes += 1
        if self.writes == self.dies_at:
            raise Died
        return await super().write(unit, *args, **kwargs)


@pytest.fixture
async def store(migrated_url: str) -> AsyncIterator[MortalStore]:
    """An open store over a migrated database without rows."""
    opened = MortalStore(migrated_url)
    async with opened:
        yield opened


async def rested(house: House, store: MortalStore) -> None:
    """Works until all is at rest; what a dead worker had in hand is put back, as a living one does."""
    while True:
        try:
            await house.stage.work()
            return
        except Died:
            store.dies_at = 0
            house.stage.restart()
            await store.write(leases.take_back, WORKER, house.stage.clock.now())


async def test_killed_before_each_commit_everybody_still_speaks_once_and_in_turn(
    store: MortalStore, tmp_path: Path
) -> None:  # fmt: skip
    house = await housed(store, tmp_path, lambda persona, _: [speaks(f"{persona} here"), silent()])
    expected = [("Ada", "who is there?"), ("coder", "coder here"), ("qa", "qa here"), ("coder", "coder here")]
    died = 0
    while True:
        channel = await house.channel(f"room{died}", "coder", "qa")
        await house.say(channel, "who is there?")
        store.writes, store.dies_at = 0, died + 1
        await rested(house, store)
        if store.dies_at:
            break
        died += 1
        house.stage.clock.advance(700)
        assert (await house.said(channel))[: len(expected)] == expected, died
        assert not await store.read(rounds.has_stalled, house.stage.clock.now()), died
        statuses = {run.status for run in await house.runs()}
        assert statuses == {"completed"}, died
    assert died > 10
