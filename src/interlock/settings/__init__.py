"""Settings: what a user can set, checked, read once and frozen."""

from interlock.settings.loading import (
    FILE,
    KEY_VARIABLES,
    OTHER_VARIABLES,
    POLICY,
    PREFIX,
    key_variable,
    load_place,
    load_settings,
)
from interlock.settings.model import (
    AuditSettings,
    LessonSettings,
    Loops,
    ProjectSettings,
    ProviderSettings,
    SecretSettings,
    Settings,
    Times,
)
from interlock.settings.services import (
    HttpSettings,
    PostalSettings,
    SentrySettings,
    SlackSettings,
    SmtpSettings,
    TelegramSettings,
)

__all__ = [
    "FILE",
    "KEY_VARIABLES",
    "OTHER_VARIABLES",
    "POLICY",
    "PREFIX",
    "AuditSettings",
    "HttpSettings",
    "LessonSettings",
    "Loops",
    "PostalSettings",
    "ProjectSettings",
    "ProviderSettings",
    "SecretSettings",
    "SentrySettings",
    "Settings",
    "SlackSettings",
    "SmtpSettings",
    "TelegramSettings",
    "Times",
    "key_variable",
    "load_place",
    "load_settings",
]
