"""A store that is killed with its process at chosen transactions, whatever they write."""

import json
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from interlock.store.engine import Store


class Fate:
    """The transactions at which this process dies, and a journal of transactions and of what ended it.

    A doom is `{"when": "before" | "after", "number": N}` or `{"when": …, "unit": NAME}`; the first that matches kills.
    """

    def __init__(self, dooms: Sequence[dict[str, Any]], journal: Path) -> None:
        self.dooms = list(dooms)
        self._number = 0
        self._journal = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def begin(self, unit: str) -> int:
        """Counts a transaction; its number, the first is 1."""
        self._number += 1
        self._write({"number": self._number, "unit": unit})
        return self._number

    def meet(self, when: str, number: int, unit: str) -> None:
        """Kills this process if a doom matches."""
        for doom in self.dooms:
            if doom["when"] == when and (doom.get("number") == number or doom.get("unit") == unit):
                self._write({"doom": doom, "unit": unit})
                os.kill(os.getpid(), signal.SIGKILL)

    def _write(self, entry: dict[str, Any]) -> None:
        os.write(self._journal, json.dumps(entry).encode() + b"\n")


class DoomedStore(Store):
    """A store whose process may die between the statements of a transaction and its commit, or right after it."""

    def __init__(self, url: str, fate: Fate) -> None:
        super().__init__(url)
        self.fate = fate

    async def write(self, unit: Any, *args: Any, **kwargs: Any) -> Any:
        """Like `Store.write`, unless it kills the process."""
        name = name_of(unit)
        number = self.fate.begin(name)
        result = await super().write(_Last(unit, lambda: self.fate.meet("before", number, name)), *args, **kwargs)
        self.fate.meet("after", number, name)
        return result


class _Last:
    """A unit that calls a function after its statements and before its commit."""

    def __init__(self, unit: Callable[..., Any], then: Callable[[], None]) -> None:
        self.unit, self.then = unit, then
        self.relaxed = getattr(unit, "relaxed", False)

    def __call__(self, tx: Any, /, *args: Any, **kwargs: Any) -> Any:
        result = self.unit(tx, *args, **kwargs)
        self.then()
        return result


def name_of(unit: Callable[..., Any]) -> str:
    """The name of a unit, such as `mailbox.claim`."""
    return f"{unit.__module__.rpartition('.')[2]}.{unit.__qualname__}"
