"""A local Bot API and a reception for each test."""

from collections.abc import AsyncIterator

import pytest

from interlock.testing.telegram_api import TelegramApi
from tests.integration.telegram.parts import Recording


@pytest.fixture
async def api() -> AsyncIterator[TelegramApi]:
    """The Bot API on this machine."""
    async with TelegramApi() as found:
        yield found


@pytest.fixture
def reception() -> Recording:
    """A reception that records."""
    return Recording()
