"""The command line: parse, call the public API, print."""

from collections.abc import Sequence

from emulator.signals import own_process

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, on `sys.argv` unless `arguments` are given; leaves by SystemExit with the code.

    The code is 0 when all is done, 1 when a run failed, 2 for bad usage or a bad scenario, and 128 + n when
    signal n ended it: 130 for Ctrl-C, 141 for a closed pipe. Without `arguments` the process is the
    command's own, and Ctrl-C ends it in silence where there is nothing to be put in order.
    """
    if arguments is None:
        own_process()  # before the rest is imported, which takes a moment
    from emulator.cli.commands import app  # noqa: PLC0415
    from emulator.cli.endings import streams  # noqa: PLC0415

    with streams():
        app(args=None if arguments is None else list(arguments), prog_name="emulator")
