"""A command run in this process, and what must hold of however it ends."""

import io
import os
import signal
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import typer

from emulator.cli.commands import app
from tests.fuzz.checks import FaultError, bounded, printable
from tests.fuzz.scenarios import SECRET
from tests.fuzz.sharing import import_everything

import_everything()

BUSY = 10.0
"""Seconds of a processor that a command may use; many times what any of them needs."""

IDLE = 120.0
"""Seconds until a command has hung that uses no processor, on however busy a machine."""

_INTERRUPTED_AFTER = 0.25
"""Seconds of a processor until a run, which may be of any length, gets a Ctrl-C."""

_COMMAND = typer.main.get_command(app)


class Outcome:
    """What a command printed, and its exit code."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


class _Hang(BaseException):
    """A command takes too long."""


@contextmanager
def _alarms() -> Iterator[list[str]]:
    """Interrupt a run as Ctrl-C does, once it listens; let whatever takes too long fail all the same."""
    rang: list[str] = []
    began = time.process_time()

    def ring(number: int, frame: FrameType | None) -> None:
        used = time.process_time() - began
        if number == signal.SIGPROF and used < BUSY:
            # Before a loop listens, Python may lose what a signal raises, as in a callback of the collector.
            if getattr(signal.getsignal(signal.SIGINT), "__module__", "").startswith("asyncio"):
                rang.append("interrupt")
                os.kill(os.getpid(), signal.SIGINT)
                signal.setitimer(signal.ITIMER_PROF, BUSY - used, 1.0)
            return
        rang.append("hang")
        stack = traceback.extract_stack(frame)
        ours = [f for f in stack if f"{os.sep}emulator{os.sep}" in f.filename]
        where = [f"{Path(f.filename).name}:{f.lineno} in {f.name}" for f in (ours or stack)[-12:]]
        raise _Hang(f"{' < '.join(reversed(where))}, {used:.0f} s used, {rang}")

    signals = {signal.SIGALRM: signal.ITIMER_REAL, signal.SIGPROF: signal.ITIMER_PROF}
    before = {number: signal.signal(number, ring) for number in signals}
    signal.setitimer(signal.ITIMER_REAL, IDLE, 1.0)
    signal.setitimer(signal.ITIMER_PROF, min(_INTERRUPTED_AFTER, BUSY), 0.2)
    try:
        yield rang
    finally:
        for number, timer in signals.items():
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])


def call(*arguments: str, codes: tuple[int, ...] = (0, 2)) -> Outcome:
    """Run a command in this process; FaultError unless it ends as it may, in time, and prints plain text."""
    command = " ".join(arguments)
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n", write_through=True) for _ in range(2))
    code: Any = None
    try:
        with _alarms() as rang, redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("error")
            _COMMAND(args=list(arguments), prog_name="emulator")
    except SystemExit as exit_:
        code = exit_.code
    except _Hang as hang:
        raise FaultError(f"{command}: a hang: {hang}") from None
    except BaseException as error:
        raise FaultError(f"{command}: {type(error).__name__}") from error
    finally:
        # What a broken run has left on the loop must not end another one.
        with suppress(AttributeError, ValueError):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    if "hang" in rang:
        raise FaultError(f"{command}: a hang that caught its alarm")
    told, complained = (stream.buffer.getvalue().decode() for stream in (out, err))
    code = 0 if code is None else code
    if "not enough memory" in complained:
        raise FaultError(f"{command}: out of memory")
    allowed = (*codes, 130) if "interrupt" in rang else codes
    if code not in allowed:
        raise FaultError(f"{command}: the exit code {code}; {complained[:300]}")
    if code in (1, 2) and not complained.strip():
        raise FaultError(f"{command}: the exit code {code} without a word")
    if "Traceback (most" in complained or SECRET in told + complained:
        raise FaultError(f"{command}: on stderr: {complained[-2000:]}")
    for text, name in ((told, "stdout"), (complained, "stderr")):
        try:
            bounded(text, name)
            printable(text, name)
        except FaultError as fault:
            raise FaultError(f"{command}: {fault}") from None
    return Outcome(code, told, complained)
