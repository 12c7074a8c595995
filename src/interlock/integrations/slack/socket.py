"""Socket Mode: a connection that Slack sends requests by, kept up; what is done with a request is `surface`'s job.

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
from interlock.integrations.slack.api import APP_TOKEN, heard, vendor_log
from interlock.integrations.slack.app import App

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """How a line is kept up, in seconds."""

    ping_s: float = 2.0
    """How often it is looked at; a dead one is noticed after four times as long."""
    connect_s: float = 5.0
    """How long one address is tried before Slack is asked for another one."""
    first_pause_s: float = 1.0
    """Between two attempts; doubled with each up to `longest_pause_s`."""
    longest_pause_s: float = 30.0


class Line(SocketModeClient):
    """The vendor's client, but for two habits of it.

    It would try the address of a connection for ever, though Slack gives each for one use within half a minute; and
    where Slack gives none, it would ask again without growing pauses.
    """

    pace = Pace()

    async def issue_new_wss_url(self) -> str:
        """An address to connect to, however long Slack takes to give one."""
        pause = self.pace.first_pause_s
        while True:
            try:
                answer = await heard(self.web_client.apps_connections_open(app_token=self.app_token), APP_TOKEN)
                return str(answer["url"])
            except InterlockError as error:
                wait = error.seconds if isinstance(error, Later) and error.seconds is not None else pause
                _log.warning("no Socket Mode connection: %s; next attempt in %g s", error, wait)
            await asyncio.sleep(wait)
            pause = min(pause * 2, self.pace.longest_pause_s)

    async def connect(self) -> None:
        """Returns once there is a connection."""
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
    """Dispatches what comes by the line to the app, and acknowledges it."""

    def __init__(self, app: App, app_token: str, web_client: AsyncWebClient, pace: Pace) -> None:
        self.app, self.app_token = app, app_token
        self.client = Line(app_token, vendor_log(), web_client, ping_interval=pace.ping_s)
        self.client.pace = pace
        self.client.socket_mode_request_listeners.append(self.handle)  # type: ignore[arg-type]

    async def run(self) -> None:
        """Keeps the connection until it is cancelled."""
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
