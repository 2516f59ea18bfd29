"""Signals: those that this system has, and who hears them. The only module that knows which there may be.

A command line that has nothing to save yet lets a signal end its process at once and in silence
(`own_process`). While a command works, the first signal that asks for the end is raised where it finds the
main thread (`raising`), or, while a loop runs, called back there (`hearing`), so that everything is put in
order. Who has heard it makes the process deaf (`be_deaf`): another Ctrl-C would only break into how it ends.

A signal that we inherited as ignored, as under ``nohup``, stays ignored everywhere.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio


def _those_here(*names: str) -> tuple[signal.Signals, ...]:
    return tuple(getattr(signal, name) for name in names if hasattr(signal, name))


ENDING = _those_here("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
"""They ask for the end: Ctrl-C, ``kill``, a terminal that is closed, Ctrl-\\."""
STOP = _those_here("SIGTSTP")
"""Ctrl-Z."""
CONTINUED = _those_here("SIGCONT")
"""A process that was stopped goes on."""
RESIZED = _those_here("SIGWINCH")
"""The terminal has another size."""
PIPE = _those_here("SIGPIPE")
"""Somebody writes to a pipe that nobody reads any more."""
BACKGROUND = _those_here("SIGTTIN", "SIGTTOU")
"""They stop a process in the background that reads keys or sets the terminal."""

_PATIENCE = 3.0  # wall seconds for putting everything in order
_mask = getattr(signal, "pthread_sigmask", None)
_DEAF_TO = _those_here("SIGINT", "SIGTERM", "SIGHUP")


class Signalled(KeyboardInterrupt):
    """A signal asked for the end; `number` is which."""

    def __init__(self, number: int) -> None:
        self.number = signal.Signals(number)
        super().__init__(self.number.name)


def exit_code(interrupt: BaseException | None) -> int:
    """The exit code for what interrupted a command: 128 and the number of the signal, by default SIGINT."""
    return 128 + (interrupt.number if isinstance(interrupt, Signalled) else signal.SIGINT)


def own_process() -> None:
    """Let Ctrl-C and a closed pipe end this process in silence: there is nothing to be put in order."""
    if _in_main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        for number in (signal.SIGINT, *PIPE):
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def raising() -> Iterator[None]:
    """Raise Signalled at the first signal that asks for the end.

    More of them are ignored for some seconds, in which everything is put in order. One that comes later is
    raised, too: what was raised may have hit a place that swallows it, such as the callback of a weak
    reference. If it did and nothing else came, it is raised at the end.
    """
    first: Signalled | None = None
    raised_at = 0.0

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal first, raised_at
        now = time.monotonic()
        if first is None or now > raised_at + _PATIENCE:
            raised_at = now
            first = first or Signalled(number)
            raise first

    with _handling(ENDING, end) as handled:
        mask = None if _mask is None else _mask(signal.SIG_BLOCK, ())
        try:
            yield
        finally:
            if _mask is not None and mask is not None and handled:
                for number in handled:
                    signal.signal(number, signal.SIG_IGN)  # forgets what waits meanwhile
                _mask(signal.SIG_SETMASK, mask)
    if first is not None:
        raise first


@contextmanager
def hearing(
    loop: "asyncio.AbstractEventLoop", *wanted: signal.Signals, call: Callable[[signal.Signals], None]
) -> Iterator[None]:
    """Have the loop call `call` with each signal that comes; in the main thread, as no other is sent any."""
    heard: list[signal.Signals] = []

    def handle(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(call, signal.Signals(number))

    # The loop, when it is done, puts back the system's handlers and not those that were there before.
    with _handling(wanted, handle) as numbers:
        try:
            for number in numbers:
                try:
                    loop.add_signal_handler(number, call, number)
                except NotImplementedError:  # Windows: `handle` has to do
                    break
                heard.append(number)
            yield
        finally:
            for number in heard:
                loop.remove_signal_handler(number)


@contextmanager
def interrupting(end: Callable[[], object]) -> Iterator[None]:
    """Have Ctrl-C call `end` wherever it finds the main thread, which waits for what works in another.

    A second one raises KeyboardInterrupt.
    """
    came = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal came
        if came:
            raise KeyboardInterrupt
        came = True
        end()

    with _handling((signal.SIGINT,), handle):
        yield


def be_deaf() -> None:
    """Let no signal but SIGQUIT break into the end; lasts until `raising` is over."""
    if _mask is not None:
        _mask(signal.SIG_BLOCK, _DEAF_TO)


@contextmanager
def held_back() -> Iterator[None]:
    """Let signals that ask for the end wait; threads and processes that start meanwhile never get them."""
    if _mask is None:
        yield
        return
    before = _mask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        _mask(signal.SIG_SETMASK, before)


@contextmanager
def ignored(*wanted: signal.Signals) -> Iterator[None]:
    """Ignore signals."""
    with _handling(wanted, signal.SIG_IGN):
        yield


def stop_here() -> None:
    """Stop this process as Ctrl-Z does where nobody handles it; returns when it was continued."""
    for number in STOP:
        # Not by SIGSTOP: where there is no shell to continue it, the system lets this one pass.
        handler = signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
        signal.signal(number, handler)


@contextmanager
def _handling(
    wanted: tuple[signal.Signals, ...], handler: Callable[[int, FrameType | None], None] | signal.Handlers
) -> Iterator[list[signal.Signals]]:
    """Have a handler for those signals that were not inherited as ignored, and put back what there was."""
    if not _in_main_thread():  # it alone may have any
        yield []
        return
    before = {number: signal.getsignal(number) for number in wanted}
    handled = [number for number in wanted if before[number] is not signal.SIG_IGN]
    for number in handled:
        signal.signal(number, handler)
    try:
        yield handled
    finally:
        for number in handled:
            signal.signal(number, before[number] or signal.SIG_DFL)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
