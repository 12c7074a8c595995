"""What every surface shows: rows as plain dictionaries, money in dollars, times as aware datetimes.

How they look on a screen is each surface's job.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from interlock.core.values import MICRO

View = dict[str, Any]
"""Names and JSON values, but for datetimes."""


def dollars(amount_microusd: int) -> float:
    """Micro-dollars as dollars."""
    return round(amount_microusd / MICRO, 6)


def view(row: Any, *names: str, **more: Any) -> View:
    """The named columns of a row (`a=b` names are given as keywords); `*_microusd` ones become `*_usd`."""
    values: Mapping[str, Any] = row._asdict()
    out: View = {}
    for name in names or values:
        if name.endswith("_microusd"):
            out[name.removesuffix("_microusd") + "_usd"] = dollars(values[name])
        else:
            out[name] = values[name]
    return {**out, **more}


def views(rows: Iterable[Any], *names: str) -> list[View]:
    """`view` of each row."""
    return [view(row, *names) for row in rows]
