"""How a run goes, in lines for a log: what there is to see where there is no terminal.

They are paced by the wall clock and set no timer in emulated time. They show the figures at every fifth
emulated minute exactly, at every speed: they come from a fold of their own over the events, which stops
at each of these moments.
"""

import contextlib
import math
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from operator import attrgetter
from typing import TextIO

from emulator.events import Event
from emulator.figures import Figures
from emulator.figures.accounts import Reading
from emulator.figures.spec import STALENESS, UPDATES, WORKERS_BUSY
from emulator.figures.text import clock_time
from emulator.runner import LaneView, Session, ticks
from emulator.scenario import Scenario
from emulator.text import writable

INTERVAL = 300.0
"""Emulated seconds from one line of progress to the next, in a run of at most `MOST_LINES` of them."""

MOST_LINES = 10_000
"""About the most lines of a run: a month has fewer; in a longer one each stands for more time."""

_LOOK_EVERY = 0.25  # wall seconds
_DRAW_EVERY = 0.1
_when = attrgetter("t")


class _LaneLines:
    """The figures of one lane at each fifth minute, as text, in order."""

    def __init__(self, scenario: Scenario, interval: float) -> None:
        self.lines: deque[str] = deque()
        self.ended_at: float | None = None
        self._figures = Figures(scenario)
        self._name = scenario.lane
        self._interval = self._next = interval

    def take(self, events: Sequence[Event]) -> None:
        """Take in the next events of the lane."""
        while events and events[-1].t > self._next:
            cut = bisect_right(events, self._next, key=_when)
            self._figures.add(events[:cut])
            self._tell()
            events = events[cut:]
        self._figures.add(events)

    def look(self, view: LaneView, *, ended: bool) -> None:
        """Tell what has been passed without an event after it."""
        _ = view.figures  # lets the sinks have all events until now
        now = view.now
        ended = ended or view.error is not None
        while self._next < now or (ended and self._next == now):
            self._tell()
        if ended:
            self.ended_at = now

    def pop(self) -> str:
        """The next line of the lane, or that it has ended."""
        text = self.lines.popleft() if self.lines else f"ended at {clock_time(self.ended_at or 0.0)}"
        return text if self._name is None else f"{self._name}: {text}"

    def _tell(self) -> None:
        self.lines.append(figures_text(self._figures, self._next))
        self._next += self._interval


class ProgressLines:
    """Writes one line for each `INTERVAL`: time, and for each lane what it amounts to so far.

    In a very long run it is a multiple of that. `sinks` are to be given the events, one a lane; `watch` is
    the watcher that writes.
    """

    def __init__(self, lanes: Sequence[Scenario], stream: TextIO) -> None:
        longest = max((scenario.duration for scenario in lanes), default=0.0)
        self._interval = INTERVAL * max(1, math.ceil(longest / (INTERVAL * MOST_LINES)))
        self._lanes = [_LaneLines(scenario, self._interval) for scenario in lanes]
        self._stream = stream
        self._told = 0.0
        self.sinks = [lane.take for lane in self._lanes]

    async def watch(self, session: Session) -> None:
        """Write lines until the session has ended."""
        async for _ in ticks(session, _LOOK_EVERY):
            self._look(session, ended=False)
        self._look(session, ended=True)

    def _look(self, session: Session, *, ended: bool) -> None:
        for lane, view in zip(self._lanes, session.lanes, strict=True):
            lane.look(view, ended=ended)
        while any(lane.lines for lane in self._lanes) and all(
            lane.lines or lane.ended_at is not None for lane in self._lanes
        ):
            self._told += self._interval
            self._write(f"{clock_time(self._told)}  {' | '.join(lane.pop() for lane in self._lanes)}\n")

    def _write(self, line: str) -> None:
        # A log that nobody reads any more is no reason to end the run.
        with contextlib.suppress(OSError):
            self._stream.write(writable(line, self._stream))
            self._stream.flush()


def figures_text(figures: Figures, t: float) -> str:
    """Updates, utilisation and mean staleness at `t`, in a few words."""
    reading = Reading(figures, t)
    updates, busy, staleness = (figure.value(reading) for figure in (UPDATES, WORKERS_BUSY, STALENESS))
    return f"{UPDATES.say(updates)}, {WORKERS_BUSY.format(busy)} busy, {STALENESS.say(staleness)}"
