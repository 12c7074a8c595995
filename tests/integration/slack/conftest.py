"""A local Slack, and a home at work with an app in it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from interlock.testing.slack_api import SlackApi
from tests.integration.slack.stage import Stage, at_work


@pytest.fixture
async def api() -> AsyncIterator[SlackApi]:
    """Slack on this machine."""
    async with SlackApi() as found:
        yield found


@pytest.fixture
async def stage(api: SlackApi, tmp_path: Path) -> AsyncIterator[Stage]:
    """A home that executes, reached by HTTP."""
    async with at_work(api, tmp_path) as found:
        yield found
