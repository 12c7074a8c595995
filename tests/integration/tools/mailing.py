"""The way of a letter in the tests: the tool puts it into an outbox, a deliverer carries it to a local server."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from interlock.core.clock import SystemClock
from interlock.integrations.email import Mail
from interlock.store.messages import outbox
from interlock.testing.clock import FakeClock
from interlock.tools.builtin.email import send_email
from interlock.tools.contract import Outcome, ToolContext
from tests.contract.delivery.board import Desk, delivering
from tests.tool_calls import BOX


@contextlib.asynccontextmanager
async def carried(ctx: ToolContext) -> AsyncIterator[Desk]:
    """A deliverer of letters, whose clock stands still where the call was made."""
    desk = Desk(ctx.settings, FakeClock(ctx.now, SystemClock().monotonic()), ctx.store)
    async with delivering(desk, Mail(ctx.settings, ctx.store)):
        yield desk


async def send(ctx: ToolContext, *, wait_s: float = 20.0, **args: Any) -> Outcome:
    """Calls send_email while letters are carried."""
    async with carried(ctx):
        return await called(ctx, wait_s=wait_s, **args)


async def put_off(ctx: ToolContext, **args: Any) -> Outcome:
    """What send_email says of a letter once it was tried in vain and waits for another time."""
    await called(ctx, wait_s=0, **args)
    async with asyncio.timeout(60):
        while (await letter(ctx)).error is None:
            await asyncio.sleep(0.01)
    return await called(ctx, wait_s=0, **args)


async def called(ctx: ToolContext, *, wait_s: float = 20.0, **args: Any) -> Outcome:
    """Calls send_email with arguments that its schema allows."""
    tool = send_email(wait_s)
    assert BOX.validate(tool, args) == []
    return await tool.call(ctx, args)


async def letter(ctx: ToolContext) -> Any:
    """The row of the call's letter."""
    row = await ctx.store.read(outbox.by_key, outbox.letter_key(ctx.idempotency_token))
    assert row is not None
    return row


async def delivered(ctx: ToolContext) -> None:
    """Returns once the call's letter has left."""
    async with asyncio.timeout(60):
        while (await letter(ctx)).status != "delivered":
            await asyncio.sleep(0.01)
