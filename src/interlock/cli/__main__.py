"""The entry point of `interlock` and `python -m interlock.cli`: quiet even if it is interrupted at once."""

import contextlib
import os
import signal
import sys

INTERRUPTED = 130


def main() -> None:
    """Runs the command line of this process and ends it with the command's exit code."""
    signal.signal(signal.SIGINT, _leave)
    from interlock.cli import garbage, os_errors

    if None in (sys.stdin, sys.stdout, sys.stderr):
        os_errors.with_outputs()
    os_errors.with_every_character()

    garbage.collect_rarely()
    from interlock.cli import main as command_line

    try:
        command_line.main()
    finally:
        garbage.skip_last_collection()


def _leave(*_: object) -> None:
    """Ends the process at once: an exception could be taken for a fault by a module that is just being imported.

    This is as safe as a kill; commands that must end in order install a signal handler of their own.
    """
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
