"""Settings: what a user can set, checked, read once and frozen."""

from interlock.settings.loading import FILE, KEY_VARIABLES, OTHER_VARIABLES, POLICY, PREFIX, load_settings
from interlock.settings.model import (
    HttpSettings,
    Loops,
    PostalSettings,
    ProviderSettings,
    Retention,
    SentrySettings,
    Settings,
    SlackSettings,
    SmtpSettings,
    TelegramSettings,
    Times,
)

__all__ = [
    "FILE",
    "KEY_VARIABLES",
    "OTHER_VARIABLES",
    "POLICY",
    "PREFIX",
    "HttpSettings",
    "Loops",
    "PostalSettings",
    "ProviderSettings",
    "Retention",
    "SentrySettings",
    "Settings",
    "SlackSettings",
    "SmtpSettings",
    "TelegramSettings",
    "Times",
    "load_settings",
]
