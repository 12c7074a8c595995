"""The app's Home tab: pending questions and the status, for people who may see them.

Button presses are handled like those in messages.
"""

import asyncio
import logging
from collections.abc import Sequence
from itertools import chain
from typing import Any

from interlock.core.errors import InterlockError
from interlock.core.events import Event
from interlock.desk.chats import replies
from interlock.desk.chats.cards import Card
from interlock.desk.chats.reception import Reception
from interlock.desk.context import Person
from interlock.desk.events.following import Follower
from interlock.desk.identities.visibility import reads_all
from interlock.desk.reading import listings
from interlock.desk.signoff import signing
from interlock.desk.signoff.asking import approval_card
from interlock.integrations.slack.api import Api, response_of
from interlock.integrations.slack.blocks import Block, sheets

MOST_BLOCKS = 100
"""Source: https://docs.slack.dev/surfaces/app-home."""
MOST_QUESTIONS = 10
KEPT_UP_S = 3_600.0
"""For so long after it was opened a tab is kept up to date; Slack does not say when it is closed."""
MOST_KEPT_UP = 100
CHANGES = frozenset({"approval_created", "approval_answered", "control_changed"})
REST_S = 1.0
"""Between two times that open tabs are brought up to date, however much changes."""
_RULE: Block = {"type": "divider"}
_log = logging.getLogger(__name__)


class Home:
    """The Home tabs of the people of one Slack app."""

    def __init__(self, api: Api, reception: Reception) -> None:
        self._api, self._reception = api, reception
        self._open: dict[str, float] = {}
        """By user: when they last opened theirs, by the monotonic clock."""
        self._opened, self._changed = asyncio.Event(), asyncio.Event()

    async def opened(self, user: str) -> None:
        """Renders a person's tab when they open it, and keeps it up to date for a while. Raises Slack's errors."""
        self._open.pop(user, None)
        while len(self._open) >= MOST_KEPT_UP:
            del self._open[next(iter(self._open))]
        self._open[user] = self._reception.runtime.clock.monotonic()
        self._opened.set()
        await self._draw(user)

    async def run(self) -> None:
        """Updates open tabs upon changes, until cancelled."""
        while True:
            await self._opened.wait()
            follower = Follower(self._reception.runtime.store, self._on_event)
            following = asyncio.create_task(follower.run(lambda: bool(self._open)))
            try:
                while self._open:
                    await self._bring_up_to_date()
            finally:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)
            self._opened.clear()

    def _on_event(self, event: Event) -> None:
        if event.name in CHANGES:
            self._changed.set()

    async def _bring_up_to_date(self) -> None:
        try:
            async with asyncio.timeout(KEPT_UP_S / 10):
                await self._changed.wait()
        except TimeoutError:
            pass
        else:
            self._changed.clear()
            for user in list(self._open):
                try:
                    await self._draw(user)
                except InterlockError as error:
                    _log.warning("a Home tab could not be brought up to date: %s", error)
                    self._open.pop(user, None)
        since = self._reception.runtime.clock.monotonic() - KEPT_UP_S
        for user in [user for user, at in self._open.items() if at < since]:
            del self._open[user]
        await asyncio.sleep(REST_S)

    async def _draw(self, user: str) -> None:
        identity = f"slack:{user}"
        person = await self._reception.person(identity, "slack")
        blocks = _stranger(user) if person is None else await self._blocks(person)
        view = {"type": "home", "blocks": [*blocks][:MOST_BLOCKS]}
        await response_of(self._api.client.views_publish(user_id=user, view=view))

    async def _blocks(self, person: Person) -> Sequence[Block]:
        runtime, taps = self._reception.runtime, reads_all(person)
        stand = replies.status_card(await listings.status(runtime), await listings.missions(runtime))
        waiting = await signing.approvals(runtime, limit=MOST_QUESTIONS, reader=person)
        total = await signing.waiting(runtime)
        found = [_drawn(await approval_card(runtime, card["id"], taps=taps, reader=person)) for card in waiting]
        shown: list[Block] = []
        count = 0
        for blocks in found:
            if len(shown) + len(blocks) > MOST_BLOCKS - 10:
                break
            shown, count = [*shown, *blocks, _RULE], count + 1
        left = total - count
        title = f"{total:,} wait for a person" if total else "Nothing waits for you"
        more = f"and {left:,} more: `/interlock approvals` lists them" if left else ""
        return [*_drawn(replies.notice(title, more)), *shown, *_drawn(stand)]


def _drawn(card: Card) -> list[Any]:
    return list(chain.from_iterable(sheet.blocks for sheet in sheets(card)))


def _stranger(user: str) -> list[Any]:
    how = f"`interlock people link NAME slack:{user}`"
    return _drawn(replies.notice("You are not known here", f"Ask an admin of this Interlock to link you: {how}"))
