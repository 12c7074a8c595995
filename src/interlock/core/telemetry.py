"""The interface through which runs report what happens, and an implementation that ignores it all.

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
    """An effect of a transaction; reported once it is committed, and never if it is not."""

    kind: str
    fields: Mapping[str, Any]


class Span(Protocol):
    """An operation under way, with a duration."""

    def tell(self, **fields: Value) -> None:
        """Adds attributes."""


class Telemetry(Protocol):
    """Receives runs, steps, tool calls and transactions.

    INVARIANT: no method raises, waits for anything outside of this process, or changes what a run does.
    Source: row K1.
    """

    @property
    def listens(self) -> bool:
        """False if all reports are ignored, so that callers need not gather anything for them."""

    def run(self, row: Any, /) -> AbstractContextManager[Span]:
        """The time during which this process executes a claimed run (its row), as part of its mission's trace."""

    def span(self, kind: str, /, **fields: Value) -> AbstractContextManager[Span]:
        """A part of the current operation: `step`, `model`, `tool`, `prompt` or `resolve`."""

    def count(self, kind: str, /, **fields: Value) -> None:
        """Counts one more of a kind."""

    def failed(self, error: BaseException, /) -> None:
        """Reports an unexpected exception."""

    def place(self) -> str | None:
        """The current run as a W3C traceparent, for work that goes on later or elsewhere; None outside runs."""

    def committed(self, facts: Sequence[Fact], seconds: float, /) -> None:
        """Reports a transaction's facts, and its duration from the request to the commit, in seconds."""

    def close(self) -> None:
        """Sends what is left, within a second, and ends; the only method that waits."""


class Silent:
    """Telemetry that ignores everything."""

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
