"""Finding messages again whose fate is unknown, by the key that each carries along; nothing is posted here."""

from collections.abc import AsyncIterator
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from interlock.integrations.contract import Later, Unheard
from interlock.integrations.slack.api import Failure, heard

ABSENT = frozenset({"channel_not_found", "not_in_channel", "user_not_in_channel", "message_not_found"})
THREAD_GONE = frozenset({"thread_not_found", "message_not_found", "cannot_reply_to_message"})
"""What Slack says of a thread whose first message somebody has deleted."""
_PAGE = 200
_PAGES, _PAGES_OF_THREAD = 3, 10


async def parts_there(client: AsyncWebClient, channel: str, key: str, thread: str | None) -> dict[int, str]:
    """The timestamps of a message's parts that are in a channel or its thread, by their number.

    A public channel can be written to from outside, and not read: it is joined for that.

    Raises Later if nobody can look now.
    """
    try:
        try:
            return await _parts(client, channel, key, thread)
        except Failure as error:
            if error.code != "not_in_channel":
                raise
            await heard(client.conversations_join(channel=channel))
            return await _parts(client, channel, key, thread)
    except Failure as error:
        if thread is not None and error.code in THREAD_GONE:
            return await parts_there(client, channel, key, None)
        if error.code in ABSENT - {"not_in_channel"}:
            return {}
        raise Later(str(error)) from error
    except Unheard as error:
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
        page = await heard(call)
        for found in page.get("messages") or []:
            payload = (found.get("metadata") or {}).get("event_payload") or {}
            if payload.get("key") == key:
                yield int(payload.get("part") or 0), found["ts"]
        cursor = (page.get("response_metadata") or {}).get("next_cursor")
        if not cursor:
            return
