"""Collects garbage at a good time, since a full collection stops every run of the process for a while.

Only Interlock's own commands do this; an application that embeds Interlock collects garbage as it likes.
"""

import asyncio
import gc
from collections.abc import Callable
from time import monotonic

THRESHOLDS = (1_500, 1, 1_000_000)
"""Thresholds of the collector: new objects, then survivors; a full collection never by itself, but in `collect`."""
IDLE_S, EVERY_S = 10.0, 60.0


def spare_loaded() -> None:
    """Excludes all present objects from collections: almost all of them belong to modules and are never garbage.

    Later objects are collected while they are young; most of them are freed without the collector.
    """
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)


async def collect(is_idle: Callable[[], bool], *, idle_s: float = IDLE_S, every_s: float = EVERY_S) -> None:
    """Makes full collections until cancelled: every `idle_s` if the process is idle, at the latest after `every_s`.

    With a thousand runs under way a full collection takes a fifth of a second, and Python would make many.
    """
    seen, at = _survived(), monotonic()
    while True:
        await asyncio.sleep(idle_s)
        found = _survived()
        if found != seen and (is_idle() or monotonic() - at >= every_s):
            gc.collect()
            seen, at = _survived(), monotonic()


def _survived() -> int:
    """How often objects may have survived into the generation that only `collect` visits."""
    return int(gc.get_stats()[1]["collections"])
