"""A model of the ledger that fits on two pages: what each operation answers, and what the accounts say after it.

No store is asked here, and no test lives here.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from interlock.store.ledger import Spender


@dataclass
class Books:
    """What an account must say: in the model, it is five numbers."""

    limit: int
    settled: int = 0
    reserved: int = 0
    frozen: bool = False
    line: int | None = None

    @property
    def taken(self) -> int:
        """What is spent or set aside."""
        return self.settled + self.reserved

    @property
    def is_paused(self) -> bool:
        """Whether it has passed the line at which a person is asked."""
        return self.line is not None and self.settled > self.line

    def takes(self, worst: int) -> bool:
        """Whether a reservation fits."""
        return self.taken + worst <= self.limit and not self.frozen and not self.is_paused

    @property
    def room(self) -> int:
        """What may still be set aside."""
        return 0 if self.frozen or self.is_paused else max(0, self.limit - self.taken)


@dataclass(frozen=True, eq=False)
class Held:
    """A reservation."""

    spender: Spender
    step: int
    worst: int

    @property
    def id(self) -> str:
        """As `reserve` answers it."""
        return f"{self.spender.run_id}:{self.step}:1"


@dataclass
class Model:
    """The accounts by name, what is open, and how many lines of each kind the ledger has."""

    books: dict[str, Books]
    open: list[Held] = field(default_factory=list)
    lines: Counter[str] = field(default_factory=Counter)
    frozen: int = 0
    """How often an account froze."""

    def fits(self, names: Sequence[str], worst: int) -> bool:
        """Whether a reservation fits under every limit."""
        return all(self.books[name].takes(worst) for name in names)

    def room(self, names: Sequence[str]) -> int:
        """The least that is left under several accounts."""
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
        """Sets aside; returns the reservation's id."""
        for name in held.spender.accounts:
            self.books[name].reserved += held.worst
        self.open.append(held)
        self.lines["reserve"] += 1
        return held.id

    def settle(self, held: Held, actual: int) -> None:
        """Books the real cost of what `open` holds."""
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
        """Books in full what a run left open; returns the sum."""
        left = [held for held in self.open if held.spender.run_id == run_id]
        for held in left:
            self.settle(held, held.worst)
        return sum(held.worst for held in left)

    def raise_limit(self, name: str, amount: int) -> Books:
        """Raises a limit; returns what the account says then."""
        book = self.books[name]
        book.line = book.settled + amount if book.is_paused else book.line
        book.limit += amount
        book.frozen = book.frozen and book.taken > book.limit
        return self._changed("raise", book)

    def set_limit(self, name: str, limit: int) -> Books:
        """Sets a limit that is not too low; returns what the account says then."""
        book = self.books[name]
        book.line = None if book.is_paused else book.line
        book.limit, book.frozen = limit, False
        return self._changed("raise", book)

    def go_on(self, name: str, amount: int) -> Books:
        """Lets an account go on by so much; returns what it says then."""
        book = self.books[name]
        book.line = book.settled + amount
        return self._changed("go_on", book)

    def watch(self, name: str, amount: int) -> int:
        """Draws a line so far above what is settled; returns where."""
        book = self.books[name]
        book.line = book.settled + amount
        return book.line

    def _changed(self, kind: str, book: Books) -> Books:
        self.lines[kind] += 1
        return replace(book)
