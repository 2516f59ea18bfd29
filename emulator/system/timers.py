"""Timers of one lane, and a count of what is pending."""

import asyncio
from collections.abc import Callable, Generator
from heapq import heappush
from itertools import repeat

from emulator import clock
from emulator.clock import EmulatedLoop


class Timers:
    """Makes the timers of one lane and knows how many of them are set.

    `pending` counts those that will change something: with none, nothing in the lane moves by itself, and
    `when_none` is called. Once the lane has `ended`, timers that are still set do nothing.
    """

    def __init__(self, loop: EmulatedLoop, when_none: Callable[[], None]) -> None:
        self.loop = loop
        self.pending = 0
        self.ended = False
        self._when_none = when_none

    def call_at(self, when: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        """Call back at `when`; pending until then, or until it is called off."""
        self.pending += 1
        return self.loop.call_at(when, self._fire, callback)

    def call_off(self, timer: asyncio.TimerHandle) -> None:
        """Do not call back."""
        timer.cancel()
        self.count_off()

    def _fire(self, callback: Callable[[], None]) -> None:
        self.count_off()
        if not self.ended:
            callback()

    def count_off(self) -> None:
        """One timer less is set."""
        self.pending -= 1
        if not self.pending:
            self._when_none()


class Alarm(clock.Alarm):
    """What one task of a lane sleeps on.

    It is pending from when it is set until it has rung and the task sleeps again, or until it is cleared: a
    task that sets it anew as soon as it wakes, as most do, changes nothing in the count.
    """

    __slots__ = ("_owner", "_pending")

    def __init__(self, timers: Timers) -> None:
        super().__init__(timers.loop)
        self._owner = timers
        self._pending = False

    def set(self, due: float) -> None:
        """Ring at `due` and at no other time; counts as newly set. ValueError if `due` is not a number."""
        if not self._pending:
            self._pending = True
            self._owner.pending += 1
        if self.place or due != due:  # noqa: PLR0124  (nan, which is refused there)
            clock.Alarm.set(self, due)
            return
        # The same for one that is not set, without another call: it is the way of every episode.
        self.place = place = self._next_place()
        heappush(self._timers, (due, place, self))

    def clear(self) -> None:
        """Do not ring."""
        super().clear()
        self.rest()

    def __await__(self) -> Generator[clock.Alarm, None, None]:
        if not self.place:
            self.rest()
        self._asyncio_future_blocking = True
        return repeat(self, 1)  # type: ignore[return-value]  # an iterator is all that is needed

    def rest(self) -> None:
        """Not pending any more, unless it is set: for a task that wakes and then sleeps on something else."""
        if self._pending and not self.place:
            self._pending = False
            self._owner.count_off()
