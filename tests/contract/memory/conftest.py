"""A store with two projects in it, on each engine."""

from collections.abc import AsyncIterator

import pytest

from interlock.store import squad
from interlock.store.engine import Store
from tests.contract.memory.notes import NOW, OTHER, PROJECT


@pytest.fixture
async def store(migrated_url: str) -> AsyncIterator[Store]:
    """An open store over it."""
    async with Store(migrated_url) as opened:
        for project in (PROJECT, OTHER):
            await opened.write(squad.ensure_project, project, "UTC", NOW)
        yield opened
