"""Finds messages of unknown outcome by the key in their metadata."""

from collections.abc import AsyncIterator
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from interlock.integrations.contract import DeliveryUnknown, Later
from interlock.integrations.slack.api import Failure, response_of

ABSENT = frozenset({"channel_not_found", "not_in_channel", "user_not_in_channel", "message_not_found"})
THREAD_GONE = frozenset({"thread_not_found", "message_not_found", "cannot_reply_to_message"})
"""What Slack says of a thread whose first message somebody has deleted."""
_PAGE = 200
_PAGES, _PAGES_OF_THREAD = 3, 10


async def parts_there(client: AsyncWebClient, channel: str, key: str, thread: str | None) -> dict[int, str]:
    """The timestamps of a message's parts in a channel or its thread, by number.

    Joins a public channel if necessary: it can be posted to, but not read, without membership.

    Raises Later if the channel cannot be read now.
    """
    try:
        try:
            return await _parts(client, channel, key, thread)
        except Failure as error:
            if error.code != "not_in_channel":
                raise
            await response_of(client.conversations_join(channel=channel))
            return await _parts(client, channel, key, thread)
    except Failure as error:
        if thread is not None and error.code in THREAD_GONE:
            return await parts_there(client, channel, key, None)
        if error.code in ABSENT - {"not_in_channel"}:
            return {}
        raise Later(str(error)) from error
    except DeliveryUnknown as error:
        raise Later(str(error)) from error


async def _parts(client: AsyncWebClient, channel: str, key: str, thread: str | None) -> dict[int, str]:
    there = {number: ts async for number, ts in _seen(client, channel, key, thread)}
    if thread is None and 0 in there:
        there |= {number: ts async for number, ts in _seen(client, channel, key, there[0])}
    return there


async def _seen(
    client: AsyncWebClient, channel: str, key: str, thread: str | None
) -> AsyncIterator[tuple[int, str]]:  # fmt: skip
    """Parts with this key, among the latest of the channel, or along the thread."""
    cursor = None
    asked: dict[str, Any] = {"channel": channel, "limit": _PAGE, "include_all_metadata": True}
    for _ in range(_PAGES_OF_THREAD if thread else _PAGES):
        asked["cursor"] = cursor
        call = client.conversations_replies(ts=thread, **asked) if thread else client.conversations_history(**asked)
        page = await response_of(call)
        for found in page.get("messages") or []:
            payload = (found.get("metadata") or {}).get("event_payload") or {}
            if payload.get("key") == key:
                yield int(payload.get("part") or 0), found["ts"]
        cursor = (page.get("response_metadata") or {}).get("next_cursor")
        if not cursor:
            return
