"""From a tap on "approve" in Slack to the parked run's next model call, as seen by the provider's server.

Everything between is real: HTTP, signature, inbox, answer, mailbox, the next model call.
"""

import asyncio
import statistics
import tempfile
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

import httpx2

from interlock.app.box import Interlock
from interlock.app.serving import served
from interlock.desk.agents import conversation
from interlock.desk.identities import people
from interlock.testing.messages_api import MessagesApi
from interlock.testing.messages_script import Answer, text, tool_use
from interlock.testing.slack_api import SlackApi
from interlock.testing.slack_payloads import tap

NAME = "tap on approve to the parked run going on"
GOAL_S = 1.0
ASK = Answer([tool_use("toolu_1", "file_write", path="notes.md", content="Noted.")])
DONE = Answer([text("Thank you.")])


def run(quick: bool) -> dict[str, Any]:
    """Seconds from the tap to the next model call of the run, one tap after another."""
    with tempfile.TemporaryDirectory() as folder:
        took = asyncio.run(_taps(Path(folder), 5 if quick else 40))
    return {
        "taps": len(took),
        "goes_on_s_median": round(statistics.median(took), 4),
        "goes_on_s_max": round(max(took), 4),
        "goal_s": GOAL_S,
    }


async def _taps(folder: Path, count: int) -> list[float]:
    continued = 0

    def reply(body: Mapping[str, Any], _: int) -> Answer:
        nonlocal continued
        if "tool_result" not in str(body["messages"][-1]):
            return ASK
        continued += 1
        return DONE

    async with MessagesApi(reply) as api, SlackApi() as slack:
        env = {
            "ANTHROPIC_API_KEY": "bench", "ANTHROPIC_BASE_URL": api.base_url, "SLACK_BOT_TOKEN": slack.bot_token,
            "SLACK_SIGNING_SECRET": slack.signing_secret, "INTERLOCK_SLACK__BASE_URL": slack.base_url,
            "INTERLOCK_SLACK__CHANNEL": "C0GENERAL", "INTERLOCK_PROJECT_DAY_USD": "1000",
        }  # fmt: skip
        async with Interlock.open(cwd=folder, env=env, model="anthropic/claude-haiku-5-5") as box:
            ana = await people.add(box.runtime, box.person, "ana")
            await people.link(box.runtime, box.person, ana["id"], "slack:U0ANA")
            async with served(box, "127.0.0.1", 0, always=True) as door, httpx2.AsyncClient() as client:
                await box.start()
                hook = f"{door.notices[-1].removeprefix('listening at ')}/slack/events"
                took = []
                for number in range(count):
                    await conversation.say(box.runtime, box.person, "learner", f"note {number}")
                    await slack.until(lambda slack: any(message.buttons() for message in slack.messages))
                    [card] = [message for message in slack.messages if message.buttons()]
                    request = slack.signed(tap(card.buttons()["Approve"], card.shown))
                    seen, begun = continued, perf_counter()
                    await client.post(hook, content=request.body, headers=request.headers)
                    await api.until(lambda _, seen=seen: continued > seen)  # type: ignore[misc]
                    took.append(perf_counter() - begun)
                    await slack.until(lambda slack: not any(message.buttons() for message in slack.messages))
    return took
