"""`python -m interlock`: the command line, which is made elsewhere."""

from interlock.cli.__main__ import main

if __name__ == "__main__":
    main()
