"""A random walk of a ledger, many operations at once, compared with a model of it; no test lives here."""

import asyncio
import random
import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import psycopg
import sqlalchemy as sa

from interlock.core.errors import Conflict
from interlock.store.engine import Store
from interlock.store.money import balances, ledger, limits
from interlock.store.money.ledger import Opening, OverBudget, Spender
from interlock.store.schema import Account, LedgerEntry, table
from interlock.store.tx import Tx
from tests.contract.store.furniture import PROJECT, T0
from tests.contract.store.ledger_model import Books, Held, Model

CROWDS = (1, 4, 24, 48)
"""So many operations at once at most: one after the other, few, and more than are committed together."""
STEPS_A_RUN = 30
ROUNDS_A_CHECK = 50
"""Between comparisons of everything; the answer of each operation is compared when it comes."""
WORST = (0, 1, 50, 900, 9_000, 60_000)
WEIGHTS = {
    "reserve": 45, "settle": 24, "turn": 12, "charge": 1, "estimate": 3, "raise": 3, "lower": 3, "watch": 2, "go_on": 3,
    "too low": 1, "undone": 1, "again": 1,
}  # fmt: skip
KINDS = tuple(WEIGHTS)
REFUSED = {"too low", "undone", "again"}
"""What nobody asks for in a polite time."""
OUTCOMES = frozenset(WEIGHTS) - {"again"} | {"refused", "turned back", "settled again", "set aside again"}
"""What a long life has seen of each."""
TWICE = (sqlite3.IntegrityError, psycopg.IntegrityError)
_ACCOUNTS = table(Account).select()
_led = table(LedgerEntry).c
_LINES = sa.select(_led.kind, sa.func.count().label("n")).group_by(_led.kind)


class Undone(Exception):
    """Raised by a unit after it has reserved money."""


@dataclass(frozen=True)
class Operation:
    """A unit with its arguments, and the expected result: a value, or an error of these kinds."""

    kind: str
    unit: Callable[..., Any]
    args: tuple[Any, ...]
    given: dict[str, Any]
    due: Any = None
    refusal: tuple[type[Exception], ...] = ()


@dataclass
class Walk:
    """A number of operations from one seed. `seen` counts what happened.

    Those of one round are submitted at the same time, and each is answered as if it came after those before it.
    """

    store: Store
    seed: int
    names: tuple[str, ...] = tuple(f"acc{number}" for number in range(12))
    seen: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)
        self.model = Model({name: Books(self.dice.randrange(5_000, 200_000)) for name in self.names})
        self.steps: Counter[str] = Counter()
        self.runs = 0
        self.spenders = [self._spender() for _ in range(40)]
        self.last: Held | None = None
        self.now: datetime = T0
        self.is_polite = True

    async def run(self, operations: int) -> None:
        """Runs the walk. Fails with the difference if the ledger and the model disagree."""
        await self.store.write(self._begin)
        done = rounds = left = 0
        crowd = 1
        while done < operations:
            if not left:
                crowd, self.is_polite = self.dice.choice(CROWDS), self.dice.random() < 0.5
                left = self.dice.randrange(20, 120)
            left, rounds = left - 1, rounds + 1
            some = [self._draw() for _ in range(min(self.dice.randint(1, crowd), operations - done))]
            done += len(some)
            await self._all_at_once(some)
            await self._look()
            if rounds % ROUNDS_A_CHECK == 0:
                await self.store.read(self._check)
        await self.store.read(self._check)
        assert await self.store.read(balances.faults) == []
        assert await self.store.read(_lines) == +self.model.lines, self.model.lines
        self.seen["frozen"] = self.model.frozen

    async def _all_at_once(self, some: list[Operation]) -> None:
        if len(some) == 1:
            return await self._one(some[0])
        alike = self.store.read(self._within_limits)
        results = await asyncio.gather(*(self._one(each) for each in some), alike, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return None

    async def _one(self, each: Operation) -> None:
        """Executes one operation on the store, and compares its result."""
        self.seen[each.kind] += 1
        try:
            said = await self.store.write(each.unit, *each.args, **each.given)
        except (OverBudget, Conflict, Undone, *TWICE) as error:
            refused: Exception | None = error
            said = (error.accounts, error.need_microusd) if isinstance(error, OverBudget) else None
        else:
            refused, said = None, _books(said) if isinstance(each.due, Books) else said
        assert isinstance(refused, each.refusal or type(None)), (each, refused)
        assert said == each.due, (each, said)

    def _draw(self) -> Operation:
        self.now += timedelta(milliseconds=self.dice.randrange(3))
        kind = self.dice.choices(KINDS, tuple(WEIGHTS.values()))[0]
        if self.is_polite and kind in REFUSED:
            kind = "settle"
        if kind in ("settle", "turn", "charge", "estimate", "again") and not self.model.open:
            kind = "reserve"
        match kind:
            case "reserve":
                return self._reserve(*self._wish())
            case "settle" | "estimate":
                return self._settle(self.dice.choice(self.model.open), kind)
            case "turn":
                return self._turn(self.dice.choice(self.model.open))
            case "charge":
                run_id = self.dice.choice(self.model.open).spender.run_id
                total = self.model.charge_open(run_id)
                return Operation(kind, ledger.charge_open, (run_id, self.now), {}, total)
            case "undone":
                return self._undone(*self._wish())
            case "again":
                return self._again(self.dice.choice(self.model.open))
        return self._change(kind, self.dice.choice(self.names))

    def _wish(self) -> tuple[Spender, int]:
        """Who wants how much; in a polite time never more than there is, as far as there is any."""
        at = self.dice.randrange(len(self.spenders))
        if self.steps[self.spenders[at].run_id] >= STEPS_A_RUN:
            self.spenders[at] = self._spender()
        spender, worst = self.spenders[at], self.dice.choice(WORST)
        if self.is_polite:
            worst = min(worst, self.model.room(spender.accounts))
        return spender, worst

    def _reserve(self, spender: Spender, worst: int) -> Operation:
        held, given = self._next(spender, worst)
        if not self.model.fits(spender.accounts, worst):
            return Operation("refused", ledger.reserve, (spender,), given, (spender.accounts, worst), (OverBudget,))
        return Operation("reserve", ledger.reserve, (spender,), given, self.model.reserve(held))

    def _settle(self, held: Held, kind: str) -> Operation:
        actual, given = self._cost(held, in_full=kind == "estimate")
        self.model.settle(held, actual)
        self.last = held
        return Operation(kind, ledger.settle, (held.spender,), given)

    def _turn(self, held: Held) -> Operation:
        """Settles a call and reserves the next in one transaction: both, or neither."""
        spender = held.spender
        worst = min(held.worst, self.model.room(spender.accounts)) if self.is_polite else self.dice.choice(WORST)
        actual, paid = self._cost(held, in_full=False)
        following, given = self._next(spender, worst)
        reservation = self.model.settle_and_reserve(held, actual, following)
        if reservation is not None:
            return Operation("turn", _pay_and_go_on, (spender, paid, given), {}, reservation)
        due = (spender.accounts, worst)
        return Operation("turned back", _pay_and_go_on, (spender, paid, given), {}, due, (OverBudget,))

    def _undone(self, spender: Spender, worst: int) -> Operation:
        if not self.model.fits(spender.accounts, worst):
            return self._reserve(spender, worst)
        return Operation("undone", _fail_after, (spender, self._next(spender, worst)[1]), {}, None, (Undone,))

    def _again(self, held: Held) -> Operation:
        """Repeats a reservation or a settlement, which must have no effect."""
        if self.last is not None and self.dice.random() < 0.5:
            _, given = self._cost(self.last, in_full=True)
            return Operation("settled again", ledger.settle, (self.last.spender,), given, None, TWICE)
        if not self.model.fits(held.spender.accounts, held.worst):
            return self._settle(held, "settle")
        given = self._call(held) | {"worst_microusd": held.worst}
        return Operation("set aside again", ledger.reserve, (held.spender,), given, None, TWICE)

    def _change(self, kind: str, name: str) -> Operation:
        book, amount = self.model.books[name], self.dice.randrange(1, 30_000)
        if kind == "raise":
            given = (name, amount, "ada", self.now)
            return Operation(kind, limits.raise_limit, given, {}, self.model.raise_limit(name, amount))
        if kind == "too low" and book.taken:
            return Operation(kind, limits.set_limit, (name, book.taken - 1, "ada", self.now), {}, None, (Conflict,))
        if kind == "go_on":
            return Operation(
                kind, limits.go_on, (name, amount, "ada", self.now), {}, self.model.go_on(name, amount)
            )  # fmt: skip
        if kind == "watch":
            return Operation(kind, limits.watch, (name, self.model.watch(name, amount)), {})
        most = book.taken + amount // 6
        return Operation("lower", limits.set_limit, (name, most, "ada", self.now), {}, self.model.set_limit(name, most))

    def _spender(self) -> Spender:
        self.runs += 1
        accounts = tuple(sorted(self.dice.sample(self.names, self.dice.randint(1, 5))))
        return Spender(f"w{self.seed}-{self.runs}", "a", None, None, PROJECT, accounts)

    def _next(self, spender: Spender, worst: int) -> tuple[Held, dict[str, Any]]:
        """The next reservation of a run, and the arguments of `reserve` for it."""
        self.steps[spender.run_id] += 1
        held = Held(spender, self.steps[spender.run_id], worst)
        return held, self._call(held) | {"worst_microusd": worst}

    def _cost(self, held: Held, *, in_full: bool) -> tuple[int, dict[str, Any]]:
        """The cost of a call, and the arguments of `settle` for it; one of 500 is billed above its worst case."""
        over = self.dice.random() < 0.002
        actual = held.worst + self.dice.randrange(1, 5_000) if over else self.dice.randint(0, held.worst)
        actual = held.worst if in_full else actual
        given = {"worst_microusd": held.worst, "actual_microusd": actual, "estimated": in_full}
        return actual, self._call(held) | given

    def _call(self, held: Held) -> dict[str, Any]:
        return {"step": held.step, "attempt": 1, "model": "m", "now": self.now}

    def _begin(self, tx: Tx) -> None:
        opened = [Opening(name, "task", name, PROJECT, book.limit) for name, book in self.model.books.items()]
        ledger.open_accounts(tx, opened, T0)

    async def _look(self) -> None:
        """Executes one of the queries that a run makes, and compares."""
        spender, worst = self.dice.choice(self.spenders), self.dice.choice(WORST)
        if self.dice.random() < 0.5:
            room = await self.store.read(ledger.room, spender.accounts)
            assert room == self.model.room(spender.accounts), (spender, room)
            return
        short = [(s.account_id, s.final) for s in await self.store.read(ledger.shortages, spender.accounts, worst)]
        assert short == self.model.short_of(spender.accounts, worst), (spender, short)

    def _check(self, tx: Tx) -> None:
        for row in tx.rows(_ACCOUNTS):
            if (book := self.model.books.get(row.id)) is not None:
                assert _books(row) == book, (row.id, _books(row), book)
        self._within_limits(tx)

    def _within_limits(self, tx: Tx) -> None:
        """Holds at any moment, whatever else is in progress."""
        for row in tx.rows(_ACCOUNTS):
            book = _books(row)
            assert book.frozen or book.taken <= book.limit, (row.id, book)
            assert book.reserved >= 0, (row.id, book)


def _books(row: Any) -> Books:
    return Books(row.limit_microusd, row.settled_microusd, row.reserved_microusd, row.frozen, row.pause_at_microusd)


def _lines(tx: Tx) -> dict[str, int]:
    """The number of lines of each kind in the ledger."""
    return {row.kind: row.n for row in tx.rows(_LINES)}


def _pay_and_go_on(tx: Tx, spender: Spender, paid: dict[str, Any], wanted: dict[str, Any]) -> str:
    ledger.settle(tx, spender, **paid)
    return ledger.reserve(tx, spender, **wanted)


def _fail_after(tx: Tx, spender: Spender, wanted: dict[str, Any]) -> None:
    ledger.reserve(tx, spender, **wanted)
    raise Undone
