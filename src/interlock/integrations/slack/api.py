"""The shared client of Slack's Web API, and the translation of its errors."""

import logging
import re
from collections.abc import Awaitable, Mapping
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

from interlock.integrations.contract import DeliveryUnknown, Later, Undeliverable
from interlock.policy.secrets import scrub

TIMEOUT_S = 10.0
"""Of one call; a message whose fate is not known by then is looked for."""
LONGEST_REST_S = 3_600.0
REFUSED_S = 60.0
"""How long is waited where the bot token is refused: somebody has to set another."""
_HOOKS = frozenset(("https", host) for host in ("hooks.slack.com", "hooks.slack-gov.com"))
"""Where a `response_url` leads. Source: https://docs.slack.dev/interactivity/handling-user-interaction."""
_QUERY = re.compile(r"(\b(?:wss?|https?)://[^\s?\"'<>)]+)\?[^\s\"'<>)]+")
_LATER = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded", "team_added_to_org", "accesslimited"})
_UNHEARD = frozenset({"fatal_error", "internal_error", "request_timeout", "service_unavailable"})
BOT_TOKEN = "Slack refuses the bot token: set `SLACK_BOT_TOKEN` anew"
APP_TOKEN = "Slack refuses the app token: set `SLACK_APP_TOKEN` anew, with the scope `connections:write`"
_TOKEN = frozenset(
    {"account_inactive", "invalid_auth", "not_allowed_token_type", "not_authed", "token_expired", "token_revoked"}
)
_CHANNEL = "name another one in `slack.channel`"
_ADVICE: Mapping[str, str] = {
    "channel_not_found": f"the app sees no such channel: invite it there with `/invite @Interlock`, or {_CHANNEL}",
    "is_archived": f"the channel is archived: unarchive it, or {_CHANNEL}",
    "not_in_channel": "the app is not in the channel: invite it there with `/invite @Interlock`",
    "message_not_found": "the message is not there any more: somebody has deleted it",
    "restricted_action": f"the workspace does not let the app post there: ask its admin, or {_CHANNEL}",
}


class Failure(Undeliverable):
    """Slack rejected a call permanently; `code` is its error code."""

    def __init__(self, code: str, detail: str = "", token: str = BOT_TOKEN) -> None:
        self.code = code
        advice = token if code in _TOKEN else _ADVICE.get(code, "Slack refuses it")
        super().__init__(f"{advice} (`{code}`{detail})")


class Api:
    """One HTTP session to Slack. The client does not retry: a repeated post would be a second message."""

    def __init__(self, base_url: str, token: str, *, timeout_s: float = TIMEOUT_S) -> None:
        self._base_url, self._token, self._timeout_s = base_url.rstrip("/") + "/", token, timeout_s
        self._session: aiohttp.ClientSession | None = None

    @property
    def client(self) -> AsyncWebClient:
        """The vendor's client over the shared session; needs a running event loop."""
        return AsyncWebClient(
            self._token, base_url=self._base_url, session=self._opened(), logger=vendor_log(), retry_handlers=[]
        )

    def webhook(self, url: object) -> AsyncWebhookClient | None:
        """A client for a `response_url`; None if the URL is not Slack's: nothing is sent there."""
        if not isinstance(url, str) or _origin(url) not in _HOOKS | {_origin(self._base_url)}:
            return None
        return AsyncWebhookClient(url, session=self._opened(), logger=vendor_log(), retry_handlers=[])

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None or self._session.closed:
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=self._timeout_s))
        return self._session

    async def close(self) -> None:
        """Closes the connections; the next call opens new ones."""
        if self._session is not None:
            await self._session.close()


def _origin(url: str) -> tuple[str, str]:
    """Scheme and host of a URL without credentials; empty if it is anything else."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", ""
    is_plain = parts.username is None and parts.password is None and not set(url) & set("\\ \t\r\n")
    return (parts.scheme, parts.hostname or "") if is_plain else ("", "")


class _OneLine(logging.Filter):
    """Log filter: removes stack traces and the secrets in URLs from the vendor's reports of failed attempts."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.exc_info = record.exc_text = None
        record.msg, record.args = _QUERY.sub(r"\1?…", scrub(record.getMessage())), ()
        return True


_ONE_LINE = _OneLine()


def vendor_log() -> logging.Logger:
    """The logger of the vendor's libraries: errors only, since others would contain tokens and messages."""
    log = logging.getLogger("interlock.slack")
    log.setLevel(logging.ERROR)
    log.addFilter(_ONE_LINE)
    return log


async def response_of(call: Awaitable[Any], token: str = BOT_TOKEN) -> Any:
    """Slack's response; `token` names the token in the error about an invalid one.

    Raises Later for a temporary failure, Failure for a permanent one, DeliveryUnknown if the outcome is unknown.
    """
    try:
        return await call
    except SlackApiError as error:
        raise _meaning(error, token) from error
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
        raise Later(f"Slack cannot be reached: {error}") from error
    except TimeoutError as error:
        raise DeliveryUnknown("Slack did not answer in time") from error
    except aiohttp.ClientError as error:
        raise DeliveryUnknown(f"the connection to Slack broke: {type(error).__name__}") from error


def _meaning(error: SlackApiError, token: str) -> Later | Undeliverable | DeliveryUnknown:
    response = error.response
    said = getattr(response, "data", None)
    data: Mapping[str, Any] = said if isinstance(said, Mapping) else {}
    status = int(getattr(response, "status_code", None) or getattr(response, "status", None) or 0)
    code = str(data.get("error") or "")
    if status == 429 or code in _LATER:
        return Later("Slack wants fewer calls", retry_after(getattr(response, "headers", None) or {}))
    if status >= 500 or code in _UNHEARD or not code:
        return DeliveryUnknown(f"Slack answered with status {status}" + (f" (`{code}`)" if code else ""))
    refused = Failure(code, _detail(data), token)
    if code in _TOKEN and token == BOT_TOKEN:
        return Later(str(refused), REFUSED_S, needs_person=True)
    return refused


def _detail(data: Mapping[str, Any]) -> str:
    """Details of Slack's error: the missing scope, the invalid block."""
    if needed := data.get("needed"):
        return f": add the scope `{needed}` and install the app again"
    messages = (data.get("response_metadata") or {}).get("messages") or []
    return f": {'; '.join(str(line)[:200] for line in messages[:3])}" if messages else ""


def retry_after(headers: Mapping[str, Any]) -> float | None:
    """The Retry-After in seconds, an hour at most; None if there is none."""
    given = headers.get("Retry-After")
    try:
        return min(max(0.0, float(str(given))), LONGEST_REST_S)
    except ValueError:
        return None
