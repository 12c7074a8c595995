"""`python -m interlock.cli`, the same as `interlock`."""

from interlock.cli.main import main

if __name__ == "__main__":
    main()
