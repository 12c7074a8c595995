"""Buttons that grant or answer several questions: what they carry comes back as the command that they stand for."""

from typing import Any

import pytest
from telegram import Bot, User

from interlock.desk.chats.cards import Action, Card
from interlock.desk.chats.requests import Place
from interlock.integrations.slack import blocks, intake, modals
from interlock.integrations.telegram.layout import pages
from interlock.integrations.telegram.reading import parse

IDENT = "apr_1m816e6kjwcv08shpm"
GRANT, BATCH = f"{IDENT}:task", f"{IDENT}:12-0123456789"
CARD = Card(
    "To sign off",
    actions=(
        Action("approve", "Approve", IDENT, has_arguments=True),
        Action("approve", "Approve, and for this task", GRANT),
        Action("deny", "Deny these 12 alike", BATCH, needs_reason=True),
    ),
)
ME = User(7, "Interlock", is_bot=True, username="interlock_bot")
ANA = {"id": 42, "is_bot": False, "first_name": "Ana"}
CHAT = {"id": 42, "type": "private"}


def heard(**update: Any) -> Any:
    return parse({"update_id": 1, **update}, Bot("1:a"), ME)


def tapped(data: str) -> Any:
    message = {"message_id": 5, "date": 0, "chat": CHAT}
    return heard(callback_query={"id": "q", "from": ANA, "chat_instance": "1", "data": data, "message": message})


def test_telegram_carries_the_scope_and_the_mark_in_a_button() -> None:
    (page,) = pages(CARD)
    assert all(len(button.data.encode()) <= 64 for button in page.buttons)
    _, grant, batch = page.buttons
    request = tapped(grant.data).request
    assert (request.command, request.fields) == ("approve", {"id": GRANT})
    asked = tapped(batch.data)
    assert asked.question.request.fields == {"id": BATCH}
    above = {"message_id": 6, "date": 0, "chat": CHAT, "from": ME.to_dict(), "text": asked.question.text}
    said = {"message_id": 8, "date": 0, "chat": CHAT, "from": ANA, "text": "not today", "reply_to_message": above}
    request = heard(message=said).request
    assert (request.command, request.fields) == ("deny", {"id": BATCH, "reason": "not today"})


@pytest.mark.parametrize("data", [f"a:{IDENT}:", f"a:{IDENT}:A B", f"a:{IDENT}:x:y", f"a::{IDENT}", "a:" + "x" * 63])
def test_telegram_takes_no_button_that_is_none_of_ours(data: str) -> None:
    found = tapped(data)
    assert found.request is None
    assert "none of ours" in found.tap.notice


def test_slack_carries_the_scope_and_the_mark_in_a_button() -> None:
    (sheet,) = blocks.sheets(CARD)
    buttons = [each for block in sheet.blocks if block["type"] == "actions" for each in block["elements"]]
    assert len({button["action_id"] for button in buttons}) == len(buttons) == 4
    assert [button["value"] for button in buttons] == [IDENT, IDENT, GRANT, BATCH]
    body = {"user": {"id": "U1", "name": "ana"}, "channel": {"id": "C1"}, "message": {}, "container": {}}
    request = intake.of_tap(body, {**buttons[2], "action_ts": "1"})
    assert (request.command, request.fields) == ("approve", {"id": GRANT})
    form = modals.words_form("deny", BATCH, Place("slack", "C1"))
    view = {**form, "state": {"values": {"said": {"said": {"value": "not today"}}}}}
    filled = modals.filled({"view": view, "user": {"id": "U1"}})
    assert (filled.command, filled.fields) == ("deny", {"id": BATCH, "reason": "not today"})
