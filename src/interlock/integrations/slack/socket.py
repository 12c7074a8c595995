"""Socket Mode: keeps up the connection by which Slack sends requests.

Source: https://docs.slack.dev/apis/events-api/using-socket-mode.
"""

import asyncio
import logging
from dataclasses import dataclass

from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.web.async_client import AsyncWebClient

from interlock.core.errors import InterlockError
from interlock.integrations.contract import Later
from interlock.integrations.slack.api import APP_TOKEN, response_of, vendor_log
from interlock.integrations.slack.app import App

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """The timing of the connection, in seconds."""

    ping_s: float = 2.0
    """How often it is looked at; a dead one is noticed after four times as long."""
    connect_s: float = 5.0
    """How long one address is tried before Slack is asked for another one."""
    first_pause_s: float = 1.0
    """Between two attempts; doubled with each up to `longest_pause_s`."""
    longest_pause_s: float = 30.0


class Line(SocketModeClient):
    """The vendor's client with two corrections.

    It would retry a connection URL forever, although each is valid once and for half a minute; and without a URL it
    would ask again without backoff.
    """

    pace = Pace()

    async def issue_new_wss_url(self) -> str:
        """A connection URL; retries until Slack issues one."""
        pause = self.pace.first_pause_s
        while True:
            try:
                answer = await response_of(self.web_client.apps_connections_open(app_token=self.app_token), APP_TOKEN)
                return str(answer["url"])
            except InterlockError as error:
                wait = error.seconds if isinstance(error, Later) and error.seconds is not None else pause
                _log.warning("no Socket Mode connection: %s; next attempt in %g s", error, wait)
            await asyncio.sleep(wait)
            pause = min(pause * 2, self.pace.longest_pause_s)

    async def connect(self) -> None:
        """Returns once connected."""
        pause = self.pace.first_pause_s
        while not self.closed:
            if self.wss_uri is None:
                self.wss_uri = await self.issue_new_wss_url()
            try:
                async with asyncio.timeout(self.pace.connect_s):
                    await super().connect()  # type: ignore[no-untyped-call]
                    return
            except TimeoutError:
                self.wss_uri = None
            await asyncio.sleep(pause)
            pause = min(pause * 2, self.pace.longest_pause_s)


class SocketMode(AsyncSocketModeHandler):
    """Dispatches requests to the app, and acknowledges them."""

    def __init__(self, app: App, app_token: str, web_client: AsyncWebClient, pace: Pace) -> None:
        self.app, self.app_token = app, app_token
        self.client = Line(app_token, vendor_log(), web_client, ping_interval=pace.ping_s)
        self.client.pace = pace
        self.client.socket_mode_request_listeners.append(self.handle)  # type: ignore[arg-type]

    async def run(self) -> None:
        """Keeps the connection until cancelled."""
        try:
            await self.connect_async()  # type: ignore[no-untyped-call]
            await asyncio.Event().wait()
        finally:
            await self._close()

    async def _close(self) -> None:
        line = self.client
        working = [t for t in (line.message_processor, line.message_receiver, line.current_session_monitor) if t]
        await line.close()  # type: ignore[no-untyped-call]
        await asyncio.gather(*working, return_exceptions=True)
