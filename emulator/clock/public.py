"""`Alarm` and `KeyedQueue` made of public parts of asyncio alone, for a Python on which the others fail.

A task takes its steps in the same order with either, so the trace is the same.
"""

import asyncio
import math
from collections.abc import Generator, Iterable, Mapping
from typing import TypeVar

from emulator.clock.internals import Numbered, Owner

_Item = TypeVar("_Item", bound=Numbered)


class Alarm:
    """What one task sleeps on, as `emulator.clock.internals.Alarm`: a future and a timer."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._pending = False
        self._timer: asyncio.TimerHandle | None = None
        self._rung: asyncio.Future[None] | None = None

    def set(self, due: float) -> None:
        """Ring at the emulated time `due` and at no other; ValueError if that is not a number."""
        if math.isnan(due):
            raise ValueError("an alarm is due at nan; its due time must be a number")
        if not self._pending:
            self._pending = True
            self._owner.pending += 1
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._owner.loop.call_at(due, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._rung is not None and not self._rung.done():
            self._rung.set_result(None)

    def clear(self) -> None:
        """Do not ring."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.rest()

    def rest(self) -> None:
        """Not pending any more, unless it is set."""
        if self._pending and self._timer is None:
            self._pending = False
            self._owner.count_off()

    @property
    def is_set(self) -> bool:
        """Whether it is going to ring."""
        return self._timer is not None

    def __await__(self) -> Generator[object, None, None]:
        if self._timer is None:
            self.rest()
        self._rung = self._owner.loop.create_future()
        try:
            yield from self._rung
        except asyncio.CancelledError:
            self.clear()
            raise


class KeyedQueue(asyncio.Queue[_Item]):
    """An `asyncio.Queue` from whose middle items can be taken by their numbers: what stays is put back."""

    def __init__(self, maxsize: int = 0) -> None:
        super().__init__(maxsize)
        self._by_number: dict[int, _Item] = {}
        self.items: Mapping[int, _Item] = self._by_number
        """What is in it by number, in order of coming."""

    def put_nowait(self, item: _Item) -> None:
        """Put an item in; raises QueueFull if there is no room."""
        super().put_nowait(item)
        self._by_number[item.number] = item

    def get_nowait(self) -> _Item:
        """Take the oldest item; raises QueueEmpty if there is none."""
        item = super().get_nowait()
        del self._by_number[item.number]
        return item

    def take(self, numbers: Iterable[int]) -> list[_Item]:
        """Take the items of these numbers."""
        taken = [self._by_number.pop(number) for number in numbers]
        if taken:
            while not self.empty():
                super().get_nowait()
            for item in self._by_number.values():
                super().put_nowait(item)
        return taken

    def take_first(self, count: int) -> list[int]:
        """Take the first items; returns their numbers."""
        return [self.get_nowait().number for _ in range(min(count, self.qsize()))]
