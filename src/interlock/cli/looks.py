"""How often a command looks for garbage: hardly, while it loads; as ever, once it is to go on for long.

What processes that execute for days do is `app.garbage`'s job.
"""

import gc

ORDINARY = gc.get_threshold()
SELDOM = (100_000, 50, 100)
"""Most of what a short command makes are modules, which are no garbage: so many new things before a look for some."""


def seldom() -> None:
    """For a command that is about to load what it needs, and mostly ends then."""
    gc.set_threshold(*SELDOM)


def as_ever() -> None:
    """For a command that goes on until it is stopped."""
    if gc.get_threshold() == SELDOM:
        gc.set_threshold(*ORDINARY)


def no_more() -> None:
    """For a process that ends: it would look in all there is, which takes longer than most commands."""
    gc.freeze()
