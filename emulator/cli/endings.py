"""How a command ends: what is said on stderr, and the exit code."""

import errno
import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import typer

from emulator.errors import MissingExtraError, RecordingError, ScenarioError, SweepBrokenError, SweepError
from emulator.signals import exit_code, raising
from emulator.text import clean, writable

if TYPE_CHECKING:
    from emulator.clock import Speed

_CLOSED_PIPE = 141
_BAD_SCENARIO = 2
_FAILED = 1
_FASTEST = 1e9


@contextmanager
def endings() -> Iterator[None]:
    """Turn what ends a command early into a sentence on stderr and an exit code, never a traceback."""
    try:
        with raising():
            yield
    except KeyboardInterrupt as interrupt:
        raise typer.Exit(exit_code(interrupt)) from None
    except OSError as error:
        # The reader of a pipe has gone (EPIPE), or the terminal has (EIO).
        _hush()
        if error.errno in (errno.EPIPE, errno.EIO):
            raise typer.Exit(_CLOSED_PIPE) from None
        complain(f"the output cannot be written: {error.strerror}")
        raise typer.Exit(_FAILED) from None
    except SweepBrokenError as error:
        complain(str(error))
        raise typer.Exit(_FAILED) from None
    except (ScenarioError, RecordingError, SweepError, MissingExtraError) as error:
        complain(str(error))
        raise typer.Exit(_BAD_SCENARIO) from None


def open_missing_streams() -> None:
    """Let output go nowhere where the shell has closed its stream (``>&-``)."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            setattr(sys, name, os.fdopen(nowhere, "w", encoding="utf-8"))


def complain(text: str) -> None:
    """Say what went wrong, on stderr; nobody need be listening."""
    with suppress(OSError):
        sys.stderr.write(writable(text, sys.stderr) + "\n")
        sys.stderr.flush()


def speed_of(text: str | None) -> "Speed | None":
    """The speed that ``--speed`` asks for; BadParameter if it is none."""
    if text is None or text == "max":
        return text  # type: ignore[return-value]  # mypy does not narrow str to the literal
    try:
        speed = float(text)
    except ValueError:
        speed = math.nan
    if not 0 < speed <= _FASTEST:
        allowed = f"a number above 0 and at most {_FASTEST:g}, or max"
        raise typer.BadParameter(f"found {clean(text)}; allowed: {allowed}", param_hint="'--speed'")
    return speed


def _hush() -> None:
    """Let what is still buffered go nowhere, so that the interpreter's exit does not complain."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
