"""`python -m interlock`: runs the command line, which is in `cli`."""

from interlock.cli.__main__ import main

if __name__ == "__main__":
    main()
