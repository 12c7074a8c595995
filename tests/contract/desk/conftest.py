"""A home for each test, on each database, with the offline model."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from interlock import Interlock
from interlock.desk.context import Person
from tests.contract.desk.front import Front, opened


@pytest.fixture
async def box(tmp_path: Path, database_url: str) -> AsyncIterator[Interlock]:
    opened = Interlock.open(cwd=tmp_path, env={}, database_url=database_url, model="rehearsal/offline")
    async with opened as found:
        yield found


@pytest.fixture
def viewer(box: Interlock) -> Person:
    return replace(box.person, name="Vic", role="viewer")


@pytest.fixture
async def front(box: Interlock) -> AsyncIterator[Front]:
    """A chat in front of the home."""
    async with opened(box) as found:
        yield found
