"""A random life of a ledger, held against a model of it that fits on a page; no test lives here."""

import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from interlock.core.errors import Conflict
from interlock.store import balances, ledger, limits
from interlock.store.engine import Store
from interlock.store.ledger import Opening, OverBudget, Spender
from interlock.store.schema import Account, table
from interlock.store.tx import Tx
from tests.contract.store.furniture import PROJECT, T0

BATCH = 250
"""Operations in one transaction; refusals have one of their own, since they undo it."""
KINDS = ("reserve", "settle", "raise", "lower", "watch", "go_on", "charge")
WORST = (0, 1, 50, 900, 9_000, 60_000)
WEIGHTS = (45, 40, 3, 3, 2, 3, 4)
ACCOUNTS = table(Account)


@dataclass
class Books:
    """What the accounts must say: in the model, an account is five numbers."""

    limit: int
    settled: int = 0
    reserved: int = 0
    frozen: bool = False
    line: int | None = None

    def takes(self, worst: int) -> bool:
        """Whether a reservation fits."""
        fits = self.settled + self.reserved + worst <= self.limit
        return fits and not self.frozen and not (self.line is not None and self.settled > self.line)


@dataclass
class Walk:
    """So many operations from one seed. `seen` counts what happened."""

    store: Store
    seed: int
    names: tuple[str, ...] = tuple(f"acc{number}" for number in range(12))
    seen: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)
        self.books = {name: Books(self.dice.randrange(5_000, 200_000)) for name in self.names}
        self.open: dict[tuple[str, int], tuple[Spender, int]] = {}
        self.steps: Counter[str] = Counter()
        self.now: datetime = T0
        spenders = [tuple(sorted(self.dice.sample(self.names, self.dice.randint(1, 5)))) for _ in range(40)]
        self.spenders = [Spender(f"w{self.seed}-{i}", "a", None, None, PROJECT, s) for i, s in enumerate(spenders)]

    async def run(self, operations: int) -> None:
        """Walks. Fails with what is wrong where the ledger and the model part."""
        await self.store.write(self._begin)
        done = 0
        while done < operations:
            batch = min(BATCH, operations - done)
            await self.store.write(self._some, batch)
            await self._spend_too_much()
            await self._set_too_low(self.dice.choice(self.names))
            done += batch
            await self.store.read(self._check)
        faults = await self.store.read(balances.faults)
        assert faults == [], faults

    async def _spend_too_much(self) -> None:
        spender, worst = self.dice.choice(self.spenders), self.dice.choice(WORST)
        if all(self.books[name].takes(worst) for name in spender.accounts):
            return
        try:
            await self.store.write(self._reserve, spender, worst, 10**9)
        except OverBudget:
            self.seen["over budget"] += 1
            return
        raise AssertionError(f"{worst} was set aside for {spender.accounts}, and does not fit")

    async def _set_too_low(self, name: str) -> None:
        book = self.books[name]
        if (taken := book.settled + book.reserved) == 0:
            return
        try:
            await self.store.write(limits.set_limit, name, taken - 1, "ada", self.now)
        except Conflict:
            self.seen["too low"] += 1
            return
        raise AssertionError(f"`{name}` was set below what is spent")

    def _begin(self, tx: Tx) -> None:
        opened = [Opening(name, "task", name, PROJECT, book.limit) for name, book in self.books.items()]
        ledger.open_accounts(tx, opened, T0)

    def _some(self, tx: Tx, count: int) -> None:
        for _ in range(count):
            self.now += timedelta(milliseconds=self.dice.randrange(3))
            kind = self.dice.choices(KINDS, WEIGHTS)[0]
            self.seen[kind] += 1
            if kind == "reserve":
                self._set_aside(tx)
            elif kind in ("settle", "charge"):
                self._settle(tx, in_full=kind == "charge")
            else:
                self._change(tx, kind)

    def _set_aside(self, tx: Tx) -> None:
        spender, worst = self.dice.choice(self.spenders), self.dice.choice(WORST)
        if not all(self.books[name].takes(worst) for name in spender.accounts):
            self.seen["refused"] += 1
            return
        self.steps[spender.run_id] += 1
        step = self.steps[spender.run_id]
        self._reserve(tx, spender, worst, step)
        self.open[spender.run_id, step] = spender, worst
        for name in spender.accounts:
            self.books[name].reserved += worst

    def _reserve(self, tx: Tx, spender: Spender, worst: int, step: int) -> None:
        ledger.reserve(tx, spender, step=step, attempt=1, model="m", worst_microusd=worst, now=self.now)

    def _settle(self, tx: Tx, *, in_full: bool) -> None:
        if not self.open:
            return
        key = self.dice.choice(list(self.open))
        spender, worst = self.open.pop(key)
        over = self.dice.random() < 0.002
        actual = worst if in_full else worst + self.dice.randrange(1, 5_000) if over else self.dice.randint(0, worst)
        ledger.settle(
            tx, spender, step=key[1], attempt=1, model="m", worst_microusd=worst, actual_microusd=actual, now=self.now,
            estimated=in_full,
        )  # fmt: skip
        for name in spender.accounts:
            book = self.books[name]
            book.reserved -= worst
            book.settled += actual
            if actual > worst and book.settled + book.reserved > book.limit:
                book.frozen = True
                self.seen["frozen"] += 1

    def _change(self, tx: Tx, kind: str) -> None:
        name = self.dice.choice(self.names)
        book, amount = self.books[name], self.dice.randrange(1, 30_000)
        paused = book.line is not None and book.settled > book.line
        if kind == "raise":
            limits.raise_limit(tx, name, amount, "ada", self.now)
            book.limit += amount
            book.frozen = book.frozen and book.settled + book.reserved > book.limit
            book.line = book.settled + amount if paused else book.line
        elif kind == "lower":
            wanted = book.settled + book.reserved + self.dice.randrange(5_000)
            limits.set_limit(tx, name, wanted, "ada", self.now)
            book.limit, book.frozen, book.line = wanted, False, None if paused else book.line
        elif kind == "watch":
            book.line = book.settled + amount
            limits.watch(tx, name, book.line)
        else:
            limits.go_on(tx, name, amount, "ada", self.now)
            book.line = book.settled + amount

    def _check(self, tx: Tx) -> None:
        for row in tx.rows(ACCOUNTS.select()):
            if (book := self.books.get(row.id)) is None:
                continue
            says = Books(
                row.limit_microusd, row.settled_microusd, row.reserved_microusd, row.frozen, row.pause_at_microusd
            )  # fmt: skip
            assert says == book, (row.id, says, book)
            assert book.frozen or book.settled + book.reserved <= book.limit, (row.id, book)
