"""``python -m emulator``: the command line."""

from emulator.cli import main

if __name__ == "__main__":
    main()
