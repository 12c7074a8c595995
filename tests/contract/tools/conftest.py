"""A migrated store with a project, on each engine."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from interlock.store import squad
from interlock.store.engine import Store
from interlock.tools.workspace import Workspaces
from tests.tool_calls import NOW, PROJECT


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[Store]:
    async with Store(database_url) as opened:
        await opened.write(squad.ensure_project, PROJECT, "UTC", NOW)
        yield opened


@pytest.fixture
def workspaces(tmp_path: Path, store: Store) -> Workspaces:
    return Workspaces(tmp_path, store)
