"""The door of the command line, `interlock` or `python -m interlock.cli`: quiet even when it is left at once."""

import sys

INTERRUPTED = 130


def main() -> None:
    """Runs the command line of this process and ends it with the command's exit code."""
    try:
        from interlock.cli import main as command_line
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    command_line.main()


if __name__ == "__main__":
    main()
