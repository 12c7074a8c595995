"""Settings of external services: web search, e-mail, chats, telemetry; and of the HTTP server."""

from pydantic import SecretStr

from interlock.settings.part import Part
from interlock.settings.values import Interval, Port, Share, SlackChannel, Url


class BraveSettings(Part):
    """Web search."""

    base_url: Url = "https://api.search.brave.com"
    """The address of the search service."""
    api_key: SecretStr | None = None
    """The key for web search; without one, `web_search` fails."""


class PostalSettings(Part):
    """E-mail by a Postal server; used if `base_url` is set."""

    base_url: Url | None = None
    """The address of a Postal server, to send e-mail through it."""
    api_key: SecretStr | None = None
    """The key for the Postal server."""
    sender: str | None = None
    """The address that e-mail is sent from."""


class SmtpSettings(Part):
    """E-mail by SMTP; used if `host` is set."""

    host: str | None = None
    """The SMTP server, to send e-mail through it."""
    port: Port = 587
    """The port of the SMTP server."""
    username: str | None = None
    """The user to log in as; without one, no login is made."""
    password: SecretStr | None = None
    """The password of that user."""
    starttls: bool = True
    """Whether the connection is encrypted with STARTTLS."""
    sender: str | None = None
    """The address that e-mail is sent from."""


class SlackSettings(Part):
    """Slack: a bot token, and either a signing secret (Slack calls `/slack/events`) or an app token (Socket Mode)."""

    base_url: Url = "https://slack.com/api"
    """The address of Slack's API."""
    bot_token: SecretStr | None = None
    """The bot token, `xoxb-…`; turns Slack on."""
    signing_secret: SecretStr | None = None
    """Verifies the requests with which Slack calls `/slack/events`."""
    app_token: SecretStr | None = None
    """The app token, `xapp-…`, for Socket Mode; no public address is needed then."""
    channel: SlackChannel | None = None
    """The id of the channel for alerts and for the threads of missions that were started elsewhere."""


class TelegramSettings(Part):
    """Telegram: a bot token; long polling, or a webhook if `webhook_url` is set."""

    base_url: Url = "https://api.telegram.org"
    """The address of Telegram's Bot API."""
    bot_token: SecretStr | None = None
    """The bot's token; turns Telegram on."""
    chat: str | None = None
    """The id of the chat for alerts and for the threads of missions that were started elsewhere."""
    webhook_url: Url | None = None
    """The public address of `/telegram/webhook`; without it, Telegram is polled."""
    webhook_secret: SecretStr | None = None
    """What Telegram sends in its header; 1 to 256 of A-Z, a-z, 0-9, _ and -."""


class SentrySettings(Part):
    """Telemetry; without `dsn`, nothing is sent or loaded."""

    dsn: SecretStr | None = None
    """Where telemetry is sent; without it, nothing is."""
    environment: str | None = None
    """The environment that Sentry shows, such as `production`."""
    traces_sample_rate: Share = 1.0
    """The share of runs that are traced, 0 to 1."""


class HttpSettings(Part):
    """Where `serve` and `up` listen."""

    host: str = "127.0.0.1"
    """The address that `up` and `serve` listen on."""
    port: Port = 8400
    """The port that `up` and `serve` listen on."""
    keep_alive_s: Interval = 30.0
    """How often a stream on which nothing happens sends a comment, in seconds."""
