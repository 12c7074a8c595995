"""A home at work with a Slack app, and what people do in Slack; no test of its own."""

import asyncio
import contextlib
import json
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from interlock import Interlock
from interlock.desk.chats.reception import Reception
from interlock.desk.identities import people
from interlock.desk.reading import listings
from interlock.desk.reading.views import View
from interlock.desk.signoff import signing
from interlock.integrations.contract import Answer
from interlock.integrations.slack.socket import Pace
from interlock.integrations.slack.surface import KEEP_S, Slack
from interlock.settings.services import SlackSettings
from interlock.store.messages import inbox
from interlock.testing import slack_payloads as payloads
from interlock.testing.slack_api import SlackApi
from interlock.testing.slack_workspace import Json, Posted

GOAL = "Compare A and B and e-mail the result to board@example.com"
LOOK_S = 0.02
_FURNISHED = tempfile.TemporaryDirectory(prefix="interlock-slack-")
QUICK = Pace(ping_s=1.0, connect_s=2.0, first_pause_s=0.05)
"""A line counts as dead after four times `ping_s`, which a busy machine must not take for a breath."""
Receiving = Callable[[Any], Reception]


@dataclass(frozen=True, slots=True)
class Stage:
    """A home whose Slack app is `slack`, over the server `api`. U0ANA is the operator Ana, U0VIC the viewer Vic."""

    api: SlackApi
    box: Interlock
    slack: Slack
    reception: Reception

    async def post(self, payload: Json | dict[str, str], *, retry: int = 0) -> Answer:
        """What the app answers when Slack posts this to it."""
        signed = self.api.signed(payload, retry=retry)
        return await self.slack.handle(signed.body, signed.headers)

    def command(self, text: str, *, user: str = "U0ANA", channel: str = "C0GENERAL") -> dict[str, str]:
        """A slash command."""
        return payloads.command(text, user=user, channel=channel, response_url=self.api.response_url())

    async def said(self, text: str, *, user: str = "U0ANA") -> None:
        """Gives a slash command, which must be acknowledged."""
        answer = await self.post(self.command(text, user=user))
        assert (answer.status, answer.body) == (200, b"")

    def tap(self, label: str, message: Posted, *, user: str = "U0ANA") -> dict[str, Any]:
        """A tap on a button of a message."""
        button = message.buttons()[label]
        url = self.api.response_url()
        return payloads.tap(button, message.shown, user=user, channel=message.channel, response_url=url)

    async def form(self, label: str, message: Posted, *, user: str = "U0ANA") -> Json:
        """The form that a button opens."""
        count = len(self.api.views)
        assert (await self.post(self.tap(label, message, user=user))).status == 200
        await self.api.until(lambda slack: len(slack.views) > count)
        return self.api.views[-1]

    async def card(self, title: str) -> Posted:
        """The message whose header begins so, as soon as it is there."""
        await self.api.until(lambda slack: found(slack, title))
        return found(self.api, title)[-1]

    async def reply(self, number: int = 1) -> str:
        """What one person alone was told, as soon as so much was said."""
        await self.api.until(lambda slack: len(slack.private) >= number)
        return json.dumps(self.api.private[number - 1], ensure_ascii=False)

    async def held(self) -> tuple[Posted, View]:
        """A mission's question on its card, and as the desk sees it."""
        await self.said(f"run {GOAL}")
        card = await self.card("🔴 To sign off")
        ident = next(iter(card.buttons().values()))["value"]
        return card, await signing.approval(self.box.runtime, ident)

    async def settled(self, ident: str, status: str) -> View:
        """An approval once it has this status."""
        view: View = await eventually(
            lambda: signing.approval(self.box.runtime, ident), lambda view: view["status"] == status
        )
        return view

    async def missions(self) -> int:
        """How many missions there are."""
        return len(await listings.missions(self.box.runtime))

    async def idle(self) -> None:
        """Returns once nothing that was taken in is left to do."""
        await eventually(lambda: self.box.runtime.store.read(inbox.waiting), lambda found: not found)


def found(slack: SlackApi, title: str) -> list[Posted]:
    """Messages whose header begins so."""
    heads = [
        (m, next((b["text"]["text"] for b in m.body["blocks"] if b["type"] == "header"), "")) for m in slack.messages
    ]
    return [message for message, head in heads if head.startswith(title)]


async def eventually(look: Callable[[], Awaitable[Any]], good: Callable[[Any], bool]) -> Any:
    """What `look` finds, once it is `good`."""
    while not good(seen := await look()):
        await asyncio.sleep(LOOK_S)
    return seen


def settings(api: SlackApi, **more: Any) -> SlackSettings:
    """Settings that lead to the local server, by HTTP."""
    given = {"base_url": api.base_url, "bot_token": api.bot_token, "signing_secret": api.signing_secret, **more}
    return SlackSettings.model_validate(given)


async def furnished() -> Path:
    """A home in which Ana and Vic are known, made once and to be copied: making one takes longer than many a test."""
    home = Path(_FURNISHED.name)
    if not (home / ".interlock").exists():
        async with Interlock.open(cwd=home, env={}, model="rehearsal/offline") as box:
            for name, role, user in (("Ana", "operator", "U0ANA"), ("Vic", "viewer", "U0VIC")):
                await people.add(box.runtime, box.person, name, role=role)
                await people.link(box.runtime, box.person, name, f"slack:{user}")
    return home


@contextlib.asynccontextmanager
async def at_work(
    api: SlackApi,
    home: Path,
    *,
    receiving: Receiving = Reception,
    executes: bool = True,
    keep_s: float = KEEP_S,
    **more: Any,
) -> AsyncIterator[Stage]:
    """A home with the offline model, at work until the context ends."""
    if not (home / ".interlock").exists():
        shutil.copytree(await furnished(), home, dirs_exist_ok=True)
    async with Interlock.open(cwd=home, env={}, model="rehearsal/offline") as box:
        reception = receiving(box.runtime)
        slack = Slack(settings(api, **more), reception, keep_s=keep_s, pace=QUICK)
        box.outlets.append(slack.sender())
        if executes:
            await box.start()
        working = [asyncio.create_task(reception.run()), asyncio.create_task(slack.run())]
        try:
            yield Stage(api, box, slack, reception)
        finally:
            for task in working:
                task.cancel()
            await asyncio.gather(*working, return_exceptions=True)
            await box.stop()
            await slack.close()
