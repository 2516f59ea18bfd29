"""A terminal's modes, and whose it is. The only module that needs what not every system has (termios)."""

import os
from contextlib import suppress
from typing import Any

try:
    import termios
    import tty
except ImportError:  # Windows
    AVAILABLE = False
else:
    AVAILABLE = True


def in_foreground(terminal: int) -> bool:
    """Whether this process may read from a terminal and set it; in the background that would stop it."""
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except (OSError, AttributeError):
        return True  # it controls no process, or the system has nothing of the kind


class Keys:
    """The keys of a terminal, between `take` and `give_back` pressed one by one and not echoed."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._before: list[Any] | None = None

    def take(self) -> None:
        """Have keys at once as they are pressed. Harmless if repeated, or if the terminal has gone."""
        with suppress(termios.error):
            if self._before is None:
                self._before = termios.tcgetattr(self._terminal)
            tty.setcbreak(self._terminal, termios.TCSANOW)

    def give_back(self) -> None:
        """Put the modes back that were found. Harmless if repeated, or if the terminal has gone."""
        if self._before is not None:
            with suppress(termios.error):
                termios.tcsetattr(self._terminal, termios.TCSANOW, self._before)
            self._before = None
