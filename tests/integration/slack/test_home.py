"""The Home tab: the queue for who may see it, kept up to date, answered from."""

import json
from typing import Any

from interlock.store.mailboxes.mailbox import RUNS
from interlock.store.tx import Tx
from interlock.testing import slack_payloads as payloads
from tests.integration.slack.stage import Stage


def text_of(view: dict[str, Any]) -> str:
    return json.dumps(view, ensure_ascii=False)


def buttons(view: dict[str, Any]) -> dict[str, Any]:
    """By label."""
    rows = [block["elements"] for block in view["blocks"] if block["type"] == "actions"]
    return {button["text"]["text"]: button for row in rows for button in row}


async def opened(stage: Stage, user: str = "U0ANA") -> dict[str, Any]:
    """The tab of somebody who opens it."""
    count = len(stage.api.homes.get(user, []))
    assert (await stage.post(payloads.home_opened(user=user))).status == 200
    await stage.api.until(lambda slack: len(slack.homes.get(user, [])) > count)
    return stage.api.homes[user][-1]


async def test_the_queue_is_there_with_its_buttons_and_an_answer_changes_it(stage: Stage) -> None:
    assert "Nothing waits for you" in text_of(await opened(stage))
    card, view = await stage.held()
    await stage.api.until(lambda slack: "board@example.com" in text_of(slack.homes["U0ANA"][-1]))
    home = stage.api.homes["U0ANA"][-1]
    assert "1 wait for a person" in text_of(home)
    tap = {
        **stage.tap("Approve", card), "message": None, "container": {"type": "view", "view_id": "V1"}, "channel": None,
        "actions": [{**buttons(home)["Approve"], "block_id": "b", "action_ts": "1700000001.000001"}],
    }  # fmt: skip
    assert (await stage.post(tap)).status == 200
    await stage.settled(view["id"], "used")
    await stage.api.until(lambda slack: "send an e-mail" not in text_of(slack.homes["U0ANA"][-1]))


async def test_a_viewer_sees_the_queue_without_buttons_and_a_stranger_nothing(stage: Stage) -> None:
    await stage.held()
    viewer = await opened(stage, "U0VIC")
    assert "board@example.com" in text_of(viewer)
    assert buttons(viewer) == {}
    stranger = await opened(stage, "U0EVE")
    assert "You are not known here" in text_of(stranger)
    assert "board@example.com" not in text_of(stranger)


async def test_a_viewer_sees_of_a_question_from_somebodys_conversation_only_that_it_waits(stage: Stage) -> None:
    _, card = await stage.held()

    def private(tx: Tx) -> None:
        asked = RUNS.update().where(RUNS.c.id == card["run_id"])
        tx.run(asked.values(mission_id=None, cause_kind="message", cause_id="per_other"))

    await stage.box.runtime.store.write(private)
    viewer, operator = text_of(await opened(stage, "U0VIC")), text_of(await opened(stage))
    assert "call send_email" in viewer
    assert "asked in private" in viewer
    assert "board@example.com" not in viewer.partition("How things stand")[0]
    assert "board@example.com" in operator


async def test_another_tab_and_a_broken_sender_draw_nothing(stage: Stage) -> None:
    for body in (payloads.home_opened(tab="messages"), payloads.home_opened(user="<@U1>")):
        assert (await stage.post(body)).status == 200
    await opened(stage)
    assert list(stage.api.homes) == ["U0ANA"]
