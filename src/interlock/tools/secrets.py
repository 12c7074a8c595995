"""Named secrets: filled into a call when it is executed, and masked in everything that comes back. Source: row G8.

INVARIANT: a value leaves this module only in a call of a tool that the settings name for it; decisions, approvals,
prompts, traces and storage contain the placeholder. Suspected secrets are masked in `policy.secrets`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from interlock.core.errors import InterlockError
from interlock.policy.placeholders import PLACEHOLDER, in_names, names, texts
from interlock.settings import SecretSettings, Settings
from interlock.tools.destinations import hosts_of, names_elsewhere
from interlock.tools.masks import SHORTEST, Masks

LARGEST = 64 * 1024
ANYWHERE = "*"
KEPT_BY = frozenset({"send_email"})
"""Built-in tools that store their arguments, although they reach nothing outside."""


class SecretProblem(InterlockError):
    """A secret that is missing, too short, or not for this call."""


@dataclass(frozen=True, slots=True)
class Who:
    """The caller and the tool."""

    tool: str
    persona: str
    outside: bool = True
    """Whether the tool's effect leaves Interlock."""


class Vault:
    """The named secrets of an installation, and all other values to mask.

    `known` are those others by name: keys of providers, tokens of chat connectors.
    """

    def __init__(
        self, secrets: Mapping[str, SecretSettings] | None = None, known: Mapping[str, str] | None = None
    ) -> None:
        self.secrets = dict(secrets or {})
        self._masks = Masks()
        for name, value in (known or {}).items():
            if _is_telling(value):
                self._masks.learn(name, value)
        for name in self.secrets:
            self._look(name)

    @classmethod
    def of(cls, settings: Settings) -> "Vault":
        """The vault of the settings. Reads secret files; missing ones are reported on use."""
        return cls(settings.secrets, dict(known_values(settings)))

    def _look(self, name: str) -> str | None:
        try:
            return self.value(name)
        except SecretProblem:
            return None

    def value(self, name: str) -> str:
        """A secret in clear; from now on it is masked everywhere.

        Raises SecretProblem.
        """
        given = self.secrets[name]
        value = _read(name, given.file) if given.file is not None else None
        if given.value is not None:
            value = given.value.get_secret_value()
        if not value:
            raise SecretProblem(f"the secret `{name}` is not set: set the variable {given.env}")
        if len(value) < SHORTEST:
            raise SecretProblem(
                f"the secret `{name}` is too short to be kept out of results: it needs {SHORTEST} characters"
            )
        self._masks.learn(name, value)
        return value

    def standing(self) -> list[dict[str, Any]]:
        """Each secret without its value: name, source, problem (None if it is there), tools, personas, domains."""
        out = []
        for name, given in sorted(self.secrets.items()):
            problem = None
            try:
                self.value(name)
            except SecretProblem as error:
                problem = str(error)
            kept = sorted(KEPT_BY & set(given.tools))
            if problem is None and kept:
                problem = f"`{kept[0]}` stores what it is given, so that it gets no secret: take it off the list"
            source = f"variable {given.env}" if given.env is not None else f"file {given.file}"
            out.append(
                {
                    "name": name, "source": source, "problem": problem, "tools": list(given.tools),
                    "personas": list(given.personas), "domains": list(given.domains),
                }
            )  # fmt: skip
        return out

    def offered(self, who: Who) -> tuple[str, ...]:
        """The names of the secrets that a call of this tool by this persona may be given."""
        if not who.outside or who.tool in KEPT_BY:
            return ()
        return tuple(
            name
            for name, given in sorted(self.secrets.items())
            if who.tool in given.tools and (not given.personas or who.persona in given.personas)
        )

    def refusal(self, who: Who, args: Any) -> str | None:
        """Why a call cannot be given the secrets that it names; None if it can, or names none."""
        named = names(args)
        if not named:
            return None
        if in_names(args):
            return "a secret can be given as a value of an argument, not in the name of one"
        offered = self.offered(who)
        if unknown := sorted(named - set(offered)):
            there = ", ".join(offered) or "none"
            return f"there is no secret `{unknown[0]}` for {who.tool} here; there are: {there}"
        for name in sorted(named):
            domains = self.secrets[name].domains
            if domains and ANYWHERE not in domains and hosts_of(args) - {d.lower() for d in domains}:
                return f"the secret `{name}` may go to {', '.join(domains)} only"
        return None

    def may_use(self, who: Who, args: Any) -> frozenset[str]:
        """Those of the named secrets that the settings allow at the call's destination, without asking a person."""
        named = names(args)
        if not named or self.refusal(who, args) is not None:
            return frozenset()
        return frozenset(name for name in named if _goes_where_it_may(args, self.secrets[name].domains))

    def filled(self, who: Who, args: Any) -> Any:
        """The arguments with values in place of placeholders; for the tool only.

        Raises SecretProblem.
        """
        if (problem := self.refusal(who, args)) is not None:
            raise SecretProblem(problem)
        values = {name: self.value(name) for name in sorted(names(args))}
        return _put(args, values) if values else args

    def given(self, who: Who, name: str) -> str:
        """The value of one secret, for a tool's own code.

        Raises SecretProblem.
        """
        offered = self.offered(who)
        if name not in offered:
            raise SecretProblem(
                f"there is no secret `{name}` for {who.tool} here; there are: {', '.join(offered) or 'none'}"
            )
        return self.value(name)

    @property
    def known(self) -> int:
        """The number of masked values; it changes when one is added."""
        return len(self._masks)

    def scrub(self, text: str) -> str:
        """The text with every known value masked, also if encoded as base64, hex, URL, JSON or HTML."""
        return self._masks.scrub(text)

    def parted(self, text: str) -> tuple[str, str]:
        """The masked part of a growing text, and its end, in which a value may have begun."""
        masked = self._masks.scrub(text)
        kept = self._masks.begun(masked)
        return (masked[:-kept], masked[-kept:]) if kept else (masked, "")

    def scrub_bytes(self, data: bytes) -> bytes:
        """The same for the bytes of a file."""
        text = data.decode("utf-8", "surrogateescape")
        masked = self._masks.scrub(text)
        return data if masked is text else masked.encode("utf-8", "surrogateescape")

    def scrub_value(self, value: Any) -> Any:
        """The same for JSON including keys; a value without secrets is returned unchanged."""
        if not self._masks or all(self._masks.scrub(text) is text for text in texts(value)):
            return value
        return _mapped(value, self._masks.scrub)


def known_values(settings: Settings) -> Iterable[tuple[str, str]]:
    """The keys, tokens and passwords in the settings, by the name of the setting."""
    for provider, given in settings.providers.items():
        if given.api_key is not None:
            yield f"the key of {provider}", given.api_key.get_secret_value()
        for header, value in given.headers.items():
            yield f"the header {header} of {provider}", value.get_secret_value()
    for part, name in (
        ("brave", "api_key"), ("postal", "api_key"), ("smtp", "password"), ("slack", "bot_token"),
        ("slack", "signing_secret"), ("slack", "app_token"), ("telegram", "bot_token"), ("telegram", "webhook_secret"),
        ("sentry", "dsn"), ("audit", "key"),
    ):  # fmt: skip
        value = getattr(getattr(settings, part), name)
        if value is not None:
            yield f"{part}.{name}", value.get_secret_value()
    for url in (settings.database_url, settings.database_direct_url):
        for password in _passwords(url or ""):
            yield "the password of the database", password


def _passwords(url: str) -> set[str]:
    """The passwords in a database's address, before the host or among the parameters, as written and as meant."""
    parts = urlsplit(url)
    written = {parts.password or "", *(value for key, value in parse_qsl(parts.query) if key == "password")}
    return {form for each in written if each for form in (each, unquote(each))}


def _is_telling(value: str) -> bool:
    """Whether a value is long enough to differ from ordinary words."""
    return len(value) >= 12 or (len(value) >= SHORTEST and any(c.isdigit() for c in value))


def _read(name: str, path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise SecretProblem(f"the secret `{name}` is larger than {LARGEST:,} bytes: give it a file of its own")
        return data.decode().rstrip("\r\n")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise SecretProblem(f"the secret `{name}` cannot be read from `{path}`: {why}") from error
    except UnicodeDecodeError as error:
        raise SecretProblem(f"the secret `{name}` in `{path}` is not a text: store it as base64") from error


def _goes_where_it_may(args: Any, domains: Iterable[str]) -> bool:
    known, hosts = {each.lower() for each in domains}, hosts_of(args)
    return ANYWHERE in known or (bool(hosts) and hosts <= known and not names_elsewhere(args, known))


def _put(value: Any, values: Mapping[str, str]) -> Any:
    return _mapped(value, lambda text: PLACEHOLDER.sub(lambda match: values[match[1]], text), keys=False)


def _mapped(value: Any, change: Callable[[str], str], *, keys: bool = True) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(str(k)) if keys else k: _mapped(item, change, keys=keys) for k, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_mapped(item, change, keys=keys) for item in value]
    return value
