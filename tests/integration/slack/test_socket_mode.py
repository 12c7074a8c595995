"""Socket Mode: requests by a line that Slack cuts, moves and refuses; each acknowledged at once and taken up once."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from interlock.desk.reading.views import View
from interlock.desk.signoff import signing
from interlock.testing import slack_payloads as payloads
from interlock.testing.slack_api import Fault, SlackApi
from interlock.testing.slack_workspace import Posted
from tests.integration.slack.stage import GOAL, Stage, at_work


@pytest.fixture
async def lined(api: SlackApi, tmp_path: Path) -> AsyncIterator[Stage]:
    """A home that executes, reached by a line alone."""
    async with at_work(api, tmp_path, app_token=api.app_token, signing_secret=None) as found:
        await api.until(lambda slack: slack.lines)
        yield found


async def acknowledged(stage: Stage, envelope: str) -> dict[str, object]:
    await stage.api.until(lambda slack: envelope in slack.acknowledged)
    return stage.api.acknowledged[envelope]


async def works(stage: Stage) -> None:
    """Gives a command by the line that there is now, and waits for its reply."""
    count = len(stage.api.private)
    assert await acknowledged(stage, await stage.api.envelope(stage.command("status"))) == {}
    await stage.reply(count + 1)


async def test_a_command_by_the_line_is_acknowledged_and_done(lined: Stage) -> None:
    envelope = await lined.api.envelope(lined.command("run Compare A and B"))
    assert await acknowledged(lined, envelope) == {}
    await lined.card("Mission")
    assert await lined.missions() == 1


async def test_a_redelivered_envelope_acts_once(lined: Stage) -> None:
    event = payloads.mention("run Compare A and B")
    for retry in (0, 1, 2):
        await acknowledged(lined, await lined.api.envelope(event, retry=retry))
    await lined.idle()
    assert await lined.missions() == 1


async def test_every_envelope_is_acknowledged_also_what_nobody_here_understands(lined: Stage) -> None:
    for sent in (
        {"type": "of_next_year"}, {"type": "view_closed", "view": {}}, {"type": "event_callback"},
        {"command": "/interlock"},
        {"type": "block_actions", "actions": [], "user": {"id": "U0ANA"}},
    ):  # fmt: skip
        assert await acknowledged(lined, await lined.api.envelope(sent)) == {}
    await works(lined)


async def test_taps_and_forms_come_by_the_line_too(lined: Stage) -> None:
    card, view = await by_line(lined)
    await acknowledged(lined, await lined.api.envelope(lined.tap("Deny", card)))
    await lined.api.until(lambda slack: slack.views)
    empty = await acknowledged(lined, await lined.api.envelope(payloads.sent_form(lined.api.views[-1], "")))
    assert empty["response_action"] == "errors"
    await acknowledged(lined, await lined.api.envelope(payloads.sent_form(lined.api.views[-1], "not now")))
    assert (await lined.settled(view["id"], "denied"))["note"] == "not now"


async def by_line(stage: Stage) -> tuple[Posted, View]:
    await acknowledged(stage, await stage.api.envelope(stage.command(f"run {GOAL}")))
    card = await stage.card("🔴 To sign off")
    return card, await signing.approval(stage.box.runtime, card.buttons()["Approve"]["value"])


async def test_a_line_that_is_cut_is_laid_anew(lined: Stage) -> None:
    await works(lined)
    await lined.api.drop()
    await lined.api.until(lambda slack: slack.line_count >= 2 and slack.lines)
    await works(lined)


async def test_a_line_that_slack_closes_is_laid_anew(lined: Stage) -> None:
    await lined.api.lines[0].close()
    await lined.api.until(lambda slack: slack.line_count >= 2 and slack.lines)
    await works(lined)


@pytest.mark.parametrize("reason", ["warning", "refresh_requested"])
async def test_a_line_that_slack_wants_moved_is_moved(lined: Stage, reason: str) -> None:
    await lined.api.disconnect(reason)
    await lined.api.until(lambda slack: slack.line_count >= 2 and len(slack.lines) == 1)
    await works(lined)


async def test_where_slack_gives_no_address_it_is_asked_again(lined: Stage) -> None:
    lined.api.fail("apps.connections.open", Fault(error="internal_error"), Fault(hangs_up=True))
    await lined.api.disconnect()
    await lined.api.until(lambda slack: slack.line_count >= 2 and slack.lines)
    assert len(lined.api.asked("apps.connections.open")) >= 4
    await works(lined)


async def test_slack_is_left_alone_for_as_long_as_it_asks(lined: Stage, caplog: pytest.LogCaptureFixture) -> None:
    lined.api.fail("apps.connections.open", Fault(retry_after_s=0.4))
    loop = asyncio.get_running_loop()
    began = loop.time()
    with caplog.at_level(logging.WARNING):
        await lined.api.disconnect()
        await lined.api.until(lambda slack: slack.line_count >= 2 and slack.lines)
    assert loop.time() - began >= 0.4
    assert "next attempt in 0.4 s" in caplog.text
    await works(lined)


async def test_an_address_that_leads_nowhere_is_given_up_for_another(lined: Stage) -> None:
    spoiled = lined.api.spoil()
    await lined.api.drop()
    await lined.api.until(lambda slack: slack.line_count >= 2 and slack.lines)
    tickets = [call["ticket"] for call in lined.api.asked("link")]
    assert tickets.count(spoiled) > 1, "the client tries each address for a while"
    assert tickets[-1] != spoiled
    await works(lined)


async def test_no_token_and_no_words_of_people_are_logged(lined: Stage, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        await works(lined)
        lined.api.fail("apps.connections.open", Fault(error="invalid_auth"))
        await lined.api.drop()
        await lined.api.until(lambda slack: slack.line_count >= 2 and slack.lines)
        envelope = await lined.api.envelope(lined.command("run an unheard-of goal"))
        await acknowledged(lined, envelope)
        await lined.idle()
    assert "Slack refuses the app token: set `SLACK_APP_TOKEN` anew" in caplog.text
    logged = "\n".join(record.getMessage() for record in caplog.records)
    assert lined.api.bot_token not in logged
    assert lined.api.app_token not in logged
    assert "unheard-of" not in json.dumps(logged)


async def test_the_vendor_does_not_silence_the_log_of_the_product(lined: Stage) -> None:
    await works(lined)
    assert logging.getLogger("interlock").level == logging.NOTSET
