"""A local Bot API and a reception for each test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from interlock.testing.telegram_api import TelegramApi
from tests.integration.telegram.parts import Recording


@pytest.fixture(autouse=True)
def no_authorities(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No certificates to trust: nothing here needs any, and reading them all takes longer than most of the tests."""
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))


@pytest.fixture
async def api() -> AsyncIterator[TelegramApi]:
    """The Bot API on this machine."""
    async with TelegramApi() as found:
        yield found


@pytest.fixture
def reception() -> Recording:
    """A reception that records."""
    return Recording()
