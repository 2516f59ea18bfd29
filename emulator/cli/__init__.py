"""The command line: parse, call the public API, print."""

from emulator.cli.commands import app, main

__all__ = ["app", "main"]
