"""Loads settings from the file, the environment and flags, and reports all faults at once, each with its place.

What can be set is in `model`; personas, policies and prices are checked where they are loaded.
"""

import difflib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from interlock.core import strict_yaml
from interlock.core.errors import ConfigError
from interlock.settings.model import ProjectSettings, ProviderSettings, SecretSettings, Settings
from interlock.settings.reading import read_bounded

FILE = "interlock.yaml"
POLICY = "policy.yaml"
HEARTBEAT = "HEARTBEAT.md"
PREFIX = "INTERLOCK_"
PLACE = ("home", "database_url", "database_direct_url", "database_pooler")
KEY_VARIABLES: Mapping[str, str] = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "google": "GEMINI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "groq": "GROQ_API_KEY",
    "together": "TOGETHER_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "fireworks": "FIREWORKS_API_KEY",
    "perplexity": "PERPLEXITY_API_KEY",
}
"""Of each provider that needs a key, the variable that holds it; any other's is `NAME_API_KEY`.

Source: numbers, "Providers".
"""
OTHER_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "ANTHROPIC_BASE_URL": ("providers", "anthropic", "base_url"),
    "BRAVE_API_KEY": ("brave", "api_key"),
    "INTERLOCK_AUDIT_KEY": ("audit", "key"),
    "OPENAI_BASE_URL": ("providers", "openai", "base_url"),
    "POSTAL_API_KEY": ("postal", "api_key"),
    "SENTRY_DSN": ("sentry", "dsn"),
    "SLACK_APP_TOKEN": ("slack", "app_token"),
    "SLACK_BOT_TOKEN": ("slack", "bot_token"),
    "SLACK_SIGNING_SECRET": ("slack", "signing_secret"),
    "TELEGRAM_BOT_TOKEN": ("telegram", "bot_token"),
}


def key_variable(provider: str) -> str:
    """The environment variable that holds a provider's key, unless its settings name another."""
    return KEY_VARIABLES.get(provider) or f"{provider.upper().replace('-', '_')}_API_KEY"


def load_settings(cwd: Path, env: Mapping[str, str], overrides: Mapping[str, Any]) -> Settings:
    """The settings of a working directory: `interlock.yaml`, overridden by `env`, overridden by `overrides`.

    Relative paths are relative to `cwd`. Overrides that are None are ignored.

    Raises ConfigError with every fault, each with its file and line, its variable or its key.

    Source: interfaces, "Settings".
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
    faults += _fill_in(cwd, data, env, origin)
    try:
        settings = Settings.model_validate(data)
    except ValidationError as error:
        raise ConfigError(faults + list(_faults_of(error, origin))) from error
    faults += _missing(settings, origin)
    if faults:
        raise ConfigError(faults)
    return settings


def load_place(cwd: Path, env: Mapping[str, str]) -> Settings:
    """The places of the home and the database, with defaults for all other settings: a squad can be stopped even if
    these have faults.

    Raises ConfigError if the places are uncertain.
    """
    data: dict[str, Any] = {}
    origin: dict[tuple[str, ...], str] = {}
    faults = list(_misnamed(cwd))
    _read_file(cwd / FILE, data, origin, faults)
    if faults:
        raise ConfigError(faults)
    _read_env(env, data, origin, faults)
    data = {name: data[name] for name in PLACE if name in data}
    _complete(cwd, data, {})
    try:
        return Settings.model_validate({name: data[name] for name in PLACE if name in data})
    except ValidationError as error:
        raise ConfigError(list(_faults_of(error, origin))) from error


def _misnamed(cwd: Path) -> Iterator[str]:
    """Settings files with a wrong name, which would be ignored."""
    for name in (FILE, POLICY):
        other = Path(name).with_suffix(".yml")
        if os.path.lexists(cwd / other) and not os.path.lexists(cwd / name):
            yield f"{other}: is not read under this name: call it `{name}`"


def _read_file(path: Path, data: dict[str, Any], origin: dict[tuple[str, ...], str], faults: list[str]) -> None:
    try:
        if not os.path.lexists(path):
            return
        document = strict_yaml.parse(read_bounded(path, strict_yaml.LARGEST_BYTES), source=path.name)
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
                _put(data, origin, path, _said(path, value), name)
            elif near := difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.85):
                faults.append(f"{name}: unknown setting, did you mean `{near[0]}`")


def _said(path: tuple[str, ...], value: str) -> Any:
    """The value of a variable; a list is separated by commas, one of paths as in PATH."""
    kind: Any = Settings
    for key in path:
        field = getattr(kind, "model_fields", {}).get(key)
        if field is None:
            return value
        kind = field.annotation
    if get_origin(kind) is not tuple:
        return value
    between = os.pathsep if get_args(kind)[0] is Path else ","
    return [part.strip() for part in value.split(between) if part.strip()]


def _complete(cwd: Path, data: dict[str, Any], env: Mapping[str, str]) -> None:
    """Adds what depends on the working directory, and the keys of providers."""
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
    data["bootstrap"] = _absolute(cwd, data.get("bootstrap") or ".")
    heartbeat = data.setdefault("heartbeat", {})
    if isinstance(heartbeat, dict):
        heartbeat["file"] = _absolute(cwd, heartbeat.get("file") or HEARTBEAT)
    providers = data.setdefault("providers", {})
    if isinstance(providers, dict):
        for name in {*KEY_VARIABLES, *providers}:
            _add_key(providers, name, env)


def _add_key(providers: dict[str, Any], name: str, env: Mapping[str, str]) -> None:
    given = providers.get(name) or {}
    if not isinstance(given, dict) or "api_key" in given:
        return
    variable = given.get("api_key_env") or key_variable(name)
    if isinstance(variable, str) and env.get(variable):
        providers[name] = {**given, "api_key": env[variable]}


def _fill_in(
    cwd: Path, data: dict[str, Any], env: Mapping[str, str], origin: Mapping[tuple[str, ...], str]
) -> Iterator[str]:
    """Makes the paths of keys and secrets absolute, and reads secrets from `env`; a value in the settings is a fault.

    What has a wrong form is left as it is, to be reported with the other faults.
    """
    secrets, audit, sandbox = data.get("secrets"), data.get("audit"), data.get("sandbox")
    secrets = secrets if isinstance(secrets, dict) else {}
    for name, given in list(secrets.items()):
        if not isinstance(given, dict):
            continue
        if given.pop("value", None) is not None:
            yield (
                f"{origin.get(('secrets', name, 'value'), FILE)}: `secrets.{name}.value`: a secret is not written into"
                " settings: say where it is, with `env: NAME` or `file: PATH`"
            )
        variable = given.get("env")
        found = {"value": env[variable]} if isinstance(variable, str) and env.get(variable) else {}
        path = {"file": _absolute(cwd, given["file"])} if "file" in given else {}
        secrets[name] = {**given, **path, **found}
    if isinstance(audit, dict):
        for key in audit.keys() & {"key_file", "heads_file"}:
            audit[key] = _absolute(cwd, audit[key])
        old = audit.get("old_key_files")
        if isinstance(old, list | str):
            files = old if isinstance(old, list) else old.split(os.pathsep)
            audit["old_key_files"] = [_absolute(cwd, each) for each in files]
    if isinstance(sandbox, dict) and isinstance(sandbox.get("readable"), list):
        sandbox["readable"] = [_absolute(cwd, each) for each in sandbox["readable"]]


def _absolute(cwd: Path, value: Any) -> Any:
    return cwd / Path(value).expanduser() if isinstance(value, (str, Path)) else value


def _missing(settings: Settings, origin: Mapping[tuple[str, ...], str]) -> list[str]:
    faults = []
    for name, path in (("policy", settings.policy), ("prices", settings.prices)):
        if path is not None and not os.path.isfile(path):
            faults.append(f"{origin.get((name,), name)}: there is no file `{path}`")
    for folder in settings.personas:
        if not os.path.isdir(folder):
            faults.append(f"{origin.get(('personas',), 'personas')}: there is no folder `{folder}`")
    return faults


def _faults_of(error: ValidationError, origin: Mapping[tuple[str, ...], str]) -> Iterator[str]:
    for detail in error.errors(include_input=False, include_url=False):
        path = tuple(str(part) for part in detail["loc"] if part != "[key]")
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
    text = text.partition(" or instance of ")[0]
    return f"should be {text}" if str(detail["msg"]).startswith("Input should be ") else text[:1].lower() + text[1:]


_NAMED: Mapping[str, type[BaseModel]] = {
    "projects": ProjectSettings, "providers": ProviderSettings, "secrets": SecretSettings,
}  # fmt: skip
"""Settings that hold others by names of the user's own."""


def _known(path: tuple[str, ...]) -> list[str]:
    if path and path[0] in _NAMED:
        return list(_NAMED[path[0]].model_fields)
    model: Any = Settings
    for key in path:
        model = model.model_fields[key].annotation
    return list(model.model_fields)
