"""The types of settings: numbers, URLs, names and time zones, each with its error message."""

import re
from collections.abc import Callable
from typing import Annotated, Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field

_PROJECT = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_SLACK_CHANNEL = re.compile(r"[CDGU][A-Z0-9_-]*")
_CAPABILITY = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_SECRET = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SCHEMES = ("sqlite:///", "postgresql://", "postgres://")


def _no_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("expected a number")
    return value


def _seconds(least: float, most: int) -> Callable[[float], float]:
    def checked(value: float) -> float:
        if not least <= value <= most:
            raise ValueError(f"expected {least:g} to {most:,} seconds")
        return value

    return checked


def _http(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("expected a URL such as `https://example.com`")
    return value.rstrip("/")


def _database(value: str) -> str:
    if value.startswith("sqlite:") and (value == "sqlite:///" or not value.startswith("sqlite:///")):
        raise ValueError("the path of the file is missing: use `sqlite:///PATH`, with three slashes")
    if not value.startswith(SCHEMES):
        scheme, found, _ = value.partition("://")
        what = f"`{scheme}` is not a database that interlock supports" if found else "it is not a URL"
        raise ValueError(f"{what}: use `sqlite:///PATH` or `postgresql://…`")
    try:
        urlsplit(value).port  # noqa: B018 (raises where it is no number)
    except ValueError as error:
        raise ValueError("the port of the URL is not a number from 1 to 65535") from error
    return value


def _model_name(value: str) -> str:
    provider, _, name = value.partition("/")
    if not provider or not name:
        raise ValueError(f"`{value}` names no model: write `provider/model`, such as `rehearsal/offline`")
    return value


def _project_name(value: str) -> str:
    if not _PROJECT.fullmatch(value):
        raise ValueError(f"`{value}` is not a valid project name: use at most 63 lower-case letters, digits, - or _")
    return value


def _slack_channel(value: str) -> str:
    if not _SLACK_CHANNEL.fullmatch(value):
        raise ValueError(f"`{value}` is not a channel id: write one such as `C0123ABCD`, from the channel's details")
    return value


def _capability(value: str) -> str:
    if not _CAPABILITY.fullmatch(value):
        raise ValueError(f"`{value}` is not a valid capability name: use at most 32 lower-case letters, digits, - or _")
    if value == "sandbox":
        raise ValueError("whether a machine has a `sandbox` is found out by its workers: leave it out")
    return value


def _secret_name(value: str) -> str:
    if not _SECRET.fullmatch(value):
        raise ValueError("a secret's name is up to 64 letters, digits and _, such as `GITHUB`")
    return value


def _header(value: str) -> str:
    if not _HEADER.fullmatch(value):
        raise ValueError(f"`{value}` is not a valid header name: write one such as `X-Tenant`")
    return value


def _variable(value: str) -> str:
    if not _VARIABLE.fullmatch(value):
        raise ValueError("expected a variable's name, such as `GITHUB_TOKEN`: the value is not written here")
    return value


def _zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (LookupError, ValueError, OSError) as error:
        raise ValueError(f"`{value}` is not a time zone: write one such as `Europe/Berlin` or `UTC`") from error
    return value


Amount = Annotated[float, BeforeValidator(_no_bool), Field(gt=0, allow_inf_nan=False)]
Seconds = Annotated[float, BeforeValidator(_no_bool), AfterValidator(_seconds(0.001, 3_153_600_000))]
"""Up to a hundred years: what is that far ahead is still a date."""
Interval = Annotated[float, BeforeValidator(_no_bool), AfterValidator(_seconds(0.1, 31_536_000))]
"""Between two looks at the same thing, which cost something each; up to a year."""
Count = Annotated[int, BeforeValidator(_no_bool), Field(ge=1, le=10_000)]
Mebibytes = Annotated[int, BeforeValidator(_no_bool), Field(ge=1, le=1_048_576)]
Points = Annotated[float, BeforeValidator(_no_bool), Field(ge=0, le=1_000, allow_inf_nan=False)]
"""What something is worth in a sum of such; 0 leaves it out."""
Tokens = Annotated[int, BeforeValidator(_no_bool), Field(ge=1, le=100_000_000)]
Url = Annotated[str, AfterValidator(_http)]
ModelName = Annotated[str, AfterValidator(_model_name)]
ProjectName = Annotated[str, AfterValidator(_project_name)]
SlackChannel = Annotated[str, AfterValidator(_slack_channel)]
CapabilityName = Annotated[str, AfterValidator(_capability)]
Days = Annotated[int, BeforeValidator(_no_bool), Field(ge=1, le=36_500)]
Zone = Annotated[str, AfterValidator(_zone)]
DatabaseUrl = Annotated[str, AfterValidator(_database)]
Port = Annotated[int, BeforeValidator(_no_bool), Field(ge=1, le=65535)]
Share = Annotated[float, BeforeValidator(_no_bool), Field(ge=0, le=1, allow_inf_nan=False)]
Attempts = Annotated[int, BeforeValidator(_no_bool), Field(ge=1, le=20)]
HeaderName = Annotated[str, AfterValidator(_header)]
SecretName = Annotated[str, AfterValidator(_secret_name)]
VariableName = Annotated[str, AfterValidator(_variable)]
