"""One Chromium for the tests of this folder, which therefore share an event loop."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from scripts.check_sources import ROOT
from tests.chromium import Chromium, launched

HERE = Path(__file__).parent
PICTURES = ROOT / ".make" / "pictures"
"""Where a failed test leaves what it saw: temporary files are gone after a run of all tests."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Runs all of them in the loop in which Chromium was started."""
    for item in items:
        if HERE in item.path.parents and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="package"), append=False)


@pytest_asyncio.fixture(scope="package", loop_scope="package")
async def browser() -> AsyncIterator[Browser]:
    """A running Chromium."""
    async with launched() as running:
        yield running


@pytest.fixture
def chromium(browser: Browser, request: pytest.FixtureRequest) -> Chromium:
    """The same, for this test: it visits servers on this machine."""
    return Chromium(browser, PICTURES / re.sub(r"[^\w-]+", "-", request.node.name).strip("-"))
