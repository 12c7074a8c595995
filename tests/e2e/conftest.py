"""A home whose model is the story's, told by a local server with the provider's own protocol."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from interlock.testing.messages_api import MessagesApi
from tests.e2e.home import Home
from tests.e2e.post_office import PostOffice
from tests.e2e.story import MODEL, Story

POLICY = """\
version: 1
deny:
  - id: locked
    tools: [file_write]
    when: args.path.startsWith("locked/")
    reason: that folder is not for agents
"""


@dataclass
class World:
    """A home, and the outside that it talks to."""

    home: Home
    api: MessagesApi
    story: Story
    post: PostOffice


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """Everything up but the home's own processes, which end with the test."""
    story = Story()
    async with MessagesApi(story, api_key="test") as api, PostOffice() as post:
        home = Home(
            tmp_path / "work", ANTHROPIC_API_KEY="test", ANTHROPIC_BASE_URL=api.base_url,
            INTERLOCK_MODEL=f"anthropic/{MODEL}", **post.env,
        )  # fmt: skip
        (home.folder / "policy.yaml").write_text(POLICY)
        try:
            yield World(home, api, story, post)
        finally:
            await home.close()
        assert story.faults == []
