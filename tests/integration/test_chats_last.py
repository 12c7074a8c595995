"""What receives from a chat is kept up, whatever breaks it off; what the chats do is tested with each of them."""

import asyncio

import pytest

from interlock.app.surfaces import lasting


async def test_a_chat_that_breaks_off_begins_anew_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    begun: list[int] = []

    async def receive() -> None:
        begun.append(len(begun))
        if len(begun) < 3:
            raise RuntimeError("nobody thought of this")

    async with asyncio.timeout(60):
        await lasting(receive, "telegram: by polling", rest_s=0.0)
    assert begun == [0, 1, 2]
    assert caplog.text.count("telegram: by polling: it broke off and begins anew: RuntimeError: nobody thought") == 2


async def test_a_chat_that_is_told_to_end_does() -> None:
    running = asyncio.create_task(lasting(asyncio.Event().wait, "slack: by Socket Mode", rest_s=0.0))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
