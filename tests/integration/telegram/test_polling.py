"""Long polling under faults: nothing is lost, confirmed too early, spun on, or done by two at once."""

import asyncio
import logging
from typing import Any

import pytest

from interlock.integrations.telegram.surface import Telegram
from interlock.testing.telegram_api import Odd, TelegramApi, Trouble
from interlock.testing.telegram_state import Fault
from tests.integration.telegram.parts import PACE, Recording, Turn, at_work, settings

POISON: list[Any] = [
    {"message": {"message_id": 1}},
    {"message": {"message_id": "x", "date": "y", "chat": 3}},
    {"message": {"message_id": 1, "date": 1, "chat": {"id": "42", "type": "private"}, "text": "/stop"}},
    {"message": {"message_id": 1, "date": 1, "chat": {"id": 2**70, "type": "private"},
                 "from": {"id": 2**70, "is_bot": False, "first_name": "A"}, "text": "/stop"}},
    {"message": {"message_id": 1, "date": 10**18, "chat": {"id": 1, "type": "private"}, "text": "/stop"}},
    {"message": {"message_id": 1, "date": 1, "chat": {"id": 1, "type": "private"},
                 "from": {"id": 42, "is_bot": False, "first_name": "A"}, "text": {"a": 1}}},
    {"message": [1, 2]},
    {"message": "text"},
    {"callback_query": {"id": 3}},
    {"callback_query": {"id": {}, "from": {"id": 42, "is_bot": False, "first_name": "A"}, "chat_instance": "1",
                        "message": {"message_id": 1, "date": 0, "chat": {"id": 1, "type": "private"}}, "data": ["a"]}},
    {"some_update_of_the_future": {"a": {"b": []}}},
]  # fmt: skip


def offsets(api: TelegramApi) -> list[int | None]:
    """The offsets that were asked for, in order, each once."""
    found: list[int | None] = []
    for given in api.given("getUpdates"):
        if given.get("offset") not in found[-1:]:
            found.append(given.get("offset"))
    return found


@pytest.mark.parametrize("poison", POISON)
async def test_an_update_that_cannot_be_read_stops_no_other(
    api: TelegramApi, reception: Recording, poison: dict[str, Any]
) -> None:
    before, after = [await api.say("/status"), await api.say("/tasks")]
    api.updates.insert(1, {"update_id": before["update_id"], **poison})
    api.updates[1]["update_id"] = after["update_id"]
    after["update_id"] = api.next_update()
    async with at_work(api, reception):
        found = await reception.count(2)
        await api.until(lambda server: not server.updates)
    assert [request.command for request in found] == ["status", "tasks"]
    assert offsets(api) == [None, after["update_id"] + 1]


@pytest.mark.parametrize("poison", ["text", None, 7, [], {"message": {}}, {"update_id": "7"}, {"update_id": True}])
async def test_an_update_without_a_number_stops_no_other(api: TelegramApi, reception: Recording, poison: Any) -> None:
    await api.push(poison)
    async with at_work(api, reception):
        await api.say("/status")
        await reception.count(1)


async def test_an_update_that_nobody_can_confirm_is_not_spun_on(api: TelegramApi, reception: Recording) -> None:
    await api.push({"no": "number"})
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with at_work(api, reception):
        await api.until(lambda server: len(server.given("getUpdates")) >= 6)
    assert loop.time() - began > 4 * PACE.most_s / 2


async def test_an_answer_that_is_no_json_is_narrowed_down_and_passed_over(
    api: TelegramApi, reception: Recording
) -> None:
    deep = "[" * 3000 + "]" * 3000
    poison = api.next_update()
    await api.push({"update_id": poison, "message": "@deep@"})
    await api.say("/status")
    api.raw = lambda text: text.replace('"@deep@"', deep)
    async with at_work(api, reception):
        (found,) = await reception.count(1)
    assert found.command == "status"
    assert poison + 1 in offsets(api)


async def test_nothing_is_confirmed_before_it_is_kept(api: TelegramApi, reception: Recording) -> None:
    reception.failures = 3
    first, second = await api.say("/status"), await api.say("/tasks")
    async with at_work(api, reception):
        found = await reception.count(2)
        assert [request.command for request in found] == ["status", "tasks"]
        await api.until(lambda server: not server.updates)
    asked = api.given("getUpdates")
    assert [given.get("offset") for given in asked[:4]] == [None] * 4
    assert offsets(api) == [None, second["update_id"] + 1]
    assert first["update_id"] < second["update_id"]


async def test_what_was_taken_is_confirmed_when_polling_ends(api: TelegramApi, reception: Recording) -> None:
    async with at_work(api, reception):
        await api.say("/status")
        await reception.count(1)
    assert api.updates == []


async def test_an_update_that_comes_again_after_a_restart_is_the_same_request(
    api: TelegramApi, reception: Recording
) -> None:
    update = await api.say("/run GOAL")
    for number in range(1, 4):
        async with at_work(api, reception):
            await reception.until(lambda found: found.handed_in >= number)  # noqa: B023
        await api.push(update)
    assert len(reception.requests) == 1


@pytest.mark.parametrize(
    "trouble",
    [
        Fault(500, "Internal Server Error"), Fault(502, "Bad Gateway"), Fault(429, "Too Many Requests"),
        Fault(429, "Too Many Requests: retry after 1", retry_after=0.01), Fault(401, "Unauthorized"), Trouble.DROP,
        Trouble.LOSE, Trouble.GARBAGE, Fault(409, "Conflict: terminated by other getUpdates request"),
    ],
)  # fmt: skip
async def test_polling_goes_on_after_every_trouble(
    api: TelegramApi, reception: Recording, trouble: Trouble | Fault
) -> None:
    api.fail("getUpdates", trouble)
    await api.say("/status")
    async with at_work(api, reception):
        await reception.count(1)
        await api.say("/tasks")
        await reception.count(2)


ODD = [
    Odd("<html>Bad Gateway</html>", 502), Odd("<html>It works</html>"), Odd("", 200), Odd("null"), Odd("7"), Odd("[]"),
    Odd('{"ok":true}'), Odd('{"ok":true,"result":null}'), Odd('{"ok":false}'), Odd("[]", 400), Odd("7", 500),
    Odd('{"ok":false,"error_code":"x","description":5}', 400), Odd('{"description":{"a":1},"parameters":"x"}', 403),
    Odd('{"ok":false,"parameters":{"migrate_to_chat_id":"x","retry_after":"y"}}', 400), Odd("{}", 302), Odd("[]", 409),
]  # fmt: skip


@pytest.mark.parametrize("method", ["getUpdates", "deleteWebhook", "getMe", "setMyCommands"])
async def test_answers_that_the_bot_api_would_not_give_end_nothing(
    api: TelegramApi, reception: Recording, method: str
) -> None:
    api.fail(method, *ODD)
    async with at_work(api, reception):
        for number in range(1, 4):
            await api.say("/status")
            await reception.count(number)


async def test_what_has_no_number_is_told_of_once(
    api: TelegramApi, reception: Recording, caplog: pytest.LogCaptureFixture
) -> None:
    await api.push({"no": "number"})
    async with at_work(api, reception):
        for number in range(1, 4):
            await api.say("/status")
            await reception.count(number)
    assert caplog.text.count("without a number") == 1


async def test_telegram_is_left_alone_as_long_as_it_wants(api: TelegramApi, reception: Recording) -> None:
    api.fail("getUpdates", Fault(429, "Too Many Requests: retry after 0.5", retry_after=0.5))
    await api.say("/status")
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with at_work(api, reception):
        await reception.count(1)
    assert loop.time() - began > 0.45


async def test_polling_takes_a_webhook_away(api: TelegramApi, reception: Recording) -> None:
    api.webhook = {"url": "https://example.com/telegram/webhook"}
    async with at_work(api, reception):
        await api.say("/status")
        await reception.count(1)
        api.webhook = {"url": "https://example.com/set-by-another"}
        await api.say("/tasks")
        await reception.count(2)
    assert all(not given.get("drop_pending_updates") for given in api.given("deleteWebhook"))


async def test_the_commands_of_the_table_are_offered(api: TelegramApi, reception: Recording) -> None:
    api.fail("setMyCommands", Fault(500, "Internal Server Error"))
    async with at_work(api, reception):
        await api.until(lambda server: bool(server.commands))
    names = [command["command"] for command in api.commands]
    assert {"run", "status", "approve", "deny", "stop", "help"} <= set(names)
    assert all(name.islower() and command["description"] for name, command in zip(names, api.commands, strict=True))


async def test_commands_that_telegram_refuses_keep_nobody_from_being_heard(
    api: TelegramApi, reception: Recording
) -> None:
    api.fail("setMyCommands", *[Fault(400, "Bad Request: BOT_COMMAND_INVALID")] * 50)
    async with at_work(api, reception):
        await api.say("/status")
        await reception.count(1)


async def test_only_who_has_the_duty_polls(api: TelegramApi, reception: Recording) -> None:
    turn = Turn(mine=False)
    async with at_work(api, reception, turn):
        await api.until(lambda server: bool(server.commands))
        assert api.given("getUpdates") == []
        turn.mine = True
        await api.say("/status")
        await reception.count(1)
        turn.mine = False
        await turn.asked(3)
        await api.say("/tasks")
        asked = len(api.given("getUpdates"))
        await turn.asked(3)
        assert len(api.given("getUpdates")) == asked
        turn.mine = True
        await reception.count(2)
    assert (turn.names, turn.released) == (["telegram:poll"], 1)


async def test_the_token_is_never_logged(
    api: TelegramApi, reception: Recording, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    api.fail("getUpdates", Fault(401, "Unauthorized"), Trouble.DROP)
    await api.say("/status")
    async with at_work(api, reception):
        await reception.count(1)
    assert "getUpdates" in caplog.text
    assert api.token not in caplog.text


@pytest.mark.parametrize("ending", ["", "/", "/bot", "/bot/"])
async def test_the_base_url_is_understood_with_and_without_its_last_part(
    api: TelegramApi, reception: Recording, ending: str
) -> None:
    given = settings(api).model_copy(update={"base_url": api.base_url + ending})
    surface = Telegram(given, reception, Turn(), pace=PACE)
    running = asyncio.create_task(surface.run())
    await api.say("/status")
    await reception.count(1)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await surface.close()
