"""Timers of one lane: sleeps that can be moved and called off, and a count of what is pending."""

import asyncio
from collections.abc import Callable

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


class Alarm:
    """What one task sleeps on: it rings at the time it is set to, which others may change."""

    __slots__ = ("_handle", "_loop", "_rung", "_timers")

    def __init__(self, timers: Timers) -> None:
        self._timers = timers
        self._loop = timers.loop
        self._rung = self._loop.create_future()
        self._handle: asyncio.TimerHandle | None = None

    def set(self, due: float) -> None:
        """Ring at `due` and at no other time; counts as newly set."""
        if self._handle is None:
            self._timers.pending += 1
        else:
            self._handle.cancel()
        self._handle = self._loop.call_at(due, self._ring)

    @property
    def is_set(self) -> bool:
        """Whether it is going to ring."""
        return self._handle is not None

    def clear(self) -> None:
        """Do not ring."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
            self._timers.count_off()

    async def rings(self) -> None:
        """Sleep until it rings."""
        await self._rung
        self._rung = self._loop.create_future()

    def _ring(self) -> None:
        self._handle = None
        self._timers.count_off()
        if not self._timers.ended:
            self._rung.set_result(None)
