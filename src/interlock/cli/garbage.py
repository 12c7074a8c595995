"""How often a command collects garbage: rarely while it loads and runs briefly, as usual if it runs for long.

Workers, which run for days, are tuned in `app.garbage`.
"""

import gc

USUAL = gc.get_threshold()
RARE = (100_000, 50, 100)
"""Most objects that a short command creates belong to modules and are never garbage: collect after so many new ones."""


def collect_rarely() -> None:
    """For commands that import modules and usually end soon after."""
    gc.set_threshold(*RARE)


def collect_as_usual() -> None:
    """For commands that run until they are stopped."""
    if gc.get_threshold() == RARE:
        gc.set_threshold(*USUAL)


def skip_last_collection() -> None:
    """For a process that ends: a full collection at exit takes longer than most commands."""
    gc.freeze()
