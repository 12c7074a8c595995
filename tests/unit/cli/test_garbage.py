"""How often a command collects garbage."""

import gc

from interlock.cli import garbage, opening


async def test_a_command_that_runs_on_collects_garbage_as_usual() -> None:
    before = gc.get_threshold()
    try:
        garbage.collect_rarely()
        assert gc.get_threshold() == garbage.RARE
        with opening.stopping():
            assert gc.get_threshold() == garbage.USUAL
        gc.set_threshold(5, 5, 5)
        with opening.stopping():
            assert gc.get_threshold() == (5, 5, 5), "somebody else has set it"
    finally:
        gc.set_threshold(*before)
