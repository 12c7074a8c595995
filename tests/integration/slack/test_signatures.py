"""Who is let in: what Slack has signed within five minutes, and nothing else."""

import asyncio
import json
import urllib.parse
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from interlock.core.errors import ConfigError
from interlock.integrations.slack.surface import Slack
from interlock.settings.services import SlackSettings
from interlock.store.messages import inbox
from interlock.testing import slack_payloads as payloads
from interlock.testing.slack_api import SlackApi
from interlock.testing.slack_payloads import Signed, signature
from tests.integration.slack.stage import LOOK_S, Stage, at_work


@pytest.fixture
async def stage(api: SlackApi, tmp_path: Path) -> AsyncIterator[Stage]:
    """A home that does not execute."""
    async with at_work(api, tmp_path, executes=False) as found:
        yield found


def now() -> float:
    return datetime.now(UTC).timestamp()


def headers_of(signed: Signed, **changed: str | None) -> dict[str, str]:
    names = {"stamp": "X-Slack-Request-Timestamp", "signature": "X-Slack-Signature"}
    given = {**signed.headers, **{names[name]: value for name, value in changed.items() if value is not None}}
    return {
        k: v for k, v in given.items() if k not in [names[name] for name, value in changed.items() if value is None]
    }


def wrongly_signed(stage: Stage) -> dict[str, tuple[bytes, Mapping[str, str]]]:
    good = stage.api.signed(stage.command("run take over the world"))
    other = payloads.signed("another-secret", stage.command("run take over the world"))
    old = stage.api.signed(stage.command("run an old goal"), at=now() - 301)
    early = stage.api.signed(stage.command("run a goal of tomorrow"), at=now() + 301)
    fresh = str(int(now()))
    return {
        "tampered body": (good.body.replace(b"world", b"moons"), good.headers),
        "appended body": (good.body + b"&text=stop", good.headers),
        "another secret": (other.body, other.headers),
        "old": (old.body, old.headers),
        "old with a fresh time": (old.body, headers_of(old, stamp=fresh)),
        "too early": (early.body, early.headers),
        "no signature": (good.body, headers_of(good, signature=None)),
        "no time": (good.body, headers_of(good, stamp=None)),
        "no headers": (good.body, {}),
        "time without sense": (good.body, headers_of(good, stamp="soon")),
        "time in other digits": (good.body, headers_of(good, stamp="١٧٠٠٠٠٠٠٠٠")),
        "endless time": (good.body, headers_of(good, stamp="9" * 5000)),
        "empty signature": (good.body, headers_of(good, signature="")),
        "signature without sense": (good.body, headers_of(good, signature="v0=ünsigned")),
        "signature of an empty secret": (good.body, headers_of(good, signature=signature("", fresh, good.body))),
        "bytes that are no text": (b"\xff\xfe", good.headers),
        "torn JSON": (b'{"type": "event_callback"', good.headers),
        "deep JSON": (b"[" * 100_000, good.headers),
    }


async def nothing_was_taken_in(stage: Stage) -> bool:
    return not await stage.box.runtime.store.read(inbox.waiting) and await stage.missions() == 0


async def test_whatever_slack_did_not_sign_is_refused_and_leaves_nothing(stage: Stage) -> None:
    for name, (body, headers) in wrongly_signed(stage).items():
        answer = await stage.slack.handle(body, headers)
        assert (name, answer.status) == (name, 401)
        assert json.loads(answer.body) == {"error": "not signed by Slack"}
    assert await nothing_was_taken_in(stage)
    assert [call.method for call in stage.api.calls if call.method != "auth.test"] == []


async def test_what_slack_signed_four_minutes_ago_is_let_in(stage: Stage) -> None:
    signed = stage.api.signed(stage.command("run a goal"), at=now() - 240)
    assert (await stage.slack.handle(signed.body, signed.headers)).status == 200
    await stage.idle()
    assert await stage.missions() == 1


async def test_header_names_may_be_in_any_case(stage: Stage) -> None:
    signed = stage.api.signed(stage.command("help"))
    lower = {name.lower(): value for name, value in signed.headers.items()}
    assert (await stage.slack.handle(signed.body, lower)).status == 200


async def test_the_question_for_the_address_is_answered_where_it_is_signed(stage: Stage) -> None:
    answer = await stage.post(payloads.challenge("3eZbrw1aBm2rZgRNFdxV"))
    assert (answer.status, json.loads(answer.body)) == (200, {"challenge": "3eZbrw1aBm2rZgRNFdxV"})
    stolen = payloads.signed("another-secret", payloads.challenge("x"))
    assert (await stage.slack.handle(stolen.body, stolen.headers)).status == 401


async def test_an_unsigned_look_at_the_certificate_does_nothing_but_succeed(stage: Stage) -> None:
    body = (
        b"ssl_check=1&token=x&command=%2Finterlock&text=run+a+goal&user_id=U0ANA&channel_id=C0GENERAL&trigger_id=1.2.3"
    )
    answer = await stage.slack.handle(body, {"Content-Type": "application/x-www-form-urlencoded"})
    assert (answer.status, answer.body) == (200, b"")
    assert await nothing_was_taken_in(stage)


async def status_of(stage: Stage, body: bytes) -> int:
    """What a body is answered that Slack has signed."""
    stamp = str(int(now()))
    kind = "application/x-www-form-urlencoded" if body.startswith((b"payload=", b"command=")) else "application/json"
    headers = {"Content-Type": kind, "X-Slack-Request-Timestamp": stamp}
    headers["X-Slack-Signature"] = signature(stage.api.signing_secret, stamp, body)
    return (await stage.slack.handle(body, headers)).status


def payload(**given: object) -> bytes:
    return urllib.parse.urlencode({"payload": json.dumps(given)}).encode()


async def test_what_is_signed_and_no_request_of_slack_is_not_taken_for_one(stage: Stage) -> None:
    ana = {"id": "U0ANA"}
    for body in (
        b"[]", b"null", b'"x"', b"{", b'{"event": 1}', b"payload=nonsense", b"command=%2Finterlock&text=stop",
        payload(type="block_actions", actions=[], user=ana), payload(type="block_actions", actions=[{}], user=ana),
        payload(type="view_submission", user=ana, view={"callback_id": "interlock:words", "private_metadata": "{"}),
    ):  # fmt: skip
        assert (body, await status_of(stage, body)) == (body, 400)
    assert await nothing_was_taken_in(stage)


async def test_what_concerns_nobody_here_is_acknowledged_so_that_it_does_not_come_again(stage: Stage) -> None:
    for body in (
        b"", b'{"type": "event_callback"}', b'{"type": "app_rate_limited", "team_id": "T0", "minute_rate_limited": 1}',
        b'{"type": "of_next_year"}', payload(type="of_next_year"), payload(type="shortcut", callback_id="x"),
        payload(type="view_closed", view={"callback_id": "x"}),
        payload(type="block_suggestion", action_id="x", block_id="x"),
    ):  # fmt: skip
        assert (body, await status_of(stage, body)) == (body, 200)
    assert await nothing_was_taken_in(stage)


async def test_without_a_signing_secret_the_hook_takes_nothing(stage: Stage) -> None:
    api = stage.api
    given = {"base_url": api.base_url, "bot_token": api.bot_token, "app_token": api.app_token}
    slack = Slack(SlackSettings.model_validate(given), stage.reception)
    signed = payloads.signed("", stage.command("run a goal"))
    assert (await slack.handle(signed.body, signed.headers)).status == 404
    await slack.close()


Missing = Callable[[SlackApi], dict[str, str]]


@pytest.mark.parametrize(
    "given",
    [
        lambda api: {"signing_secret": api.signing_secret},
        lambda api: {"bot_token": api.bot_token},
    ],
    ids=["no bot token", "nothing to verify by"],
)
async def test_an_app_without_what_it_needs_is_a_fault_in_the_settings(stage: Stage, given: Missing) -> None:
    with pytest.raises(ConfigError, match="SLACK_BOT_TOKEN"):
        Slack(SlackSettings.model_validate(given(stage.api)), stage.reception)


async def test_a_token_that_slack_refuses_is_told_at_the_start(
    api: SlackApi, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with at_work(api, tmp_path, executes=False, bot_token="xoxb-revoked"):
        await api.until(lambda slack: slack.asked("auth.test"))
        while not caplog.records:
            await asyncio.sleep(LOOK_S)
    assert "slack: Slack refuses the bot token: set `SLACK_BOT_TOKEN` anew (`invalid_auth`)" in caplog.text
