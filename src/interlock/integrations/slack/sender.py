"""Sends the outbox to Slack: posts once, edits, and finds messages; order and retries are handled in `delivery`."""

from collections import OrderedDict, deque
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

from interlock.desk.chats.cards import Card
from interlock.integrations.contract import DeliveryUnknown, Later, Message, Undeliverable
from interlock.integrations.slack.api import Api, Failure, response_of, retry_after
from interlock.integrations.slack.blocks import Sheet, sheets
from interlock.integrations.slack.lookup import ABSENT, THREAD_GONE, parts_there

EVENT_TYPE = "interlock_message"
_REPLIED = "reply"
"""What a reply is called that one person alone sees: Slack gives no name by which it could be edited or found."""
_USES = 4
"""A `response_url` works five times; one is left for what else may have to be said by it."""
_BEGUN = 256


class SlackSender:
    """The outbox's sender for Slack.

    A card may need several messages, in one thread; their timestamps, joined by blanks, are the reference. Parts that
    were posted before an attempt failed are not posted again.
    """

    surface = "slack"
    repeats = True

    def __init__(self, api: Api) -> None:
        self._api = api
        self._begun: OrderedDict[str, dict[int, str]] = OrderedDict()
        """By key: parts of messages that are not there whole, or that have more of them than their reference says."""
        self._failing: deque[str] = deque(maxlen=_BEGUN)
        """Addresses for replies that brought no answer: what is said there is said another way at the next attempt."""

    async def post(self, message: Message) -> str:
        """Posts all parts; returns the reference. Raises Later, Undeliverable, DeliveryUnknown."""
        parts = sheets(_card(message))
        if message.kind == "text" and message.address.get("user"):
            return await self._reply(message, parts)
        there = self._begun.get(message.key)
        if there is None:
            there = await self._seek(message, _thread(message)) if len(parts) > 1 else {}
        self._remember(message.key, there)
        await self._settle(message, parts, there)
        self._begun.pop(message.key, None)
        return _joined(there)

    async def edit(self, message: Message) -> None:
        """Edits all parts. Raises Later, Undeliverable, DeliveryUnknown."""
        if message.ref is None or message.ref == _REPLIED:
            return
        parts, named = sheets(_card(message)), dict(enumerate(message.ref.split()))
        there = {**self._begun.get(message.key, {}), **named}
        if len(parts) > len(there):
            there = {**await self._seek(message, _thread(message) or named[0]), **named}
        await self._settle(message, parts, there)
        if set(there) - set(named):
            self._remember(message.key, there)

    async def find(self, message: Message) -> str | None:
        """The reference of a completely posted message; if parts are missing, only these are posted next.

        Raises Later.
        """
        if message.kind == "text" and message.address.get("user"):
            return None
        there = await self._seek(message, _thread(message))
        if there and set(there) >= set(range(len(sheets(_card(message))))):
            return _joined(there)
        self._remember(message.key, there)
        return None

    async def close(self) -> None:
        """Closes connections."""
        await self._api.close()

    def _remember(self, key: str, there: dict[int, str]) -> dict[int, str]:
        self._begun[key] = there
        while len(self._begun) > _BEGUN:
            self._begun.popitem(last=False)
        return there

    async def _settle(self, message: Message, parts: Sequence[Sheet], there: dict[int, str]) -> None:
        """Makes Slack show exactly these parts; each one is added to `there` as soon as it is posted.

        Deleted messages are not edited.
        """
        client = self._api.client
        for number, part in enumerate(parts):
            say = {**_said(part), "metadata": _metadata(message, number)}
            if number in there:
                await _unless_deleted(client.chat_update(channel=message.channel, ts=there[number], **say))
            else:
                there[number] = await self._put(message, there.get(0), say)
        for number in sorted(n for n in there if n >= len(parts)):
            await _unless_deleted(client.chat_delete(channel=message.channel, ts=there.pop(number)))

    async def _put(self, message: Message, first: str | None, say: Mapping[str, Any]) -> str:
        """Posts a part in its thread; if that is gone, beneath its first part, or in the channel itself."""
        threads = [*dict.fromkeys(thread for thread in (_thread(message), first) if thread), None]
        for thread in threads:
            call = self._api.client.chat_postMessage(
                channel=message.channel, thread_ts=thread, unfurl_links=False, unfurl_media=False, **say
            )
            try:
                return str((await response_of(call))["ts"])
            except Failure as error:
                if thread is None or error.code not in THREAD_GONE:
                    raise
        raise AssertionError("the last one is posted or raises")

    async def _seek(self, message: Message, thread: str | None) -> dict[int, str]:
        """Finds the parts of a message in the channel or its thread. Raises Later."""
        return await parts_there(self._api.client, message.channel, message.key, thread)

    async def _reply(self, message: Message, parts: Sequence[Sheet]) -> str:
        """Replies to one person in private where they asked, or else in their direct messages with the app."""
        done = self._remember(message.key, self._begun.get(message.key, {}))
        for number, part in enumerate(parts):
            if number not in done:
                await self._say(message, part, number)
                done[number] = _REPLIED
        self._begun.pop(message.key, None)
        return _REPLIED

    async def _say(self, message: Message, part: Sheet, number: int) -> None:
        url, user = message.payload.get("response_url"), message.address["user"]
        thread = message.address.get("thread")
        if url and number < _USES and await self._respond(url, part, thread):
            return
        client = self._api.client
        say = {**_said(part), "unfurl_links": False, "unfurl_media": False}
        if not message.channel.startswith("D"):
            try:
                call = client.chat_postEphemeral(channel=message.channel, user=user, thread_ts=thread, **_said(part))
                await response_of(call)
                return
            except Failure as error:
                if error.code not in ABSENT:
                    raise
            await response_of(client.chat_postMessage(channel=user, **say))
        else:
            await response_of(client.chat_postMessage(channel=message.channel, thread_ts=thread, **say))

    async def _respond(self, url: str, part: Sheet, thread: str | None) -> bool:
        """Tries to reply by a `response_url`, which is valid for half an hour; returns whether that worked.

        Its host differs from the API's, so it may be unreachable on its own.

        Raises Later, DeliveryUnknown.
        """
        hook = self._api.webhook(url)
        if hook is None or url in self._failing:
            return False
        said = {"text": part.text, "blocks": list(part.blocks)}
        body = {**said, "response_type": "ephemeral", "replace_original": False, "thread_ts": thread}
        try:
            answer = await response_of(hook.send_dict(body))
        except Later:
            return False
        except DeliveryUnknown:
            self._failing.append(url)
            raise
        if answer.status_code == 429:
            raise Later("Slack wants fewer replies", retry_after(answer.headers))
        if answer.status_code >= 500:
            self._failing.append(url)
            raise DeliveryUnknown(f"Slack answered a reply with status {answer.status_code}")
        return bool(answer.status_code == 200)


def _card(message: Message) -> Card:
    if message.card is None:
        raise Undeliverable("a letter is not for Slack")
    return message.card


async def _unless_deleted(call: Awaitable[Any]) -> None:
    try:
        await response_of(call)
    except Failure as error:
        if error.code != "message_not_found":
            raise


def _said(part: Sheet) -> dict[str, Any]:
    return {"text": part.text, "blocks": list(part.blocks), "link_names": False}


def _metadata(message: Message, number: int) -> Mapping[str, Any]:
    return {"event_type": EVENT_TYPE, "event_payload": {"key": message.key, "part": number}}


def _thread(message: Message) -> str | None:
    """The root of the thread: that of the thread it was started in, else the first message of this conversation."""
    inside: str | None = message.address.get("thread")
    return inside or (message.root.split()[0] if message.root else None)


def _joined(there: Mapping[int, str]) -> str:
    return " ".join(there[number] for number in sorted(there))
