"""Sends a letter through the API of a Postal server; https://docs.postalserver.io/developer/api."""

import base64
from typing import Any

from interlock.settings import PostalSettings
from interlock.tools.email_message import Letter
from interlock.tools.errors import OutcomeUnknown, ToolError
from interlock.tools.http import NoAnswer, exchange

TIMEOUT_S = 45.0
MOST_BYTES = 1024 * 1024
KEY = "POSTAL_API_KEY"
_REFUSED = ("error", "parameter-error")


async def send_by_postal(settings: PostalSettings, letter: Letter) -> str:
    """Sends the letter; returns the server's message id.

    Raises ToolError if nothing was sent, OutcomeUnknown if there was no clear response.
    """
    key = settings.api_key.get_secret_value().strip() if settings.api_key is not None else ""
    if not key:
        raise ToolError(f"e-mail is not set up: the operator must set {KEY}")
    try:
        answer = await exchange(
            "the mail server",
            "POST",
            f"{settings.base_url}/api/v1/send/message",
            headers={"X-Server-API-Key": key, "Accept": "application/json"},
            body=_body(letter),
            timeout_s=TIMEOUT_S,
            most_bytes=MOST_BYTES,
        )
        answer.refuse(KEY)
        said = answer.json()
        if said.get("status") in _REFUSED:
            raise ToolError(f"the mail server refused the message: {_reason(said)}: nobody got it")
        if said.get("status") != "success":
            raise NoAnswer("the mail server answered with JSON of an unknown form")
    except NoAnswer as error:
        raise OutcomeUnknown(
            f"{error}: whether {len(letter.recipients)} recipient(s) get the message is not known, its Message-ID is "
            f"{letter.message_id}"
        ) from error
    data = said.get("data")
    return str(data.get("message_id", ""))[:200] if isinstance(data, dict) else ""


def _body(letter: Letter) -> dict[str, Any]:
    return {
        "to": list(letter.to),
        "cc": list(letter.cc),
        "from": letter.sender,
        "subject": letter.subject,
        "plain_body": letter.body,
        "headers": letter.headers,
        "attachments": [
            {"name": each.name, "content_type": each.media_type, "data": base64.b64encode(each.data).decode()}
            for each in letter.attachments
        ],
    }


def _reason(said: dict[str, Any]) -> str:
    data = said.get("data")
    reason = (data.get("message") or data.get("code")) if isinstance(data, dict) else None
    return (
        " ".join("".join(c if c.isprintable() else " " for c in str(reason)).split())[:200]
        if reason
        else "no reason given"
    )
