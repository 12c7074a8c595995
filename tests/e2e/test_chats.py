"""A squad that lives in chats: one process, two services, people on both; and what a kill leaves of their commands."""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from interlock.desk.context import DeskContext
from interlock.desk.identities import people
from interlock.desk.reading import listings
from interlock.desk.signoff import signing
from interlock.testing.slack_api import SlackApi
from interlock.testing.slack_payloads import Signed, command, tap
from interlock.testing.slack_workspace import Posted
from interlock.testing.telegram_api import TelegramApi
from interlock.testing.telegram_state import Sent
from tests.e2e.home import Home, Started, until

GOAL = "Compare A and B and e-mail the result to board@example.com"
GENERAL, ROOM = "C0GENERAL", -1001
ANA, BEN = "U0ANA", 42


@dataclass
class Chats:
    """A home whose people are on Slack and on Telegram."""

    home: Home
    slack: SlackApi
    telegram: TelegramApi
    up: Started
    url: str
    context: DeskContext

    async def restart(self) -> None:
        """Starts it again, after it was killed."""
        self.up, self.url = await _start(self.home)

    async def post(self, request: Signed) -> httpx2.Response:
        """Slack posts a request."""
        async with httpx2.AsyncClient() as client:
            return await client.post(f"{self.url}/slack/events", content=request.body, headers=request.headers)

    async def say(self, text: str, *, user: str = ANA) -> dict[str, str]:
        """Somebody on Slack gives a command; returns it as it came."""
        given = command(text, user=user, response_url=self.slack.response_url())
        answer = await self.post(self.slack.signed(given))
        assert answer.status_code == 200
        return given

    @property
    def cards(self) -> list[Posted]:
        """The messages of Slack with buttons on them."""
        return [message for message in self.slack.messages if message.buttons()]

    @property
    def asked(self) -> list[Sent]:
        """The messages of Telegram with buttons on them."""
        return [message for message in self.telegram.sent if message.buttons]


async def _start(home: Home) -> tuple[Started, str]:
    up = await home.start("up", "--port", "0")
    await until(lambda: "listening at" in up.out or up.process.returncode is not None, "up to listen")
    found = re.search(r"listening at (\S+)", up.out)
    assert found is not None, up.err
    return up, found[1]


@pytest.fixture
async def chats(tmp_path: Path) -> AsyncIterator[Chats]:
    async with SlackApi() as slack, TelegramApi() as telegram:
        home = Home(
            tmp_path / "work", INTERLOCK_MODEL="rehearsal/offline",
            SLACK_BOT_TOKEN=slack.bot_token, SLACK_SIGNING_SECRET=slack.signing_secret,
            INTERLOCK_SLACK__BASE_URL=slack.base_url, INTERLOCK_SLACK__CHANNEL=GENERAL,
            TELEGRAM_BOT_TOKEN=telegram.token, INTERLOCK_TELEGRAM__BASE_URL=telegram.base_url,
            INTERLOCK_TELEGRAM__CHAT=str(ROOM),
        )  # fmt: skip
        try:
            up, url = await _start(home)
            async with home.desk() as (context, person):
                for name, identity in (("ana", f"slack:{ANA}"), ("ben", f"telegram:{BEN}")):
                    await people.add(context, person, name)
                    await people.link(context, person, name, identity)
                yield Chats(home, slack, telegram, up, url, context)
        finally:
            await home.close()


async def test_mission_goes_from_a_slash_command_to_its_result_with_one_thread_in_each_chat(chats: Chats) -> None:
    await chats.say(f"run {GOAL}")
    await until(lambda: chats.cards and chats.asked, "a card in each chat")
    [card], [asked] = chats.cards, chats.asked
    root = next(message for message in chats.slack.messages if message.thread is None)
    assert card.thread == root.ts
    assert "board@example.com" in card.text()
    assert "board@example.com" in asked.text
    await chats.post(chats.slack.signed(tap(card.buttons()["Approve"], card.shown, user=ANA)))
    await until(lambda: not card.buttons() and not asked.buttons, "the cards to be edited everywhere")
    assert "ana" in card.text()
    assert "ana" in asked.text
    await until(lambda: chats.cards and chats.asked, "the question whether the work is good")
    data = next(data for label, data in chats.asked[0].buttons if "pprove" in label)
    await chats.telegram.tap(data, on=chats.asked[0], user=BEN)
    await until(lambda: "# Compare A and B" in chats.slack.messages[-1].text(), "the result in the thread")
    [mission] = await listings.missions(chats.context)
    assert (mission["status"], mission["goal"]) == ("DONE", GOAL)
    await until(lambda: "DONE" in root.text(), "the root to say so")
    assert [message for message in chats.slack.messages if message.thread is None] == [root]
    await until(lambda: any("# Compare A and B" in m.text for m in chats.telegram.sent), "the result in the other chat")


async def test_of_two_hands_on_two_chats_one_wins_and_the_other_is_told_who(chats: Chats) -> None:
    await chats.say(f"run {GOAL}")
    await until(lambda: chats.cards and chats.asked, "a card in each chat")
    [card], [asked] = chats.cards, chats.asked
    data = next(data for label, data in asked.buttons if "pprove" in label)
    slack_tap = tap(card.buttons()["Approve"], card.shown, user=ANA, response_url=chats.slack.response_url())
    await asyncio.gather(chats.post(chats.slack.signed(slack_tap)), chats.telegram.tap(data, on=asked, user=BEN))
    await until(lambda: not card.buttons() and not asked.buttons, "the cards to be edited everywhere")
    [decided] = [c for c in await signing.approvals(chats.context, status=None) if c["tool"] == "send_email"]
    told = f"already approved by {decided['decided_by_name']}"
    if decided["decided_by_name"] == "ben":
        await until(lambda: any(told in str(p) for p in chats.slack.private), "ana to be told who was first")
    else:
        await until(lambda: any(told in m.text for m in chats.telegram.sent), "ben to be told who was first")


async def test_command_that_was_acknowledged_survives_a_kill_and_its_redelivery_and_acts_once(chats: Chats) -> None:
    given = command(f"run {GOAL}", response_url=chats.slack.response_url())
    assert (await chats.post(chats.slack.signed(given))).status_code == 200
    await chats.up.killed()
    await chats.restart()
    for retry in (1, 2):
        assert (await chats.post(chats.slack.signed(given, retry=retry))).status_code == 200
    await until(lambda: chats.cards and chats.asked, "a card in each chat")
    assert len(await listings.missions(chats.context)) == 1
    assert len([m for m in chats.slack.messages if m.thread is None]) == 1


async def test_stop_from_one_chat_holds_the_other_and_a_restart_until_somebody_resumes(chats: Chats) -> None:
    await chats.say("stop")
    await until(lambda: any("stop" in str(p).lower() for p in chats.slack.private), "the stop to be confirmed")
    await chats.up.killed()
    await chats.restart()
    await chats.telegram.say(f"/run {GOAL}", user=BEN)
    await until(lambda: any(GOAL in m.text for m in chats.telegram.sent), "the mission to be taken in")
    assert all(run["status"] == "created" for run in await listings.runs(chats.context))
    await chats.telegram.say("/resume", user=BEN)
    await until(lambda: chats.cards and chats.asked, "a card in each chat")


async def test_stranger_and_a_forged_request_change_nothing(chats: Chats) -> None:
    await chats.say(f"run {GOAL}", user="U0EVE")
    await chats.say("stop", user="U0EVE")
    good = chats.slack.signed(command(f"run {GOAL}"))
    forged = Signed(good.body.replace(b"run", b"stop"), good.headers)
    assert (await chats.post(forged)).status_code == 401
    await until(lambda: any("slack:U0EVE" in str(p) for p in chats.slack.private), "the refusal")
    alerts = await listings.alerts(chats.context)
    assert len([a for a in alerts if "slack:U0EVE" in a["text"]]) == 1
    assert len([p for p in chats.slack.private if "slack:U0EVE" in str(p)]) == 1
    assert await listings.missions(chats.context) == []
