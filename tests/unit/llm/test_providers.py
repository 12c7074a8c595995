"""Which model is meant, and what is said where none can be."""

import re
from pathlib import Path

import pytest

from interlock.core.errors import UsageError
from interlock.llm.messages import ModelRef
from interlock.llm.models import DEFAULT_MODELS, model_info
from interlock.llm.prices import PriceTable
from interlock.llm.providers import FACTORIES, Models, ProviderAccess, choose_default, open_model, resolve_model
from interlock.settings import KEY_VARIABLES

KEYED = {"anthropic": ProviderAccess("sk-ant-secret")}


def test_the_named_model_is_used_whatever_keys_there_are() -> None:
    assert resolve_model("rehearsal/offline", KEYED) == ModelRef("rehearsal", "offline")
    assert resolve_model(" anthropic/claude-opus-5-5 ", {}) == ModelRef("anthropic", "claude-opus-5-5")


def test_one_key_and_no_name_means_the_default_of_that_provider() -> None:
    assert resolve_model(None, KEYED) == ModelRef("anthropic", DEFAULT_MODELS["anthropic"])


@pytest.mark.parametrize("given", [{}, {"anthropic": ProviderAccess("")}, {"anthropic": ProviderAccess()}])
def test_no_key_and_no_name_names_both_ways_out(given: dict[str, ProviderAccess]) -> None:
    with pytest.raises(UsageError, match=r"ANTHROPIC_API_KEY.*--model rehearsal/offline"):
        resolve_model(None, given)


def test_several_keys_and_no_name_say_how_to_choose() -> None:
    with pytest.raises(UsageError, match=r"choose with `--model` or INTERLOCK_MODEL.*`anthropic/.*`rehearsal/"):
        choose_default(["anthropic", "rehearsal"])


def test_a_name_without_a_provider_shows_how_to_write_one() -> None:
    with pytest.raises(UsageError, match=r"`claude` is not a model: write `provider/model`"):
        resolve_model("claude", KEYED)


def test_a_provider_that_there_is_none_of_is_told_with_those_there_are_and_how_to_add_it() -> None:
    with pytest.raises(UsageError, match=r"no provider `opnai`: use one of .*`openai`.*`providers\.opnai\.base_url`"):
        resolve_model("opnai/gpt-6", KEYED)
    with pytest.raises(UsageError, match="no provider"):
        open_model(ModelRef("opnai", "gpt-6"), ProviderAccess("k"))


def test_the_twelve_providers_are_known_by_name() -> None:
    assert set(FACTORIES) == {*KEY_VARIABLES, "ollama", "lmstudio", "rehearsal"}
    assert len(FACTORIES) == 13


def test_a_base_url_is_all_that_another_provider_needs() -> None:
    elsewhere = {"in-house": ProviderAccess(None, "http://127.0.0.1:9/v1")}
    ref = resolve_model("in-house/llama/70b", elsewhere)
    assert ref == ModelRef("in-house", "llama/70b")
    assert open_model(ref, elsewhere["in-house"]).provider == "in-house"
    spoken = open_model(ref, ProviderAccess("key", "http://127.0.0.1:9", "anthropic"))
    assert (type(spoken).__name__, spoken.provider) == ("AnthropicModel", "in-house")


@pytest.mark.parametrize("provider", ["ollama", "lmstudio"])
def test_models_on_this_machine_need_no_key(provider: str) -> None:
    assert open_model(resolve_model(f"{provider}/qwen3", {}), ProviderAccess()).provider == provider


@pytest.mark.parametrize("provider", sorted(KEY_VARIABLES))
def test_every_other_provider_names_the_variable_of_its_key(provider: str) -> None:
    with pytest.raises(UsageError, match=f"{provider} needs a key: set {KEY_VARIABLES[provider]},"):
        open_model(ModelRef(provider, "m"), ProviderAccess())


def test_one_key_of_a_provider_without_a_default_asks_for_the_model() -> None:
    with pytest.raises(
        UsageError, match=r"together has no default model: name the model with `--model together/MODEL`"
    ):
        resolve_model(None, {"together": ProviderAccess("k")})


def test_a_missing_key_is_told_with_its_variable() -> None:
    with pytest.raises(UsageError, match="set ANTHROPIC_API_KEY"):
        open_model(ModelRef("anthropic", "claude-sonnet-5-5"), ProviderAccess())


@pytest.mark.parametrize("key", ["sk-ant\nsecret", "sk ant", "sk-ä", "   "])
def test_a_key_that_cannot_be_one_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(UsageError, match="ANTHROPIC_API_KEY does not hold a key") as refused:
        open_model(ModelRef("anthropic", "m"), ProviderAccess(key))
    assert key.strip() == "" or key not in str(refused.value)


def test_a_base_url_that_cannot_be_one_is_refused() -> None:
    with pytest.raises(UsageError, match="is not a base URL for anthropic"):
        open_model(ModelRef("anthropic", "m"), ProviderAccess("sk-ant", "http://[::1"))


def test_settings_do_not_show_their_key() -> None:
    assert "secret" not in repr(KEYED["anthropic"])


async def test_a_pool_opens_one_adapter_for_a_provider() -> None:
    pool = Models(KEYED)
    first = await pool.get(ModelRef("anthropic", "claude-opus-5-5"))
    assert await pool.get(ModelRef("anthropic", "claude-haiku-5-5")) is first
    assert (await pool.get(ModelRef("rehearsal", "offline"))).simulated
    await pool.close()
    assert await pool.get(ModelRef("anthropic", "claude-opus-5-5")) is not first
    await pool.close()


@pytest.mark.parametrize("provider", sorted(set(DEFAULT_MODELS) - {"mistral", "openrouter"}))
def test_every_default_model_that_is_one_model_is_known_and_has_a_price(provider: str) -> None:
    ref = ModelRef(provider, DEFAULT_MODELS[provider])
    assert PriceTable.load().rate(ref) is not None
    assert model_info(ref) is not model_info(ModelRef(provider, "unknown"))


def test_an_unknown_model_gets_cautious_assumptions_and_a_dated_one_those_of_its_model() -> None:
    assert model_info(ModelRef("anthropic", "claude-unknown")).context_tokens == 200_000
    assert model_info(ModelRef("anthropic", "claude-opus-5-5-20261001")).max_output_tokens == 128_000


def test_the_page_on_providers_has_each_with_its_key_and_default() -> None:
    page = (Path(__file__).parents[3] / "docs" / "providers.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \|$", page, re.MULTILINE)
    told = {name: (key.strip("`"), model.strip("`")) for name, key, model in rows}
    known = [name for name in FACTORIES if name != "rehearsal"]
    assert told == {n: (KEY_VARIABLES.get(n, "none"), DEFAULT_MODELS.get(n, "name one")) for n in known}
