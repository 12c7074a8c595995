"""An open store that counts its transactions, once on each engine."""

from collections.abc import AsyncIterator

import pytest

from tests.contract.runner.stage import CountingStore


@pytest.fixture
async def store(migrated_url: str) -> AsyncIterator[CountingStore]:
    """An open store over a migrated, empty database."""
    opened = CountingStore(migrated_url)
    async with opened:
        yield opened
