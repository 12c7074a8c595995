"""What is done around a command: not what the command does."""

import gc

from interlock.cli import opening


def test_what_is_loaded_is_not_looked_at_for_garbage_again() -> None:
    before, usual = gc.get_freeze_count(), gc.get_threshold()
    loaded = len(gc.get_objects())
    try:
        opening.loaded()
        assert gc.get_freeze_count() - before > 0.9 * loaded
        assert len(gc.get_objects()) < 0.1 * loaded
        assert gc.get_threshold() > usual
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()
