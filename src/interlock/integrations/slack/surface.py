"""Slack as a surface: requests are verified, stored by the reception, and acknowledged."""

import asyncio
import contextlib
import json
import logging
import re
from collections.abc import Coroutine, Mapping
from typing import Any

from slack_bolt.async_app import AsyncAck, AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.signature import SignatureVerifier

from interlock.core.errors import ConfigError, InterlockError
from interlock.desk.chats.reception import Reception
from interlock.desk.chats.requests import Request
from interlock.integrations.contract import Answer, DeliveryUnknown, Later
from interlock.integrations.slack import forms, intake, modals
from interlock.integrations.slack.api import Api, Failure, response_of
from interlock.integrations.slack.app import App, Installation
from interlock.integrations.slack.blocks import ASK, DO, EDIT
from interlock.integrations.slack.home import Home
from interlock.integrations.slack.sender import SlackSender
from interlock.integrations.slack.socket import Pace, SocketMode
from interlock.settings.services import SlackSettings

KEEP_S = 2.0
"""How long an acknowledgement waits for a request to be kept; Slack waits for 3 s."""
NOT_KEPT = "That could not be kept just now: look with `/interlock status` before you say it again."
_DIGITS = re.compile(r"[0-9]{1,12}", re.ASCII)
_SIGNATURE = re.compile(r"v0=[0-9a-f]{64}", re.ASCII)
_ANY = re.compile(r"")
_BUTTONS = re.compile(rf"^(?:{DO}|{ASK}|{EDIT}):(?:approve|deny):.")
_FORMS = re.compile(f"^({modals.WORDS}|{modals.ARGUMENTS})$")
_JSON = {"content-type": "application/json"}
_log = logging.getLogger(__name__)


class Slack:
    """One Slack app: its hook at `/slack/events`, its Socket Mode connection, and its sender.

    Raises ConfigError for an unusable combination of tokens, or if requests cannot be verified.
    """

    def __init__(
        self, settings: SlackSettings, reception: Reception, *, keep_s: float = KEEP_S, pace: Pace | None = None
    ) -> None:
        if settings.bot_token is None or not (settings.signing_secret or settings.app_token):
            raise ConfigError(["slack: set `SLACK_BOT_TOKEN` and one of `SLACK_SIGNING_SECRET` or `SLACK_APP_TOKEN`"])
        token = settings.bot_token.get_secret_value()
        secret = settings.signing_secret.get_secret_value() if settings.signing_secret else ""
        self._verifier = SignatureVerifier(secret) if secret.strip() else None
        self._app_token = settings.app_token.get_secret_value() if settings.app_token else None
        self._api, self._reception = Api(settings.base_url, token), reception
        self._keep_s, self._pace = keep_s, pace or Pace()
        self._working: set[asyncio.Task[Any]] = set()
        self._home = Home(self._api, reception)
        self._app = self._listening(token, secret, settings.base_url)

    def sender(self) -> SlackSender:
        """The sender for the outbox."""
        return SlackSender(self._api)

    async def handle(self, body: bytes, headers: Mapping[str, str]) -> Answer:
        """The response to a POST to `/slack/events`: 401 without a body unless it is signed by Slack.

        INVARIANT: a body is not parsed before its signature has been verified over its bytes, except to detect Slack's
        unsigned certificate check (`ssl_check`), which has no effect.
        """
        headers = {name.lower(): value for name, value in headers.items()}
        if self._verifier is None:
            return _problem(404, "no signing secret is set here: set `SLACK_SIGNING_SECRET`")
        if not _is_signed(self._verifier, body, headers):
            return Answer(200) if b"ssl_check=1" in body.split(b"&") else _problem(401, "not signed by Slack")
        try:
            request = AsyncBoltRequest(body=body.decode(), headers=dict(headers))
        except (ValueError, TypeError, AttributeError, RecursionError):
            return _problem(400, "no request of Slack")
        if not isinstance(request.body, dict) or not isinstance(request.body.get("event", {}), dict):
            return _problem(400, "no request of Slack")
        response = await self._app.async_dispatch(request)
        return Answer(response.status, response.first_headers_without_set_cookie(), response.body.encode())

    async def run(self) -> None:
        """Keeps a Socket Mode connection, if there is an app token, until cancelled."""
        self._begin(self.introduce())
        self._begin(self._home.run())
        if self._app_token is None:
            await asyncio.Event().wait()
            return
        await SocketMode(self._app, self._app_token, self._api.client, self._pace).run()

    async def close(self) -> None:
        """Cancels pending work and closes connections."""
        working = list(self._working)
        for task in working:
            task.cancel()
        await asyncio.gather(*working, return_exceptions=True)
        await self._api.close()

    def _listening(self, token: str, secret: str, base_url: str) -> App:
        app = App(token, secret, base_url)
        app.command(_ANY)(self._command)
        app.action(_BUTTONS)(self._action)
        app.action(_ANY)(_nothing)
        app.view(_FORMS)(self._view)
        app.view(_ANY)(_nothing)
        app.event(_ANY)(self._event)
        app.shortcut(_ANY)(_nothing)
        app.options(_ANY)(_nothing)
        return app

    async def introduce(self) -> None:
        """Learns from Slack which workspace the token is of, however long it takes; then others' requests are ignored.

        Says in the log once that Slack will not have us, before somebody waits for an answer.
        """
        pause, said = self._pace.first_pause_s, ""
        while self._app.installed is None:
            wait: float | None = None
            try:
                self._app.installed = Installation.of(await response_of(self._api.client.auth_test()))
                return
            except (Failure, Later) as error:
                wait = error.seconds if isinstance(error, Later) else None
                if said != (said := str(error)):
                    _log.error("slack: %s", error)
            except DeliveryUnknown:
                pass
            await asyncio.sleep(pause if wait is None else wait)
            pause = min(pause * 2, self._pace.longest_pause_s)

    async def _command(self, body: dict[str, Any], ack: AsyncAck) -> None:
        if await self._kept(intake.of_command(body)):
            await ack()
        else:
            await ack(text=NOT_KEPT, response_type="ephemeral")

    async def _action(self, body: dict[str, Any], action: dict[str, Any], ack: AsyncAck) -> BoltResponse | None:
        if not str(action["action_id"]).startswith(f"{DO}:"):
            self._begin(forms.offer(self._api, self._reception, body, action))
        elif not await self._kept(intake.of_tap(body, action)):
            return BoltResponse(status=503)
        await ack()
        return None

    async def _view(self, body: dict[str, Any], ack: AsyncAck) -> None:
        try:
            form = modals.filled(body)
        except modals.Unfit as error:
            await ack(modals.unfit(error))
            return
        if await self._kept(intake.of_form(body, form.command, form.fields, form.place)):
            await ack()
        else:
            await ack(modals.unfit(modals.Unfit("That could not be kept just now: send it again.")))

    async def _event(self, body: dict[str, Any], ack: AsyncAck) -> BoltResponse | None:
        if (user := intake.at_home(body)) is not None:
            self._begin(self._home.opened(user))
        request = intake.of_event(body)
        if request is not None and not await self._kept(request):
            return BoltResponse(status=503)
        await ack()
        return None

    async def _kept(self, request: Request) -> bool:
        """Whether a request has been stored, now or before. A slow attempt continues in the background."""
        keeping = self._begin(self._reception.accept(request, patience_s=self._keep_s))
        done, _ = await asyncio.wait({keeping}, timeout=self._keep_s)
        return bool(done) and not keeping.cancelled() and keeping.exception() is None

    def _begin(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._working.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._working.discard(task)
        with contextlib.suppress(asyncio.CancelledError):
            if error := task.exception():
                known = isinstance(error, InterlockError)
                _log.error("a request from Slack was not taken up: %s", error, exc_info=None if known else error)


async def _nothing(ack: AsyncAck) -> None:
    await ack()


def _is_signed(verifier: SignatureVerifier, body: bytes, headers: Mapping[str, str]) -> bool:
    """Whether the body is signed by Slack, with a timestamp within the last five minutes.

    Source: https://docs.slack.dev/authentication/verifying-requests-from-slack.
    """
    stamp, signature = headers.get("x-slack-request-timestamp", ""), headers.get("x-slack-signature", "")
    if not _DIGITS.fullmatch(stamp) or not _SIGNATURE.fullmatch(signature):
        return False
    try:
        return verifier.is_valid(body, stamp, signature)
    except UnicodeDecodeError:
        return False


def _problem(status: int, detail: str) -> Answer:
    return Answer(status, _JSON, json.dumps({"error": detail}).encode())
