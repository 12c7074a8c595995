"""When a command collects garbage: rarely while it loads and runs briefly, as usual once it is to run for long.

Processes that execute runs for days are tuned in `app.garbage`.
"""

import gc

USUAL = gc.get_threshold()
RARE = (100_000, 50, 100)
"""Most objects that a short command creates belong to modules and are never garbage: collect after so many new ones."""


def collect_rarely() -> None:
    """For a command that is about to import what it needs, and usually ends soon after."""
    gc.set_threshold(*RARE)


def collect_as_usual() -> None:
    """For a command that runs until it is stopped."""
    if gc.get_threshold() == RARE:
        gc.set_threshold(*USUAL)


def skip_last_collection() -> None:
    """For a process that ends: a last collection of everything takes longer than most commands."""
    gc.freeze()
