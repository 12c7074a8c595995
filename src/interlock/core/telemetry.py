"""What the parts of a run tell whoever watches them: the contract, and the watcher that ignores it all.

What is made of it, and where it is sent, is an integration's job.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

Value: TypeAlias = "str | int | float | bool | Sequence[str] | None"
"""Names, ids and numbers only. INVARIANT: no prompt, argument, answer, or other words of a person or a model."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that a transaction has brought about; told once it is committed, and never where it is not."""

    kind: str
    fields: Mapping[str, Any]


class Span(Protocol):
    """Something that takes time and is under way."""

    def tell(self, **fields: Value) -> None:
        """Adds what is known of it by now."""


class Telemetry(Protocol):
    """Who is told of runs, steps, tool calls and transactions.

    INVARIANT: no method raises, waits for anything outside of this process, or changes what a run does.
    Source: row K1.
    """

    @property
    def listens(self) -> bool:
        """False if nothing comes of what is said here, so that nothing need be gathered for it."""

    def run(self, row: Any, /) -> AbstractContextManager[Span]:
        """The time for which this process works on a claimed run (its row), as part of its mission's trace."""

    def span(self, kind: str, /, **fields: Value) -> AbstractContextManager[Span]:
        """A part of what is under way: `step`, `model`, `tool`, `prompt` or `resolve`."""

    def count(self, kind: str, /, **fields: Value) -> None:
        """One more of a kind."""

    def failed(self, error: BaseException, /) -> None:
        """An exception that nobody expected."""

    def place(self) -> str | None:
        """The run under way as a W3C traceparent, for what goes on later or elsewhere; None outside of runs."""

    def committed(self, facts: Sequence[Fact], seconds: float, /) -> None:
        """What a transaction has brought about, and how long it took from the wish to the commit."""

    def close(self) -> None:
        """Sends what is left, within a second, and ends; the one method that waits."""


class Silent:
    """Ignores everything."""

    listens = False

    def run(self, row: Any, /) -> "_Nothing":
        return _NOTHING

    def span(self, kind: str, /, **fields: Value) -> "_Nothing":
        return _NOTHING

    def count(self, kind: str, /, **fields: Value) -> None:
        return

    def failed(self, error: BaseException, /) -> None:
        return

    def place(self) -> str | None:
        return None

    def committed(self, facts: Sequence[Fact], seconds: float, /) -> None:
        return

    def close(self) -> None:
        return


class _Nothing:
    """A span of which nobody hears."""

    def __enter__(self) -> "_Nothing":
        return self

    def __exit__(self, *_: object) -> None:
        return

    def tell(self, **fields: Value) -> None:
        return


_NOTHING = _Nothing()
SILENT = Silent()
