"""A small model of the ledger: the result of each operation, and the accounts after it.

No store is used here, and no test lives here.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from interlock.store.money.ledger import Spender


@dataclass
class Books:
    """The balance of an account; in the model, five numbers."""

    limit: int
    settled: int = 0
    reserved: int = 0
    frozen: bool = False
    line: int | None = None

    @property
    def taken(self) -> int:
        """The amount spent or reserved."""
        return self.settled + self.reserved

    @property
    def is_paused(self) -> bool:
        """Whether it has passed the limit at which a person is asked."""
        return self.line is not None and self.settled > self.line

    def takes(self, worst: int) -> bool:
        """Whether a reservation fits."""
        return self.taken + worst <= self.limit and not self.frozen and not self.is_paused

    @property
    def room(self) -> int:
        """What may still be reserved."""
        return 0 if self.frozen or self.is_paused else max(0, self.limit - self.taken)


@dataclass(frozen=True, eq=False)
class Held:
    """A reservation."""

    spender: Spender
    step: int
    worst: int

    @property
    def id(self) -> str:
        """The id returned by `reserve`."""
        return f"{self.spender.run_id}:{self.step}:1"


@dataclass
class Model:
    """The accounts by name, open reservations, and the number of lines of each kind."""

    books: dict[str, Books]
    open: list[Held] = field(default_factory=list)
    lines: Counter[str] = field(default_factory=Counter)
    frozen: int = 0
    """How often an account froze."""

    def fits(self, names: Sequence[str], worst: int) -> bool:
        """Whether a reservation fits within every limit."""
        return all(self.books[name].takes(worst) for name in names)

    def room(self, names: Sequence[str]) -> int:
        """The smallest remainder of several accounts."""
        return min(self.books[name].room for name in names)

    def short_of(self, names: Sequence[str], worst: int) -> list[tuple[str, bool]]:
        """The accounts without room for an amount, and whether waiting for others does not help."""
        books = {name: self.books[name] for name in names}
        return [
            (name, book.frozen or book.is_paused or book.settled + worst > book.limit)
            for name, book in books.items()
            if not book.takes(worst)
        ]

    def reserve(self, held: Held) -> str:
        """Reserves an amount; returns the reservation's id."""
        for name in held.spender.accounts:
            self.books[name].reserved += held.worst
        self.open.append(held)
        self.lines["reserve"] += 1
        return held.id

    def settle(self, held: Held, actual: int) -> None:
        """Settles a reservation at its real cost."""
        self.open.remove(held)
        self.lines["settle"] += 1
        for name in held.spender.accounts:
            book = self.books[name]
            book.reserved -= held.worst
            book.settled += actual
            if actual > held.worst and book.taken > book.limit:
                self.frozen += not book.frozen
                book.frozen = True

    def settle_and_reserve(self, held: Held, actual: int, following: Held) -> str | None:
        """Both, or neither: None if the second does not fit after the first."""
        before = {name: replace(self.books[name]) for name in held.spender.accounts}, self.frozen
        self.settle(held, actual)
        if self.fits(following.spender.accounts, following.worst):
            return self.reserve(following)
        self.books |= before[0]
        self.frozen = before[1]
        self.lines["settle"] -= 1
        self.open.append(held)
        return None

    def charge_open(self, run_id: str) -> int:
        """Charges in full what a run left open; returns the sum."""
        left = [held for held in self.open if held.spender.run_id == run_id]
        for held in left:
            self.settle(held, held.worst)
        return sum(held.worst for held in left)

    def raise_limit(self, name: str, amount: int) -> Books:
        """Raises a limit; returns the account afterwards."""
        book = self.books[name]
        book.line = book.settled + amount if book.is_paused else book.line
        book.limit += amount
        book.frozen = book.frozen and book.taken > book.limit
        return self._changed("raise", book)

    def set_limit(self, name: str, limit: int) -> Books:
        """Sets a limit that is not too low; returns the account afterwards."""
        book = self.books[name]
        book.line = None if book.is_paused else book.line
        book.limit, book.frozen = limit, False
        return self._changed("raise", book)

    def go_on(self, name: str, amount: int) -> Books:
        """Extends an account by an amount; returns it afterwards."""
        book = self.books[name]
        book.line = book.settled + amount
        return self._changed("go_on", book)

    def watch(self, name: str, amount: int) -> int:
        """Sets a threshold above what is settled; returns it."""
        book = self.books[name]
        book.line = book.settled + amount
        return book.line

    def _changed(self, kind: str, book: Books) -> Books:
        self.lines[kind] += 1
        return replace(book)
