"""The webhook: who may post to it, what is made of what they post, and that Telegram is told of it."""

import json
from typing import Any

import pytest

from interlock.core.errors import ConfigError
from interlock.integrations.telegram.surface import MOST_BYTES, Telegram
from interlock.settings.services import TelegramSettings
from interlock.testing.telegram_api import TelegramApi
from interlock.testing.telegram_state import Fault, Sent
from tests.integration.telegram.parts import SECRET, Recording, Turn, at_work, settings

HOOK: dict[str, Any] = {"webhook_url": "https://example.com/telegram/webhook", "webhook_secret": SECRET}
HEADERS = {"x-telegram-bot-api-secret-token": SECRET}


def posted(api: TelegramApi, text: str = "/status") -> dict[str, Any]:
    """An update that is not polled for."""
    return {"update_id": api.next_update(), "message": api.message(text)}


def body(update: object) -> bytes:
    """An update as it is posted."""
    return json.dumps(update).encode()


async def test_telegram_is_told_the_address_and_the_secret_and_is_not_polled(
    api: TelegramApi, reception: Recording
) -> None:
    api.fail("setWebhook", Fault(500, "Internal Server Error"))
    async with at_work(api, reception, **HOOK):
        await api.until(lambda server: server.webhook is not None)
    assert api.webhook is not None
    assert (api.webhook["url"], api.webhook["secret_token"]) == (HOOK["webhook_url"], SECRET)
    assert api.webhook["allowed_updates"] == ["message", "callback_query"]
    assert api.given("getUpdates") == []


async def test_an_update_with_the_secret_is_kept_before_it_is_answered(api: TelegramApi, reception: Recording) -> None:
    async with at_work(api, reception, **HOOK) as surface:
        answer = await surface.handle(body(posted(api, "/run GOAL")), HEADERS)
        assert (answer.status, [request.words for request in reception.requests]) == (200, ["GOAL"])


@pytest.mark.parametrize(
    "headers",
    [
        {}, {"x-telegram-bot-api-secret-token": ""}, {"x-telegram-bot-api-secret-token": SECRET[:-1]},
        {"x-telegram-bot-api-secret-token": SECRET + "x"}, {"x-telegram-bot-api-secret-token": "ſ\udc80é"},
        {"authorization": SECRET},
    ],
)  # fmt: skip
async def test_without_the_secret_nothing_is_read(
    api: TelegramApi, reception: Recording, headers: dict[str, str]
) -> None:
    async with at_work(api, reception, **HOOK) as surface:
        for content in (body(posted(api)), b"no json", b"x" * (MOST_BYTES + 1)):
            assert (await surface.handle(content, headers)).status == 401
    assert reception.handed_in == 0


async def test_the_name_of_the_header_has_no_case(api: TelegramApi, reception: Recording) -> None:
    async with at_work(api, reception, **HOOK) as surface:
        answer = await surface.handle(body(posted(api)), {"X-Telegram-Bot-Api-Secret-Token": SECRET})
    assert answer.status == 200


async def test_where_no_secret_is_set_nobody_may_post(api: TelegramApi, reception: Recording) -> None:
    async with at_work(api, reception) as surface:
        for given in ("", "None", SECRET):
            answer = await surface.handle(body(posted(api)), {"x-telegram-bot-api-secret-token": given})
            assert answer.status == 401
    assert reception.handed_in == 0


@pytest.mark.parametrize(
    "content",
    [
        b"", b"no json", b"\xff\xfe", b"[]", b"null", b"7", b'"text"', b"{}", b'{"update_id": "7"}',
        b'{"update_id": ' + b"9" * 30 + b"}", b'{"update_id": ' + b"9" * 5000 + b"}", b"[" * 100_000,
        b'{"update_id": 1, "x": "' + b"x" * MOST_BYTES + b'"}',
    ],
)  # fmt: skip
async def test_what_is_no_update_is_answered_as_such(api: TelegramApi, reception: Recording, content: bytes) -> None:
    async with at_work(api, reception, **HOOK) as surface:
        assert (await surface.handle(content, HEADERS)).status == 400
        assert (await surface.handle(body(posted(api)), HEADERS)).status == 200
    assert len(reception.requests) == 1


async def test_an_update_that_cannot_be_read_is_not_asked_for_again(api: TelegramApi, reception: Recording) -> None:
    async with at_work(api, reception, **HOOK) as surface:
        answer = await surface.handle(body({"update_id": 7, "message": {"message_id": 1}}), HEADERS)
    assert (answer.status, reception.handed_in) == (200, 0)


async def test_an_update_that_could_not_be_kept_comes_again_and_counts_once(
    api: TelegramApi, reception: Recording
) -> None:
    reception.failures = 1
    update = body(posted(api, "/run GOAL"))
    async with at_work(api, reception, **HOOK) as surface:
        statuses = [(await surface.handle(update, HEADERS)).status for _ in range(3)]
    assert (statuses, len(reception.requests)) == ([500, 200, 200], 1)


async def test_nothing_is_taken_while_telegram_does_not_say_who_the_bot_is(
    api: TelegramApi, reception: Recording
) -> None:
    api.fail("getMe", Fault(500, "Internal Server Error"))
    update = body({"update_id": 1, "message": api.message("/run@interlock_bot GOAL", chat=-1001)})
    async with at_work(api, reception, **HOOK) as surface:
        statuses = [(await surface.handle(update, HEADERS)).status for _ in range(2)]
    assert (statuses, len(reception.requests)) == ([500, 200], 1)


async def test_a_tap_comes_by_the_webhook_too(api: TelegramApi, reception: Recording) -> None:
    tap = await api.tap("a:apr_1", on=Sent(42, 5, "May I?", "May I?"))
    async with at_work(api, reception, **HOOK) as surface:
        assert (await surface.handle(body(tap), HEADERS)).status == 200
        await api.until(lambda server: bool(server.given("answerCallbackQuery")))
    assert reception.requests[0].fields == {"id": "apr_1"}


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"webhook_url": "https://example.com/telegram/webhook"}, "INTERLOCK_TELEGRAM__WEBHOOK_SECRET"),
        ({"webhook_url": "https://example.com/telegram/webhook", "webhook_secret": ""}, "WEBHOOK_SECRET"),
        ({"webhook_secret": "with blanks in it"}, "webhook_secret"),
        ({"webhook_secret": "x" * 257}, "webhook_secret"),
        ({"bot_token": None}, "TELEGRAM_BOT_TOKEN"),
        ({"bot_token": "7:abc/../x"}, "TELEGRAM_BOT_TOKEN"),
    ],
)  # fmt: skip
def test_settings_that_do_not_fit_are_told_on_one_line(more: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as error:
        Telegram(TelegramSettings.model_validate({"bot_token": "7:abc", **more}), Recording(), Turn())
    assert told in str(error.value)
    assert "\n" not in str(error.value)


async def test_the_token_and_the_secret_are_not_printed(api: TelegramApi) -> None:
    assert api.token not in repr(settings(api, **HOOK))
    assert SECRET not in repr(settings(api, **HOOK))
