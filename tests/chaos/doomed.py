"""A store that is killed with its process at chosen transactions; it knows nothing of what they write."""

import json
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from interlock.store.engine import Store


class Fate:
    """Which transactions of this process end it, and the journal of what was asked for and what ended it.

    A doom is `{"when": "before" | "after", "number": N}` or `{"when": …, "unit": NAME}`; the first that fits kills.
    """

    def __init__(self, dooms: Sequence[dict[str, Any]], journal: Path) -> None:
        self.dooms = list(dooms)
        self._number = 0
        self._journal = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def begin(self, unit: str) -> int:
        """Another transaction is asked for; its number, the first is 1."""
        self._number += 1
        self._write({"number": self._number, "unit": unit})
        return self._number

    def meet(self, when: str, number: int, unit: str) -> None:
        """Ends this process for good if that is its doom."""
        for doom in self.dooms:
            if doom["when"] == when and (doom.get("number") == number or doom.get("unit") == unit):
                self._write({"doom": doom, "unit": unit})
                os.kill(os.getpid(), signal.SIGKILL)

    def _write(self, entry: dict[str, Any]) -> None:
        os.write(self._journal, json.dumps(entry).encode() + b"\n")


class DoomedStore(Store):
    """A store whose process may die between the statements of a transaction and its commit, or right after that."""

    def __init__(self, url: str, fate: Fate) -> None:
        super().__init__(url)
        self.fate = fate

    async def write(self, unit: Any, *args: Any, **kwargs: Any) -> Any:
        """As ever, unless it is the end."""
        name = name_of(unit)
        number = self.fate.begin(name)
        result = await super().write(_Last(unit, lambda: self.fate.meet("before", number, name)), *args, **kwargs)
        self.fate.meet("after", number, name)
        return result


class _Last:
    """A unit after whose statements, and before whose commit, something happens."""

    def __init__(self, unit: Callable[..., Any], then: Callable[[], None]) -> None:
        self.unit, self.then = unit, then
        self.relaxed = getattr(unit, "relaxed", False)

    def __call__(self, tx: Any, /, *args: Any, **kwargs: Any) -> Any:
        result = self.unit(tx, *args, **kwargs)
        self.then()
        return result


def name_of(unit: Callable[..., Any]) -> str:
    """What a unit is called, such as `mailbox.claim`."""
    return f"{unit.__module__.rpartition('.')[2]}.{unit.__qualname__}"
