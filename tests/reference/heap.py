"""Timers on a heap: fired one at a time, in the order (due, set)."""

from __future__ import annotations

import heapq
from collections.abc import Callable


class Deadlock(Exception):  # noqa: N818 - the word of the contract
    """Nothing is pending and the end is not reached."""

    def __init__(self, t: float) -> None:
        super().__init__(f"nothing is pending at {t}")
        self.t = t


class Loop(Exception):  # noqa: N818 - the word of the contract
    """One instant does not end."""

    def __init__(self, t: float) -> None:
        super().__init__(f"no time passes at {t}")
        self.t = t


class Timer:
    """One pending action. `counts`: whether a run with nothing but this pending can still move."""

    __slots__ = ("action", "counts", "due", "live")

    def __init__(self, due: float, action: Callable[[], None], counts: bool) -> None:
        self.due = due
        self.action = action
        self.counts = counts
        self.live = True


class Agenda:
    """The heap."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Timer]] = []
        self._sequence = 0
        self.counting = 0

    def set(self, due: float, action: Callable[[], None], counts: bool = True) -> Timer:
        timer = Timer(due, action, counts)
        self._sequence += 1
        heapq.heappush(self._heap, (due, self._sequence, timer))
        self.counting += counts
        return timer

    def cancel(self, timer: Timer | None) -> None:
        if timer is not None and timer.live:
            timer.live = False
            self.counting -= timer.counts

    def again(self, timer: Timer, due: float) -> Timer:
        """Set a timer anew: it counts as newly set."""
        self.cancel(timer)
        return self.set(due, timer.action, timer.counts)

    def next_due(self) -> float | None:
        heap = self._heap
        while heap and not heap[0][2].live:
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def pop(self) -> Timer:
        """Take the first timer; only after `next_due` was not None."""
        timer = heapq.heappop(self._heap)[2]
        timer.live = False
        self.counting -= timer.counts
        return timer
