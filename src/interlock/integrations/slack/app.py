"""The vendor's app class, adapted: no lookups, and every request is acknowledged."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slack_bolt.async_app import AsyncApp, AsyncBoltRequest
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from interlock.core.text import visible
from interlock.integrations.slack.api import vendor_log

_MALFORMED = (KeyError, IndexError, TypeError, ValueError, AttributeError)
"""What reading a payload raises that is none of Slack's."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Installation:
    """Where the app of a token is installed: in a workspace, or in a whole organisation."""

    team: str | None
    enterprise: str | None

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "Installation":
        """The one of the token that Slack has answered `auth.test` to."""
        if body.get("is_enterprise_install") and body.get("enterprise_id"):
            return cls(None, str(body["enterprise_id"]))
        return cls(str(body["team_id"]) if body.get("team_id") else None, None)

    def has(self, team: str | None, enterprise: str | None) -> bool:
        """Whether something that names these comes from there; what names none has come for no workspace."""
        if self.enterprise is not None:
            return enterprise in (None, self.enterprise)
        return self.team is None or team in (None, self.team)


class App(AsyncApp):
    """Responds when a listener ends. Requests without a listener are acknowledged, or Slack would resend them.

    INVARIANT: once `installed` is known, nothing from another workspace gets further. An app can be installed in
    several, all of which Slack signs for alike, and the ids of people are unique only within one.
    """

    installed: Installation | None = None

    def __init__(self, token: str, secret: str, base_url: str) -> None:
        async def authorize() -> AuthorizeResult:
            return AuthorizeResult(enterprise_id=None, team_id=None, bot_token=token)

        log = vendor_log()
        client = AsyncWebClient(base_url=base_url.rstrip("/") + "/", logger=log, retry_handlers=[])
        super().__init__(
            name=log.name, logger=log, client=client, authorize=authorize, signing_secret=secret,
            process_before_response=True,
        )  # fmt: skip
        self.error(_failed)

    async def async_dispatch(self, req: AsyncBoltRequest) -> BoltResponse:
        """The response: 200 for requests that were accepted or are ignored, 400 for invalid payloads."""
        team, enterprise = req.context.team_id, req.context.enterprise_id
        if self.installed is not None and not self.installed.has(team, enterprise):
            _log.warning("a request from another Slack workspace, `%s`, was ignored", visible(team or enterprise))
            return BoltResponse(status=200)
        try:
            response = await super().async_dispatch(req)
        except _MALFORMED as error:
            response = await _failed(error)
        concerns_nobody = response.status == 404 or (response.status == 400 and req.mode == "socket_mode")
        return BoltResponse(status=200) if concerns_nobody else response


async def _failed(error: Exception) -> BoltResponse:
    if isinstance(error, _MALFORMED):
        _log.warning("a request from Slack is none that this version knows: %s: %s", type(error).__name__, error)
        return BoltResponse(status=400)
    _log.error("a request from Slack failed", exc_info=error)
    return BoltResponse(status=500)
