"""The time until Slack gets its acknowledgement: signed requests over HTTP, stored by the real reception, SQLite FULL.

Slack waits for three seconds. Meanwhile the reception executes the commands, and other work goes on.
"""

import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import aiohttp

from interlock.app.box import Interlock
from interlock.desk.chats.reception import Reception
from interlock.desk.identities import people
from interlock.integrations.slack.surface import Slack
from interlock.settings.services import SlackSettings
from interlock.testing import slack_payloads as payloads
from interlock.testing.slack_api import SlackApi
from interlock.web.http import Hook, application, listen, serving

NAME = "Slack acknowledgement: 50 signed requests a second over HTTP, SQLite FULL"
PER_SECOND = 50
PEOPLE = 10
TEXTS = ("status", "tasks", "approvals", "budget", "agents", "help")


async def measured(folder: Path, seconds: float) -> dict[str, Any]:
    """The figures of one round with a home that executes."""
    async with (
        SlackApi() as api,
        Interlock.open(cwd=folder, env={}, model="rehearsal/offline") as box,
    ):
        for number in range(PEOPLE):
            await people.add(box.runtime, box.person, f"Person {number}")
            await people.link(box.runtime, box.person, f"Person {number}", f"slack:U0P{number}")
        given = {"base_url": api.base_url, "bot_token": api.bot_token, "signing_secret": api.signing_secret}
        reception = Reception(box.runtime)
        slack = Slack(SlackSettings.model_validate(given), reception)
        box.outlets.append(slack.sender())
        await box.start()
        working = asyncio.create_task(reception.run())
        try:
            return await _over_http(api, slack, seconds)
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
            await box.stop()
            await slack.close()


async def _over_http(api: SlackApi, slack: Slack, seconds: float) -> dict[str, Any]:
    async def ready() -> None:
        return None

    listening = listen("127.0.0.1", 0)
    url = f"http://127.0.0.1:{listening.getsockname()[1]}/slack/events"
    app = application([Hook("/slack/events", slack.handle)], ready)
    connector = aiohttp.TCPConnector(limit=0)
    async with serving(app, listening), aiohttp.ClientSession(connector=connector) as session:
        await _steadily(api, session, url, 1.0)
        taken = await _steadily(api, session, url, seconds)
    ranked = sorted(taken)
    return {
        "requests": len(ranked),
        "p50_ms": round(statistics.median(ranked), 2),
        "p99_ms": round(ranked[int(len(ranked) * 0.99)], 2),
        "longest_ms": round(ranked[-1], 2),
    }


async def _steadily(api: SlackApi, session: aiohttp.ClientSession, url: str, seconds: float) -> list[float]:
    """Sends requests at a constant rate, whatever happens to earlier ones, and returns the latency of each."""
    begun, sent = time.perf_counter(), list[asyncio.Task[float]]()
    for number in range(int(seconds * PER_SECOND)):
        await asyncio.sleep(begun + number / PER_SECOND - time.perf_counter())
        sent.append(asyncio.create_task(_one(api, session, url, number)))
    return await asyncio.gather(*sent)


async def _one(api: SlackApi, session: aiohttp.ClientSession, url: str, number: int) -> float:
    user, text = f"U0P{number % PEOPLE}", TEXTS[number % len(TEXTS)]
    command = payloads.command(text, user=user, response_url=api.response_url())
    signed = api.signed(command if number % 3 else payloads.mention(text, user=user))
    begun = time.perf_counter()
    async with session.post(url, data=signed.body, headers=dict(signed.headers)) as answer:
        await answer.read()
    if answer.status != 200:
        raise RuntimeError(f"Slack was answered with {answer.status}")
    return (time.perf_counter() - begun) * 1000


def run(quick: bool) -> dict[str, Any]:
    """Median and 99th percentile in milliseconds; the app, the reception, the outbox and Slack share this process."""
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(measured(Path(folder), 4.0 if quick else 20.0))
    return {**figures, "requests_per_s": PER_SECOND, "goal_p99_ms": 300}
