"""What people say: slash commands, mentions, direct messages; each taken up once, acknowledged before it is worked."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from interlock.core.errors import InterlockError
from interlock.desk.chats.reception import Reception
from interlock.desk.chats.requests import Request
from interlock.desk.identities import people
from interlock.desk.reading import listings
from interlock.integrations.slack.surface import KEEP_S
from interlock.store.messages import inbox
from interlock.testing import slack_payloads as payloads
from interlock.testing.slack_api import SlackApi
from tests.integration.slack.stage import Stage, at_work, found
from tests.quickness import within


async def test_every_command_of_the_table_is_understood(stage: Stage) -> None:
    await stage.said("help")
    shown = await stage.reply()
    for word in ("run GOAL", "approvals", "deny ID REASON", "quarantine AGENT", "budget"):
        assert f"/interlock {word}" in shown


async def test_a_command_without_words_gets_help(stage: Stage) -> None:
    await stage.said("")
    assert "/interlock run GOAL" in await stage.reply()


async def test_a_reply_is_for_one_person_and_replaces_nothing(stage: Stage) -> None:
    await stage.said("status")
    await stage.reply()
    said = stage.api.private[0]
    assert (said["response_type"], said["replace_original"]) == ("ephemeral", False)


async def test_a_redelivered_command_acts_once(stage: Stage) -> None:
    command = stage.command("run Compare A and B")
    answers = [await stage.post(command), await stage.post(command, retry=1)]
    answers += await asyncio.gather(*(stage.post(command, retry=2) for _ in range(5)))
    assert {answer.status for answer in answers} == {200}
    await stage.idle()
    assert await stage.missions() == 1
    await stage.card("Mission")
    assert len([m for m in stage.api.messages if m.thread is None]) == 1


async def test_words_between_angle_brackets_stay_in_a_goal(stage: Stage) -> None:
    goal = "Say whether a < b and c > d, <b>why</b>, and <see below>"
    await stage.said(f"run {goal} for <@U0VIC|vic>, see <https://example.com|example.com>")
    await stage.idle()
    (mission,) = await listings.missions(stage.box.runtime)
    assert mission["goal"] == f"{goal} for @vic, see https://example.com"


async def test_the_same_words_said_twice_are_two_missions(stage: Stage) -> None:
    await stage.said("run Compare A and B")
    await stage.said("run Compare A and B")
    await stage.idle()
    assert await stage.missions() == 2


async def test_a_mention_in_a_thread_starts_a_mission_in_that_thread(stage: Stage) -> None:
    answer = await stage.post(payloads.mention("run Compare A &amp; B", thread="1699999999.000100"))
    assert answer.status == 200
    await stage.api.until(lambda slack: slack.messages)
    assert {m.thread for m in stage.api.messages} == {"1699999999.000100"}
    assert "Compare A &amp; B" in stage.api.messages[0].text()


async def test_a_redelivered_event_acts_once(stage: Stage) -> None:
    event = payloads.mention("run Compare A and B")
    for retry in (0, 1, 2, 3):
        assert (await stage.post(event, retry=retry)).status == 200
    await stage.idle()
    assert await stage.missions() == 1


async def test_a_direct_message_is_a_command_and_is_answered_there(stage: Stage) -> None:
    await stage.post(payloads.direct("status"))
    await stage.api.until(lambda slack: slack.messages)
    assert stage.api.messages[0].channel == "D0ANA"


async def test_small_talk_is_passed_on_and_a_lone_word_gets_a_hint(stage: Stage) -> None:
    await stage.post(payloads.direct("good morning"))
    await stage.api.until(lambda slack: slack.messages)
    assert stage.api.messages[0].text().startswith("→ ")
    await stage.post(payloads.direct("xyzzy", channel="D0ANA", thread="1700000009.000001"))
    await stage.api.until(lambda slack: any("help" in message.text() for message in slack.messages))


async def test_what_slack_delivers_late_lets_nothing_go_on(stage: Stage) -> None:
    """Slack tries an event again for hours; this one's time is long past."""
    await stage.post(payloads.mention("pause"))
    await stage.post(payloads.mention("resume"))
    assert "minutes ago, and it only came now" in await stage.reply(2)
    assert (await listings.status(stage.box.runtime))["squad"]["mode"] == "paused"


async def test_a_mention_is_answered_to_who_spoke_alone(stage: Stage) -> None:
    await stage.post(payloads.mention("tasks"))
    await stage.reply()
    assert stage.api.private[0]["user"] == "U0ANA"


async def test_a_reply_finds_its_person_where_the_app_is_not_in_the_channel(stage: Stage) -> None:
    await stage.post(payloads.mention("tasks", channel="C0OTHER"))
    await stage.api.until(lambda slack: slack.messages)
    assert stage.api.messages[0].channel == "U0ANA"


def unheard() -> list[dict[str, object]]:
    own = payloads.of_bot("status")
    other = payloads.direct("status")
    other["event"]["bot_id"] = "B0OTHER"
    subtype = payloads.direct("status")
    subtype["event"] |= {"subtype": "bot_message", "username": "a bot"}
    changed = payloads.direct("status")
    changed["event"] = {"type": "message", "subtype": "message_changed", "channel": "D0ANA", "channel_type": "im",
                        "message": changed["event"], "ts": "1700000000.000001"}  # fmt: skip
    edited = payloads.mention("run again")
    edited["event"]["edited"] = {"user": "U0ANA", "ts": "1700000000.000001"}
    channel = payloads.direct("status", channel="C0GENERAL")
    channel["event"]["channel_type"] = "channel"
    joined = payloads.direct("status")
    joined["event"] = {"type": "member_joined_channel", "user": "U0ANA", "channel": "C0GENERAL"}
    nobody = payloads.direct("status")
    del nobody["event"]["user"]
    slackbot = payloads.direct("status", user="USLACKBOT")
    return [own, other, subtype, changed, edited, channel, joined, nobody, slackbot]


async def test_bots_edits_and_other_events_are_acknowledged_and_not_heard(api: SlackApi, tmp_path: Path) -> None:
    async with at_work(api, tmp_path, executes=False) as stage:
        for event in unheard():
            assert (await stage.post(event)).status == 200
        assert await stage.box.runtime.store.read(inbox.waiting) == []


async def test_a_stranger_is_refused_once_with_the_id_to_link_and_an_alert(stage: Stage) -> None:
    for text in ("run A", "status", "run B"):
        await stage.said(text, user="U0EVE")
    assert "interlock people link NAME slack:U0EVE" in await stage.reply()
    await stage.post(payloads.direct("approvals", user="U0EVE", channel="D0EVE"))
    await stage.said("status")
    assert "slack:U0EVE" not in await stage.reply(2)
    assert await stage.missions() == 0
    alerts = [alert for alert in await listings.alerts(stage.box.runtime) if alert["kind"] == "STRANGER"]
    assert len(alerts) == 1


async def test_a_person_who_is_unlinked_is_refused_at_their_next_command(stage: Stage) -> None:
    await stage.said("status")
    await stage.reply()
    await people.unlink(stage.box.runtime, stage.box.person, "slack:U0ANA")
    await stage.said("run A")
    assert "not known here" in await stage.reply(2)
    assert await stage.missions() == 0


class Stalled(Reception):
    """A reception whose database hangs until it is let go, or refuses."""

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self.goes_on, self.fails = asyncio.Event(), False

    async def accept(self, request: Request, *, patience_s: float = 0.0) -> bool:
        """Waits, or fails."""
        if self.fails:
            raise InterlockError("the database is away")
        await self.goes_on.wait()
        return await super().accept(request)


@pytest.fixture
async def stalled(api: SlackApi, tmp_path: Path) -> AsyncIterator[Stage]:
    async with at_work(api, tmp_path, receiving=Stalled, executes=False, keep_s=0.3) as found:
        yield found


async def test_slack_gets_its_answer_in_time_though_the_database_hangs(stalled: Stage) -> None:
    loop = asyncio.get_running_loop()

    async def post() -> None:
        began = loop.time()
        answers = await asyncio.gather(
            stalled.post(stalled.command("run A")),
            stalled.post(payloads.mention("run B")),
            stalled.post(payloads.direct("x")),
        )
        assert loop.time() - began >= 0.3
        assert [answer.status for answer in answers] == [200, 503, 503]
        assert "look with `/interlock status`" in json.loads(answers[0].body)["text"]

    await within(0.3 + 3.0 - KEEP_S, post)


async def test_what_hung_is_done_all_the_same_and_once(stalled: Stage) -> None:
    event = payloads.mention("run B")
    assert (await stalled.post(event)).status == 503
    assert isinstance(stalled.reception, Stalled)
    stalled.reception.goes_on.set()
    assert (await stalled.post(event, retry=1)).status == 200
    await stalled.idle()
    assert await stalled.missions() == 1


async def test_a_request_that_cannot_be_kept_is_never_acknowledged_as_if_it_were(stalled: Stage) -> None:
    assert isinstance(stalled.reception, Stalled)
    stalled.reception.fails = True
    command = await stalled.post(stalled.command("run A"))
    assert "could not be kept" in json.loads(command.body)["text"]
    assert (await stalled.post(payloads.mention("run A"))).status == 503


async def test_what_was_kept_before_a_crash_is_done_after_it(api: SlackApi, tmp_path: Path) -> None:
    async with at_work(api, tmp_path, receiving=Deaf, executes=False) as stage:
        await stage.said("run Compare A and B")
        assert await stage.missions() == 0
    async with at_work(api, tmp_path) as stage:
        await stage.idle()
        assert await stage.missions() == 1
        assert found(api, "Mission") or await stage.card("Mission")


class Deaf(Reception):
    """A reception that keeps requests and dies before it works them."""

    async def run(self) -> None:
        """Works nothing."""
        await asyncio.Event().wait()


async def test_an_agent_that_is_named_in_a_channel_answers_in_a_thread_beneath(stage: Stage) -> None:
    said = payloads.mention("@research what did you find?")
    assert (await stage.post(said)).status == 200
    answer = await stage.card("research")
    assert answer.thread == said["event"]["ts"]
    again = payloads.mention("and the prices?", thread=answer.thread)
    assert (await stage.post(again)).status == 200
    await stage.api.until(lambda slack: len(found(slack, "research")) == 2)
    assert found(stage.api, "research")[1].thread == answer.thread
