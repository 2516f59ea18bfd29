"""Timers of one lane, and a count of what is pending."""

import asyncio
from collections.abc import Callable

from emulator.clock.internals import SteppingLoop


class Timers:
    """Makes the timers of one lane and knows how many of them are set.

    `pending` counts those that will change something: with none, nothing in the lane moves by itself, and
    `when_none` is called. Once the lane has `ended`, timers that are still set do nothing.
    """

    def __init__(self, loop: SteppingLoop, when_none: Callable[[], None]) -> None:
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
