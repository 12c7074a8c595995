"""Which model is meant, and the adapter that speaks to it.

Reading settings and variables belongs to `settings`; each adapter has a module of its own.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from interlock.core.errors import UsageError
from interlock.llm.messages import Model, ModelRef
from interlock.llm.models import DEFAULT_MODELS
from interlock.settings import KEY_VARIABLES


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """How to reach a provider: its key (never shown) and a base URL in place of the usual one."""

    api_key: str | None = field(default=None, repr=False)
    base_url: str | None = None


def resolve_model(named: str | None, providers: Mapping[str, ProviderSettings]) -> ModelRef:
    """The model to use: the one named, else the default of the one provider that has a key.

    Raises UsageError where the name is malformed or of a provider that there is none of, where no key is set,
    and where several are.

    Source: decisions, "Models".
    """
    if named:
        try:
            ref = ModelRef.parse(named.strip())
        except ValueError as error:
            raise UsageError(str(error)) from error
        _factory(ref.provider)
        return ref
    keyed = [name for name in KEY_VARIABLES if (given := providers.get(name)) is not None and given.api_key]
    return choose_default(keyed)


def choose_default(keyed: list[str]) -> ModelRef:
    """The default model of the one provider with a key.

    Raises UsageError where there is none or more than one, saying how to choose.
    """
    if len(keyed) == 1:
        return ModelRef(keyed[0], DEFAULT_MODELS[keyed[0]])
    if not keyed:
        variables = " or ".join(KEY_VARIABLES.values())
        raise UsageError(
            f"no model to work with: set {variables} for a real one, "
            "or try everything at no cost with `--model rehearsal/offline`"
        )
    models = ", ".join(f"`{name}/{DEFAULT_MODELS[name]}`" for name in keyed)
    raise UsageError(f"several providers have keys: choose with `--model` or INTERLOCK_MODEL, such as {models}")


def open_model(ref: ModelRef, settings: ProviderSettings) -> Model:
    """An adapter for the provider of `ref`; the caller closes it. The first one of a provider imports its SDK.

    Raises UsageError for an unknown provider, a missing key, or a base URL that is none.
    """
    return _factory(ref.provider)(settings)


class Models:
    """The adapters of a process, one for each provider, opened at their first use."""

    def __init__(self, providers: Mapping[str, ProviderSettings]) -> None:
        self._providers = providers
        self._open: dict[str, Model] = {}
        self._lock = asyncio.Lock()

    def resolve(self, named: str | None) -> ModelRef:
        """The model that is meant, given what these providers have keys for.

        Raises UsageError as `resolve_model` does.
        """
        return resolve_model(named, self._providers)

    async def get(self, ref: ModelRef) -> Model:
        """The adapter for a model. A first use imports the SDK in a thread, so that leases go on being renewed.

        Raises UsageError as `open_model` does.
        """
        async with self._lock:
            if ref.provider not in self._open:
                settings = self._providers.get(ref.provider, ProviderSettings())
                self._open[ref.provider] = await asyncio.to_thread(open_model, ref, settings)
            return self._open[ref.provider]

    async def close(self) -> None:
        """Closes every adapter; the pool can be used again."""
        async with self._lock:
            adapters, self._open = list(self._open.values()), {}
            for adapter in adapters:
                await adapter.close()


def _anthropic(settings: ProviderSettings) -> Model:
    if not settings.api_key:
        raise UsageError(f"anthropic needs a key: set {KEY_VARIABLES['anthropic']}, or use `--model rehearsal/offline`")
    from interlock.llm.anthropic import AnthropicModel

    return AnthropicModel(settings.api_key, settings.base_url)


def _rehearsal(_: ProviderSettings) -> Model:
    from interlock.llm.rehearsal import RehearsalModel

    return RehearsalModel()


Factory = Callable[[ProviderSettings], Model]
FACTORIES: Mapping[str, Factory] = {"anthropic": _anthropic, "rehearsal": _rehearsal}
"""What makes the adapter of each provider that this version has."""


def _factory(provider: str) -> Factory:
    if provider not in FACTORIES:
        supported = ", ".join(f"`{name}`" for name in FACTORIES)
        raise UsageError(f"provider `{provider}` is not supported by this version: use one of {supported}")
    return FACTORIES[provider]
