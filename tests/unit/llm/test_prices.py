"""Prices: bands, caches, unknown models, a user's corrections."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.errors import ConfigError
from interlock.llm.messages import ModelRef, Usage
from interlock.llm.prices import Band, Cost, PriceTable, Rate, charge, prices_from, worst

SONNET = ModelRef("anthropic", "claude-sonnet-5-5")
HAIKU = ModelRef("anthropic", "claude-haiku-5-5")
STRANGER = ModelRef("anthropic", "claude-nobody-knows")
KNOWN = (SONNET, HAIKU, ModelRef("anthropic", "claude-opus-5-5"), ModelRef("anthropic", "claude-fable-5-1"))

tokens = st.integers(0, 300_000)


def row(**changes: Any) -> dict[str, Any]:
    bands = [{"up_to_prompt_tokens": None, "input": 3_000_000, "output": 9_000_000}]
    return {"provider": "anthropic", "model": "claude-sonnet-5-5", "bands": bands, **changes}


def test_input_and_output_are_charged_at_their_prices() -> None:
    assert PriceTable.load().cost(SONNET, Usage(1_000_000, 1_000_000)) == Cost(12_000_000, known=True)


def test_a_part_of_a_micro_dollar_is_rounded_up() -> None:
    assert PriceTable.load().cost(HAIKU, Usage(1, 0)) == Cost(1, known=True)


def test_cache_reads_and_writes_have_prices_of_their_own() -> None:
    usage = Usage(cache_read_tokens=1_000_000, cache_write_5m_tokens=1_000_000, cache_write_1h_tokens=1_000_000)
    assert PriceTable.load().cost(SONNET, usage).microusd == 100_000 + 2_500_000 + 4_000_000
    assert PriceTable.load().cost(ModelRef("anthropic", "claude-sonnet-5"), usage).microusd == 6_700_000


def test_a_long_prompt_moves_every_token_to_the_higher_band() -> None:
    table = PriceTable.load()
    assert table.cost(HAIKU, Usage(100_000, 1000)).microusd == 10_000 + 500
    assert table.cost(HAIKU, Usage(1, 1000, cache_read_tokens=100_000)).microusd == 5_001 + 2_500


def test_a_dated_name_has_the_price_of_its_model() -> None:
    dated = ModelRef("anthropic", "claude-haiku-4-5-20251001")
    assert PriceTable.load().cost(dated, Usage(1_000_000, 0)) == Cost(1_000_000, known=True)


def test_an_unknown_model_is_charged_more_than_any_known_one_and_says_so() -> None:
    table, usage = PriceTable.load(), Usage(1000, 1000, 1000, 1000, 1000)
    charged = table.cost(STRANGER, usage)
    assert not charged.known
    assert charged.microusd > max(table.cost(ref, usage).microusd for ref in KNOWN)


def test_a_star_stands_for_every_model_of_a_provider_that_has_no_price_of_its_own() -> None:
    free = {"provider": "ollama", "model": "*", "bands": [{"up_to_prompt_tokens": None, "input": 0, "output": 0}]}
    priced = row(provider="ollama", model="kimi-cloud")
    table = PriceTable.load({"models": [free, priced]})
    local, cloud, usage = ModelRef("ollama", "qwen3:8b"), ModelRef("ollama", "kimi-cloud"), Usage(1_000_000, 1_000_000)
    assert table.cost(local, usage) == Cost(0, known=True)
    assert table.worst_case(local, 1_000_000, 1_000_000) == 0
    assert table.cost(cloud, usage) == Cost(12_000_000, known=True)
    assert not table.cost(ModelRef("lmstudio", "qwen3"), usage).known


def test_the_offline_model_costs_nothing() -> None:
    assert PriceTable.load().cost(ModelRef("rehearsal", "offline"), Usage(10_000, 10_000)) == Cost(0, known=True)


def test_a_user_corrects_one_price_and_the_others_stay() -> None:
    table = PriceTable.load({"models": [row(effective="2026-12-01", cache_read_permille=500)]}).on(
        lambda: date(2026, 12, 1)
    )
    assert table.cost(SONNET, Usage(1_000_000, 0, cache_read_tokens=1_000_000)).microusd == 4_500_000
    assert table.cost(HAIKU, Usage(10_000, 0)).microusd == 1_000
    rate = table.rate(SONNET)
    assert rate is not None
    assert rate.effective == date(2026, 12, 1)


def test_a_user_sets_the_rate_of_unknown_models() -> None:
    unknown = {"bands": [{"input": 1_000_000, "output": 2_000_000}]}
    assert PriceTable.load({"unknown": unknown}).cost(STRANGER, Usage(10, 10)) == Cost(30, known=False)


@pytest.mark.parametrize(
    ("overrides", "problem"),
    [
        ({"modles": []}, "unknown key `modles`"),
        ({"models": {}}, "`models` is not a list"),
        ({"models": [{"model": "x"}]}, "`provider` and `model` are needed"),
        ({"models": [row(bands=[])]}, "`bands` needs entries"),
        ({"models": [row(bands=[{"input": -1, "output": 1}])]}, "`bands` needs entries"),
        ({"models": [row(bands=[{"input": 0.5, "output": 1}])]}, "`bands` needs entries"),
        ({"models": [row(bands=[{"up_to_prompt_tokens": 5, "input": 1, "output": 1}])]}, "must rise"),
        ({"models": [row(cache_read_permille="cheap")]}, "`cache_read_permille` is not a whole number"),
        ({"models": [row(effective="soon")]}, "is not a date"),
        ({"models": [row(prise=1)]}, "unknown key `prise`"),
        ({"unknown": 3}, "a mapping with `bands` is needed"),
        ({"unknown": {"bands": [{"input": 0, "output": 1}]}}, "never free"),
        ({"models": [row(cache_read_permille=0)]}, "would make tokens free"),
        ({"models": [row(), row()]}, "has two prices"),
        ({"models": [row(effective="2027-01-01"), row(effective="2027-01-01")]}, "has two prices since 2027-01-01"),
        ({"models": [row(bands=[{"input": 10**13, "output": 1}])]}, "`bands` needs entries"),
    ],
)
def test_a_wrong_price_is_refused_with_its_place(overrides: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as refused:
        PriceTable.load(overrides, source="prices.yaml")
    assert all(fault.startswith("prices.yaml:1: ") for fault in refused.value.faults)


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as refused:
        PriceTable.load({"models": [row(prise=1), {"model": "x"}], "unknown": 3})
    assert len(refused.value.faults) == 3


def at(table: PriceTable, day: str) -> PriceTable:
    return table.on(lambda: date.fromisoformat(day))


def priced(micro: int, **more: Any) -> dict[str, Any]:
    return row(bands=[{"input": micro, "output": micro}], **more)


def test_a_later_entry_takes_over_on_its_day_and_not_before() -> None:
    table = PriceTable.load(
        {"models": [priced(9_000_000, effective="2026-12-01"), priced(7_000_000, effective="2027-02-01")]}
    )
    cost = {day: at(table, day).cost(SONNET, Usage(1_000_000)).microusd for day in (
        "2025-01-01", "2026-11-30", "2026-12-01", "2027-01-31", "2027-02-01", "2030-01-01",
    )}  # fmt: skip
    assert list(cost.values()) == [2_000_000, 2_000_000, 9_000_000, 9_000_000, 7_000_000, 7_000_000]


def test_a_price_without_a_date_holds_at_once_and_over_all_that_came_with_interlock() -> None:
    table = PriceTable.load({"models": [priced(9_000_000)]})
    assert {at(table, day).cost(SONNET, Usage(1_000_000)).microusd for day in ("2020-01-01", "2026-11-01")} == {
        9_000_000
    }


def test_a_call_on_the_eve_of_a_rise_is_set_aside_at_the_higher_price() -> None:
    table = PriceTable.load({"models": [priced(9_000_000, effective="2026-12-01")]})
    assert at(table, "2026-11-29").worst_case(SONNET, 0, 1_000_000) == 10_000_000
    eve = at(table, "2026-11-30")
    assert eve.worst_case(SONNET, 1_000_000, 0) == at(table, "2026-12-01").worst_case(SONNET, 1_000_000, 0)


def test_faults_of_a_file_are_told_with_their_lines() -> None:
    text = b"""models:
  - provider: anthropic
    model: a
    bands: [{input: 1, output: 2}]
    effective: soon
  - provider: anthropic
unknown:
  bands: [{input: 0, output: 1}]
"""
    with pytest.raises(ConfigError) as refused:
        prices_from(text, source="prices.yaml")
    assert [fault.split(": ")[0] for fault in refused.value.faults] == [
        "prices.yaml:8", "prices.yaml:5", "prices.yaml:6",
    ]  # fmt: skip


def test_an_entry_says_where_it_comes_from() -> None:
    text = b"models:\n- {provider: acme, model: new, bands: [{input: 1, output: 2}]}\n"
    sources = {str(r.ref): r.rate.source for r in prices_from(text, source="prices.yaml").rows()}
    assert sources["acme/new"] == "prices.yaml:2"
    assert sources[str(SONNET)] == ""


BANDS = st.lists(
    st.tuples(st.integers(1, 200_000), st.integers(1, 10**8), st.integers(1, 10**8)), min_size=1, max_size=4
)


@st.composite
def rates(draw: st.DrawFn) -> Rate:
    """Any rate that a file can have, also ones whose long prompts are cheaper, or whose cache is dearer than none."""
    drawn = draw(BANDS)
    limits = sorted({limit for limit, _, _ in drawn})[: len(drawn) - 1]
    bands = [Band(limit, *drawn[i][1:]) for i, limit in enumerate(limits)]
    return Rate((*bands, Band(None, *drawn[-1][1:])), draw(st.integers(1, 3000)), draw(st.integers(1, 3000)))


counts = st.integers(0, 250_000)


@given(rates(), counts, counts, counts, counts, counts, counts)
def test_no_usage_within_a_reservation_costs_more_than_it(
    rate: Rate, plain: int, read: int, written: int, out: int, spare: int, spare_out: int
) -> None:
    usage = Usage(plain, out, cache_read_tokens=read, cache_write_5m_tokens=written)
    assert 0 <= charge(rate, usage) <= worst(rate, usage.prompt_tokens + spare, out + spare_out)


@given(rates(), counts, counts, counts, counts, counts)
def test_tokens_of_a_paid_model_are_never_free_and_more_of_them_never_cheaper(
    rate: Rate, plain: int, read: int, written: int, out: int, more: int
) -> None:
    usage = Usage(plain, out, read, written)
    cost = charge(rate, usage)
    assert isinstance(cost, int)
    assert (cost > 0) == (usage.prompt_tokens + out > 0)
    assert charge(rate, usage._replace(output_tokens=out + more)) >= cost
    even = Rate(rate.bands[-1:], rate.cache_read_permille, rate.cache_write_5m_permille)
    for name in ("input_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens"):
        grown = usage._replace(**{name: getattr(usage, name) + more})
        assert charge(even, grown) >= charge(even, usage)


@given(st.sampled_from((*KNOWN, STRANGER)), tokens, tokens)
def test_a_longer_prompt_is_never_cheaper_by_the_prices_that_come_with_interlock(
    ref: ModelRef, length: int, more: int
) -> None:
    table = PriceTable.load()
    assert table.cost(ref, Usage(length + more)).microusd >= table.cost(ref, Usage(length)).microusd


@given(st.sampled_from((*KNOWN, STRANGER)), tokens, tokens, tokens, tokens)
def test_no_call_costs_more_than_its_worst_case(ref: ModelRef, plain: int, read: int, written: int, out: int) -> None:
    table = PriceTable.load()
    usage = Usage(plain, out, cache_read_tokens=read, cache_write_5m_tokens=written)
    assert table.cost(ref, usage).microusd <= table.worst_case(ref, usage.prompt_tokens, out)


@given(st.sampled_from((*KNOWN, STRANGER)), st.integers(1, 300_000))
def test_a_real_call_never_costs_nothing(ref: ModelRef, count: int) -> None:
    assert PriceTable.load().cost(ref, Usage(input_tokens=count)).microusd > 0
