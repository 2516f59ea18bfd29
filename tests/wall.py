"""A wall clock that passes only when a test or a wait of the loop lets it pass."""

import selectors
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from emulator.clock import EmulatedLoop, Speed
from tests.patience import PATIENCE


class FakeWall:
    """Waits by moving its own hands; files are asked without waiting.

    `waits` are the seconds of each wait that passed. A wait for ever, which only a real event can end, blocks
    really.
    """

    def __init__(self, start: float = 0.0) -> None:
        self.seconds = start
        self.waits: list[float] = []
        self._happenings: list[tuple[float, Callable[[], object]]] = []

    def now(self) -> float:
        return self.seconds

    def jam(self, seconds: float) -> None:
        """Let time pass without the loop having waited for it."""
        self.seconds += seconds

    def at(self, seconds: float, happening: Callable[[], object]) -> None:
        """In the wait that reaches `seconds`, do something from outside the loop, and end that wait there."""
        self._happenings.append((seconds, happening))
        self._happenings.sort(key=lambda entry: entry[0])

    def select(
        self, selector: selectors.BaseSelector, timeout: float | None
    ) -> list[tuple[selectors.SelectorKey, int]]:
        found = selector.select(0)
        if found or timeout == 0:
            return found
        if self._happenings and (timeout is None or self._happenings[0][0] <= self.seconds + timeout):
            when, happening = self._happenings.pop(0)
            self.seconds = max(self.seconds, when)
            happening()
            return selector.select(0)
        if timeout is None:
            found = selector.select(PATIENCE)
            if not found:
                raise TimeoutError("the loop waits for ever, and nothing real happens")
            return found
        self.waits.append(timeout)
        self.seconds += timeout
        return []


@contextmanager
def emulated(speed: Speed = "max", *, start: float = 0.0) -> Iterator[tuple[EmulatedLoop, FakeWall]]:
    """A loop on a fake wall clock, closed at the end."""
    wall = FakeWall(start)
    loop = EmulatedLoop(speed, wall)
    try:
        yield loop, wall
    finally:
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
