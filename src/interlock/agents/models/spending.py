"""What a run may spend: its accounts, the worst case of its next call, and what happens when it does not fit.

The arithmetic is `policy.budgets`'; the rows are the ledger's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from interlock.llm.messages import ModelRef, Usage
from interlock.llm.prices import PriceTable
from interlock.policy.budgets import LEAST_MAX_TOKENS, USD, affordable_tokens, day_key
from interlock.store.auditing import audit
from interlock.store.money import ledger
from interlock.store.money.ledger import Opening, Shortage, Spender
from interlock.store.tx import Tx

UNKNOWN_MODEL_PRICE = "UNKNOWN_MODEL_PRICE"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits on a run's cost, in micro-dollars."""

    run: int
    agent_day: int
    project_day: int


def spender_of(
    *,
    run_id: str,
    agent_id: str,
    member_id: str,
    task_id: str | None,
    mission_id: str | None,
    project_id: str,
    timezone: str,
    now: datetime,
    limits: Limits,
) -> tuple[Spender, tuple[Opening, ...]]:
    """The spender of a run, and the accounts to open for it.

    The accounts of its task and mission were opened with them. Source: numbers, "Budgets".
    """
    day = day_key(now, timezone)
    openings = (
        Opening(f"run:{run_id}", "run", run_id, project_id, limits.run),
        Opening(f"agent_day:{member_id}:{day}", "agent_day", member_id, project_id, limits.agent_day),
        Opening(f"project_day:{project_id}:{day}", "project_day", project_id, project_id, limits.project_day),
    )
    names = [o.id for o in openings]
    if task_id is not None and task_id != mission_id:
        names.append(f"task:{task_id}")
    if mission_id is not None:
        names.append(f"mission:{mission_id}")
    return Spender(run_id, agent_id, task_id, mission_id, project_id, tuple(sorted(names))), openings


@dataclass(frozen=True, slots=True)
class Quote:
    """The worst-case cost of one attempt of a model call, and the longest answer that it pays for."""

    max_tokens: int
    worst_microusd: int


def lowered(prices: PriceTable, ref: ModelRef, prompt_tokens: int, wanted: int, room_microusd: int) -> Quote | None:
    """The longest answer that fits into the remaining money; None if that is less than the minimum."""
    fits = affordable_tokens(partial(prices.worst_case, ref, prompt_tokens), max_tokens=wanted, left=room_microusd)
    return None if fits is None else Quote(fits, prices.worst_case(ref, prompt_tokens, fits))


@dataclass(frozen=True, slots=True)
class NoRoom:
    """A call that does not fit. `waiting_helps` if only others' open reservations are in the way."""

    shortages: tuple[Shortage, ...]
    need_microusd: int

    @property
    def waiting_helps(self) -> bool:
        """Whether the call will fit once others have settled."""
        return not any(s.final for s in self.shortages)

    @property
    def binding(self) -> Shortage:
        """The account that lacks room; one that is final takes precedence."""
        return next((s for s in self.shortages if s.final), self.shortages[0])


def afford(
    tx: Tx, accounts: Sequence[str], prices: PriceTable, ref: ModelRef, prompt_tokens: int, wanted: int
) -> Quote | NoRoom:
    """What can be reserved for a call now, after its full worst case did not fit.

    The answer is only made shorter for what is spent; for what others have set aside one waits.
    """
    fits = lowered(prices, ref, prompt_tokens, wanted, ledger.room(tx, accounts, settled_only=True))
    if fits is not None:
        if fits.worst_microusd <= ledger.room(tx, accounts):
            return fits
        return NoRoom(tuple(ledger.shortages(tx, accounts, fits.worst_microusd)), fits.worst_microusd)
    need = prices.worst_case(ref, prompt_tokens, min(wanted, LEAST_MAX_TOKENS))
    return NoRoom(tuple(ledger.shortages(tx, accounts, need)), need)


def estimate_of_cut(prompt_tokens: int, streamed_chars: int) -> Usage:
    """The estimated cost of a call that was cut off before the provider reported usage: its input, and what arrived.

    Source: row D6.
    """
    return Usage(input_tokens=prompt_tokens, output_tokens=-(-streamed_chars // 3))


def tell_unpriced(tx: Tx, project_id: str, ref: str, rate: str, now: datetime) -> None:
    """Alerts once for each model without a price, with the rate that is charged instead. Source: row D4."""
    if audit.was_ever_raised(tx, UNKNOWN_MODEL_PRICE, ref):
        return
    audit.alert(
        tx, now, project_id=project_id, severity="warning", kind=UNKNOWN_MODEL_PRICE, subject=ref,
        text=f"`{ref}` has no price and is charged at the rate for unknown models, {rate}: put its price into the file "
        "that `prices` in interlock.yaml names",
        key=f"price:{ref}",
    )  # fmt: skip


def in_words(prices: PriceTable) -> str:
    """The rate for unknown models, in words for people."""
    band = max(prices.unknown.bands, key=lambda each: (each.output, each.input))
    return f"${band.input / USD:g} in and ${band.output / USD:g} out for a million tokens"
