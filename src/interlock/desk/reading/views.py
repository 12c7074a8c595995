"""Rows as plain dictionaries for surfaces: money in dollars, times as aware datetimes."""

from collections.abc import Iterable, Mapping
from typing import Any

from interlock.core.values import MICRO

View = dict[str, Any]
"""Names and JSON values, plus datetimes."""


def dollars(amount_microusd: int) -> float:
    """Micro-dollars as dollars."""
    return round(amount_microusd / MICRO, 6)


def view(row: Any, *names: str, **more: Any) -> View:
    """A row as a dictionary; `*_microusd` columns become `*_usd`. Keywords add entries."""
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
