"""Resolves the name of a model, and opens its adapter: twelve providers by name, others by their base URL.

Settings and variables are read in `settings`; each adapter has a module of its own.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from interlock.core.errors import UsageError
from interlock.llm.messages import Model, ModelRef
from interlock.llm.models import DEFAULT_MODELS
from interlock.llm.openai_dialects import DIALECTS
from interlock.settings import KEY_VARIABLES, key_variable

NO_KEY = "local"
"""What is sent where no key is needed."""


@dataclass(frozen=True, slots=True)
class ProviderAccess:
    """How to reach a provider: its key (never shown), and a base URL instead of the usual one.

    `protocol` is `openai` or `anthropic`; None for the provider's own, or `openai` for a provider that is not built in.
    `headers` are sent with every call. `key_variable` is the variable that holds the key, for error messages.
    """

    api_key: str | None = field(default=None, repr=False)
    base_url: str | None = None
    protocol: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    key_variable: str | None = None


class NoKey(UsageError):
    """This process has no key for a provider that needs one; other processes may have it."""

    def __init__(self, provider: str, variable: str) -> None:
        self.provider = provider
        super().__init__(f"{provider} needs a key: set {variable}, or use `--model rehearsal/offline`")


def resolve_model(named: str | None, providers: Mapping[str, ProviderAccess]) -> ModelRef:
    """The model to use: the one named, else the default of the one provider that has a key.

    Raises UsageError if the name is malformed, its provider unknown, or none is named and not exactly one key is set.

    Source: decisions, "Models".
    """
    if named:
        try:
            ref = ModelRef.parse(named.strip())
        except ValueError as error:
            raise UsageError(str(error)) from error
        _factory(ref.provider, providers.get(ref.provider, ProviderAccess()))
        return ref
    names = [*KEY_VARIABLES, *(name for name in providers if name not in KEY_VARIABLES)]
    return choose_default([name for name in names if (given := providers.get(name)) is not None and given.api_key])


def choose_default(keyed: list[str]) -> ModelRef:
    """The default model of the one provider with a key.

    Raises UsageError if there is none or more than one, or if it has no default, saying how to choose.
    """
    if len(keyed) == 1 and keyed[0] in DEFAULT_MODELS:
        return ModelRef(keyed[0], DEFAULT_MODELS[keyed[0]])
    if not keyed:
        first, *others = KEY_VARIABLES.values()
        raise UsageError(
            f"no model to work with: set {first} or another provider's key ({', '.join(others)}) for a real one, "
            "or try everything at no cost with `--model rehearsal/offline`"
        )
    if len(keyed) == 1:
        raise UsageError(f"{keyed[0]} has no default model: name the model with `--model {keyed[0]}/MODEL` or "
                         "INTERLOCK_MODEL")  # fmt: skip
    models = ", ".join(f"`{name}/{DEFAULT_MODELS.get(name, 'MODEL')}`" for name in keyed)
    raise UsageError(f"several providers have keys: choose with `--model` or INTERLOCK_MODEL, such as {models}")


def open_model(ref: ModelRef, access: ProviderAccess) -> Model:
    """An adapter for the provider of `ref`; the caller closes it. The first one of a provider imports its SDK.

    A provider that is not built in needs a base URL, but no key.

    Raises UsageError for an unknown provider without a base URL, a missing key, or an invalid base URL.
    """
    return _factory(ref.provider, access)(access)


class Models:
    """The adapters of a process, one for each provider, opened on first use."""

    def __init__(self, providers: Mapping[str, ProviderAccess]) -> None:
        self._providers = providers
        self._open: dict[str, Model] = {}
        self._lock = asyncio.Lock()

    def resolve(self, named: str | None) -> ModelRef:
        """The model that a name means, or the default of the one provider with a key.

        Raises UsageError as `resolve_model` does.
        """
        return resolve_model(named, self._providers)

    async def get(self, ref: ModelRef) -> Model:
        """The adapter for a model. The first use imports the SDK, in a thread, so that leases are renewed meanwhile.

        Raises UsageError as `open_model` does, NoKey among them.
        """
        async with self._lock:
            if ref.provider not in self._open:
                access = self._providers.get(ref.provider, ProviderAccess())
                self._open[ref.provider] = await asyncio.to_thread(open_model, ref, access)
            return self._open[ref.provider]

    async def close(self) -> None:
        """Closes every adapter; the pool can be used again."""
        async with self._lock:
            adapters, self._open = list(self._open.values()), {}
            for adapter in adapters:
                await adapter.close()


Factory = Callable[[ProviderAccess], Model]


def _over(provider: str, protocol: str) -> Factory:
    """The factory for a provider's adapter; `protocol` is the one that it speaks by default."""

    def opened(access: ProviderAccess) -> Model:
        variable = access.key_variable or KEY_VARIABLES.get(provider) or key_variable(provider)
        if provider in KEY_VARIABLES and not access.api_key:
            raise NoKey(provider, variable)
        key, where, headers = access.api_key or None, access.base_url, access.headers
        if (access.protocol or protocol) == "anthropic":
            from interlock.llm.anthropic import AnthropicModel

            return AnthropicModel(key or NO_KEY, where, name=provider, key_variable=variable, headers=headers)
        from interlock.llm.openai_compatible import OpenAICompatibleModel

        return OpenAICompatibleModel(key or NO_KEY, where, name=provider, key_variable=variable, headers=headers)

    return opened


def _rehearsal(_: ProviderAccess) -> Model:
    from interlock.llm.rehearsal import RehearsalModel

    return RehearsalModel()


FACTORIES: Mapping[str, Factory] = {
    "anthropic": _over("anthropic", "anthropic"),
    **{name: _over(name, "openai") for name in DIALECTS},
    "rehearsal": _rehearsal,
}
"""The factories of the adapters of the built-in providers."""


def _factory(provider: str, access: ProviderAccess) -> Factory:
    if provider in FACTORIES:
        return FACTORIES[provider]
    if access.base_url is None:
        known = ", ".join(f"`{name}`" for name in FACTORIES)
        raise UsageError(
            f"there is no provider `{provider}`: use one of {known}, or set its address with "
            f"`providers.{provider}.base_url` in interlock.yaml"
        )
    return _over(provider, "openai")
