"""Looks for garbage at a good time: a look at everything stands every run of the process still for a while.

Processes of our own commands do this; one that embeds a box looks for garbage as its owner wants.
"""

import asyncio
import gc
from collections.abc import Callable
from time import monotonic

LOOKS = (1_500, 1, 1_000_000)
"""After so many new things those are looked at, after so many such looks the survivors of them; everything never."""
IDLE_S, EVERY_S = 10.0, 60.0


def loaded() -> None:
    """Takes what is there by now out of the looks for garbage: nearly all of it are modules, and never garbage.

    What comes later is looked at while it is new; most of what ends needs no look at all.
    """
    gc.freeze()
    gc.set_threshold(*LOOKS)


async def tidy(is_idle: Callable[[], bool], *, idle_s: float = IDLE_S, every_s: float = EVERY_S) -> None:
    """Looks at everything that has survived: every `idle_s` where nothing is in hand just then, at the latest after
    `every_s`; until it is cancelled.

    With a thousand runs under way that takes a fifth of a second; where Python chooses the time, it does so often.
    """
    seen, at = _survived(), monotonic()
    while True:
        await asyncio.sleep(idle_s)
        found = _survived()
        if found != seen and (is_idle() or monotonic() - at >= every_s):
            gc.collect()
            seen, at = _survived(), monotonic()


def _survived() -> int:
    """How often something may have come to what is only looked at here."""
    return int(gc.get_stats()[1]["collections"])
