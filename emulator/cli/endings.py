"""How a command ends: what is said on stderr, and the exit code."""

import errno
import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

import typer

from emulator.errors import MissingExtraError, RecordingError, ScenarioError, SweepBrokenError, SweepError
from emulator.signals import PIPE, exit_code, ignored, raising
from emulator.text import clean, writable

if TYPE_CHECKING:
    from emulator.clock import Speed

_CLOSED_PIPE = 141
_BAD_SCENARIO = 2
_FAILED = 1
_FASTEST = 1e9
_NO_ROOM = {getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG") if hasattr(errno, name)}


@contextmanager
def endings() -> Iterator[None]:
    """Turn what ends a command early into a sentence on stderr and an exit code, never a traceback."""
    with ignored(*PIPE), _hushed(sys.stderr):  # a pipe that is closed is an error like others
        try:
            with raising():
                yield
        except KeyboardInterrupt as interrupt:
            raise typer.Exit(exit_code(interrupt)) from None
        except OSError as error:
            raise typer.Exit(_unwritten(error)) from None
        except MemoryError:
            complain("there is not enough memory for this")
            raise typer.Exit(_FAILED) from None
        except SweepBrokenError as error:
            complain(str(error))
            raise typer.Exit(_FAILED) from None
        except (ScenarioError, RecordingError, SweepError, MissingExtraError) as error:
            complain(str(error))
            raise typer.Exit(_FAILED if _for_want_of_room(error) else _BAD_SCENARIO) from None


@contextmanager
def _hushed(stream: TextIO) -> Iterator[None]:
    """In the end let what is buffered go nowhere if it cannot be written."""
    try:
        yield
    finally:
        _hush(stream)


@contextmanager
def streams() -> Iterator[None]:
    """Let output go nowhere where the shell has closed its stream (``>&-``); say if it cannot be written."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(nowhere, mode, encoding="utf-8"))
    try:
        yield
    except OSError as error:
        sys.exit(_unwritten(error))


def _unwritten(error: OSError) -> int:
    """The exit code where output cannot be written; says so."""
    _hush(sys.stdout)
    # The reader of a pipe has gone (EPIPE), or the terminal has (EIO).
    if error.errno in (errno.EPIPE, errno.EIO):
        return _CLOSED_PIPE
    complain(f"the output cannot be written: {error.strerror}")
    return _FAILED


def _for_want_of_room(error: BaseException | None) -> bool:
    """Whether an error came of a disk that is full, or of a file that may not grow."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            return True
        error = error.__cause__ or error.__context__
    return False


def complain(text: str) -> None:
    """Say what went wrong, on stderr; nobody need be listening."""
    with suppress(OSError):
        sys.stderr.write(writable(text, sys.stderr) + "\n")
        sys.stderr.flush()


def speed_of(text: str | None) -> "Speed | None":
    """The speed that ``--speed`` asks for; BadParameter if it is not one."""
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


def _hush(stream: TextIO) -> None:
    """Let what is buffered go nowhere if it cannot be written, or the interpreter's exit would complain."""
    try:
        stream.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
