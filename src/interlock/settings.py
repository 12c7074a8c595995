"""What a user can set, as one frozen model read once: file, then environment, then flags.

What personas, policies and prices may hold is checked where they are loaded.
"""

import difflib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from interlock.core import strict_yaml
from interlock.core.errors import ConfigError

FILE = "interlock.yaml"
POLICY = "policy.yaml"
PREFIX = "INTERLOCK_"
KEY_VARIABLES: Mapping[str, str] = {"anthropic": "ANTHROPIC_API_KEY"}
"""Of each provider that needs a key, the variable that holds it; any other's is `NAME_API_KEY`."""
OTHER_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "ANTHROPIC_BASE_URL": ("providers", "anthropic", "base_url"),
    "BRAVE_API_KEY": ("brave", "api_key"),
    "POSTAL_API_KEY": ("postal", "api_key"),
}
_PROJECT = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
SCHEMES = ("sqlite:///", "postgresql://", "postgres://")


def _no_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("expected a number")
    return value


def _http(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("expected a URL such as `https://example.com`")
    return value.rstrip("/")


def _database(value: str) -> str:
    if not value.startswith(SCHEMES):
        scheme, found, _ = value.partition("://")
        what = f"`{scheme}` is no database interlock knows" if found else "it is no URL"
        raise ValueError(f"{what}: use `sqlite:///PATH` or `postgresql://…`")
    if value == "sqlite:///":
        raise ValueError("the path of the file is missing: use `sqlite:///PATH`")
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
        raise ValueError(f"`{value}` is no name of a project: write lower-case letters, digits, - or _ (63 at most)")
    return value


def _zone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (LookupError, ValueError, OSError) as error:
        raise ValueError(f"`{value}` is no time zone: write one such as `Europe/Berlin` or `UTC`") from error
    return value


Amount = Annotated[float, BeforeValidator(_no_bool), Field(gt=0, allow_inf_nan=False)]
Seconds = Annotated[float, BeforeValidator(_no_bool), Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, BeforeValidator(_no_bool), Field(ge=1, le=10_000)]
Url = Annotated[str, AfterValidator(_http)]
ModelName = Annotated[str, AfterValidator(_model_name)]


class Part(BaseModel):
    """A frozen group of settings; an unknown key is a fault."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ProviderSettings(Part):
    """A model provider: where it is and the key for it."""

    base_url: Url | None = None
    api_key_env: str | None = None
    """The variable that holds the key, where it is not the provider's usual one."""
    api_key: SecretStr | None = None


class BraveSettings(Part):
    """Web search."""

    base_url: Url = "https://api.search.brave.com"
    api_key: SecretStr | None = None


class PostalSettings(Part):
    """E-mail by a Postal server; used where `base_url` is set."""

    base_url: Url | None = None
    api_key: SecretStr | None = None
    sender: str | None = None


class SmtpSettings(Part):
    """E-mail by SMTP; used where `host` is set."""

    host: str | None = None
    port: Annotated[int, BeforeValidator(_no_bool), Field(ge=1, le=65535)] = 587
    username: str | None = None
    password: SecretStr | None = None
    starttls: bool = True
    sender: str | None = None


class Times(Part):
    """How long things may take, in seconds.

    Source: numbers, "Time" and "Other defaults".
    """

    heartbeat_s: Seconds = 30.0
    reassign_s: Seconds = 120.0
    blocked_escalation_s: Seconds = 3600.0
    model_call_s: Seconds = 300.0
    task_run_s: Seconds = 1800.0
    chat_run_s: Seconds = 300.0


class Retry(Part):
    """How a failed model call is tried again: a wait that doubles from `base_s` up to `cap_s`.

    `max_attempts` counts the first call too; after them the run keeps its place and waits longer.
    """

    max_attempts: Annotated[int, BeforeValidator(_no_bool), Field(ge=1, le=20)] = 4
    base_s: Seconds = 1.0
    cap_s: Seconds = 30.0


class Settings(Part):
    """Everything that can be set, checked; secrets and the database's password are never printed."""

    home: Path
    database_url: Annotated[str, AfterValidator(_database)] = Field(repr=False)
    model: ModelName | None = None
    project: Annotated[str, AfterValidator(_project_name)] = "default"
    timezone: Annotated[str, AfterValidator(_zone)] = "UTC"
    policy: Path | None = None
    personas: tuple[Path, ...] = ()
    prices: Path | None = None
    providers: Mapping[str, ProviderSettings] = {}
    brave: BraveSettings = BraveSettings()
    postal: PostalSettings = PostalSettings()
    smtp: SmtpSettings = SmtpSettings()
    concurrency: Count = 16
    """How many runs one worker process has in hand at once."""
    mission_budget_usd: Amount = 20.0
    project_day_usd: Amount = 50.0
    approval_expires_s: Seconds = 86_400.0
    times: Times = Times()
    retry: Retry = Retry()

    @property
    def database_name(self) -> str:
        """The database for people: its URL without user and password."""
        scheme, _, rest = self.database_url.partition("://")
        head, at, tail = rest.partition("@")
        return f"{scheme}://{tail if at else head}".partition("?")[0]

    @property
    def is_embedded(self) -> bool:
        """Whether the database is an SQLite file, so that one process executes."""
        return self.database_url.startswith("sqlite:")

    def provider(self, name: str) -> ProviderSettings:
        """What is set for a provider, its key included."""
        return self.providers.get(name, ProviderSettings())

    def key(self, provider: str) -> str | None:
        """The key of a provider in clear, for the adapter that sends it; None where there is none."""
        found = self.provider(provider).api_key
        return found.get_secret_value() if found is not None else None


def load_settings(cwd: Path, env: Mapping[str, str], overrides: Mapping[str, Any]) -> Settings:
    """The settings of a working directory: `interlock.yaml`, overridden by `env`, overridden by `overrides`.

    Relative paths are taken from `cwd`. Overrides that are None do not count. Source: interfaces, "Settings".

    Raises ConfigError with every fault, each with the file and line, the variable or the key that it is in.
    """
    data: dict[str, Any] = {}
    origin: dict[tuple[str, ...], str] = {}
    faults: list[str] = []
    faults += _misnamed(cwd)
    _read_file(cwd / FILE, data, origin, faults)
    _read_env(env, data, origin, faults)
    for key, value in overrides.items():
        if value is not None:
            _put(data, origin, (key,), value, key)
    _complete(cwd, data, env)
    try:
        settings = Settings.model_validate(data)
    except ValidationError as error:
        raise ConfigError(faults + list(_told(error, origin))) from error
    faults += _missing(settings, origin)
    if faults:
        raise ConfigError(faults)
    return settings


def _misnamed(cwd: Path) -> Iterator[str]:
    """Files that look as if they were read and are not."""
    for name in (FILE, POLICY):
        other = Path(name).with_suffix(".yml")
        if os.path.lexists(cwd / other) and not os.path.lexists(cwd / name):
            yield f"{other}: is not read under this name: call it `{name}`"


def _read_file(path: Path, data: dict[str, Any], origin: dict[tuple[str, ...], str], faults: list[str]) -> None:
    try:
        document = strict_yaml.parse(path.read_bytes(), source=path.name)
    except FileNotFoundError:
        return
    except OSError as error:
        faults.append(f"{path.name}:1: cannot be read: {(error.strerror or str(error)).lower()}")
        return
    except ConfigError as error:
        faults.extend(error.faults)
        return
    if document.data is None:
        return
    if not isinstance(document.data, dict):
        faults.append(f"{path.name}:1: settings are `key: value` lines")
        return
    for key, value in _leaves(document.data):
        _put(data, origin, key, value, document.at(key))


def _leaves(value: Mapping[str, Any], at: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, inner in value.items():
        path = (*at, key)
        if isinstance(inner, dict) and inner:
            yield from _leaves(inner, path)
        else:
            yield path, inner


def _put(
    data: dict[str, Any], origin: dict[tuple[str, ...], str], path: tuple[str, ...], value: Any, where: str
) -> None:
    inner = data
    for key in path[:-1]:
        found = inner.get(key)
        inner[key] = inner = found if isinstance(found, dict) else {}
    inner[path[-1]] = value
    origin[path] = where


def _read_env(
    env: Mapping[str, str], data: dict[str, Any], origin: dict[tuple[str, ...], str], faults: list[str]
) -> None:
    known = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    for name, value in sorted(env.items()):
        if not value:
            continue
        if name in OTHER_VARIABLES:
            _put(data, origin, OTHER_VARIABLES[name], value, name)
        elif name.startswith(PREFIX):
            path = tuple(name.removeprefix(PREFIX).lower().split("__"))
            if path[0] in Settings.model_fields and all(path):
                _put(data, origin, path, value.split(os.pathsep) if path == ("personas",) else value, name)
            elif near := difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.85):
                faults.append(f"{name}: unknown setting, did you mean `{near[0]}`")


def _complete(cwd: Path, data: dict[str, Any], env: Mapping[str, str]) -> None:
    """Fills in what depends on the working directory, and the keys of providers."""
    home = _absolute(cwd, data.get("home") or ".interlock")
    data["home"] = home
    if isinstance(home, Path):
        data.setdefault("database_url", f"sqlite:///{home / 'interlock.db'}")
    for name, default in (("policy", cwd / POLICY), ("prices", None)):
        if data.get(name) is not None:
            data[name] = _absolute(cwd, data[name])
        elif default is not None and os.path.lexists(default):
            data[name] = default
    given = data.get("personas")
    if given is None:
        data["personas"] = (cwd / "personas",) if os.path.lexists(cwd / "personas") else ()
    elif isinstance(given, (list, tuple, str, Path)):
        folders = [given] if isinstance(given, (str, Path)) else given
        data["personas"] = tuple(_absolute(cwd, folder) for folder in folders)
    providers = data.setdefault("providers", {})
    if isinstance(providers, dict):
        for name in {*KEY_VARIABLES, *providers}:
            _add_key(providers, name, env)


def _add_key(providers: dict[str, Any], name: str, env: Mapping[str, str]) -> None:
    given = providers.get(name) or {}
    if not isinstance(given, dict) or "api_key" in given:
        return
    variable = given.get("api_key_env") or KEY_VARIABLES.get(name) or f"{name.upper().replace('-', '_')}_API_KEY"
    if isinstance(variable, str) and env.get(variable):
        providers[name] = {**given, "api_key": env[variable]}


def _absolute(cwd: Path, value: Any) -> Any:
    return cwd / Path(value).expanduser() if isinstance(value, (str, Path)) else value


def _missing(settings: Settings, origin: Mapping[tuple[str, ...], str]) -> list[str]:
    faults = []
    for name, path in (("policy", settings.policy), ("prices", settings.prices)):
        if path is not None and not path.is_file():
            faults.append(f"{origin.get((name,), name)}: there is no file `{path}`")
    for folder in settings.personas:
        if not folder.is_dir():
            faults.append(f"{origin.get(('personas',), 'personas')}: there is no folder `{folder}`")
    return faults


def _told(error: ValidationError, origin: Mapping[tuple[str, ...], str]) -> Iterator[str]:
    for detail in error.errors(include_input=False, include_url=False):
        path = tuple(str(part) for part in detail["loc"])
        within = (at for at in origin if at[: len(path)] == path)
        where = next((origin[path[:n]] for n in range(len(path), 0, -1) if path[:n] in origin), None)
        where = where or next((origin[at] for at in within), FILE)
        if detail["type"] == "extra_forbidden":
            near = difflib.get_close_matches(path[-1], _known(path[:-1]), n=1)
            yield f"{where}: unknown setting `{'.'.join(path)}`" + (f", did you mean `{near[0]}`" if near else "")
        else:
            yield f"{where}: `{'.'.join(path)}`: {_problem(detail)}"


def _problem(detail: Mapping[str, Any]) -> str:
    text = str(detail["msg"]).removeprefix("Value error, ").removeprefix("Input should be ")
    return f"should be {text}" if str(detail["msg"]).startswith("Input should be ") else text[:1].lower() + text[1:]


def _known(path: tuple[str, ...]) -> list[str]:
    if path[:1] == ("providers",):
        return list(ProviderSettings.model_fields)
    model: Any = Settings
    for key in path:
        model = model.model_fields[key].annotation
    return list(model.model_fields)
