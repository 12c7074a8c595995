"""How often a command looks for garbage."""

import gc

from interlock.cli import looks, opening


async def test_a_command_that_goes_on_looks_for_garbage_as_ever() -> None:
    before = gc.get_threshold()
    try:
        looks.seldom()
        assert gc.get_threshold() == looks.SELDOM
        with opening.stopping():
            assert gc.get_threshold() == looks.ORDINARY
        gc.set_threshold(5, 5, 5)
        with opening.stopping():
            assert gc.get_threshold() == (5, 5, 5), "another has chosen it"
    finally:
        gc.set_threshold(*before)
